"""Explain the answers of one or two trials: attention maps, probabilities and occlusion."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from coattend.batches.dataset import QuestionSet
from coattend.batches.examples import Example
from coattend.config import AttentionParameters, BenchmarkParameters
from coattend.errors import CoattendError, did_you_mean
from coattend.evaluation.records import (
    AttentionQuestion,
    AttentionReader,
    AttentionReading,
    AttentionReadings,
    LevelAgreement,
    MapLegend,
)
from coattend.inference import explanation_agreement
from coattend.inference.attention_maps import ForwardTrace, attention_rows, question_texts, trace_forward
from coattend.inference.decoding import Answer, Decision, decode, option_probabilities, span_probabilities, top_spans
from coattend.inference.occlusion import Occlusion, occlude
from coattend.inference.predict import predict
from coattend.inference.restore import restore_experiment
from coattend.inference.scoring import score_answers
from coattend.inference.select_questions import examples_of, select_by_id, select_from_split
from coattend.io.table_store import StoredTables
from coattend.readers.legend import MapSpec
from coattend.readers.reader import Reader
from coattend.trials.build import build_collator
from coattend.trials.device import device_and_precision
from coattend.trials.experiment import Experiment
from coattend.trials.store import FinishedTrial, find_trial

logger = logging.getLogger(__name__)

OCCLUSION = MapSpec(("passage",), kind="drop")
"""Legend of the map of occlusion."""

QUESTION_COLUMNS = ("question_id", "split", "subset", "question", "options", "label", "answers", "answerable")


@dataclass(frozen=True)
class TrialExplainer:
    """A trained reader and the questions that it can explain its answers to.

    Attributes:
        trial: The trial.
        experiment: Its experiment.
        questions: The questions of every split but train.
        reader: The reader.
    """

    trial: FinishedTrial
    experiment: Experiment
    questions: QuestionSet
    reader: Reader

    @classmethod
    def load(cls, trial: FinishedTrial, experiment: Experiment) -> "TrialExplainer":
        """Load a trial's reader and read its questions."""
        reader = Reader.load(trial.folder / "model").to(device_and_precision(experiment.training)[0])
        return cls(trial, experiment, experiment.source.evaluation(experiment.training), reader)

    def explain(self, example: Example, *, occlusion: bool) -> tuple[pa.Table, AttentionReading, dict[str, MapLegend]]:
        """Explain the answer to a question.

        Args:
            example: The question.
            occlusion: True to mask each word of its passage in turn.

        Returns:
            Rows of the attention table, the answer with its probabilities, and the legend of its maps.
        """
        trace = trace_forward(self.reader, self.experiment, self.questions, example)
        answer = self._decode(trace, example)
        decision = answer.decide(self.trial.outcome["null_threshold"])
        maps, legend = trace.sequences[decision.sequence].maps, dict(trace.legend)
        agreement: dict[str, list[float | None]] = {}
        if occlusion:
            occluded = occlude(self.reader, self.experiment, self.questions, example, decision)
            agreement = _agreement(trace, decision, occluded)
            # Occlusion is shown as one more map.
            maps["occlusion"] = occluded.token_drops()[None]
            legend["occlusion"] = OCCLUSION
        rows = attention_rows(example.question_id, self.trial.id, trace.sequences, legend)
        reading: Any = self._score(answer) | self._probabilities(trace, decision)
        reading |= {"agreement": agreement, "sequences": self._domain_texts(example)}
        return rows, reading, {name: _map_legend(legend[name], len(values)) for name, values in maps.items()}

    def _decode(self, trace: ForwardTrace, example: Example) -> Answer:
        (answer,) = decode(
            trace.output,
            trace.batch,
            [example],
            collator=build_collator(self.experiment, self.reader, self.questions),
            tokens=self.questions.tokens,
            max_answer_length=self.experiment.training.max_answer_length,
            softmaxed=self.experiment.scores_are_softmaxed,
        )
        return answer

    def _score(self, answer: Answer) -> dict[str, Any]:
        """Score the answer as evaluation does."""
        outcome = self.trial.outcome
        row = self.questions.rows[answer.example.question_id]
        question = replace(self.questions, questions=pa.Table.from_pylist([row]))
        table = score_answers(
            [answer], question, trial_id=self.trial.id, seed=outcome["seed"], threshold=outcome["null_threshold"]
        )
        return table.select(["prediction", "label", "correct", "f1"]).to_pylist()[0]

    def _probabilities(self, trace: ForwardTrace, decision: Decision) -> dict[str, Any]:
        """Return the probability of the answer and of its alternatives."""
        output, window = trace.output, decision.sequence
        fields: dict[str, Any] = {"sequence": window, "probabilities": None, "spans": None, "nothing": None}
        if output.scores is not None:
            probabilities = option_probabilities(output)[0].tolist()
            return fields | {"probabilities": probabilities, "probability": probabilities[decision.option]}
        if decision.word is not None:
            return fields | {"probability": float(output.word_mass[0, decision.word])}
        softmaxed, max_length = self.experiment.scores_are_softmaxed, self.experiment.training.max_answer_length
        tokens = trace.sequences[window].passage
        spans = top_spans(output, trace.batch, window, max_length=max_length, softmaxed=softmaxed)
        start, end = (side[window] for side in span_probabilities(output, softmaxed=softmaxed))
        return fields | {
            "spans": [
                {"start": tokens[span.first].start, "end": tokens[span.last].end, "probability": span.probability}
                for span in spans
            ],
            "nothing": float(start[0] * end[0]),
            "probability": float(start[decision.span[0]] * end[decision.span[1]]),
        }

    def _domain_texts(self, example: Example) -> list[dict[str, Any]]:
        """Return the texts in the question domain of each sequence."""
        texts = question_texts(self.experiment, self.questions.rows[example.question_id])
        # Windows share one domain.
        per_sequence = texts if len(texts) > 1 else texts * len(example.windows)
        return [{"texts": domain_texts} for domain_texts in per_sequence]


def _agreement(trace: ForwardTrace, decision: Decision, occlusion: Occlusion) -> dict[str, list[float | None]]:
    """Return the rank correlation of each map of the passage with occlusion, by turn or head."""
    agreement = {}
    for name, values in trace.sequences[decision.sequence].maps.items():
        spec = trace.legend[name]
        if spec.seen != "passage":
            continue
        # Shares of a word's tokens add up; scores do not.
        reduction = "mean" if spec.kind == "score" else "sum"
        by_word = [
            explanation_agreement.word_values(level, occlusion.words, count=len(occlusion.drops), reduction=reduction)
            for level in values
        ]
        agreement[name] = [explanation_agreement.rank_correlation(level, occlusion.drops) for level in by_word]
    return agreement


def mean_agreement(readings: Sequence[AttentionReading]) -> dict[str, list[LevelAgreement]]:
    """Average the agreement of each map over questions, by turn or head."""
    level_counts = {name: len(levels) for reading in readings for name, levels in reading["agreement"].items()}
    agreement: dict[str, list[LevelAgreement]] = {}
    for name, count in level_counts.items():
        by_question = [reading["agreement"][name] for reading in readings if name in reading["agreement"]]
        means = [explanation_agreement.mean_correlation([row[level] for row in by_question]) for level in range(count)]
        agreement[name] = [{"mean": mean, "questions": questions} for mean, questions in means]
    return agreement


def _map_legend(spec: MapSpec, levels: int) -> MapLegend:
    legend: Any = {"on": spec.seen, "by": spec.by, "level": spec.level, "levels": levels, "kind": spec.kind}
    return legend


def explain_trials(
    parameters: AttentionParameters, benchmarks: Mapping[str, Any], store: Path, tables: StoredTables
) -> tuple[pa.Table, AttentionReadings]:
    """Explain the answers of one or two trials to selected questions.

    Args:
        parameters: The trials and the selection of questions.
        benchmarks: Parameters of every benchmark.
        store: The folder of all trials.
        tables: The tables of all benchmarks.

    Returns:
        The attention table, and the readers, questions and answers with the agreement of maps and occlusion.

    Raises:
        CoattendError: If there is no such trial, question or table, or two trials do not answer the same questions.
    """
    trials = _find_trials(parameters, store)
    benchmark = _common_benchmark(trials, benchmarks)
    explainers = [
        TrialExplainer.load(trial, restore_experiment(trial, tables, benchmark, parameters.tagging)) for trial in trials
    ]
    task = _common_task(explainers)
    question_ids = _select_questions(parameters, explainers, store)
    occlusion = bool(parameters.occlusion)
    if occlusion:
        logger.info(
            "hiding each word of %d passages in turn, a pass over the reader for each; fewer attention.questions take "
            "less time, and attention.occlusion=false spares it",
            len(question_ids),
        )
    maps: list[pa.Table] = []
    readers: list[AttentionReader] = []
    readings_by_trial: list[list[AttentionReading]] = []
    for explainer in explainers:
        examples = examples_of(question_ids, explainer.questions)
        tables_of_trial, readings, legends = zip(
            *(explainer.explain(example, occlusion=occlusion) for example in examples), strict=True
        )
        maps += tables_of_trial
        readings_by_trial.append(list(readings))
        readers.append(_reader_record(explainer.trial, readings, legends))
    return pa.concat_tables(maps).unify_dictionaries(), {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "task": task,
        "occlusion": occlusion,
        "readers": readers,
        "questions": [
            _question_record(explainers[0].questions, question_id, readings)
            for question_id, *readings in zip(question_ids, *readings_by_trial, strict=True)
        ],
    }


def _find_trials(parameters: AttentionParameters, store: Path) -> list[FinishedTrial]:
    trials = [find_trial(store, parameters.left, "attention.left")]
    if parameters.right is not None:
        trials.append(find_trial(store, parameters.right, "attention.right"))
    if len({trial.id for trial in trials}) < len(trials):
        cure = "Name another trial, or leave it out"
        raise CoattendError("is the trial on the left once more", where="attention.right", cure=cure)
    for trial in trials:
        if trial.outcome["training"].get("reads", "all") != "all":
            cure = "Name a trial that was trained on whole questions"
            raise CoattendError("reads its questions in part only", where=f"trial {trial.id}", cure=cure)
    return trials


def _common_benchmark(trials: Sequence[FinishedTrial], benchmarks: Mapping[str, Any]) -> BenchmarkParameters:
    names = list(dict.fromkeys(trial.benchmark for trial in trials))
    if len(names) > 1:
        raise CoattendError(
            f"the two trials are of two benchmarks: {' and '.join(names)}",
            where="attention",
            cure="Choose two trials of the same one",
        )
    if names[0] not in benchmarks:
        cure = did_you_mean(names[0], list(benchmarks))
        raise CoattendError(f"no benchmark is called {names[0]!r}", where=f"trial {trials[0].id}", cure=cure)
    return BenchmarkParameters.model_validate(benchmarks[names[0]])


def _common_task(explainers: Sequence[TrialExplainer]) -> str:
    tasks = sorted({explainer.experiment.source.task for explainer in explainers})
    if len(tasks) > 1:
        raise CoattendError(
            f"the two trials answer different questions: those of the task {' and those of the task '.join(tasks)}",
            where="attention",
            cure="Choose two trials of one task",
        )
    return tasks[0]


def _select_questions(parameters: AttentionParameters, explainers: Sequence[TrialExplainer], store: Path) -> list[str]:
    question_sets = [explainer.questions for explainer in explainers]
    if parameters.ids is not None:
        return select_by_id(parameters.ids, question_sets)
    if len(explainers) == 1:
        return select_from_split(parameters, question_sets, [])
    # Predictions show where two trials differ.
    logger.info("asking both trials all questions, to find those where they differ; attention.ids spares it")
    predictions = [
        predict(explainer.experiment, explainer.trial.outcome, explainer.questions, store) for explainer in explainers
    ]
    return select_from_split(parameters, question_sets, predictions)


def _question_record(questions: QuestionSet, question_id: str, readings: list[AttentionReading]) -> AttentionQuestion:
    row = questions.rows[question_id]
    record: Any = {column: row[column] for column in QUESTION_COLUMNS}
    return record | {"passage": questions.texts[question_id], "readings": readings}


def _reader_record(
    trial: FinishedTrial, readings: Sequence[AttentionReading], legends: Sequence[Mapping[str, MapLegend]]
) -> AttentionReader:
    """Describe a reader, the legend of its maps, and their agreement with occlusion over all questions."""
    record: Any = {key: trial.content[key] for key in ("trial_id", "reader", "head", "seed", "options")}
    legend = {name: map_legend for question in legends for name, map_legend in question.items()}
    return record | {"encoder": trial.outcome["encoder"], "legend": legend, "agreement": mean_agreement(readings)}
