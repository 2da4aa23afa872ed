"""Tune a variant's training: train several configurations and take the one with the best held-out score.

Configurations come from a quasi-random sequence (Sobol's, scrambled), not from a sampler that learns from scores. With
the few trials that a study can afford there is little to learn from, all the more as a few hundred held-out questions
leave a score uncertain by points, and evenly spread points tend to find better configurations than random ones
(Bousquet et al. 2017, https://arxiv.org/abs/1706.03200). No configuration depends on the score of another either. So
every variant gets the same ones, several train at once, a longer search first tries the configurations of a shorter
one, and a search that was killed, or in which a trial failed, reuses all finished trials.
"""

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from coattend.config import LOCAL, EngineParameters, SearchParameters, TrainingParameters, ValuesParameters
from coattend.config.study import WHOLE
from coattend.errors import CoattendError
from coattend.evaluation.records import SearchResult, TriedConfiguration
from coattend.training.launcher import Job, train_jobs
from coattend.training.run_trial import TrialRunner
from coattend.trials.experiment import Experiment
from coattend.trials.trial import TrialOutcome

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

logger = logging.getLogger(__name__)


def tune(
    runner: TrialRunner,
    search: SearchParameters,
    *,
    processes: int | None = None,
    engine: EngineParameters = LOCAL,
) -> tuple[TrialRunner, SearchResult]:
    """Train the first seed's trial of every configuration, or load its outcome, and choose one: return what runs trials
    with that training, and the record of the search."""
    experiment = runner.experiment
    seed = experiment.training.seeds[0]
    jobs = [Job(seed, values) for values in configurations(experiment, search)]
    title = f"{experiment.benchmark}.{experiment.name}"
    outcomes: dict[int, TrialOutcome] = {}
    for index, outcome in train_jobs(runner, jobs, processes=processes, engine=engine):
        outcomes[index] = outcome
        summary = _format_values(jobs[index].values), _format_score(outcome)
        logger.info("%s: configuration %d of %d, %s: %s", title, index + 1, len(jobs), *summary)
    tried: list[TriedConfiguration] = [
        {
            "values": dict(job.values),
            "trial_id": outcomes[index]["trial_id"],
            "held_out": outcomes[index].get("held_out"),
            "failure": outcomes[index].get("failure"),
        }
        for index, job in enumerate(jobs)
    ]
    best = best_index([configuration["held_out"] for configuration in tried])
    summary = _format_values(jobs[best].values), _format_score(outcomes[best])
    logger.info("%s: takes configuration %d, %s: %s", title, best + 1, *summary)
    return runner.with_training(jobs[best].values), {"seed": seed, "tried": tried, "chosen": best}


def configurations(experiment: Experiment, search: SearchParameters) -> list[dict[str, float | None]]:
    """Return the configurations to try: the configured one, which may lie outside of the space, and samples of it. It
    is an error to choose checkpoints on dev: configurations would be chosen there, too."""
    if experiment.training.selection == "dev":
        raise CoattendError(
            "is 'dev': a search would choose on the questions that are scored",
            where=f"{experiment.name} on {experiment.benchmark}, training.selection",
            cure="Search with selection: held_out",
        )
    distinct = [{field: getattr(experiment.training, field) for field in sorted(search.space)}]
    samples = _sample(search)
    while len(distinct) < search.trials:
        values = next(samples)
        if values not in distinct:
            distinct.append(values)
    return distinct


def best_index(scores: Sequence[float | None]) -> int:
    """Return the index of the best held-out score, the first of equal ones; 0, the configured one, if all failed."""
    return max(range(len(scores)), key=lambda index: -1.0 if (score := scores[index]) is None else score)


def _sample(search: SearchParameters) -> Iterator[dict[str, float | None]]:
    """Yield configurations endlessly; a small space repeats them."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.QMCSampler(scramble=True, seed=search.seed)
    study = optuna.create_study(sampler=sampler)
    space = {field: _distribution(field, values) for field, values in sorted(search.space.items())}
    # The first sample is random, and shows the sampler the space.
    study.tell(study.ask(space), 0.0)
    while True:
        training = TrainingParameters.model_validate(study.ask(space).params)
        yield {field: getattr(training, field) for field in space}


def _distribution(field: str, values: ValuesParameters) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if values.choices is not None:
        return CategoricalDistribution(values.choices)
    # Their model asks for both ends where there are no choices.
    low, high = cast("tuple[float, float]", (values.low, values.high))
    if field in WHOLE:
        return IntDistribution(int(low), int(high), log=values.log)
    return FloatDistribution(low, high, log=values.log)


def _format_values(values: Mapping[str, float | None]) -> str:
    return ", ".join(f"{field} {'null' if value is None else format(value, 'g')}" for field, value in values.items())


def _format_score(outcome: TrialOutcome) -> str:
    score = outcome.get("held_out")
    return "failed" if score is None else f"held-out {100 * score:.1f} %"
