"""How the list of questions looks and works in the browser."""

STYLE = """
#questions form { display: flex; flex-wrap: wrap; gap: 0.75rem; margin: 1rem 0; }
#questions form[hidden] { display: none; }
#questions label { color: var(--quiet); font-size: 0.85rem; }
#questions label:last-child { flex: 1 1 14rem; }
#questions select, #questions input, #questions button {
  display: block; width: 100%; padding: 0.5rem; font: inherit; font-size: 1rem; color: var(--ink);
  background: var(--paper); border: 1px solid var(--line); border-radius: 0.3rem;
}
#questions button { cursor: pointer; margin-top: 1rem; }
#questions button[hidden] { display: none; }
#questions .found { color: var(--quiet); }
#questions ol { list-style: none; margin: 0; padding: 0; }
#questions li { border-top: 1px solid var(--line); overflow-wrap: anywhere; }
#questions details { margin: 0; }
#questions summary { color: var(--ink); padding: 0.75rem 0; list-style: none; }
#questions summary::-webkit-details-marker { display: none; }
#questions summary > * { display: block; max-width: 42rem; }
#questions .place { color: var(--quiet); font-size: 0.8rem; }
#questions .place b { font-weight: 600; color: var(--ink); }
#questions .left .place b { color: var(--accent); }
#questions .right .place b { color: #d55e00; }
#questions .asked { font-weight: 500; margin: 0.1rem 0 0.3rem; white-space: pre-line; }
#questions .answer { font-size: 0.92rem; padding-left: 4rem; text-indent: -4rem; }
#questions .answer i { display: inline-block; width: 4rem; text-indent: 0; font-style: normal; color: var(--quiet); }
#questions .passage {
  white-space: pre-line; max-width: 42rem; margin: 0 0 1rem; padding: 0.25rem 0 0.25rem 1rem;
  border-left: 3px solid var(--line);
}
@media print { #questions form, #questions button { display: none; } }
"""

SCRIPT = """
(() => {
  const AT_ONCE = 50;
  const section = document.getElementById("questions");
  const [form, found, list, button] = ["form", ".found", "ol", "button"].map((name) => section.querySelector(name));
  const { rows, passages, graded, names } = JSON.parse(section.querySelector("script").textContent);
  const count = rows.question_id.length;
  const searched = rows.question_id.map((id, row) =>
    [id, rows.subset[row], rows.question[row], ...rows.gold[row], rows.left_answer[row], rows.right_answer[row]]
      .join("\\n").toLowerCase());
  let matching = [];
  let drawn = 0;

  const make = (name, className, textContent = "") =>
    Object.assign(document.createElement(name), { className, textContent });

  const line = (label, text) => {
    const shown = make("span", "answer", text);
    shown.prepend(make("i", "", label));
    return shown;
  };

  const answer = (side, row) => {
    const [text, mark] = [rows[`${side}_answer`][row], rows[`${side}_mark`][row]];
    if (text === null) return "gave none ✗";
    const correct = [side, "both"].includes(rows.winner[row]);
    const partly = graded && mark > 0 ? `F1 ${Math.round(100 * mark)}` : "✗";
    return `${text || "no answer"} ${correct ? "✓" : partly}`;
  };

  const item = (row) => {
    const one = make("li", rows.winner[row]);
    const details = one.appendChild(make("details", ""));
    const summary = details.appendChild(make("summary", ""));
    const place = [rows.split[row], rows.subset[row], rows.question_id[row]].filter(Boolean).join(" · ");
    summary.append(make("span", "place", ` · ${place}`), make("span", "asked", rows.question[row]));
    summary.firstChild.prepend(make("b", "", names[rows.winner[row]]));
    summary.append(line("Gold", rows.gold[row].join(" / ") || "no answer"));
    summary.append(line("Left", answer("left", row)), line("Right", answer("right", row)));
    details.addEventListener("toggle", () => {
      details.append(make("p", "passage", passages[rows.passage_id[row]] ?? "The passage is not there any more."));
    }, { once: true });
    return one;
  };

  const more = () => {
    list.append(...matching.slice(drawn, drawn + AT_ONCE).map(item));
    drawn = list.children.length;
    button.hidden = drawn === matching.length;
  };

  const filter = () => {
    const wanted = Object.fromEntries(new FormData(form));
    const text = wanted.text.trim().toLowerCase();
    matching = [...searched.keys()].filter((row) =>
      (!wanted.correct || rows.winner[row] === wanted.correct)
      && (!wanted.split || rows.split[row] === wanted.split)
      && searched[row].includes(text));
    list.replaceChildren();
    drawn = 0;
    more();
    found.textContent = `${matching.length.toLocaleString("en")} of ${count.toLocaleString("en")} questions. `
      + "Open one to read its passage.";
    const kept = Object.entries(wanted).filter(([, value]) => value);
    history.replaceState(null, "", `#${new URLSearchParams(kept)}`);
  };

  // What is looked at stands in the address, so that it can be passed on.
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (name in form.elements) form.elements[name].value = value;
  }
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  button.addEventListener("click", more);
  new IntersectionObserver(([seen]) => seen.isIntersecting && more(), { rootMargin: "300px" }).observe(button);
  form.hidden = false;
  filter();
})();
"""
