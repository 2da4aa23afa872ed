"""A reader may use a weight in several places."""

import json

from safetensors.torch import load_file


def test_shared_weights_are_trained_and_saved(kedro_run, sample_project):
    """One checkpoint of two is the best, and its weights come back before the reader is saved."""
    kedro_run("training,evaluation", "sample.dcmn", readers={"dcmn": {"variant": "released"}})
    results = sample_project / "data/test"
    metrics = json.loads((results / "07_model_output/sample/dcmn/metrics.json").read_text())
    (trial,) = metrics["trials"]
    assert trial["failure"] is None
    assert metrics["splits"]["dev"]
    weights = load_file(results / "06_models/trials" / trial["trial_id"] / "model/model.safetensors")
    maps = {name.split(".")[2] for name in weights if name.startswith("interaction.matches")}
    assert maps == {"0"}
