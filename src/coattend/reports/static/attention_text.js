// Elements of the attention page: tables, texts with shaded tokens and the scale of their shades.
window.attentionText = (() => {
  const createElement = (tag, properties = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in element) element[name] = value; else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };
  const withMinus = (text) => text.replace("-", "\u2212");
  const formatNumber = (value) => withMinus(String(Number(value.toPrecision(3))));
  const formatPercent = (value) => `${(100 * value).toFixed(1)} %`;
  const formatName = (name) => name.replaceAll("_", " ");
  const createHead = (...children) => createElement("th", { scope: "col" }, ...children);
  const createRow = (head, ...cells) =>
    createElement("tr", {}, createElement("th", { scope: "row" }, ...head), ...cells);

  const createTable = (caption, heads, rows) =>
    createElement("div", { className: "table", tabIndex: 0, role: "region", ariaLabel: caption },
      createElement("table", {}, createElement("caption", {}, caption),
        createElement("thead", {}, createElement("tr", {}, ...heads)), createElement("tbody", {}, ...rows)));

  // A token is [domain, first character, end], a special one [domain, name].
  const isSpecial = (token) => token.length === 2;
  const textOf = (token, source) => isSpecial(token) ? token[1] : source[token[0]].slice(token[1], token[2]);

  // Write the texts of some tokens, each token as `decorate` returns it; text outside of tokens was not read.
  const createText = (tokens, source, decorate) => {
    const paragraph = createElement("p", { className: "read" });
    let domain = null, last = 0;
    const appendUnread = (end) => {
      const text = domain === null ? "" : source[domain].slice(last, end);
      if (text) paragraph.append(/\S/.test(text) ? createElement("span", { className: "unread" }, text) : text);
    };
    tokens.forEach((token, index) => {
      if (isSpecial(token)) {
        if (index && !isSpecial(tokens[index - 1])) appendUnread();
        if (index) domain = null;
        paragraph.append(decorate(createElement("span", { className: "token special" }, token[1]), index));
        return;
      }
      if (token[0] !== domain) {
        appendUnread();
        if (domain !== null) paragraph.append(" ");
        [domain, last] = [token[0], 0];
      }
      appendUnread(Math.max(token[1], last));
      const text = source[domain].slice(Math.max(token[1], last), token[2]);
      paragraph.append(decorate(createElement("span", { className: "token" }, text), index));
      last = Math.max(last, token[2]);
    });
    appendUnread();
    return paragraph;
  };

  // The number with the darkest shade. Special tokens often have most of the attention and do not count.
  const darkestValue = (legend, values, tokens) => {
    if (legend.kind === "score") return 1;
    return Math.max(...values.filter((_, index) => !isSpecial(tokens[index])).map(Math.abs), 0) || 1;
  };

  const shade = (element, value, darkest) => {
    element.style.setProperty("--hue", value < 0 ? "var(--warm)" : "var(--accent)");
    element.style.setProperty("--share", `${(60 * Math.min(1, Math.abs(value) / darkest)).toFixed(1)}%`);
  };

  // Only drops may be negative, so that their scale goes from one colour to the other.
  const createScale = (legend, darkest) => {
    const signed = legend.kind === "drop";
    const bar = createElement("i", { ariaHidden: "true" });
    const colours = [...(signed ? ["var(--warm) 60%"] : []), "transparent 100%", "var(--accent) 60%"];
    const gradient = colours.map((colour) => `color-mix(in srgb, ${colour}, transparent)`);
    bar.style.background = `linear-gradient(90deg, ${gradient})`;
    return createElement("div", { className: "scale" }, signed ? formatNumber(-darkest) : "0", bar,
      formatNumber(darkest));
  };

  return {
    createElement, withMinus, formatNumber, formatPercent, formatName, createHead, createRow, createTable, isSpecial,
    textOf, createText, darkestValue, shade, createScale,
  };
})();
