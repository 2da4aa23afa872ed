"""A shared reader is a folder that needs nothing else, and goes up to the Hub and comes down from it as it is."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub import ModelCard
from pydantic import ValidationError
from sampled import answered, trial_of
from served import free_port
from small_hub import TOKEN, listening

from coattend.config import ShareParameters
from coattend.errors import CoattendError
from coattend.pipelines.share.nodes import write
from coattend.serving import hub
from coattend.serving.predictor import Predictor

READERS = {"poi_net": "accuracy", "plain_span": "f1", "aoa_reader": "accuracy"}


SHARED = {}
"""Folder and record of each reader that was shared."""


@pytest.fixture
def share(run_trained, trained_sample):
    """Shares a reader once for all tests; gives its folder and record."""

    def run(reader):
        if reader not in SHARED:
            run_trained("share", share={"model": trial_of(trained_sample, reader).name[:10]})
            record = json.loads((trained_sample / "data/test/07_model_output/shared.json").read_text())
            SHARED[reader] = trained_sample / "data/test/07_model_output/shared" / record["folder"], record
        return SHARED[reader]

    return run


@pytest.mark.parametrize("reader", READERS)
def test_a_shared_reader_answers_as_its_trial_does(share, trained_sample, reader):
    trial = trial_of(trained_sample, reader)
    folder, record = share(reader)
    assert {"README.md", "config.json", "reader.json", "run_spec.json", "model.safetensors"} <= set(record["files"])
    questions = [query for query, _ in answered(trained_sample, reader)[:8]]
    shared_answers, trial_answers = (list(Predictor.load(source).answers(questions)) for source in (str(folder), trial))
    assert shared_answers == trial_answers


@pytest.mark.parametrize(("reader", "metric"), READERS.items())
def test_its_card_is_one_of_the_hubs(share, trained_sample, reader, metric):
    folder, _ = share(reader)
    data = ModelCard.load(folder / "README.md").data
    file = trained_sample / f"data/test/07_model_output/sample/{reader}/metrics.json"
    scores = json.loads(file.read_text())["splits"]["dev"]["all"]
    measured = {
        result.metric_name: result.metric_value for result in data.eval_results if result.dataset_split == "dev"
    }
    assert measured[metric] == pytest.approx(scores[metric]["mean"], abs=0.005)
    assert (data.license, data.library_name, data.language) == ("apache-2.0", "coattend", "en")
    assert (data.base_model is None) == (reader == "aoa_reader")


def test_the_lines_of_its_card_load_it(share):
    folder, _ = share("poi_net")
    (lines,) = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    *before, last = lines.replace("path/to/this/folder", str(folder)).splitlines()
    names = {}
    exec("\n".join(before), names)
    assert eval(last, names) in ("In the hall.", "In the attic.", "At sea.")


def test_a_shared_folder_is_a_name_of_its_reader(share, trained_sample, predict):
    trial = trial_of(trained_sample, "poi_net")
    folder, _ = share("poi_net")
    row = {"passage": "Mary slept .", "question": "Who slept?", "options": ["Mary", "John"]}
    assert predict(str(folder), [row], "of_a_folder") == predict(trial.name, [row], "of_a_folder")


def test_data_for_research_are_told_to_the_hub(trained_sample):
    from coattend.config import BenchmarkParameters
    from coattend.config.entries import benchmark_entry
    from coattend.serving.model_card import metadata
    from coattend.trials import run_spec

    benchmark = BenchmarkParameters.model_validate(benchmark_entry("dream") | {"name": "dream"})
    source = {"licence": benchmark.licence, "published_at": benchmark.published_at, "hub": benchmark.hub}
    spec = run_spec.read(trial_of(trained_sample, "poi_net")).model_copy(update=source | {"benchmark": "dream"})
    data = metadata(spec, {"splits": {}})
    assert (data.license, data.license_name, data.datasets) == ("other", "data-of-dream", ["dataset-org/dream"])
    assert data.license_link == "https://github.com/nlpdata/dream"


LICENCES = [
    ("Apache-2.0, as this project.", [], "apache-2.0"),
    ("Apache-2.0, as this project.", ["CC BY 4.0"], "cc-by-4.0"),
    ("CC BY-SA 4.0", ["CC BY 4.0"], "cc-by-sa-4.0"),
    ("GFDL 1.3", ["Not stated by its publishers.", "CC BY 4.0"], "data-of-other-0"),
    ("", ["For non-commercial research only."], "data-of-other-0"),
    ("For non-commercial research only.", [""], "data-of-sample"),
]


def test_the_licence_that_allows_least_is_the_readers(subtests, trained_sample):
    for own_licence, other_licences, expected in LICENCES:
        with subtests.test(own=own_licence, others=other_licences):
            from coattend.serving.model_card import metadata
            from coattend.trials import run_spec
            from coattend.trials.run_spec import TrainedOn

            also = tuple(
                TrainedOn(name=f"other_{n}", title="", licence=licence, hub=f"them/{n}")
                for n, licence in enumerate(other_licences)
            )
            spec = run_spec.read(trial_of(trained_sample, "poi_net"))
            spec = spec.model_copy(update={"licence": own_licence, "also_trained_on": also})
            data = metadata(spec, {"splits": {}})
            assert (data.license_name or data.license) == expected
            assert (data.datasets or []) == [training_set.hub for training_set in also]


def test_what_cannot_be_shared_is_refused(run_trained, trained_sample):
    trial = trial_of(trained_sample, "poi_net")
    store = f"sqlite:///{trained_sample / 'mlflow.db'}"
    for model, message in (
        (None, rf"share\.model: names no trained reader.*--pipelines share .*share\.model=(?!<).*{trial.name}"),
        ("zzz", rf"share\.model: there is no trained reader 'zzz'.*{trial.name}"),
    ):
        with pytest.raises(CoattendError, match=message):
            write(ShareParameters(model=model), {}, trial.parent, store, None, trained_sample)
    with pytest.raises(CoattendError, match=r"share.*to"):
        run_trained("share", share={"model": trial.name, "to": "nobody"})
    with pytest.raises(ValidationError, match="two"):
        ShareParameters(model=trial.name, two="me/it")


KILLED_BETWEEN = """
import os, signal, sys
from pathlib import Path
from coattend.serving.hub import replace_folder
renames = []
def kill(event, about):
    if event == "os.rename":
        renames.append(about)
        if len(renames) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(kill)
replace_folder(Path(sys.argv[1], "made/new"), Path(sys.argv[1], "target"))
"""


@pytest.mark.slow
def test_a_folder_that_was_shared_before_outlives_a_kill(tmp_path):
    for folder, content in (("made/new", "new"), ("target", "old")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "README.md").write_text(content)
    ended = subprocess.run([sys.executable, "-c", KILLED_BETWEEN, str(tmp_path)], check=False, capture_output=True)
    assert ended.returncode == -9, ended.stderr
    assert {file.read_text() for file in tmp_path.rglob("README.md")} == {"new", "old"}


@pytest.fixture
def small(tmp_path):
    """A folder that takes no time to send."""
    folder = tmp_path / "reader"
    (folder / "tokenizer").mkdir(parents=True)
    for name, content in {"README.md": "# A", "model.safetensors": "weights", "tokenizer/tokenizer.json": "{}"}.items():
        (folder / name).write_text(content)
    return folder


@pytest.fixture
def hub_at(monkeypatch):
    """Has the Hub's library ask another address, as HF_ENDPOINT does for a process that begins."""

    def at(address, token=TOKEN):
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
        monkeypatch.setenv("HF_TOKEN", token)

    return at


def test_a_folder_is_sent_whole_and_privately(small, hub_at):
    with listening() as small_hub:
        hub_at(small_hub.address)
        address = hub.upload(small, "me/reader", private=True)
    assert address.startswith(f"{small_hub.address}/me/reader/commit/")
    assert small_hub.private == {"me/reader": True}
    sent = {name: content.decode() for name, content in small_hub.files["me/reader"].items()}
    assert sent == {"README.md": "# A", "model.safetensors": "weights", "tokenizer/tokenizer.json": "{}"}


def test_a_hub_that_refuses_or_is_not_there_is_told_with_what_was_written(small, hub_at):
    with listening() as small_hub:
        hub_at(small_hub.address, token="hf_of_a_stranger")
        with pytest.raises(CoattendError, match=rf"share.to me/reader: the Hub refuses.*hf auth login.*{small}"):
            hub.upload(small, "me/reader", private=True)
    hub_at(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(CoattendError, match=rf"out of reach.*{small}; the same command sends it where there is"):
        hub.upload(small, "me/reader", private=True)


@pytest.mark.slow
def test_a_reader_goes_up_and_answers_from_there(trained_sample, tmp_path):
    trial = trial_of(trained_sample, "aoa_reader").name
    row = {"passage": "John sold his boat .", "question": "John sold his _ .", "options": ["boat", "lamp"]}
    (trained_sample / "up.jsonl").write_text(json.dumps(row) + "\n")
    with listening() as hub:
        environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_ENDPOINT": hub.address, "HF_TOKEN": TOKEN}
        environment |= {"HF_HUB_DISABLE_XET": "1", "HF_HOME": str(tmp_path)}

        def kedro(pipeline, params):
            command = [Path(sys.executable).parent / "kedro", "run", "--env", "test", "--pipelines", pipeline]
            options = {"cwd": trained_sample, "env": environment, "capture_output": True, "text": True}
            return subprocess.run([*command, "--params", params], check=False, **options)

        shared = kedro("share", f"share.model={trial},share.to=me/reader")
        assert shared.returncode == 0, shared.stderr
        for name, model in (("there", "hf://me/reader"), ("here", trial)):
            completed = kedro(
                "prediction", f"prediction.model={model},prediction.input=up.jsonl,prediction.name={name}"
            )
            assert completed.returncode == 0, completed.stderr
        missing = kedro("prediction", "prediction.model=hf://me/other,prediction.input=up.jsonl")
    predictions = trained_sample / "data/test/07_model_output/predictions"
    there_said, here_said = ((predictions / name / "answers.jsonl").read_text() for name in ("there", "here"))
    assert there_said == here_said
    assert missing.returncode == 1
    assert "there is no reader 'me/other' at hand or to be fetched" in " ".join(missing.stderr.split())
