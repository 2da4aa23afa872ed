"""The card of a logged reader says what it is, and is renewed when it would say something else."""

import json
import shutil
from pathlib import Path

import pytest
from mlflow import MlflowClient
from sampled import trial_of

from coattend.reports.sections import UNTRAINED_NOTE
from coattend.serving import model_card
from coattend.serving.mlflow_model import log_reader
from coattend.serving.predictor import Predictor
from coattend.trials import run_spec
from coattend.trials.run_spec import TrainedOn
from experiments import train_seed


@pytest.fixture
def evaluated(trained_sample):
    """The folder, the metrics and the outcome of the trial of POI-Net."""
    metrics = json.loads((trained_sample / "data/test/07_model_output/sample/poi_net/metrics.json").read_text())
    (trial,) = metrics["trials"]
    return trained_sample / "data/test/06_models/trials" / trial["trial_id"], metrics, trial


RUN = model_card.LoggedRun("r", "https://me:word@host:5000")


def written(evaluated, **changed):
    folder, metrics, trial = evaluated
    spec = run_spec.read(folder).model_copy(update=changed)
    return model_card.build(spec, metrics, trial, commit="abc123", run=RUN).text


def test_it_names_data_licence_scores_parameters_and_code(evaluated):
    folder, metrics, trial = evaluated
    text = written(evaluated)
    accuracy = metrics["splits"]["dev"]["all"]["accuracy"]
    mean, low, high = (f"{accuracy[name]:.1f}" for name in ("mean", "low", "high"))
    row = f"| dev | accuracy | {mean} | {mean} | {low} to {high} |"
    for phrase in (
        row,
        trial["data"],
        f"trial {folder.name}",
        "commit abc123",
        "- turns: 3",
        "- training.epochs: 1.0",
        "Apache-2.0, as this project",
        f"{trial['parameters']:,} trained numbers",
        trial["tagger"],
    ):
        assert phrase in text


@pytest.mark.parametrize("name", ["dream", "race"])
def test_data_for_research_only_are_told_so(evaluated, name):
    from coattend.config.entries import benchmark_entry

    entry = benchmark_entry(name)
    assert model_card.RESEARCH_ONLY in written(evaluated, licence=entry["licence"], published_at=entry["published_at"])
    assert entry["published_at"] in written(evaluated, published_at=entry["published_at"])
    assert model_card.RESEARCH_ONLY not in written(evaluated)


def test_every_licence_is_told_of_what_a_reader_was_trained_on(evaluated):
    folder, metrics, trial = evaluated
    also = (TrainedOn(name="race", title="RACE", licence="For non-commercial research only."),)
    spec = run_spec.read(folder).model_copy(update={"also_trained_on": also})
    trial = trial | {"training": trial["training"] | {"train_on": {"sample": [], "race": []}}}
    text = model_card.build(spec, metrics, trial, commit=None).text
    assert f"questions of {spec.title}, RACE;" in text
    assert (
        f"Data of {spec.title}: {spec.licence}\n\nData of RACE: {also[0].licence}\n\n{model_card.RESEARCH_ONLY}" in text
    )
    assert also[0].licence in spec.licences and spec.licence in spec.licences


def test_spans_with_the_embedded_encoder_bear_its_caution(evaluated):
    folder, metrics, trial = evaluated
    unscored = folder, metrics | {"splits": {}}, trial
    assert "SQuAD and TriviaQA" in written(unscored, task="span", encoder="embedded")
    assert "SQuAD and TriviaQA" not in written(unscored, encoder="embedded")
    assert "SQuAD and TriviaQA" not in written(unscored, task="span")


def test_an_untrained_encoder_and_the_language_of_its_texts_are_named(evaluated):
    card = written(evaluated, encoder="characters", language="zh")
    assert "`characters (untrained)`" in card
    assert UNTRAINED_NOTE in card
    assert UNTRAINED_NOTE not in written(evaluated)
    folder, metrics, _ = evaluated
    spec = run_spec.read(folder).model_copy(update={"encoder": "characters", "language": "zh"})
    data = model_card.metadata(spec, metrics)
    assert (data.language, data.base_model) == ("zh", None)


def test_layers_that_are_left_out_are_told(evaluated):
    assert "`embedded, 3 layers`" in written(evaluated, encoder="embedded", encoder_layers=3)
    assert "layers`" not in written(evaluated, encoder="embedded")


def test_a_model_is_loaded_from_the_store_that_it_was_logged_in(evaluated):
    assert 'mlflow.set_tracking_uri("https://***@host:5000")' in written(evaluated)


def test_a_model_is_logged_once_and_its_card_renewed(trained_sample, evaluated, runs):
    client = MlflowClient(f"sqlite:///{trained_sample / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("sample").experiment_id
    folder, metrics, trial = evaluated

    def logged():
        return client.search_logged_models([experiment], f"source_run_id = '{runs['poi_net']}'")

    (before,) = logged()
    location = Path(before.artifact_location.removeprefix("file://"))
    weights = location / "artifacts/reader/model/model.safetensors"
    was = weights.stat().st_mtime_ns
    log_reader(client, runs["poi_net"], folder, metrics, trial)
    log_reader(client, runs["poi_net"], folder, metrics, trial | {"device": "another machine"})
    assert [model.model_id for model in logged()] == [before.model_id]
    assert "another machine" in (location / "README.md").read_text()
    assert weights.stat().st_mtime_ns == was
    assert {model.status for model in logged()} == {"READY"}


def test_adapters_of_a_logged_model_are_merged_on_request(
    trained_sample, evaluated, experiment_for, tmp_path, quick_store
):
    pytest.importorskip("peft", reason="peft is not installed: it is in the extra `lora`")
    outcome = train_seed(experiment_for(lora={"rank": 2}), tmp_path / "trials")
    _, metrics, trial = evaluated
    client = MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    experiment = client.create_experiment("sample", artifact_location=(tmp_path / "artifacts").as_uri())
    for merge in (False, True):
        run = client.create_run(experiment).info.run_id
        for device in ("cpu", "another"):  # The second time it gets a new card alone.
            described = trial | {"device": device, "training": outcome["training"]}
            id = log_reader(client, run, tmp_path / "trials" / outcome["trial_id"], metrics, described, merge=merge)
        folder = Path(client.get_logged_model(id).artifact_location.removeprefix("file://"))
        assert Predictor.load(folder / "artifacts/reader").spec.merged == merge
        assert ("adapters of its encoder alone" in (folder / "README.md").read_text()) != merge
        assert ("coattend[lora]==" in (folder / "requirements.txt").read_text()) != merge


def test_no_file_of_a_logged_model_has_a_credential(trained_sample, tmp_path, quick_store):
    """Other than what its reader is built with."""
    trial_folder = trial_of(trained_sample, "aoa_reader")
    folder = shutil.copytree(trial_folder, tmp_path / trial_folder.name)
    metrics = json.loads((trained_sample / "data/test/07_model_output/sample/aoa_reader/metrics.json").read_text())
    secret = {"hub_token": "hf_secret", "nested": {"address": "https://me:word@host/glove.txt"}}
    spec = run_spec.read(folder)
    run_spec.write(
        spec.model_copy(update={"options": spec.options | secret, "encoder": "https://me:word@host/e"}), folder
    )
    (trial,) = metrics["trials"]
    trial = trial | {"training": trial["training"] | {"api_key": "k-1234"}}
    client = MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    experiment = client.create_experiment("sample", artifact_location=(tmp_path / "artifacts").as_uri())
    run = client.create_run(experiment).info.run_id
    for device in ("cpu", "another"):  # The second time it gets a new card alone.
        log_reader(client, run, folder, metrics, trial | {"device": device})
        files = [file for file in (tmp_path / "artifacts").rglob("*") if file.is_file()]
        assert {"README.md", "run_spec.json", "MLmodel"} <= {file.name for file in files}
        for file in files:
            for word in (b"hf_secret", b"me:word", b"k-1234"):
                assert word not in file.read_bytes(), file
    text = next((tmp_path / "artifacts").rglob("README.md")).read_text()
    assert '- hub_token: "***"' in text
    assert f'set_tracking_uri("{client.tracking_uri}")' in text


def test_readers_of_other_benchmarks_are_not_logged_again(trained_sample, evaluated, runs):
    client = MlflowClient(f"sqlite:///{trained_sample / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("sample").experiment_id
    count = len(client.search_logged_models([experiment]))
    folder, metrics, trial = evaluated
    log_reader(client, runs["plain_span"], folder, metrics | {"benchmark": "dream"}, trial)
    assert len(client.search_logged_models([experiment])) == count
