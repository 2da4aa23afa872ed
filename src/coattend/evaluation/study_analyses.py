"""All analyses that a study asks for, over one benchmark."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.evaluation import analyses, breakdowns, groups
from coattend.evaluation.answer_pos import parts_of_speech
from coattend.evaluation.runs import Run, home_of
from coattend.parameters import BenchmarkParameters, StudyParameters
from coattend.tables import BREAKDOWNS
from coattend.text.passages import passage_texts


@dataclass(frozen=True)
class Material:
    """What a benchmark's analyses read.

    Attributes:
        benchmark: What is asked.
        questions: Its questions.
        passages: Its passages.
        tags: Tagging profile to its tags table and the tags by their ids.
        read: Variant to the tagging profile that it reads.
    """

    benchmark: BenchmarkParameters
    questions: pads.Dataset
    passages: pads.Dataset
    tags: Mapping[str, tuple[pads.Dataset, Sequence[str]]]
    read: Mapping[str, str]

    @cached_property
    def asked(self) -> pa.Table:
        """The questions with all that analyses ask of them."""
        return self.questions.to_table(columns=breakdowns.COLUMNS)

    @cached_property
    def texts(self) -> dict[str, str]:
        """Text by passage id, of passages that are asked about outside of training."""
        scored = self.asked.filter(pc.not_equal(self.asked["split"].cast(pa.string()), groups.TRAINING_SPLIT))
        return passage_texts(self.passages, scored["passage_id"])

    def with_pos(self, questions: pa.Table, tagging: str) -> pa.Table:
        """Questions with the parts of speech of their answers, by the tags of one profile."""
        parts = parts_of_speech(questions, self.texts, *self.tags[tagging], benchmark=self.benchmark)
        return questions.append_column(breakdowns.POS, pa.array(parts, pa.string()))

    def runs(self, parts: Mapping[str, tuple[dict[str, Any] | None, pads.Dataset | None]]) -> list[Run]:
        """The variants that were run, on the subsets that all of them were trained on.

        Args:
            parts: Variant to what its trials came to and answered; None where it was not run.
        """
        given = [(outcome, table) for outcome, table in parts.values() if outcome is not None and table is not None]
        home = home_of(self.benchmark.name, [outcome for outcome, _ in given])
        made = (Run.of(outcome, table.to_table(), self.asked, home) for outcome, table in given)
        return [run for run in made if run is not None]


def breakdown_table(about: StudyParameters, material: Material, runs: Sequence[Run]) -> pa.Table:
    """The metrics of each variant in groups of questions, as `coattend.tables.BREAKDOWNS`."""
    alike: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        alike.setdefault((run.task, material.read[run.variant]), []).append(run)
    rows = [
        {"benchmark": material.benchmark.name, "title": about.variants[row["variant"]].title} | row
        for (task, tagging), own in alike.items()
        for row in analyses.breakdown_rows(task, own, material.with_pos(own[0].asked, tagging), material.texts)
    ]
    places = {variant: place for place, variant in enumerate(about.variants)}
    return pa.Table.from_pylist(sorted(rows, key=lambda row: places[row["variant"]]), BREAKDOWNS)


def analyse(about: StudyParameters, material: Material, runs: Sequence[Run]) -> dict[str, Any]:
    """What a study shows beside scores, by the name that it asks for it with; ``calibration``; and, as ``scored``, the
    share of the benchmark's questions that is asked."""
    found = {name: _ANALYSES[name](about, material, runs) for name in about.shows if name in _ANALYSES}
    calibration = {run.variant: analyses.calibration_of(run) for run in runs}
    return found | {"calibration": calibration, "scored": material.benchmark.scored}


def _ensembles(about: StudyParameters, material: Material, runs: Sequence[Run]) -> dict[str, Any]:
    return {run.variant: list(analyses.ensemble_rows(run)) for run in runs}


def _boundaries(about: StudyParameters, material: Material, runs: Sequence[Run]) -> dict[str, Any]:
    return {
        run.variant: analyses.boundary_counts(
            run, material.texts, analyses.Tagging(*material.tags[material.read[run.variant]])
        )
        for run in runs
    }


def _examples(about: StudyParameters, material: Material, runs: Sequence[Run]) -> list[dict[str, Any]]:
    asked = [one for one in about.examples if one.benchmark == material.benchmark.name]
    found = ((one.question, analyses.example_of(one, material.asked, runs)) for one in asked)
    return [example or {"question": question, "missing": True} for question, example in found]


def _reranked(about: StudyParameters, material: Material, runs: Sequence[Run]) -> dict[str, Any]:
    from coattend.evaluation.reranking.rerank import rerank

    changes = {}
    for run in runs:
        if run.task != "word" or run.predictions["scores"].null_count:
            continue
        tags, _ = material.tags[material.read[run.variant]]
        given = (run.predictions, material.asked.filter(pc.equal(material.asked["task"].cast(pa.string()), "word")))
        _, changes[run.variant] = rerank(
            *given, material.passages, tags, head=run.head, trials=run.seed_of, parameters=material.benchmark.reranking
        )
    return changes


_ANALYSES: dict[str, Callable[[StudyParameters, Material, Sequence[Run]], Any]] = {
    "ensemble": _ensembles,
    "boundary_pos": _boundaries,
    "predictions": _examples,
    "reranking": _reranked,
}
