"""One question as one trained reader sees it: maps, answer, probabilities and, if wanted, occlusion."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from coattend.evaluation import agreement
from coattend.readers.legend import Reading
from coattend.readers.reader import Reader
from coattend.training.answers import answer
from coattend.training.attention_rows import rows_of
from coattend.training.chosen import Chosen, chosen, likeliest, of_options, of_spans
from coattend.training.data import QuestionSet
from coattend.training.examples import Example
from coattend.training.finished import FinishedTrial
from coattend.training.looking import Look, look, texts_of
from coattend.training.marking import mark
from coattend.training.occlusion import Occlusion, occlude
from coattend.training.plan import Plan

OCCLUSION = Reading(("passage",), kind="drop")
"""How the map of what hiding a word does is read."""


@dataclass(frozen=True)
class Seeing:
    """A trained reader and what it may be asked.

    Attributes:
        trial: The trial.
        plan: Its plan.
        asked: The questions of every split but train.
        reader: The reader.
    """

    trial: FinishedTrial
    plan: Plan
    asked: QuestionSet
    reader: Reader

    @classmethod
    def of(cls, trial: FinishedTrial, plan: Plan) -> "Seeing":
        """Load a trial's reader."""
        reader = Reader.load(trial.folder / "model").to(plan.precision()[0])
        return cls(trial, plan, plan.source.scored(plan.training), reader)

    def question(self, example: Example, *, occlusion: bool) -> tuple[pa.Table, dict[str, Any]]:
        """The rows of a question, and what else there is to say about it.

        Args:
            example: The question.
            occlusion: Whether each word of its passage is hidden in turn.
        """
        longest, threshold = self.plan.training.max_answer_length, self.trial.outcome["null_threshold"]
        seen = look(self.reader, self.plan, self.asked, example)
        made = chosen(seen.output, seen.batch, max_length=longest, threshold=threshold)
        hidden = occlude(self.reader, self.plan, self.asked, example, made) if occlusion else None
        agreed = {} if hidden is None else _agreement(seen, made, hidden)
        legend = dict(seen.legend)
        if hidden is not None:
            seen.sequences[made.sequence].maps["occlusion"] = hidden.of_tokens()[None]
            legend["occlusion"] = OCCLUSION
        shown = seen.sequences[made.sequence].maps
        told = self._answered(example) | self._probabilities(seen, made) | {"agreement": agreed}
        return rows_of(example.question_id, self.trial.id, seen.sequences, legend), told | {
            "sequences": self._given(example),
            "legend": {name: _told(legend[name], len(values)) for name, values in shown.items()},
        }

    def _answered(self, example: Example) -> dict[str, Any]:
        """The answer, and whether it is right."""
        training, outcome = self.plan.training, self.trial.outcome
        found = answer(
            self.reader,
            [example],
            collator=self.plan.collator(self.reader, self.asked),
            tokens=self.asked.tokens,
            tokens_per_batch=training.tokens_per_batch,
            bf16=False,
            max_answer_length=training.max_answer_length,
            softmaxed=self.plan.scores_are_softmaxed,
        )
        one = replace(self.asked, questions=pa.Table.from_pylist([self.asked.rows[example.question_id]]))
        row = mark(found, one, trial_id=self.trial.id, seed=outcome["seed"], threshold=outcome["null_threshold"])
        return row.select(["prediction", "label", "correct", "f1"]).to_pylist()[0]

    def _probabilities(self, seen: Look, made: Chosen) -> dict[str, Any]:
        """How probable the answer is, and what else could have been chosen."""
        output, window = seen.output, made.sequence
        told: dict[str, Any] = {"sequence": window, "probabilities": None, "spans": None, "nothing": None}
        if output.scores is not None:
            of_each = of_options(output)[0].tolist()
            return told | {"probabilities": of_each, "probability": of_each[made.option]}
        if made.word is not None:
            return told | {"probability": float(output.word_mass[0, made.word])}
        softmaxed, longest = self.plan.scores_are_softmaxed, self.plan.training.max_answer_length
        tokens = seen.sequences[window].passage
        best = likeliest(output, seen.batch, window, max_length=longest, softmaxed=softmaxed)
        start, end = (side[window] for side in of_spans(output, softmaxed=softmaxed))
        return told | {
            "spans": [{"start": tokens[a].start, "end": tokens[b].end, "probability": p} for a, b, p in best],
            "nothing": float(start[0] * end[0]),
            "probability": float(start[made.span[0]] * end[made.span[1]]),
        }

    def _given(self, example: Example) -> list[dict[str, Any]]:
        """For each sequence the texts of its question domain."""
        texts = texts_of(self.plan, self.asked.rows[example.question_id])
        return [{"texts": own} for own in (texts if len(texts) > 1 else texts * len(example.windows))]


def _agreement(seen: Look, made: Chosen, hidden: Occlusion) -> dict[str, list[float | None]]:
    """For each map of the passage, by turn or head: how well it ranks words as hiding them does."""
    found = {}
    for name, values in seen.sequences[made.sequence].maps.items():
        reading = seen.legend[name]
        if reading.seen == "passage":
            how = "mean" if reading.kind == "score" else "sum"
            of_words = [agreement.of_words(one, hidden.words, count=len(hidden.drops), how=how) for one in values]
            found[name] = [agreement.rank_correlation(one, hidden.drops) for one in of_words]
    return found


def mean_agreement(readings: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The mean agreement of each map, by turn or head, over questions.

    Args:
        readings: What `Seeing.question` told about each question.
    """
    levels = {name: len(one) for reading in readings for name, one in reading["agreement"].items()}
    found: dict[str, list[dict[str, Any]]] = {}
    for name, count in levels.items():
        every = [reading["agreement"][name] for reading in readings if name in reading["agreement"]]
        means = [agreement.mean([one[level] for one in every]) for level in range(count)]
        found[name] = [{"mean": mean, "questions": questions} for mean, questions in means]
    return found


def _told(reading: Reading, levels: int) -> dict[str, Any]:
    """How a map is read, as JSON."""
    return {"on": reading.seen, "by": reading.by, "level": reading.level, "levels": levels, "kind": reading.kind}
