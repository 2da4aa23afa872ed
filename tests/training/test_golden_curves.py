"""The first losses of four readers beside recorded ones.

Whatever moves numbers shows here: a change of this code, or of a new version of torch or transformers. Where it is
meant to, `make golden` records the losses anew, in `golden_curves/`.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import pytest
import torch
from perf.prepared import Prepared

from coattend.readers.interactions.iterative_co_attention import IterativeCoAttention
from coattend.training import run_trial
from coattend.training.run_trial import TrialRunner
from coattend.training.trainer import ReaderTrainer

FOLDER = Path(__file__).parent / "golden_curves"
STEPS = 20
TOLERANCE = 2e-5
"""Largest difference, relative to a loss, that another machine may make. Kernels for SSE4.1 and AVX2, and weights that
are shaken by a millionth, make 2.4e-7; the changes of the last test make 1e-2 and more."""

# In float32, with steps that are large enough for differences to grow.
TRAINING = {
    "device": "cpu",
    "precision": "fp32",
    "seeds": [0],
    "max_questions": 16,
    "held_out": 0.2,
    "evaluations": 1,
    "learning_rate": 1e-3,
}
SIZES: dict[str, dict[str, int]] = {
    "plain": {"tokens_per_batch": 1024, "epochs": 5},
    "poi_net": {"tokens_per_batch": 1024, "epochs": 5},
    "dcn_plus": {"tokens_per_batch": 512, "epochs": 10},
    "aoa_reader": {"tokens_per_batch": 1024, "epochs": 10},
}
NARROW: dict[str, dict[str, int]] = {"dcn_plus": {"hidden": 16, "pool": 4}, "aoa_reader": {"hidden": 16}}


class Curve(TypedDict):
    """A training's losses, and a digest of the questions that it learned from."""

    questions: str
    losses: list[float]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, new_project, run_in) -> Iterator[Prepared]:
    """The tiny sample in a project of its own."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        project = new_project(tmp_path_factory.mktemp("golden") / "project", monkeypatch)
        run_in(project)("ingestion,tagging,tokenization", "sample")
        yield Prepared(project, "test", ("sample",))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def learn(prepared, tmp_path, monkeypatch) -> Callable[..., Curve]:
    """Train a reader, and return the loss of each step, as the trainer takes it."""
    losses: list[float] = []
    step = ReaderTrainer.training_step

    def record(trainer: ReaderTrainer, *arguments: object, **keywords: object) -> torch.Tensor:
        loss = step(trainer, *arguments, **keywords)
        losses.append(loss.item())
        return loss

    monkeypatch.setattr(ReaderTrainer, "training_step", record)

    def learn(reader: str, **options: object) -> Curve:
        experiment = prepared.experiment(
            "sample", reader, training=TRAINING | SIZES[reader], **NARROW.get(reader, {}) | options
        )
        questions = experiment.training_questions()
        outcome, error = TrialRunner(experiment, tmp_path, questions).attempt(0)
        assert error is None, outcome
        return {"questions": questions.digest, "losses": losses[:STEPS]}

    return learn


def recorded(reader: str) -> Curve:
    curve: Curve = json.loads((FOLDER / f"{reader}.json").read_text())
    return curve


def largest_difference(losses: list[float], expected: list[float]) -> float:
    """The largest difference of two curves, relative to the losses."""
    return max(abs(loss - golden) / abs(golden) for loss, golden in zip(losses, expected, strict=True))


@pytest.mark.parametrize("reader", SIZES)
def test_losses_are_those_that_were_recorded(reader, learn, request):
    curve = learn(reader)
    assert len(curve["losses"]) == STEPS
    if request.config.getoption("--write-golden"):
        rounded = curve | {"losses": [round(loss, 6) for loss in curve["losses"]]}
        (FOLDER / f"{reader}.json").write_text(json.dumps(rounded, indent=1) + "\n")
    golden = recorded(reader)
    assert curve["questions"] == golden["questions"], "it learns from other questions: see `make golden`"
    assert largest_difference(curve["losses"], golden["losses"]) < TOLERANCE, "its losses moved: see `make golden`"


def _draw_another_number_first(monkeypatch: pytest.MonkeyPatch) -> None:
    build = run_trial.initial_reader

    def after_a_draw(*arguments: object) -> object:
        torch.rand(1)
        return build(*arguments)

    monkeypatch.setattr(run_trial, "initial_reader", after_a_draw)


def _swap_a_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    attend = IterativeCoAttention.forward

    def negated(module: IterativeCoAttention, encoded: object) -> object:
        attended = attend(module, encoded)
        return replace(attended, passage=-attended.passage)

    monkeypatch.setattr(IterativeCoAttention, "forward", negated)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [_draw_another_number_first, _swap_a_sign, None], ids=["the order of draws", "a sign", "dropout"]
)
def test_changes_move_losses_far_beyond_the_tolerance(change, learn, monkeypatch):
    if change is not None:
        change(monkeypatch)
    curve = learn("poi_net", **({} if change else {"dropout": 0.1}))
    assert largest_difference(curve["losses"], recorded("poi_net")["losses"]) > 100 * TOLERANCE
