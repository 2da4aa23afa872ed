"""Tries several configurations of a variant's training, and takes the one with the best held-out score.

They come from a quasi-random sequence (Sobol's, scrambled), and not from a sampler that learns from scores. With the
few that a study can afford there is little to learn from, the more so as a few hundred held-out questions leave a score
uncertain by points, and what is spread evenly tends to find more than what is drawn by lot (Bousquet et al. 2017,
https://arxiv.org/abs/1706.03200). Nor does one hang on the score of another: so every variant gets the same ones,
several are trained at once, a longer search begins with a shorter one, and a search that was killed, or in which one
failed, finds all that it had finished.
"""

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coattend.errors import CoattendError
from coattend.parameters import LOCAL, EngineParameters, SearchParameters, TrainingParameters, ValuesParameters
from coattend.parameters.search import WHOLE
from coattend.training.fan_out import Job, train_jobs
from coattend.training.fit import Work
from coattend.training.plan import Plan

logger = logging.getLogger(__name__)


def tune(
    plan: Plan,
    store: Path,
    search: SearchParameters,
    *,
    processes: int | None = None,
    engine: EngineParameters = LOCAL,
) -> tuple[Plan, dict[str, Any]]:
    """Train the first seed's trial of every configuration, or find it done, and choose one.

    Args:
        plan: What is trained, as it is configured.
        store: The folder of all trials.
        search: How many configurations, and of what.
        processes: How many trials at once; None: on a GPU one, else one a core.
        engine: Where they are trained.

    Returns:
        The plan with the chosen training, and what was found: ``seed``; ``tried``: the configurations, the configured
        one first, with their trial and its held-out score, or why it failed; ``chosen``: the place of the best one.

    Raises:
        CoattendError: If checkpoints are chosen on dev.
    """
    seed = plan.training.seeds[0]
    jobs = [Job(seed, values) for values in configurations(plan, search)]
    work = Work.of(plan, store)
    outcomes: list[dict[str, Any]] = [{}] * len(jobs)
    for place, outcome in train_jobs(work, jobs, processes=processes, engine=engine):
        outcomes[place] = outcome
        told = plan.benchmark, plan.name, place + 1, len(jobs), _shown(jobs[place].values), _score(outcome)
        logger.info("%s.%s: configuration %d of %d, %s: %s", *told)
    place = best(outcomes)
    told = plan.benchmark, plan.name, place + 1, _shown(jobs[place].values), _score(outcomes[place])
    logger.info("%s.%s: takes configuration %d, %s: %s", *told)
    tried = [
        {"values": job.values, "trial_id": one["trial_id"]}
        | {"held_out": one.get("held_out"), "failure": one.get("failure")}
        for job, one in zip(jobs, outcomes, strict=True)
    ]
    return work.learned(jobs[place].values).plan, {"seed": seed, "tried": tried, "chosen": place}


def configurations(plan: Plan, search: SearchParameters) -> list[dict[str, Any]]:
    """The configurations that are tried: the configured one, which may lie outside of the space, and others from it.

    Raises:
        CoattendError: If checkpoints are chosen on dev: configurations would be, too.
    """
    if plan.training.selection == "dev":
        raise CoattendError(
            "is 'dev': a search would choose on the questions that are scored",
            where=f"{plan.name} on {plan.benchmark}, training.selection",
            cure="Search with selection: held_out",
        )
    found = [{field: getattr(plan.training, field) for field in sorted(search.space)}]
    drawn = _drawn(search)
    while len(found) < search.trials:
        one = next(drawn)
        if one not in found:
            found.append(one)
    return found


def best(outcomes: Sequence[Mapping[str, Any]]) -> int:
    """The place of the best held-out score, the first of several; of the configured one if all failed."""
    scores = [one.get("held_out") for one in outcomes]
    return max(range(len(scores)), key=lambda place: -1.0 if scores[place] is None else scores[place])


def _drawn(search: SearchParameters) -> Iterator[dict[str, Any]]:
    """Configurations of the space without end, some of them again and again where it is small."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.QMCSampler(scramble=True, seed=search.seed)
    study = optuna.create_study(sampler=sampler)
    space = {field: _distribution(field, values) for field, values in sorted(search.space.items())}
    # The first one is drawn by lot, and tells the sampler what the space is.
    study.tell(study.ask(space), 0.0)
    while True:
        drawn = TrainingParameters.model_validate(study.ask(space).params)
        yield {field: getattr(drawn, field) for field in space}


def _distribution(field: str, values: ValuesParameters) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if values.choices is not None:
        return CategoricalDistribution(values.choices)
    if field in WHOLE:
        return IntDistribution(int(values.low), int(values.high), log=values.log)
    return FloatDistribution(values.low, values.high, log=values.log)


def _shown(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{field} {'null' if value is None else format(value, 'g')}" for field, value in values.items())


def _score(outcome: Mapping[str, Any]) -> str:
    return "failed" if outcome.get("held_out") is None else f"held-out {100 * outcome['held_out']:.1f} %"
