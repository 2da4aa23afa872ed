"""Train and evaluate a study's variant on one benchmark."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import pyarrow as pa

from coattend.batches.dataset import QuestionSet
from coattend.config import LOCAL, EngineParameters, ReaderParameters, SearchParameters
from coattend.errors import CoattendError
from coattend.evaluation.groups import COLUMNS
from coattend.evaluation.records import TrialRecord, VariantOutcome
from coattend.evaluation.runs import digest_of_scored
from coattend.inference.likelihood import LikelihoodTables, OptionLikelihood
from coattend.inference.predict import predict, predict_each
from coattend.readers import encoder_of, is_trained
from coattend.training.launcher import train_seeds
from coattend.training.run_trial import TrialRunner
from coattend.training.tuning import tune
from coattend.trials.experiment import BenchmarkTables, Experiment, ReaderSetup

TRAINING_SAMPLE = 1_000
"""So many training questions, if there are as many, show how well a trial has learned them."""


@dataclass(frozen=True)
class Variant:
    """A variant of a study as a reader's entry, on the benchmark that it is evaluated on and others to train on."""

    setup: ReaderSetup
    tables: BenchmarkTables
    additional: Sequence[BenchmarkTables]

    def experiments(
        self, parents: Sequence[TrialRecord] = (), teachers: Sequence[TrialRecord] = ()
    ) -> tuple[Experiment, Experiment]:
        """Configure how the variant is trained, starting from the trials of its parents and learning from those of its
        teachers, and how it is evaluated.

        Both are one experiment, unless it is trained on one other benchmark alone: then it is trained as an experiment
        of that benchmark, and the same trials serve wherever it is evaluated.
        """
        parent_trials, teacher_trials = (
            {trial["seed"]: trial["trial_id"] for trial in trials} for trials in (parents, teachers)
        )
        configure = partial(Experiment.from_config, parent_trials=parent_trials, teacher_trials=teacher_trials)
        home = self.setup.reader.trained_on(self.tables.benchmark.name)
        home_tables = next((tables for tables in self.additional if tables.benchmark.name == home), None)
        if home_tables is None:
            experiment = configure(self.tables, self.setup, additional=self.additional)
            return experiment, experiment
        # Trials of another benchmark are trained as that benchmark says, but with the head that answers this one.
        evaluated = Experiment.from_config(self.tables, self.setup)
        reader = self.setup.reader.model_copy(update={"head": evaluated.head})
        setup = self.setup._replace(reader=reader)
        return configure(home_tables, setup), evaluated


def untrained_outcome(variant: ReaderParameters, benchmark: str) -> VariantOutcome:
    """Return the outcome of a variant that has no trials; the encoder of readers of words is ``recurrent``."""
    return {
        "benchmark": benchmark,
        "variant": variant.name,
        "trained_on": variant.trained_on(benchmark),
        "encoder": "recurrent" if encoder_of(variant.reader) == "recurrent" else variant.encoder,
        "task": cast(str, None),
        "trials": [],
    }


def train_variant(
    variant: Variant,
    store: Path,
    *,
    parents: Sequence[TrialRecord] | None = None,
    teachers: Sequence[TrialRecord] | None = None,
    search: SearchParameters | None = None,
    processes: int | None = None,
    engine: EngineParameters = LOCAL,
    training_sample: int | None = None,
) -> tuple[VariantOutcome, pa.Table]:
    """Train a variant's trials, or load their outcomes, and predict the answers of those that did not fail. They start
    from the trials of ``parents``, None: from fresh readers, and learn from those of ``teachers``, None: from the right
    answers alone. A search tunes the training first, and is recorded. With a training sample the trials are scored on
    so many of their training questions, too."""
    reader, benchmark = variant.setup.reader, variant.tables.benchmark.name
    if any(needed is not None and not needed for needed in (parents, teachers)):
        raise CoattendError(
            "starts or learns from a variant that has no trials here",
            where=f"{reader.name} on {benchmark}",
            cure="Run that variant on this benchmark too, or raise the budget",
        )
    if not is_trained(reader.reader):
        return _answered_outcome(variant, store)
    trained, evaluated = variant.experiments(parents or (), teachers or ())
    outcome = untrained_outcome(reader, benchmark)
    outcome["task"] = evaluated.source.task
    outcome["scored"] = digest_of_scored(variant.tables.questions.to_table(columns=COLUMNS), outcome["task"])
    if variant.setup.encoder.is_untrained and outcome["encoder"] != "recurrent":
        outcome["encoder"] = evaluated.encoder_title
    runner = TrialRunner.of(trained, store)
    if search is not None:
        runner, outcome["search"] = tune(runner, search, processes=processes, engine=engine)
    trials = train_seeds(runner, processes=processes, engine=engine)
    # A trial that cannot predict becomes a failure, and the others go on.
    predictions, predicted = predict_each(evaluated, trials, store, engine=engine)
    if training_sample is not None:
        sample = runner.questions.train.sample(training_sample)
        predicted = [_with_training_score(runner.experiment, trial, sample, store) for trial in predicted]
    outcome["trials"] = predicted
    return outcome, predictions


def _answered_outcome(variant: Variant, store: Path) -> tuple[VariantOutcome, pa.Table]:
    """Answer with a language model as it is; trials that fail have a failure, as those that are trained."""
    setup, tables = variant.setup, variant.tables
    asked = OptionLikelihood(
        LikelihoodTables(tables.questions, tables.passages, tables.benchmark), setup.reader, setup.tagging, store
    )
    trials, predictions, _ = asked.answer_all(keep_failures=True)
    outcome = untrained_outcome(setup.reader, tables.benchmark.name)
    outcome["scored"] = digest_of_scored(tables.questions.to_table(columns=COLUMNS), asked.task)
    return {**outcome, "encoder": asked.options["model"], "task": asked.task, "trials": trials}, predictions


def _with_training_score(experiment: Experiment, trial: TrialRecord, sample: QuestionSet, store: Path) -> TrialRecord:
    """Score a trial on questions that it learned from, by the metric that chooses checkpoints."""
    if trial["failure"] is not None:
        return trial
    scores = predict(experiment, trial, sample, store)["f1"].to_numpy()
    count = len(sample.examples)
    return {**trial, "training_score": float(scores.sum() / count), "training_sample": count}
