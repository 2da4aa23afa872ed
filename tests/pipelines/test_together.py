"""A trial that several processes share is the trial of one."""

import json
import shutil

import pytest
from safetensors.torch import load_file

LEARNED = {"precision": "fp32", "max_questions": 24, "epochs": 2, "evaluations": 1, "tokens_per_batch": 512}


@pytest.mark.slow
@pytest.mark.parametrize(("reader", "longest"), [("plain", 256), ("plain_span", 30)])
def test_two_processes_learn_what_one_learns(kedro_run, sample_project, reader, longest):
    """At most a handful of questions fit into a batch, so that some batches have no question for the second process.
    Stories that are longer than a sequence have several windows, and do not weigh as much as others."""
    store = sample_project / "data/test/06_models/trials"
    runs = []
    for processes in (1, 2):
        kedro_run(
            "training",
            f"sample.{reader}",
            benchmarks={"sample": {"training": LEARNED | {"max_length": longest, "processes": processes}}},
        )
        (trial,) = (folder for folder in store.iterdir() if folder.is_dir())
        outcome = json.loads((trial / "outcome.json").read_text())
        runs.append((trial.name, outcome, load_file(trial / "model/model.safetensors")))
        shutil.rmtree(store)
    (name, alone, weights), (other_name, shared, other_weights) = runs
    assert name == other_name
    losses = [[point["loss"] for point in result["curve"] if point["loss"] is not None] for result in (alone, shared)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    assert shared["held_out"] == alone["held_out"]
    # One by one they may lie apart: where a gradient is zero but for rounding, Adam takes whole steps in any direction.
    apart, length = (
        sum(float(tensor.square().sum()) for tensor in tensors)
        for tensors in ([other_weights[key] - weight for key, weight in weights.items()], list(weights.values()))
    )
    assert apart < 1e-8 * length
