"""Train and evaluate a study's variant on one benchmark."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pyarrow as pa

from coattend.config import LOCAL, EngineParameters, ReaderParameters, SearchParameters
from coattend.errors import CoattendError
from coattend.evaluation.records import TrialRecord, VariantOutcome
from coattend.inference.predict import predict_each
from coattend.readers import encoder_of
from coattend.training.launcher import train_seeds
from coattend.training.run_trial import TrialRunner
from coattend.training.tuning import tune
from coattend.trials.experiment import BenchmarkTables, Experiment, ReaderSetup


@dataclass(frozen=True)
class Variant:
    """A variant of a study as a reader's entry, on the benchmark that it is evaluated on and others to train on."""

    setup: ReaderSetup
    tables: BenchmarkTables
    additional: Sequence[BenchmarkTables]

    def experiments(self, parents: Sequence[TrialRecord] = ()) -> tuple[Experiment, Experiment]:
        """Configure how the variant is trained, starting from the trials of its parents, and how it is evaluated.

        Both are one experiment, unless it is trained on one other benchmark alone: then it is trained as an experiment
        of that benchmark, and the same trials serve wherever it is evaluated.
        """
        parent_trials = {trial["seed"]: trial["trial_id"] for trial in parents}
        home = self.setup.reader.trained_on(self.tables.benchmark.name)
        home_tables = next((tables for tables in self.additional if tables.benchmark.name == home), None)
        if home_tables is None:
            experiment = Experiment.from_config(
                self.tables, self.setup, additional=self.additional, parent_trials=parent_trials
            )
            return experiment, experiment
        # Trials of another benchmark are trained as that benchmark says, but with the head that answers this one.
        evaluated = Experiment.from_config(self.tables, self.setup)
        reader = self.setup.reader.model_copy(update={"head": evaluated.head})
        setup = self.setup._replace(reader=reader)
        return Experiment.from_config(home_tables, setup, parent_trials=parent_trials), evaluated


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
    search: SearchParameters | None = None,
    processes: int | None = None,
    engine: EngineParameters = LOCAL,
) -> tuple[VariantOutcome, pa.Table]:
    """Train a variant's trials, or load their outcomes, and predict the answers of those that did not fail. They start
    from the trials of ``parents``, None: from fresh readers. A search tunes the training first, and is recorded."""
    reader, benchmark = variant.setup.reader, variant.tables.benchmark.name
    if parents is not None and not parents:
        raise CoattendError(
            "starts from a variant that has no trials here",
            where=f"{reader.name} on {benchmark}",
            cure="Run that variant on this benchmark too, or raise the budget",
        )
    trained, evaluated = variant.experiments(parents or ())
    outcome = untrained_outcome(reader, benchmark)
    outcome["task"] = evaluated.source.task
    if search is not None:
        trained, outcome["search"] = tune(trained, store, search, processes=processes, engine=engine)
    trials = train_seeds(TrialRunner.of(trained, store), processes=processes, engine=engine)
    # A trial that cannot predict becomes a failure, and the others go on.
    predictions, outcome["trials"] = predict_each(evaluated, trials, store, engine=engine)
    return outcome, predictions
