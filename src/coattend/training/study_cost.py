"""Estimate the cost of a study and the smallest difference that it can show, and fit it into its budget."""

import json
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc
import torch

from coattend.batches.collator import Collator
from coattend.config import SearchParameters, StudyParameters
from coattend.errors import CoattendError
from coattend.evaluation.comparison import expected_resolution
from coattend.evaluation.groups import COLUMNS, scored_questions, subsets
from coattend.evaluation.records import StudyCosts, VariantCost
from coattend.evaluation.runs import asked_groups, included_costs, shared_subsets
from coattend.masking import masked_text
from coattend.readers import is_trained
from coattend.readers.batch import Batch
from coattend.readers.interfaces import require
from coattend.readers.windows import read_batch
from coattend.training.launcher import Job
from coattend.training.run_trial import TrialRunner
from coattend.training.trainer import epochs_of
from coattend.training.tuning import best_index, configurations
from coattend.trials.build import build_collator, build_reader, cached_features, training_batches
from coattend.trials.device import device_and_precision, device_name
from coattend.trials.experiment import Experiment, reads_apart
from coattend.trials.store import finished_trials
from coattend.trials.trial import TrialContent

INFERENCE_SPEEDUP = 3.0
"""Rough ratio of questions answered to questions trained on in the same time: no backward pass, no optimiser."""

WARM_UP_BATCHES, TIMED_BATCHES = 1, 3

SPEED_FIELDS = ("benchmark", "reader", "head", "options", "encoder")
SPEED_FIELDS_IN_TRAINING = (
    *("tokens_per_batch", "questions_per_batch", "max_length", "over_windows", "frozen", "lora", "precision"),
)
"""Fields of a trial's content, and of its training, that decide its speed."""

ExperimentPair = tuple[Experiment, Experiment]
"""An experiment to train and the one to evaluate, which differ if other benchmarks are trained on."""

Costs = dict[str, dict[str, VariantCost]]
"""Costs by benchmark and variant."""

logger = logging.getLogger(__name__)


def estimate(
    study: StudyParameters, experiments: Mapping[tuple[str, str], ExperimentPair], store: Path, *, hours: float | None
) -> StudyCosts:
    """Estimate the cost of a study, log it, and choose the variants that its budget in hours leaves out. CoattendError
    if two variants answer different questions of a benchmark."""
    _check_tasks(study, experiments)
    costs: Costs = {}
    # A variant that is evaluated on several benchmarks but trained on one is trained once.
    counted: set[tuple[str, str]] = set()
    for (benchmark, variant), (trained, evaluated) in experiments.items():
        cost = cost_of(
            trained,
            store,
            evaluated=evaluated,
            search=study.search,
            awaits_others=bool(study.needed_by(variant)),
            counted=(variant, trained.benchmark) in counted,
        )
        counted.add((variant, trained.benchmark))
        costs.setdefault(benchmark, {})[variant] = cost
    questions = {}
    for benchmark in costs:
        pairs = [pair for (name, _), pair in experiments.items() if name == benchmark]
        questions[benchmark] = _scored_question_counts(study, benchmark, pairs)
    estimates: StudyCosts = {
        "costs": costs,
        "questions": questions,
        "resolves": {name: expected_resolution(min(counts.values(), default=0)) for name, counts in questions.items()},
        "left_out": _over_budget(study, costs, hours),
    }
    _log(study, estimates)
    return estimates


def _scored_question_counts(
    study: StudyParameters, benchmark: str, experiments: Sequence[ExperimentPair]
) -> dict[str, int]:
    """Count the questions of each comparison, by split and, if the study compares several, by subset."""
    _, evaluated = experiments[0]
    scored, _ = scored_questions(evaluated.source.questions.to_table(columns=COLUMNS), evaluated.source.task)
    home = shared_subsets(benchmark, (trained.training.train_on for trained, _ in experiments))
    groups = asked_groups(study.asks.get(benchmark, ()), home)
    counts: dict[str, int] = {}
    for group, is_member in subsets(scored).items():
        if group in groups:
            by_split = pc.value_counts(scored.filter(pa.array(is_member))["split"].cast(pa.string())).to_pylist()
            suffix = f", {group}" if len(groups) > 1 else ""
            counts |= {f"{entry['values']}{suffix}": entry["counts"] for entry in by_split}
    return dict(sorted(counts.items()))


def _check_tasks(study: StudyParameters, experiments: Mapping[tuple[str, str], ExperimentPair]) -> None:
    """Raise if variants answer different tasks: without a head in the study, a benchmark's questions decide it."""
    first: dict[str, tuple[str, str]] = {}
    for (benchmark, variant), (_, evaluated) in experiments.items():
        task = evaluated.source.task
        first_variant, first_task = first.setdefault(benchmark, (variant, task))
        if task != first_task:
            raise CoattendError(
                f"{variant!r} answers {task} on {benchmark}, and {first_variant!r} {first_task}",
                where=f"study {study.name}",
                cure="Name heads that answer the same questions, or make two studies of it",
            )


def _over_budget(study: StudyParameters, costs: Costs, hours: float | None) -> list[str]:
    """Leave out variants from the last one back until the rest fits the budget, but no baseline, nor what a baseline
    starts or learns from, nor what has nothing left to train; with a variant, those go that start or learn from it."""
    left_out: list[str] = []
    if hours is None:
        return left_out
    kept = {study.baseline_of(variant) for variant in study.variants}
    while missing := {needed for variant in kept for needed in study.needed_by(variant)} - kept:
        kept |= missing
    kept |= {name for name in study.variants if not any(costs[on][name]["trials"] for on in study.benchmarks_of(name))}
    for variant in reversed([variant for variant in study.variants if variant not in kept]):
        if _seconds(costs, left_out) <= 3600 * hours:
            break
        left_out += [variant] if variant not in left_out else []
        while followers := [
            name for name in study.variants if name not in left_out and {*study.needed_by(name)} & {*left_out}
        ]:
            left_out += followers
    # Every comparison needs its baseline, so baselines are trained beyond the budget.
    remaining_hours = _seconds(costs, left_out) / 3600
    if remaining_hours > hours:
        message = "%s: baselines alone take about %.1f hours, more than its budget of %g, and are trained all the same"
        logger.warning(message, study.name, remaining_hours, hours)
    return left_out


def _seconds(costs: Costs, left_out: Collection[str]) -> float:
    return sum(cost["seconds"] for cost in included_costs(costs, left_out))


def _log(study: StudyParameters, estimates: StudyCosts) -> None:
    costs, left_out = estimates["costs"], estimates["left_out"]
    trials = sum(cost["trials"] for cost in included_costs(costs, left_out))
    machine_hours = _seconds(costs, left_out) / 3600
    message = "%s: %d trials to train, about %.1f hours of this machine, one after the other"
    logger.info(message, study.name, trials, machine_hours)
    for benchmark, counts in estimates["questions"].items():
        if not counts:
            logger.warning("%s: there is no question to score: no answer is known outside of training", benchmark)
        for split, count in counts.items():
            message = "%s, %s: %s questions to score; they can show differences of %.1f points"
            logger.info(message, benchmark, split, f"{count:,}", expected_resolution(count))
    if left_out:
        logger.warning("%s: its budget leaves out %s", study.name, ", ".join(left_out))


def cost_of(
    experiment: Experiment,
    store: Path,
    *,
    evaluated: Experiment | None = None,
    search: SearchParameters | None = None,
    awaits_others: bool = False,
    counted: bool = False,
) -> VariantCost:
    """Estimate the cost of an experiment from the speed of similar trials on this machine, or else of a few batches.

    Args:
        evaluated: The experiment to evaluate; None: the same.
        search: A search that tunes its training first; None: no search.
        awaits_others: True if its trials start or learn from others that are not trained yet: their ids are unknown.
        counted: True if the cost of its training is counted elsewhere, and only evaluation is to be added.
    """
    if not is_trained(experiment.reader):
        return {"trials": 0, "seconds": 0.0, "known_from": "nothing is trained"}
    runner = TrialRunner.of(experiment, store)
    missing = _missing_jobs(runner, search, awaits_others=awaits_others)
    if not missing:
        return {"trials": 0, "seconds": 0.0, "known_from": "all trials are there"}
    trials = 0 if counted else len(missing)
    rate, source, encoding = _recorded_rate(runner), "earlier trials", 0.0
    if rate is None:
        # Training will hit the same error and report it, and the other variants go on.
        try:
            rate, encoding = _measured_speed(runner)
            source = f"{TIMED_BATCHES} batches"
        except Exception as error:
            problem = f"cannot be timed: {masked_text(f'{type(error).__name__}: {error}')}"
            logger.warning("%s on %s %s", experiment.name, experiment.benchmark, problem)
            return {"trials": trials, "seconds": 0.0, "known_from": problem}
    # Questions to train on, to choose checkpoints by, and to evaluate.
    epochs = sum(_epochs(runner.with_training(job.values)) for job in missing)
    trained = len(runner.questions.train.examples) * epochs
    held_out = len(missing) * len(runner.questions.held_out.examples) * experiment.training.evaluations
    evaluated = evaluated or experiment
    to_score = len(evaluated.source.evaluation(evaluated.training).examples)
    training_cost = 0 if counted else trained + held_out / INFERENCE_SPEEDUP
    seconds = (training_cost + len(missing) * to_score / INFERENCE_SPEEDUP) / rate
    # All trials share what a frozen encoder says, of each question once.
    to_learn = 0 if counted else len(runner.questions.train.examples) + len(runner.questions.held_out.examples)
    seconds += (to_learn + to_score) * encoding
    return {"trials": trials, "seconds": seconds, "known_from": source}


def _missing_jobs(runner: TrialRunner, search: SearchParameters | None, *, awaits_others: bool) -> list[Job]:
    """Return the trials still to be trained; until a search has ended, the configured training stands for the chosen
    one."""

    def is_missing(job: Job) -> bool:
        return awaits_others or runner.with_training(job.values).trial(job.seed).outcome() is None

    seeds = runner.experiment.training.seeds
    if search is None:
        return [job for job in map(Job, seeds) if is_missing(job)]
    first_seed, *other_seeds = seeds
    search_jobs = [Job(first_seed, values) for values in configurations(runner.experiment, search)]
    untried = list(filter(is_missing, search_jobs))
    if untried:
        return untried + [Job(seed) for seed in other_seeds]
    outcomes = [runner.with_training(job.values).trial(first_seed).outcome() for job in search_jobs]
    chosen_values = search_jobs[best_index([outcome and outcome.get("held_out") for outcome in outcomes])].values
    return [job for job in (Job(seed, chosen_values) for seed in other_seeds) if is_missing(job)]


def _epochs(runner: TrialRunner) -> float:
    training, train = runner.experiment.training, runner.questions.train
    if training.min_steps is None:
        return training.epochs
    # Lengths follow from the texts alone: the reader need not be built.
    experiment = runner.experiment
    apart = reads_apart(experiment.options)
    collator = Collator(train.tokens, experiment.layout, experiment.task, apart=apart)
    batches, _ = training_batches(collator, train.examples, training)
    return epochs_of(training, len(batches))


def _recorded_rate(runner: TrialRunner) -> float | None:
    """Return the questions per second of the latest trial of the same speed fields and device; None without one."""
    content = runner.trial(runner.experiment.training.seeds[0]).content
    speed_key = _speed_key(json.loads(json.dumps(content)))
    device = _without_threads(device_name(device_and_precision(runner.experiment.training)[0]))
    rates = []
    for trial in finished_trials(runner.store):
        if _speed_key(trial.content) == speed_key and _without_threads(trial.outcome["device"]) == device:
            modified = (trial.folder / "outcome.json").stat().st_mtime
            rates.append((modified, trial.outcome["questions_per_second"]))
    return max(rates)[1] if rates else None


def _without_threads(device: str) -> str:
    """Cut the number of threads off a device's name."""
    return device.partition(",")[0]


def _speed_key(content: TrialContent) -> list[object]:
    return [*map(content.get, SPEED_FIELDS), *map(content["training"].get, SPEED_FIELDS_IN_TRAINING)]


def _measured_speed(runner: TrialRunner) -> tuple[float, float]:
    """Train a few batches and return the questions per second, and the seconds in which a frozen encoder, whose outputs
    are kept, reads a question once; 0 if there is none."""
    experiment = runner.experiment
    device, bf16 = device_and_precision(experiment.training)
    train = runner.questions.train
    examples, reader = train.examples, build_reader(experiment, train).to(device).train()
    buckets, collator = training_batches(build_collator(experiment, reader, train), examples, experiment.training)
    optimiser = torch.optim.AdamW([weights for weights in reader.parameters() if weights.requires_grad], lr=1e-5)
    # Evenly spaced batches stand for all lengths. They have equal budgets of tokens, which short texts fill with many
    # questions and long ones with few: a batch stands for as many as batches have on average.
    batches, limit = list(buckets), WARM_UP_BATCHES + TIMED_BATCHES
    sampled = [batches[index * len(batches) // limit] for index in range(min(limit, len(batches)))]
    warm_up = min(WARM_UP_BATCHES, len(sampled) - 1)
    timed = replace(train, examples=[examples[index] for indices in sampled for index in indices])
    with TemporaryDirectory() as folder:
        start = time.perf_counter()
        features = cached_features(experiment, reader, timed, Path(folder) / "trials")
        encoding = 0.0 if features is None else (time.perf_counter() - start) / len(timed.examples)
        collator = replace(collator, features=features)
        start = time.perf_counter()
        for number, indices in enumerate(sampled):
            if number == warm_up:
                start = time.perf_counter()
            with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=bf16):
                batch = Batch(**collator([examples[index] for index in indices])).to(device)
                output = read_batch(reader, batch, experiment.training.over_windows)
            require(output.loss, "output.loss").backward()
            optimiser.step()
            optimiser.zero_grad()
        batches_per_second = (len(sampled) - warm_up) / max(time.perf_counter() - start, 1e-6)
    return batches_per_second * len(examples) / len(batches), encoding
