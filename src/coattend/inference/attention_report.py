"""Explain the answers of one or two trials: attention maps, probabilities and occlusion."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from coattend.batches.dataset import QuestionSet
from coattend.batches.examples import Example
from coattend.config import AttentionParameters, BenchmarkParameters
from coattend.errors import CoattendError
from coattend.inference.attention_maps import (
    ForwardTrace,
    Token,
    TracedSequence,
    attention_rows,
    question_texts,
    trace_forward,
)
from coattend.inference.attention_records import (
    AttentionQuestion,
    AttentionReader,
    AttentionReading,
    AttentionReadings,
    MapLegend,
    ReadingScore,
    SpanCandidate,
)
from coattend.inference.decoding import (
    Answer,
    OptionAnswer,
    ScoredSpan,
    SpanAnswer,
    option_probabilities,
    span_probabilities,
    top_spans,
)
from coattend.inference.explanation_agreement import mean_agreement, rank_correlation, word_values
from coattend.inference.occlusion import Occlusion, occlude
from coattend.inference.predict import predict
from coattend.inference.scoring import score_answers
from coattend.inference.select_questions import select_by_id, select_from_split
from coattend.io.table_store import StoredTables
from coattend.readers.interfaces import require
from coattend.readers.legend import MapSpec
from coattend.readers.reader import Reader
from coattend.schemas import QuestionRow
from coattend.trials.device import device_and_precision
from coattend.trials.experiment import Experiment
from coattend.trials.run_spec import restore_experiment
from coattend.trials.store import FinishedTrial, benchmark_of, find_trial
from coattend.trials.trial import check_weights

logger = logging.getLogger(__name__)

OCCLUSION = MapSpec(("passage",), kind="drop")
"""Legend of the map of occlusion."""


@dataclass(frozen=True)
class TrialExplainer:
    """A trained reader and the questions that it can explain its answers to: those of every split but train."""

    trial: FinishedTrial
    experiment: Experiment
    questions: QuestionSet
    reader: Reader

    @classmethod
    def load(cls, trial: FinishedTrial, experiment: Experiment) -> "TrialExplainer":
        """Load a trial's reader and read its questions."""
        check_weights(trial.folder / "model", trial.outcome["model_digest"])
        reader = Reader.load(trial.folder / "model").to(device_and_precision(experiment.training)[0])
        return cls(trial, experiment, experiment.source.evaluation(experiment.training), reader)

    def explain(self, example: Example, *, occlusion: bool) -> tuple[pa.Table, AttentionReading, dict[str, MapLegend]]:
        """Explain the answer to one question, masking each word of its passage in turn for occlusion.

        Returns:
            Rows of the attention table, the answer with its probabilities, and the legend of its maps.
        """
        trace = trace_forward(self.reader, self.experiment, self.questions, example)
        answer: Answer = trace.answer.decide(self.trial.outcome["null_threshold"])
        sequence, legend = trace.sequences[answer.sequence], dict(trace.legend)
        agreement: dict[str, list[float | None]] = {}
        if occlusion:
            occluded = occlude(self.reader, self.experiment, self.questions, answer)
            agreement = _agreement(sequence, legend, occluded)
            # Occlusion is shown as one more map.
            sequence.maps["occlusion"] = occluded.token_drops()[None]
            legend["occlusion"] = OCCLUSION
        rows = attention_rows(example.question_id, self.trial.id, trace.sequences, legend)
        reading = self._reading(trace, answer, agreement)
        return rows, reading, {name: _map_legend(legend[name], len(levels)) for name, levels in sequence.maps.items()}

    def _reading(
        self, trace: ForwardTrace, answer: Answer, agreement: dict[str, list[float | None]]
    ) -> AttentionReading:
        """Describe the decided answer with the probabilities of it and of its alternatives."""
        question = self.questions.rows[answer.example.question_id]
        softmaxed, spans, nothing = self.experiment.scores_are_softmaxed, None, None
        probability = answer.probability(trace.output, softmaxed=softmaxed)
        if isinstance(answer, SpanAnswer):
            window, max_length = answer.sequence, self.experiment.training.max_answer_length
            tokens = trace.sequences[window].passage
            top = top_spans(trace.output, trace.batch, window, max_length=max_length, softmaxed=softmaxed)
            spans = [_span_candidate(tokens, span) for span in top]
            start, end = span_probabilities(trace.output, softmaxed=softmaxed)
            nothing = float(start[window, 0] * end[window, 0])
            # Only spans have a probability in each sequence.
            probability = probability[window:]
        is_choice = isinstance(answer, OptionAnswer)
        texts = question_texts(self.experiment, question)
        # Windows share these domains.
        texts = texts * (len(answer.example.sequences) // len(texts))
        return {
            **self._score(trace.answer, question),
            "sequence": answer.sequence,
            "probabilities": option_probabilities(trace.output)[0].tolist() if is_choice else None,
            "spans": spans,
            "nothing": nothing,
            "probability": float(probability[0]),
            "agreement": agreement,
            "sequences": [{"texts": domain_texts} for domain_texts in texts],
        }

    def _score(self, answer: Answer, question: QuestionRow) -> ReadingScore:
        """Score the answer as evaluation does."""
        outcome = self.trial.outcome
        table = score_answers(
            [answer],
            replace(self.questions, questions=pa.Table.from_pylist([question])),
            trial_id=self.trial.id,
            seed=outcome["seed"],
            threshold=outcome["null_threshold"],
        )
        scores: list[ReadingScore] = table.select(["prediction", "label", "correct", "f1"]).to_pylist()
        return scores[0]


def _span_candidate(tokens: Sequence[Token], span: ScoredSpan) -> SpanCandidate:
    """Give a span's characters in place of its tokens, which are no special ones."""
    start, end = require(tokens[span.first].start, "token.start"), require(tokens[span.last].end, "token.end")
    return {"start": start, "end": end, "probability": span.probability}


def _agreement(
    sequence: TracedSequence, legend: Mapping[str, MapSpec], occlusion: Occlusion
) -> dict[str, list[float | None]]:
    """Return the rank correlation of each map of the passage with occlusion, by turn or head."""
    agreement = {}
    for name, values in sequence.maps.items():
        if legend[name].seen == "passage":
            # Shares of a word's tokens add up; scores do not.
            reduction: Literal["sum", "mean"] = "mean" if legend[name].kind == "score" else "sum"
            by_word = [
                word_values(level, occlusion.words, count=len(occlusion.drops), reduction=reduction) for level in values
            ]
            agreement[name] = [rank_correlation(level, occlusion.drops) for level in by_word]
    return agreement


def _map_legend(spec: MapSpec, levels: int) -> MapLegend:
    return {"on": spec.seen, "by": spec.by, "level": spec.level, "levels": levels, "kind": spec.kind}


def explain_trials(
    parameters: AttentionParameters, benchmarks: Mapping[str, Any], store: Path, tables: StoredTables
) -> tuple[pa.Table, AttentionReadings]:
    """Explain the answers of one or two trials to selected questions.

    Returns:
        The attention table, and the readers, questions and answers with the agreement of maps and occlusion.
    """
    trials = _find_trials(parameters, store)
    benchmark = _common_benchmark(trials, benchmarks)
    restored = (
        restore_experiment(trial, tables, benchmark, parameters.tagging, tagging_parameter="attention.tagging")
        for trial in trials
    )
    explainers = list(map(TrialExplainer.load, trials, restored))
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
    readings_by_trial: list[Sequence[AttentionReading]] = []
    for explainer in explainers:
        example_by_id = {example.question_id: example for example in explainer.questions.examples}
        explanations = [explainer.explain(example_by_id[name], occlusion=occlusion) for name in question_ids]
        tables_of_trial, readings, legends = zip(*explanations, strict=True)
        maps += tables_of_trial
        readings_by_trial.append(readings)
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
    return benchmark_of(trials[0], benchmarks)


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
    return {
        "question_id": question_id,
        "split": row["split"],
        "subset": row["subset"],
        "question": row["question"],
        "options": row["options"],
        "label": row["label"],
        "answers": row["answers"],
        "answerable": row["answerable"],
        "passage": questions.texts[question_id],
        "readings": readings,
    }


def _reader_record(
    trial: FinishedTrial, readings: Sequence[AttentionReading], legends: Sequence[Mapping[str, MapLegend]]
) -> AttentionReader:
    """Describe a reader, the legend of its maps, and their agreement with occlusion over all questions."""
    content = trial.content
    return {
        "trial_id": content["trial_id"],
        "reader": content["reader"],
        "head": content["head"],
        "seed": content["seed"],
        "options": content["options"],
        "encoder": trial.outcome["encoder"],
        "legend": {name: map_legend for question in legends for name, map_legend in question.items()},
        "agreement": mean_agreement(readings),
    }
