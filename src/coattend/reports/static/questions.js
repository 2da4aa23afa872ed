// List the questions of two trials: filter them, draw them as they are scrolled to, open one to read its passage.
(() => {
  const PAGE_SIZE = 50;
  const section = document.getElementById("questions");
  const [form, status, list, button] = ["form", ".found", "ol", "button"].map((name) => section.querySelector(name));
  const { rows, passages, graded, names } = JSON.parse(section.querySelector("script").textContent);
  const count = rows.question_id.length;
  const searchTexts = rows.question_id.map((id, row) =>
    [id, rows.subset[row], rows.question[row], ...rows.gold[row], rows.left_answer[row], rows.right_answer[row]]
      .join("\n").toLowerCase());
  let matching = [];
  let drawn = 0;

  const createElement = (name, className, textContent = "") =>
    Object.assign(document.createElement(name), { className, textContent });

  const answerLine = (label, text) => {
    const line = createElement("span", "answer", text);
    line.prepend(createElement("i", "", label));
    return line;
  };

  // Spans that overlap with the gold answer show their F1.
  const answerText = (side, row) => {
    const [text, mark] = [rows[`${side}_answer`][row], rows[`${side}_mark`][row]];
    if (text === null) return "gave none ✗";
    const correct = [side, "both"].includes(rows.winner[row]);
    const verdict = graded && mark > 0 ? `F1 ${Math.round(100 * mark)}` : "✗";
    return `${text || "no answer"} ${correct ? "✓" : verdict}`;
  };

  const createItem = (row) => {
    const item = createElement("li", rows.winner[row]);
    const details = item.appendChild(createElement("details", ""));
    const summary = details.appendChild(createElement("summary", ""));
    const place = [rows.split[row], rows.subset[row], rows.question_id[row]].filter(Boolean).join(" · ");
    summary.append(
      createElement("span", "place", ` · ${place}`),
      createElement("span", "asked", rows.question[row]),
      answerLine("Gold", rows.gold[row].join(" / ") || "no answer"),
      answerLine("Left", answerText("left", row)),
      answerLine("Right", answerText("right", row)),
    );
    summary.firstChild.prepend(createElement("b", "", names[rows.winner[row]]));
    details.addEventListener("toggle", () => {
      const passage = passages[rows.passage_id[row]] ?? "The passage is not there any more.";
      details.append(createElement("p", "passage", passage));
    }, { once: true });
    return item;
  };

  const drawMore = () => {
    list.append(...matching.slice(drawn, drawn + PAGE_SIZE).map(createItem));
    drawn = list.children.length;
    button.hidden = drawn === matching.length;
  };

  const filter = () => {
    const criteria = Object.fromEntries(new FormData(form));
    const text = criteria.text.trim().toLowerCase();
    matching = [...searchTexts.keys()].filter((row) =>
      (!criteria.correct || rows.winner[row] === criteria.correct)
      && (!criteria.split || rows.split[row] === criteria.split)
      && searchTexts[row].includes(text));
    list.replaceChildren();
    drawn = 0;
    drawMore();
    status.textContent = `${matching.length.toLocaleString("en")} of ${count.toLocaleString("en")} questions. `
      + "Open one to read its passage.";
    const used = Object.entries(criteria).filter(([, value]) => value);
    history.replaceState(null, "", `#${new URLSearchParams(used)}`);
  };

  // The filter is part of the address, so that it can be shared.
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (name in form.elements) form.elements[name].value = value;
  }
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  button.addEventListener("click", drawMore);
  const observer = new IntersectionObserver(([entry]) => entry.isIntersecting && drawMore(), { rootMargin: "300px" });
  observer.observe(button);
  form.hidden = false;
  filter();
})();
