"""The plan: commands of at most nine minutes in the order of their worth, and the trainings that two of them share.

Minutes of a training are estimated from its operations and steps: 6 operations for each parameter of the encoder's
layers and token, 12 x H a layer for each pair of tokens in attention, at a share of an H100's peak, and some
milliseconds for each step of a process, of which several share the GPU. On an H200 a step takes 33 ms alone, and ten
processes ended 36 trainings on DREAM in eight minutes.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

MOST_MINUTES, MOST_MEGABYTES = 22, 55
MOST_FILES, MOST_FILE_MEGABYTES = 8, 15
TAGGING, TOKENIZER, ENCODER = "nltk_penn", "minilm", "minilm"
SEEDS = (0, 1, 2)

PEAK, SHARE = 989e12, 0.045
"""Operations a second in bf16 of an H100 (SXM), and the share of them that MiniLM reached on RACE, passages read once:
several trainings at once did not reach more."""

STEP, START = 0.04, 20.0
"""Seconds that a process is taken to need for a step, however small, and before the first one and behind the last."""

WORKERS = 4
"""Processes that train at once: one alone waits for its own kernels to be started, and ten do the work of two to four,
so that less has ended when the time is over."""

ONCE = "plain_apart"
"""The row that the others are compared with in time to a score."""

LAYERS, WIDTH, PARAMETERS = 6, 384, 10.65e6
"""MiniLM without its tables of embeddings."""

SPECIAL = 3
"""Special tokens of a sequence."""


class Command(NamedTuple):
    """A command of the plan, the minutes after which it stops itself, and what it does."""

    name: str
    minutes: float
    title: str


PLAN = (
    Command("checks", 3, "tests that need a GPU: bf16, determinism, memory, kernels, CUDA graphs, torch.compile"),
    Command("speed", 4, "training and inference beside the stock recipes, and the share of the peak"),
    Command("times", 7, "time to a score on DREAM and RACE: passages read once, joint, and the stock recipe"),
    Command("tables", 7, "first rows of RACE, readers tuned alike, and all rows of the tables, as the time goes"),
    Command("rest", 1, "the trainings that are left: RACE joint, rows of studies"),
)
"""Together 22 minutes. A command that is started again goes on where it stopped."""


def seconds_of(training: Mapping[str, Any], workers: int = WORKERS) -> float:
    """Return the seconds by which a training makes a campaign longer, with so many processes."""
    return max(float(training["gpu_seconds"]), float(training["process_seconds"]) / workers)


def describe(trainings: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the plan in lines; with trainings, how many of them its time is estimated to be enough for."""
    lines = [f"python run.py {command.name:8}{command.minutes:4.0f} min  {command.title}" for command in PLAN]
    lines.append(f"together {sum(command.minutes for command in PLAN):.0f} minutes")
    if trainings:
        room = 60 * sum(command.minutes for command in PLAN if command.name in ("tables", "rest"))
        ends = list(accumulate(map(seconds_of, trainings)))
        within = sum(end <= room for end in ends)
        lines.append(
            f"{len(trainings)} trainings in about {ends[-1] / 60:.0f} minutes, {within} of them within the plan"
        )
    return "\n".join(lines)
