"""A trial that several processes share is the trial of one."""

import json
import shutil

import pytest
from safetensors.torch import load_file

LEARNED = {"precision": "fp32", "max_questions": 24, "epochs": 2, "evaluations": 1, "tokens_per_batch": 512}


@pytest.mark.parametrize(
    ("reader", "longest"), [("plain", 256), pytest.param("plain_span", 30, marks=pytest.mark.slow)]
)
def test_two_processes_learn_what_one_learns(kedro_run, project, reader, longest):
    """At most a handful of questions fit into a batch, so that some batches have no question for the second process.
    Stories that are longer than a sequence have several windows, and do not weigh as much as others."""
    kedro_run("ingestion,tagging,tokenization", "sample")
    store = project / "data/test/06_models/trials"
    found = []
    for processes in (1, 2):
        kedro_run(
            "training",
            f"sample.{reader}",
            benchmarks={"sample": {"training": LEARNED | {"max_length": longest, "processes": processes}}},
        )
        (trial,) = (one for one in store.iterdir() if one.is_dir())
        outcome = json.loads((trial / "outcome.json").read_text())
        found.append((trial.name, outcome, load_file(trial / "model/model.safetensors")))
        shutil.rmtree(store)
    (name, alone, weights), (other, shared, others) = found
    assert name == other
    losses = [[point["loss"] for point in one["curve"] if point["loss"] is not None] for one in (alone, shared)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    assert shared["held_out"] == alone["held_out"]
    # One by one they may lie apart: where a gradient is zero but for rounding, Adam takes whole steps in any direction.
    apart, length = (
        sum(float(one.square().sum()) for one in kind)
        for kind in ([others[key] - weight for key, weight in weights.items()], list(weights.values()))
    )
    assert apart < 1e-8 * length
