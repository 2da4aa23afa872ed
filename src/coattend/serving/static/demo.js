// Send the form's question to the model server, and show the answer with what the reader looked at.
(() => {
  const byId = (id) => document.getElementById(id);
  const createElement = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const formatPercent = (share) => `${(100 * share).toFixed(1)} %`;
  const splitLines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

  const readForm = () => {
    const question = { passage: byId("passage").value, question: byId("question").value };
    const options = byId("options") ? splitLines(byId("options").value) : [];
    return options.length ? { ...question, options } : question;
  };

  // Offsets count code points as Python does, and not UTF-16 units.
  const createEvidence = (passage, answer) => {
    const characters = Array.from(passage);
    const heaviest = Math.max(...answer.evidence.map((token) => token.weight), Number.MIN_VALUE);
    const spans = answer.start === null ? [] : [answer];
    const boundaries = new Set([0, characters.length]);
    for (const { start, end } of [...answer.evidence, ...spans]) boundaries.add(start).add(end);
    const sorted = [...boundaries].toSorted((left, right) => left - right);
    return sorted.slice(1).map((end, index) => {
      const start = sorted[index], text = characters.slice(start, end).join("");
      const covers = (span) => span.start <= start && end <= span.end;
      const token = answer.evidence.find(covers), className = spans.some(covers) ? "chosen" : "";
      if (!token) return className ? createElement("span", { className }, text) : text;
      const mark = createElement("mark", { className, title: formatPercent(token.weight) }, text);
      mark.style.setProperty("--share", `${Math.round(15 + 55 * token.weight / heaviest)}%`);
      return mark;
    });
  };

  const createChoiceTable = (answer) => {
    const rows = answer.choices.map((choice, index) => {
      const style = `width:${100 * answer.probabilities[index]}%`;
      return createElement("tr", {},
        createElement("th", { scope: "row" }, choice),
        createElement("td", {}, formatPercent(answer.probabilities[index]),
          createElement("span", { className: "bar", ariaHidden: "true", style })));
    });
    const heads = ["Choice", "Probability"].map((title) => createElement("th", { scope: "col" }, title));
    return createElement("div", { className: "table" }, createElement("table", {},
      createElement("thead", {}, createElement("tr", {}, ...heads)), createElement("tbody", {}, ...rows)));
  };

  const describeNullScore = (score) => score === null ? ""
    : `“No answer” scores ${Math.abs(score).toFixed(2)} ${score < 0 ? "less" : "more"} than the best span.`;

  const showAnswer = (question, answer) => {
    byId("problem").replaceChildren();
    byId("answer").replaceChildren(answer.answer || "no answer");
    byId("choices").replaceChildren(answer.choices.length ? createChoiceTable(answer) : "");
    byId("nothing").replaceChildren(describeNullScore(answer.null_score));
    byId("evidence").replaceChildren(...createEvidence(question.passage, answer));
    byId("explanation").replaceChildren(answer.evidence.length
      ? "The darker a word, the more of its attention the reader gave to it. Attention is no explanation."
      : "This reader has no attention to show.");
  };

  const showProblem = (problem) => {
    for (const id of ["answer", "choices", "nothing", "evidence", "explanation"]) byId(id).replaceChildren();
    byId("problem").replaceChildren(problem);
  };

  // MLflow repeats the question before it says what is wrong with it.
  const problemIn = (text) => {
    try {
      const message = JSON.parse(text).message;
      return message.slice(message.lastIndexOf("\nError: ") + 1).replace(/^Error: (question 1: )?/, "");
    } catch {
      return text;
    }
  };

  const ask = async () => {
    const question = readForm(), button = document.querySelector("button");
    button.disabled = true;
    try {
      const response = await fetch("invocations", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ dataframe_records: [question] }),
      });
      const text = await response.text();
      if (response.ok) showAnswer(question, JSON.parse(text).predictions[0]);
      else showProblem(problemIn(text));
    } catch (error) {
      showProblem(`The reader cannot be reached (${error.message}).`);
    } finally {
      button.disabled = false;
      byId("result").hidden = false;
    }
  };

  byId("form").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  // A link may carry a question, which is asked at once: ?passage=…&question=…&option=…&option=…
  const link = new URLSearchParams(location.search);
  if (link.has("passage") && link.has("question")) {
    byId("passage").value = link.get("passage");
    byId("question").value = link.get("question");
    if (byId("options")) byId("options").value = link.getAll("option").join("\n");
    ask();
  }
})();
