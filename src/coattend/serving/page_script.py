"""What the page does when a question is asked."""

SCRIPT = r"""
(() => {
  const at = (id) => document.getElementById(id);
  const make = (tag, attributes, ...children) => {
    const made = Object.assign(document.createElement(tag), attributes);
    made.append(...children);
    return made;
  };
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

  const asked = () => {
    const question = { passage: at("passage").value, question: at("question").value };
    const options = at("options") ? lines(at("options").value) : [];
    return options.length ? { ...question, options } : question;
  };

  // Offsets count characters as Python does, whatever JavaScript needs to store them.
  const marked = (passage, given) => {
    const characters = Array.from(passage);
    const heaviest = Math.max(...given.evidence.map((one) => one.weight), Number.MIN_VALUE);
    const cuts = new Set([0, characters.length]);
    const spans = given.start === null ? [] : [given];
    for (const one of [...given.evidence, ...spans]) cuts.add(one.start).add(one.end);
    const places = [...cuts].sort((one, other) => one - other);
    return places.slice(1).map((end, place) => {
      const start = places[place], text = characters.slice(start, end).join("");
      const within = (one) => one.start <= start && end <= one.end;
      const token = given.evidence.find(within), chosen = spans.some(within) ? "chosen" : "";
      if (!token) return chosen ? make("span", { className: chosen }, text) : text;
      const mark = make("mark", { className: chosen, title: percent(token.weight) }, text);
      mark.style.setProperty("--share", `${Math.round(15 + 55 * token.weight / heaviest)}%`);
      return mark;
    });
  };

  const table = (given) => {
    const rows = given.choices.map((choice, place) => make("tr", {},
      make("th", { scope: "row" }, choice),
      make("td", {}, percent(given.probabilities[place]),
        Object.assign(make("span", { className: "bar", ariaHidden: "true" }),
          { style: `width:${100 * given.probabilities[place]}%` }))));
    const head = make("tr", {}, make("th", { scope: "col" }, "Choice"), make("th", { scope: "col" }, "Probability"));
    return make("div", { className: "table" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
  };

  const show = (question, given) => {
    at("problem").replaceChildren();
    at("answer").replaceChildren(given.answer || "no answer");
    at("choices").replaceChildren(given.choices.length ? table(given) : "");
    at("nothing").replaceChildren(given.null_score === null ? ""
      : `“No answer” scores ${Math.abs(given.null_score).toFixed(2)} ${given.null_score < 0 ? "less" : "more"} ` +
        "than the best span.");
    at("evidence").replaceChildren(...marked(question.passage, given));
    at("told").replaceChildren(given.evidence.length
      ? "The darker a word, the more of its attention the reader gave to it. Attention is no explanation."
      : "This reader has no attention to show.");
  };

  const fail = (problem) => {
    for (const id of ["answer", "choices", "nothing", "evidence", "told"]) at(id).replaceChildren();
    at("problem").replaceChildren(problem);
  };

  const ask = async () => {
    const question = asked(), button = document.querySelector("button");
    button.disabled = true;
    try {
      const answer = await fetch("invocations", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ dataframe_records: [question] }),
      });
      const text = await answer.text();
      if (answer.ok) show(question, JSON.parse(text).predictions[0]);
      else fail(told(text));
    } catch (error) {
      fail(`The reader cannot be reached (${error.message}).`);
    } finally {
      button.disabled = false;
      at("result").hidden = false;
    }
  };

  // MLflow repeats the question before it says what is wrong with it.
  const told = (text) => {
    try {
      const message = JSON.parse(text).message;
      return message.slice(message.lastIndexOf("\nError: ") + 1).replace(/^Error: (question 1: )?/, "");
    } catch {
      return text;
    }
  };

  at("form").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  // A link may carry a question, which is asked at once: ?passage=…&question=…&option=…&option=…
  const linked = new URLSearchParams(location.search);
  if (linked.has("passage") && linked.has("question")) {
    at("passage").value = linked.get("passage");
    at("question").value = linked.get("question");
    if (at("options")) at("options").value = linked.getAll("option").join("\n");
    ask();
  }
})();
"""
