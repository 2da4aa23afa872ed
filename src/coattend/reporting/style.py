"""How the HTML page looks, by day, by night and on a phone."""

STYLE = """
:root {
  --paper: #fdfdfb; --ink: #22262a; --quiet: #626a72; --line: #e4e4de; --accent: #0072b2;
}
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181b; --ink: #e4e4e0; --quiet: #9aa2aa; --line: #2e3338; --accent: #56b4e9; }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
main { max-width: 60rem; margin: 0 auto; padding: 3rem 1.25rem 5rem; }
h1 { font-size: 1.75rem; line-height: 1.2; font-weight: 600; letter-spacing: -0.01em; margin: 0 0 2rem; }
h2 { font-size: 1.15rem; font-weight: 600; margin: 0 0 0.75rem; padding-top: 1.5rem; }
section + section h2 { border-top: 1px solid var(--line); }
section { margin: 0 0 2.5rem; }
section:first-of-type h2 { color: var(--accent); }
p { max-width: 42rem; margin: 0 0 0.75rem; overflow-wrap: anywhere; }
.table { overflow-x: auto; margin: 1.5rem 0; }
table { border-collapse: collapse; min-width: 50%; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--quiet); padding: 0 0 0.35rem; }
th, td { text-align: left; vertical-align: top; padding: 0.5rem 1.5rem 0.5rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 500; }
tbody th { min-width: 7rem; }
thead th { vertical-align: bottom; color: var(--quiet); }
th:first-child { position: sticky; left: 0; background: var(--paper); }
.quiet td, .quiet th { color: var(--quiet); }
.number { text-align: right; }
td.number { white-space: nowrap; }
small { display: block; color: var(--quiet); font-size: 0.8rem; font-weight: 400; max-width: 15rem; }
.number small { margin-left: auto; white-space: normal; }
small.whole, .number small.whole { white-space: nowrap; }
th button { all: unset; cursor: pointer; }
th button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
th[aria-sort=ascending] button::after { content: " ▲"; }
th[aria-sort=descending] button::after { content: " ▼"; }
nav ul { columns: 20rem; padding-left: 1.25rem; font-size: 0.92rem; }
a { color: var(--accent); }
details { margin: 1rem 0; }
details caption { display: none; }
summary { cursor: pointer; color: var(--quiet); }
figure { margin: 1.5rem 0; }
figcaption { color: var(--quiet); font-size: 0.85rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (max-width: 36rem) {
  main { padding: 1.5rem 1rem 3rem; }
  h1 { font-size: 1.4rem; margin-bottom: 1.5rem; }
  th, td { padding-right: 1rem; }
}
@media print {
  :root { --paper: #fff; --ink: #000; --quiet: #444; }
  main { max-width: none; padding: 0; }
  .table { overflow: visible; }
  h2, caption, summary { break-after: avoid; }
  tr, figure { break-inside: avoid; }
  nav { display: none; }
}
"""

PRINT = """
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
"""

SORT = """
(() => {
  const number = (cell) => parseFloat(cell.firstChild?.textContent.replace(/,/g, "").replace("–", "") ?? "");
  const compare = (column, down) => (one, other) => {
    const cells = [one, other].map((row) => row.cells[column]);
    const [left, right] = cells.map(number);
    if (isNaN(left) !== isNaN(right)) return isNaN(left) ? 1 : -1;
    const order = isNaN(left) ? cells[0].textContent.localeCompare(cells[1].textContent) : left - right;
    return down ? -order : order;
  };
  for (const table of document.querySelectorAll("table")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        body.append(...[...body.rows].sort(compare(column, down)));
      });
    });
  }
})();
"""

DRAW = """
(() => {
  const draw = () => {
    const style = getComputedStyle(document.documentElement);
    const [ink, line] = ["--quiet", "--line"].map((name) => style.getPropertyValue(name).trim());
    for (const figure of document.querySelectorAll("figure")) {
      const { data, layout } = JSON.parse(figure.querySelector("script").textContent);
      layout.font = { ...layout.font, color: ink, family: getComputedStyle(document.body).fontFamily };
      for (const axis of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) layout[axis].gridcolor = line;
      Plotly.react(figure.querySelector(".chart"), data, layout, { responsive: true, displayModeBar: false });
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
"""
