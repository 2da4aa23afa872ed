"""What trials will cost, before they are trained."""

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from coattend.masking import masked_text
from coattend.parameters import SearchParameters
from coattend.readers.batch import Batch
from coattend.training.batching import LengthBuckets
from coattend.training.devices import device_name
from coattend.training.fan_out import Job
from coattend.training.finished import finished
from coattend.training.fit import Work
from coattend.training.plan import Plan
from coattend.training.search import best, configurations

ASKED_FASTER = 3.0
"""How many questions are answered in the time in which one is learned from, roughly: no backward pass, no optimiser."""

TIMED, WARM = 3, 1
"""Batches that are timed, and those before them that are not."""

ALIKE = ("benchmark", "reader", "head", "options", "encoder")
ALIKE_IN_TRAINING = ("tokens_per_batch", "max_length", "frozen", "precision")
"""What another trial must have in common with one to be as fast, of its content and of its training."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Cost:
    """What the trials of a plan that are still to be trained will take.

    Attributes:
        trials: How many there are.
        seconds: Of one processor or GPU as it is, for all of them; 0 where they cannot be timed.
        known_from: What the estimate comes from.
    """

    trials: int
    seconds: float
    known_from: str


def cost_of(
    plan: Plan,
    store: Path,
    *,
    asked: Plan | None = None,
    search: SearchParameters | None = None,
    begun: bool = False,
    counted: bool = False,
) -> Cost:
    """Estimate what a plan will take: as earlier trials of its reader on this machine, else from a few batches.

    Args:
        plan: What is trained.
        store: The folder of all trials.
        asked: What its trials are asked then; None: the questions of the benchmark that they are trained on.
        search: How its training is tuned first; None: it is not.
        begun: Whether its trials begin with others that are still to come; which of its own are there is then unknown.
        counted: Whether its training is counted elsewhere, and asking alone is to be.
    """
    work = Work.of(plan, store)
    missing = _to_train(work, search, begun=begun)
    if not missing:
        return Cost(0, 0.0, "all trials are there")
    rate, known_from = _earlier(work), "earlier trials"
    if rate is None:
        try:
            rate, known_from = _timed(work), f"{TIMED} batches"
        except Exception as error:  # Of any kind: its trials will fail alike and say so, and the others go on.
            problem = f"cannot be timed: {masked_text(f'{type(error).__name__}: {error}')}"
            logger.warning("%s on %s %s", plan.name, plan.benchmark, problem)
            return Cost(0 if counted else len(missing), 0.0, problem)
    learned = len(work.train.examples) * sum(job.values.get("epochs", plan.training.epochs) for job in missing)
    marked = len(missing) * len(work.held_out.examples) * plan.training.evaluations
    asked = asked or plan
    scored = len(missing) * len(asked.source.scored(asked.training).examples)
    questions = (0 if counted else learned + marked / ASKED_FASTER) + scored / ASKED_FASTER
    return Cost(0 if counted else len(missing), questions / rate, known_from)


def _to_train(work: Work, search: SearchParameters | None, *, begun: bool) -> list[Job]:
    """The trials that are not there; until a search has ended, the configured training stands for the chosen one."""

    def missing(jobs: list[Job]) -> list[Job]:
        return [job for job in jobs if begun or work.learned(job.values).trial(job.seed).outcome() is None]

    seeds = work.plan.training.seeds
    if search is None:
        return missing([Job(seed) for seed in seeds])
    first, *others = seeds
    tried = [Job(first, values) for values in configurations(work.plan, search)]
    untried = missing(tried)
    if untried:
        return untried + [Job(seed) for seed in others]
    chosen = tried[best([work.learned(job.values).trial(first).outcome() or {} for job in tried])]
    return missing([Job(seed, chosen.values) for seed in others])


def _earlier(work: Work) -> float | None:
    """Questions a second of the last trial of the same reader of the same sizes, with the same encoder, benchmark,
    settings and device."""
    wanted = _speed(json.loads(json.dumps(work.trial(work.plan.training.seeds[0]).content)))
    device = _machine(device_name(work.plan.precision()[0]))
    found = []
    for trial in finished(work.store):
        if _speed(trial.content) == wanted and _machine(trial.outcome["device"]) == device:
            age = (trial.folder / "outcome.json").stat().st_mtime
            found.append((age, trial.outcome["questions_per_second"]))
    return max(found)[1] if found else None


def _machine(device: str) -> str:
    """A device without the number of its threads."""
    return device.partition(",")[0]


def _speed(content: Mapping[str, Any]) -> list[Any]:
    """What of a trial's content decides how fast it is."""
    return [*(content.get(name) for name in ALIKE), *(content["training"].get(name) for name in ALIKE_IN_TRAINING)]


def _timed(work: Work) -> float:
    """Questions a second in a few batches of this plan."""
    plan = work.plan
    device, bf16 = plan.precision()
    reader = plan.build(work.train).to(device).train()
    collator = plan.collator(reader, work.train)
    examples = work.train.examples
    buckets = LengthBuckets(
        [collator.sequence_length(example) for example in examples],
        [len(example.sequences) for example in examples],
        tokens_per_batch=plan.training.tokens_per_batch,
    )
    optimiser = torch.optim.AdamW([one for one in reader.parameters() if one.requires_grad], lr=1e-5)
    batches = list(buckets)
    chosen = [batches[place * len(batches) // (TIMED + WARM)] for place in range(min(TIMED + WARM, len(batches)))]
    began, learned = time.perf_counter(), 0
    for number, rows in enumerate(chosen):
        if number == min(WARM, len(chosen) - 1):
            began, learned = time.perf_counter(), 0
        with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=bf16):
            loss = reader(Batch(**collator([examples[row] for row in rows])).to(device)).loss
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        learned += len(rows)
    return learned / max(time.perf_counter() - began, 1e-6)
