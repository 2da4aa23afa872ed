"""What the attention page does when a question, a map or a turn is chosen."""

SCRIPT = r"""
(() => {
  const { make, minus, number, percent, words, head, row, table } = drawing;
  const at = (id) => document.getElementById(id);
  const data = JSON.parse(at("data").textContent);
  // What is shown of each reader stays as it was chosen when the question changes, as far as it can.
  const shown = data.readers.map(() => ({ map: null, level: 0, sequence: null }));

  const isKnown = (question) => (question.label ?? question.answers) !== null;
  const verdict = (question, reading) => {
    if (!isKnown(question)) return "right answer not known";
    return make("span", { className: reading.correct ? "right" : "wrong" }, reading.correct ? "right" : "wrong");
  };
  const named = (reader) => head(reader.reader, make("small", {}, reader.trial_id));

  const options = (question) => table("Options and their probabilities", [head("Option"), ...data.readers.map(named)],
    question.options.map((option, place) => row(
      [option, place === question.label ? make("small", { className: "right" }, "right answer") : ""],
      ...question.readings.map((reading) => make("td", {}, percent(reading.probabilities[place]),
        make("span", { className: "bar", style: `width:${100 * reading.probabilities[place]}%`, ariaHidden: "true" }),
        place === reading.label ? make("small", {}, "chosen, ", verdict(question, reading)) : "")))));

  const others = (question) => {
    const golds = question.options ? [question.options[question.label]].filter(Boolean)
      : (question.answers ?? []).map((answer) => answer.text);
    const cells = (made) => question.readings.map((reading) => make("td", {}, ...made(reading)));
    const rows = [row(["Chosen"], ...cells((reading) =>
      [reading.prediction || "no answer",
        make("small", {}, `${percent(reading.probability)}, `, verdict(question, reading))]))];
    if (question.readings.some((reading) => reading.spans)) {
      rows.push(row(["Best spans"], ...cells((reading) => reading.spans.map((span) =>
        make("div", {}, question.passage.slice(span.start, span.end), make("small", {}, percent(span.probability)))))));
      rows.push(row(["No answer"], ...cells((reading) => [percent(reading.nothing)])));
    }
    const right = isKnown(question) ? [...new Set(golds)].join(" | ") || "no answer" : "not known";
    return make("div", {}, make("p", {}, "Right answer: ", make("span", { className: "right" }, right)),
      table("Answers and their probabilities", [head(""), ...data.readers.map(named)], rows));
  };

  const explained = (how, texts) => {
    const whole = texts.length > 1 ? "question and option" : "the question";
    const on = { passage: "the passage", question: whole, asked: "the question", option: "the option" };
    if (how.kind === "drop")
      return "How much less probable the chosen answer is without each word; below zero it is more probable.";
    if (how.kind === "score") return `A score of each token of ${on[how.on]}, from 0 to 1; they do not add up to one.`;
    if (how.by) return `What the tokens of ${on[how.by]} see of ${on[how.on]}, on average over them.`;
    return `The share of each token of ${on[how.on]}.`;
  };

  const sequenceOf = (question, reading, which) => {
    const state = shown[which], count = reading.sequences.length;
    const place = state.sequence !== null && state.sequence < count ? state.sequence : reading.sequence;
    if (count === 1) return [place, ""];
    const name = (number) => reading.probabilities ? question.options[number] : `part ${number + 1}`;
    const told = (number) => `${name(number)}${number === reading.sequence ? " (chosen)" : ""}`;
    const pick = make("select", { id: `sequence-${which}` }, ...reading.sequences.map((_, one) =>
      make("option", { value: one, selected: one === place }, told(one))));
    pick.addEventListener("change", () => { state.sequence = Number(pick.value); show(pick.id); });
    const label = make("label", { htmlFor: pick.id }, reading.probabilities ? "Read with" : "Part of the passage");
    return [place, make("div", { className: "controls" }, label, pick)];
  };

  const mapOf = (names, which) => {
    const name = names.includes(shown[which].map) ? shown[which].map : names[0];
    const choices = names.map((one) => {
      const id = `map-${which}-${one}`;
      const input = make("input", { type: "radio", name: `map-${which}`, id, value: one, checked: one === name });
      input.addEventListener("change", () => { shown[which].map = one; show(id); });
      return make("label", {}, input, words(one));
    });
    return [name, make("fieldset", {}, make("legend", {}, "Map"), ...choices)];
  };

  const levelOf = (how, count, which) => {
    const level = Math.min(shown[which].level, count - 1);
    if (count === 1) return [level, ""];
    const id = `level-${which}`, told = `${how.level} ${level + 1} of ${count}`;
    const slider = make("input", { type: "range", id, min: "1", max: String(count), step: "1" });
    slider.value = level + 1;
    slider.setAttribute("aria-valuetext", told);
    slider.addEventListener("input", () => { shown[which].level = Number(slider.value) - 1; show(id); });
    const label = make("label", { htmlFor: id }, how.level);
    return [level, make("div", { className: "level" }, label, slider, make("output", {}, told))];
  };

  const marked = (question, reading) => {
    const golds = (question.answers ?? []).map((one) => [one.start, one.start + one.text.length, "gold"]);
    const best = reading.prediction && reading.spans ? [[reading.spans[0].start, reading.spans[0].end, "chosen"]] : [];
    return (element, token) => {
      if (token[0] !== "passage" || drawing.isSpecial(token)) return;
      for (const [start, end, name] of [...golds, ...best])
        if (token[1] < end && token[2] > start) element.classList.add(name);
    };
  };

  const shadedText = (tokens, source, how, numbers, mark) => {
    const most = drawing.darkest(how, numbers, tokens), pointed = make("output", { className: "quiet" }, "\u00a0");
    const line = drawing.written(tokens, source, (element, place) => {
      drawing.shade(element, numbers[place], most);
      mark(element, tokens[place]);
      element.title = `${drawing.textOf(tokens[place], source)}: ${number(numbers[place])}`;
      return element;
    });
    line.addEventListener("click", (event) => {
      const token = event.target.closest(".token");
      if (!token) return;
      line.querySelectorAll(".pointed").forEach((one) => one.classList.remove("pointed"));
      token.classList.add("pointed");
      pointed.textContent = token.title;
    });
    return [drawing.scale(how, most), line, pointed];
  };

  const inNumbers = (title, how, texted) => {
    const highest = [...texted].sort((one, other) => other[1] - one[1]).slice(0, 5);
    const whole = how.kind === "share" ? ` All together ${number(texted.reduce((sum, one) => sum + one[1], 0))}.` : "";
    const told = highest.map(([text, value]) => `${text} ${number(value)}`).join(", ");
    const details = make("details", {}, make("summary", {}, "All numbers"));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(table(title, [head("Token"), head("Number")],
        texted.map(([text, value]) => row([text], make("td", { className: "number" }, number(value))))));
    });
    return [make("p", { className: "most" }, `Highest: ${told}.${whole}`), details];
  };

  const agreed = (reader, reading, name, level) => {
    if (!(name in reading.agreement)) return "";
    const here = reading.agreement[name][level], { mean, questions } = reader.agreement[name][level];
    const told = (value) => value === null ? "cannot be told" : minus(value.toFixed(2));
    return make("p", { className: "agreement" },
      `Agreement with occlusion: ${told(here)} here, ${told(mean)} on average over ${questions} questions.`);
  };

  const panel = (question, reader, reading, which) => {
    const [place, sequences] = sequenceOf(question, reading, which);
    const sequence = reading.sequences[place], legend = reader.legend;
    const onPassage = (name) => legend[name].on === "passage";
    const names = Object.keys(sequence.maps).sort((one, other) => onPassage(other) - onPassage(one));
    const title = make("h3", {}, reader.reader, make("small", {}, `trial ${reader.trial_id}`));
    const article = make("article", { id: `reader-${which}`, ariaLabel: `${reader.reader}, trial ${reader.trial_id}` },
      title, sequences);
    if (!Object.keys(legend).some((name) => !["start", "end", "occlusion"].includes(name)))
      article.append(make("p", { className: "quiet" }, "This reader has no attention maps."));
    if (!names.length) {
      article.append(make("p", { className: "read" }, question.passage));
      return article;
    }
    const [name, maps] = mapOf(names, which);
    const how = legend[name], values = sequence.maps[name];
    const [level, levels] = levelOf(how, values.length, which);
    const tokens = sequence.tokens[onPassage(name) ? "passage" : "question"], numbers = values[level];
    const source = { passage: question.passage, question: sequence.texts[0], option: sequence.texts[1] ?? "" };
    const texted = tokens.map((token, one) => [drawing.textOf(token, source), numbers[one]]);
    article.append(maps, make("p", { className: "quiet" }, explained(how, sequence.texts)), levels,
      ...shadedText(tokens, source, how, numbers, marked(question, reading)),
      onPassage(name) ? "" : make("p", { className: "read" }, question.passage),
      place === reading.sequence ? agreed(reader, reading, name, level) : "",
      ...inNumbers(`${words(name)} of ${reader.reader}`, how, texted));
    return article;
  };

  const show = (focus) => {
    const place = at("question").selectedIndex, question = data.questions[place];
    at("asked").textContent = question.question;
    at("about").textContent = [question.question_id, question.split, question.subset].filter(Boolean).join(" \u00b7 ");
    const chosen = question.readings.every((reading) => reading.probabilities);
    at("answers").replaceChildren((chosen ? options : others)(question));
    at("readers").replaceChildren(
      ...data.readers.map((reader, which) => panel(question, reader, question.readings[which], which)));
    at("before").disabled = place === 0;
    at("next").disabled = place === data.questions.length - 1;
    if (focus) at(focus)?.focus();
  };

  at("question").append(...data.questions.map((question, place) => {
    const differ = new Set(question.readings.map((reading) => reading.prediction)).size > 1 ? " (answers differ)" : "";
    return make("option", { value: question.question_id }, `${place + 1}. ${question.question.slice(0, 90)}${differ}`);
  }));
  const go = (place) => {
    at("question").selectedIndex = place;
    for (const state of shown) state.sequence = null;
    show();
  };
  at("question").addEventListener("change", () => go(at("question").selectedIndex));
  at("before").addEventListener("click", () => go(at("question").selectedIndex - 1));
  at("next").addEventListener("click", () => go(at("question").selectedIndex + 1));
  go(0);
})();
"""
