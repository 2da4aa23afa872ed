"""Train and evaluate a study's variant on one benchmark."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from coattend.config import (
    LOCAL,
    EncoderParameters,
    EngineParameters,
    ReaderParameters,
    SearchParameters,
    TaggingParameters,
    TokenizerParameters,
)
from coattend.errors import CoattendError
from coattend.inference.predict import predict_each
from coattend.training.launcher import train_seeds
from coattend.training.tuning import tune
from coattend.trials.experiment import BenchmarkTables, Experiment, train_and_eval_experiments
from coattend.trials.trial import TrialOutcome


@dataclass(frozen=True)
class VariantSetup:
    """A variant, and the tables that it reads on one benchmark.

    Attributes:
        tables: The benchmark that it is evaluated on.
        additional: Other benchmarks that it may be trained on.
        variant: The variant as a reader's entry, with the study's seeds.
        encoder: Its pretrained encoder.
        tokenizer: The tokenizer of the tables' subwords.
        tagging: The tagging profile of the tables' words.
    """

    tables: BenchmarkTables
    additional: Sequence[BenchmarkTables]
    variant: ReaderParameters
    encoder: EncoderParameters
    tokenizer: TokenizerParameters
    tagging: TaggingParameters

    def experiments(self, parents: Sequence[TrialOutcome] = ()) -> tuple[Experiment, Experiment]:
        """Configure the experiments to train and to evaluate.

        Args:
            parents: Outcomes of the trials that the variant's trials start from, seed by seed.
        """
        return train_and_eval_experiments(
            self.tables,
            self.additional,
            self.variant,
            self.encoder,
            self.tokenizer,
            self.tagging,
            parent_trials={trial["seed"]: trial["trial_id"] for trial in parents},
        )


def record_of(variant: ReaderParameters, benchmark: str, *, reads_words: bool) -> dict[str, Any]:
    """Describe a variant on a benchmark, as the first fields of its outcome.

    Args:
        variant: The variant as a reader's entry.
        benchmark: Name of the benchmark.
        reads_words: True if it reads words and trains its own encoder.
    """
    return {
        "benchmark": benchmark,
        "variant": variant.name,
        "trained_on": variant.trained_on(benchmark),
        "encoder": "recurrent" if reads_words else variant.encoder,
    }


def train_variant(
    setup: VariantSetup,
    store: Path,
    *,
    parents: Sequence[TrialOutcome] | None = None,
    search: SearchParameters | None = None,
    processes: int | None = None,
    engine: EngineParameters = LOCAL,
) -> tuple[dict[str, Any], pa.Table]:
    """Train a variant's trials, or load their outcomes, and predict their answers.

    Args:
        setup: The variant and its tables.
        store: The folder of all trials.
        parents: Outcomes of the trials that its own start from; None: it starts from fresh readers.
        search: A search that tunes its training first; None: no search.
        processes: Number of trials at once.
        engine: Where to train and to predict.

    Returns:
        The outcome of the variant, with the record of the search, and the predictions of the trials that did not fail.

    Raises:
        CoattendError: If it starts from a variant without trials, or a search would choose on dev.
    """
    benchmark = setup.tables.benchmark.name
    if parents is not None and not parents:
        raise CoattendError(
            "begins with trials of a variant that was not run here",
            where=f"{setup.variant.name} on {benchmark}",
            cure="Run that variant on this benchmark too, or raise the budget",
        )
    trained, evaluated = setup.experiments(parents or ())
    outcome = record_of(setup.variant, benchmark, reads_words=setup.tables.tags is not None)
    outcome |= {"task": evaluated.source.task, "trials": []}
    if search is not None:
        trained, outcome["search"] = tune(trained, store, search, processes=processes, engine=engine)
    outcome["trials"] = train_seeds(trained, store, processes=processes, engine=engine)
    # A trial that cannot predict becomes a failure, and the others go on.
    predictions, trials = predict_each(evaluated, outcome, store, engine=engine)
    return outcome | {"trials": trials}, predictions
