// Show a question with the answers and attention maps of one or two readers, and redraw it with every choice.
(() => {
  const {
    createElement, withMinus, formatNumber, formatPercent, formatName, createHead, createRow, createTable, isSpecial,
    textOf, createText, darkestValue, shade, createScale,
  } = window.attentionText;
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  // The choices of each reader outlive a change of the question where they still apply.
  const choices = data.readers.map(() => ({ map: null, level: 0, sequence: null }));

  const hasGoldAnswer = (question) => (question.label ?? question.answers) !== null;
  const createVerdict = (question, reading) => {
    if (!hasGoldAnswer(question)) return "right answer not known";
    const verdict = reading.correct ? "right" : "wrong";
    return createElement("span", { className: verdict }, verdict);
  };
  const createReaderHead = (reader) => createHead(reader.reader, createElement("small", {}, reader.trial_id));

  const createOptionTable = (question) => {
    const createCell = (reading, index) => createElement("td", {}, formatPercent(reading.probabilities[index]),
      createElement("span", {
        className: "bar", style: `width:${100 * reading.probabilities[index]}%`, ariaHidden: "true",
      }),
      index === reading.label ? createElement("small", {}, "chosen, ", createVerdict(question, reading)) : "");
    const rows = question.options.map((option, index) => {
      const note = index === question.label ? createElement("small", { className: "right" }, "right answer") : "";
      return createRow([option, note], ...question.readings.map((reading) => createCell(reading, index)));
    });
    return createTable("Options and their probabilities",
      [createHead("Option"), ...data.readers.map(createReaderHead)], rows);
  };

  const goldAnswers = (question) => {
    if (!hasGoldAnswer(question)) return "not known";
    const texts = question.options ? [question.options[question.label]].filter(Boolean)
      : (question.answers ?? []).map((answer) => answer.text);
    return [...new Set(texts)].join(" | ") || "no answer";
  };

  const createAnswerTable = (question) => {
    const createCells = (contents) => question.readings.map((reading) => createElement("td", {}, ...contents(reading)));
    const rows = [createRow(["Chosen"], ...createCells((reading) => [
      reading.prediction || "no answer",
      createElement("small", {}, `${formatPercent(reading.probability)}, `, createVerdict(question, reading)),
    ]))];
    if (question.readings.some((reading) => reading.spans)) {
      const createSpan = (span) => createElement("div", {}, question.passage.slice(span.start, span.end),
        createElement("small", {}, formatPercent(span.probability)));
      rows.push(createRow(["Best spans"], ...createCells((reading) => reading.spans.map(createSpan))));
      rows.push(createRow(["No answer"], ...createCells((reading) => [formatPercent(reading.nothing)])));
    }
    return createElement("div", {},
      createElement("p", {}, "Right answer: ", createElement("span", { className: "right" }, goldAnswers(question))),
      createTable("Answers and their probabilities", [createHead(""), ...data.readers.map(createReaderHead)], rows));
  };

  const explainMap = (legend, texts) => {
    const wholeQuestion = texts.length > 1 ? "question and option" : "the question";
    const domains = {
      passage: "the passage", question: wholeQuestion, asked: "the question", option: "the option",
    };
    if (legend.kind === "drop")
      return "How much less probable the chosen answer is without each word; below zero it is more probable.";
    if (legend.kind === "score")
      return `A score of each token of ${domains[legend.on]}, from 0 to 1; they do not add up to one.`;
    if (legend.by)
      return `What the tokens of ${domains[legend.by]} see of ${domains[legend.on]}, on average over them.`;
    return `The share of each token of ${domains[legend.on]}.`;
  };

  // A reader reads a question once with each part of a long passage and, of options, once with each of them.
  const chooseSequence = (question, reading, reader) => {
    const choice = choices[reader], count = reading.sequences.length;
    const index = choice.sequence !== null && choice.sequence < count ? choice.sequence : reading.sequence;
    if (count === 1) return [index, ""];
    const options = reading.probabilities ? question.options : [], perPart = options.length || 1;
    const partOf = (sequence) => count > perPart ? [`part ${Math.floor(sequence / perPart) + 1}`] : [];
    const nameOf = (sequence) => [...options.slice(sequence % perPart).slice(0, 1), ...partOf(sequence)].join(", ");
    const labelOf = (sequence) => `${nameOf(sequence)}${sequence === reading.sequence ? " (chosen)" : ""}`;
    const select = createElement("select", { id: `sequence-${reader}` }, ...reading.sequences.map((_, sequence) =>
      createElement("option", { value: sequence, selected: sequence === index }, labelOf(sequence))));
    select.addEventListener("change", () => { choice.sequence = Number(select.value); show(select.id); });
    const label = createElement("label", { htmlFor: select.id },
      reading.probabilities ? "Read with" : "Part of the passage");
    return [index, createElement("div", { className: "controls" }, label, select)];
  };

  const chooseMap = (names, reader) => {
    const chosen = names.includes(choices[reader].map) ? choices[reader].map : names[0];
    const labels = names.map((name) => {
      const id = `map-${reader}-${name}`;
      const input = createElement("input",
        { type: "radio", name: `map-${reader}`, id, value: name, checked: name === chosen });
      input.addEventListener("change", () => { choices[reader].map = name; show(id); });
      return createElement("label", {}, input, formatName(name));
    });
    return [chosen, createElement("fieldset", {}, createElement("legend", {}, "Map"), ...labels)];
  };

  const chooseLevel = (legend, count, reader) => {
    const level = Math.min(choices[reader].level, count - 1);
    if (count === 1) return [level, ""];
    const id = `level-${reader}`, description = `${legend.level} ${level + 1} of ${count}`;
    const slider = createElement("input", { type: "range", id, min: "1", max: String(count), step: "1" });
    slider.value = level + 1;
    slider.setAttribute("aria-valuetext", description);
    slider.addEventListener("input", () => { choices[reader].level = Number(slider.value) - 1; show(id); });
    const label = createElement("label", { htmlFor: id }, legend.level);
    return [level, createElement("div", { className: "level" }, label, slider,
      createElement("output", {}, description))];
  };

  const answerMarker = (question, reading) => {
    const gold = (question.answers ?? []).map((answer) => [answer.start, answer.start + answer.text.length, "gold"]);
    const best = reading.prediction && reading.spans ? [[reading.spans[0].start, reading.spans[0].end, "chosen"]] : [];
    return (element, token) => {
      if (token[0] !== "passage" || isSpecial(token)) return;
      for (const [start, end, className] of [...gold, ...best])
        if (token[1] < end && token[2] > start) element.classList.add(className);
    };
  };

  const createShadedText = (tokens, source, legend, numbers, markAnswers) => {
    const darkest = darkestValue(legend, numbers, tokens);
    const selected = createElement("output", { className: "quiet" }, "\u00a0");
    const text = createText(tokens, source, (element, index) => {
      shade(element, numbers[index], darkest);
      markAnswers(element, tokens[index]);
      element.title = `${textOf(tokens[index], source)}: ${formatNumber(numbers[index])}`;
      return element;
    });
    text.addEventListener("click", (event) => {
      const token = event.target.closest(".token");
      if (!token) return;
      text.querySelectorAll(".pointed").forEach((element) => element.classList.remove("pointed"));
      token.classList.add("pointed");
      selected.textContent = token.title;
    });
    return [createScale(legend, darkest), text, selected];
  };

  const createNumbers = (title, legend, numbered) => {
    const highest = numbered.toSorted(([, left], [, right]) => right - left).slice(0, 5);
    const total = numbered.reduce((sum, [, value]) => sum + value, 0);
    const sum = legend.kind === "share" ? ` All together ${formatNumber(total)}.` : "";
    const listed = highest.map(([text, value]) => `${text} ${formatNumber(value)}`).join(", ");
    const details = createElement("details", {}, createElement("summary", {}, "All numbers"));
    const createNumberRow = ([text, value]) =>
      createRow([text], createElement("td", { className: "number" }, formatNumber(value)));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1)
        details.append(createTable(title, [createHead("Token"), createHead("Number")], numbered.map(createNumberRow)));
    });
    return [createElement("p", { className: "most" }, `Highest: ${listed}.${sum}`), details];
  };

  const createAgreement = (reader, reading, name, level) => {
    if (!(name in reading.agreement)) return "";
    const { mean, questions } = reader.agreement[name][level];
    const format = (value) => value === null ? "cannot be told" : withMinus(value.toFixed(2));
    const here = format(reading.agreement[name][level]);
    return createElement("p", { className: "agreement" },
      `Agreement with occlusion: ${here} here, ${format(mean)} on average over ${questions} questions.`);
  };

  const createPanel = (question, reader, reading, readerIndex) => {
    const [index, sequenceControl] = chooseSequence(question, reading, readerIndex);
    const sequence = reading.sequences[index];
    const isOnPassage = (name) => reader.legend[name].on === "passage";
    const article = createElement("article",
      { id: `reader-${readerIndex}`, ariaLabel: `${reader.reader}, trial ${reader.trial_id}` },
      createElement("h3", {}, reader.reader, createElement("small", {}, `trial ${reader.trial_id}`)), sequenceControl);
    const outputs = ["start", "end", "occlusion"];
    if (Object.keys(reader.legend).every((name) => outputs.includes(name)))
      article.append(createElement("p", { className: "quiet" }, "This reader has no attention maps."));
    const names = Object.keys(sequence.maps).toSorted((left, right) => isOnPassage(right) - isOnPassage(left));
    if (!names.length) {
      article.append(createElement("p", { className: "read" }, question.passage));
      return article;
    }
    const [name, mapControl] = chooseMap(names, readerIndex);
    const legend = reader.legend[name], levels = sequence.maps[name];
    const [level, levelControl] = chooseLevel(legend, levels.length, readerIndex);
    const tokens = sequence.tokens[isOnPassage(name) ? "passage" : "question"], numbers = levels[level];
    const source = { passage: question.passage, question: sequence.texts[0], option: sequence.texts[1] ?? "" };
    article.append(mapControl,
      createElement("p", { className: "quiet" }, explainMap(legend, sequence.texts)), levelControl,
      ...createShadedText(tokens, source, legend, numbers, answerMarker(question, reading)),
      isOnPassage(name) ? "" : createElement("p", { className: "read" }, question.passage),
      index === reading.sequence ? createAgreement(reader, reading, name, level) : "",
      ...createNumbers(`${formatName(name)} of ${reader.reader}`, legend,
        tokens.map((token, position) => [textOf(token, source), numbers[position]])));
    return article;
  };

  // Redraw the page; the control that was used keeps the focus.
  const show = (focusedId) => {
    const index = byId("question").selectedIndex, question = data.questions[index];
    byId("asked").textContent = question.question;
    byId("about").textContent =
      [question.question_id, question.split, question.subset].filter(Boolean).join(" \u00b7 ");
    const hasOptions = question.readings.every((reading) => reading.probabilities);
    byId("answers").replaceChildren((hasOptions ? createOptionTable : createAnswerTable)(question));
    byId("readers").replaceChildren(...data.readers.map((reader, readerIndex) =>
      createPanel(question, reader, question.readings[readerIndex], readerIndex)));
    byId("before").disabled = index === 0;
    byId("next").disabled = index === data.questions.length - 1;
    if (focusedId) byId(focusedId)?.focus();
  };

  const goTo = (index) => {
    byId("question").selectedIndex = index;
    for (const choice of choices) choice.sequence = null;
    show();
  };

  byId("question").append(...data.questions.map((question, index) => {
    const differ = new Set(question.readings.map((reading) => reading.prediction)).size > 1;
    const text = `${index + 1}. ${question.question.slice(0, 90)}${differ ? " (answers differ)" : ""}`;
    return createElement("option", { value: question.question_id }, text);
  }));
  byId("question").addEventListener("change", () => goTo(byId("question").selectedIndex));
  byId("before").addEventListener("click", () => goTo(byId("question").selectedIndex - 1));
  byId("next").addEventListener("click", () => goTo(byId("question").selectedIndex + 1));
  goTo(0);
})();
