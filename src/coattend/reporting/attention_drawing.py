"""How the attention page makes its elements: tables, and texts whose tokens are shaded."""

DRAWING = r"""
const drawing = (() => {
  const make = (tag, set = {}, ...inside) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(set)) {
      if (name in element) element[name] = value; else element.setAttribute(name, value);
    }
    element.append(...inside);
    return element;
  };
  const minus = (text) => text.replace("-", "\u2212");
  const number = (value) => minus(String(Number(value.toPrecision(3))));
  const percent = (value) => `${(100 * value).toFixed(1)} %`;
  const words = (name) => name.replaceAll("_", " ");
  const head = (...inside) => make("th", { scope: "col" }, ...inside);
  const row = (name, ...cells) => make("tr", {}, make("th", { scope: "row" }, ...name), ...cells);

  const table = (caption, heads, rows) =>
    make("div", { className: "table", tabIndex: 0, role: "region", ariaLabel: caption },
      make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...heads)),
        make("tbody", {}, ...rows)));

  // A token is [domain, first character, character after the last], a special one [domain, name].
  const isSpecial = (token) => token.length === 2;
  const textOf = (token, source) => isSpecial(token) ? token[1] : source[token[0]].slice(token[1], token[2]);

  // The texts that tokens stand in, with each token made by `draw`; what no token holds was not read.
  const written = (tokens, source, draw) => {
    const line = make("p", { className: "read" });
    let domain = null, last = 0;
    const rest = (end) => {
      const text = domain === null ? "" : source[domain].slice(last, end);
      if (text) line.append(/\S/.test(text) ? make("span", { className: "unread" }, text) : text);
    };
    tokens.forEach((token, place) => {
      if (isSpecial(token)) {
        if (place && !isSpecial(tokens[place - 1])) rest();
        if (place) domain = null;
        line.append(draw(make("span", { className: "token special" }, token[1]), place));
        return;
      }
      if (token[0] !== domain) {
        rest();
        if (domain !== null) line.append(" ");
        [domain, last] = [token[0], 0];
      }
      rest(Math.max(token[1], last));
      const piece = make("span", { className: "token" }, source[domain].slice(Math.max(token[1], last), token[2]));
      line.append(draw(piece, place));
      last = Math.max(last, token[2]);
    });
    rest();
    return line;
  };

  // The number that is as dark as can be. Special tokens often have the most, and may be darker than it allows.
  const darkest = (how, values, tokens) => {
    if (how.kind === "score") return 1;
    return Math.max(...values.filter((_, place) => !isSpecial(tokens[place])).map(Math.abs), 0) || 1;
  };

  const shade = (element, value, most) => {
    element.style.setProperty("--hue", value < 0 ? "var(--warm)" : "var(--accent)");
    element.style.setProperty("--share", `${(60 * Math.min(1, Math.abs(value) / most)).toFixed(1)}%`);
  };

  const scale = (how, most) => {
    const [low, from] = how.kind === "drop" ? [number(-most), "var(--warm) 60%"] : ["0", "transparent 100%"];
    const bar = make("i", { ariaHidden: "true" });
    const colours = [from, "transparent 100%", "var(--accent) 60%"].slice(how.kind === "drop" ? 0 : 1);
    const mixed = colours.map((one) => `color-mix(in srgb, ${one}, transparent)`);
    bar.style.background = `linear-gradient(90deg, ${mixed})`;
    return make("div", { className: "scale" }, low, bar, number(most));
  };

  return { make, minus, number, percent, words, head, row, table, isSpecial, textOf, written, darkest, shade, scale };
})();
"""
