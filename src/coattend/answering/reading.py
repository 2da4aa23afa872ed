"""Questions that are ready to be read, and what a reader answers to one of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads

from coattend.answering.evidence import evidence
from coattend.answering.processing import Processing
from coattend.parameters import EncoderParameters
from coattend.readers.reader import Reader
from coattend.tables import QUESTIONS
from coattend.training.answers import Answer, answers_in
from coattend.training.chosen import Chosen, chosen, likeliest, of_options
from coattend.training.data import QuestionSet, Source
from coattend.training.examples import build_examples
from coattend.training.layout import Layout
from coattend.training.looking import Look, look
from coattend.training.plan import Plan

WORDS = 5
"""Words of the passage that are told with their probabilities."""

_COLUMNS = ("question_id", "passage_id", "task", "question", "options", "label", "answers")


@dataclass(frozen=True)
class Reading:
    """Questions as evaluation would ask them.

    Attributes:
        plan: How they are read.
        asked: The questions.
    """

    plan: Plan
    asked: QuestionSet

    @classmethod
    def of(cls, rows: Sequence[dict[str, Any]], processing: Processing) -> "Reading":
        """Put questions and their tokens together.

        Args:
            rows: Rows of a questions table, each with its ``passage``.
            processing: What makes the reader's tokens of texts.
        """
        recipe, read = processing.recipe, processing(rows)
        texts = {row["question_id"]: row["passage"] for row in rows}
        questions = pa.Table.from_pylist(list(rows), schema=pa.schema([QUESTIONS.field(name) for name in _COLUMNS]))
        passages = pads.dataset(pa.table({"passage_id": list(texts), "text": list(texts.values())}))
        how = {"fill_blanks": recipe.fill_blanks, "words_as_options": recipe.words_as_options}
        training, special = recipe.training, read.layout.count
        layout = Layout(training.max_length, special, training.stride, training.stride_counts, **how)
        examples, unreadable = build_examples(questions, passages, read.tokens, layout)
        plan = Plan(
            benchmark=recipe.benchmark,
            name=recipe.name,
            reader=recipe.reader,
            head=recipe.head,
            options=recipe.options,
            encoder=EncoderParameters(source=processing.source),
            training=training,
            source=Source(
                recipe.benchmark, pads.dataset(questions), passages, read.tokens, recipe.task, special, **how
            ),
            layout=read.layout,
            pieces=read.pieces,
        )
        return cls(plan, QuestionSet(questions, texts, read.tokens, examples, unreadable))

    def unreadable(self) -> dict[str, str]:
        """Questions that cannot be read, and why."""
        return {one.question_id: one.reason for one in self.asked.unreadable}

    def answer(self, reader: Reader, name: str, *, threshold: float | None, listed: bool) -> dict[str, Any]:
        """What a reader answers to a question, with what it looked at.

        Args:
            reader: The reader.
            name: The question's id.
            threshold: No answer is given where its score exceeds the best span's by more than this; None: always one.
            listed: Whether options were given, whose probabilities are told one by one.
        """
        example = next(one for one in self.asked.examples if one.question_id == name)
        longest = self.plan.training.max_answer_length
        seen = look(reader, self.plan, self.asked, example)
        made = chosen(seen.output, seen.batch, max_length=longest, threshold=threshold)
        collator = self.plan.collator(reader, self.asked)
        (given,) = answers_in(
            seen.output,
            seen.batch,
            [example],
            collator=collator,
            tokens=self.asked.tokens,
            max_answer_length=longest,
            softmaxed=self.plan.scores_are_softmaxed,
        )
        row = self.asked.rows[name]
        if self.plan.source.task == "span":
            told = self._span(seen, made, given, threshold, self.asked.texts[name])
        else:
            told = _choice(collator.words(example), seen, given, row["options"], listed=listed)
        return told | {"evidence": evidence(reader, seen, made.sequence)}

    def _span(self, seen: Look, made: Chosen, given: Answer, threshold: float | None, passage: str) -> dict[str, Any]:
        longest, softmaxed = self.plan.training.max_answer_length, self.plan.scores_are_softmaxed
        null_score = given.null_score - given.span_score
        window = chosen(seen.output, seen.batch, max_length=longest, threshold=None).sequence
        tokens = seen.sequences[window].passage
        best = likeliest(seen.output, seen.batch, window, max_length=longest, softmaxed=softmaxed)
        spans = [(tokens[first].start, tokens[last].end, probability) for first, last, probability in best]
        answered = threshold is None or null_score <= threshold
        return {
            "answer": passage[given.start : given.end] if answered else "",
            "label": None,
            "start": given.start if answered else None,
            "end": given.end if answered else None,
            "choices": [passage[start:end] for start, end, _ in spans],
            "probabilities": [probability for _, _, probability in spans],
            "null_score": null_score,
        }


def _choice(words: Sequence[str], seen: Look, given: Answer, options: Sequence[str], *, listed: bool) -> dict[str, Any]:
    """An option, or a word of the passage.

    Args:
        words: The distinct words of the passage, by their numbers.
        seen: What the reader made of the question.
        given: What it chose.
        options: What it chose from, unless it chose from all words.
        listed: Whether these were given, so that each is told.
    """
    if given.scores is None:
        answer, choices, probabilities = given.word, words, seen.output.word_mass[0].tolist()
        label = list(options).index(answer) if answer in options else None
    else:
        answer, choices, probabilities = options[given.choice], options, of_options(seen.output)[0].tolist()
        label = given.choice
    pairs = list(zip(choices, probabilities, strict=False))
    if given.scores is None or not listed:
        pairs = sorted(pairs, key=lambda pair: -pair[1])[:WORDS]
    return {
        "answer": answer,
        "label": label if listed else None,
        "start": None,
        "end": None,
        "choices": [choice for choice, _ in pairs],
        "probabilities": [probability for _, probability in pairs],
        "null_score": None,
    }
