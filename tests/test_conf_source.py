"""Every part of the project reads the configuration that ``--conf-source`` or ``CONF_SOURCE`` names."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from kedro.framework.project import pipelines, settings
from kedro.framework.startup import bootstrap_project

from coattend import studies
from coattend.config import entries, source
from coattend.errors import CoattendError
from coattend.settings import CONFIG_LOADER_ARGS, ProjectConfigLoader

ROOT = Path(__file__).parents[1]
INGESTION = ["--env", "test", "--pipelines", "ingestion", "--namespaces", "exams"]


def add_benchmark(conf: Path, suffix: str = ".yml") -> None:
    """Add the benchmark ``exams``, a copy of the tiny sample."""
    folder = conf / "base/parameters/benchmarks"
    text = (folder / "sample.yml").read_text().replace("sample/", "exams/")
    tiny = yaml.safe_load((conf / "test/parameters.yml").read_text())["benchmarks"]["sample"]["generator"]
    sample = yaml.safe_load(text)["benchmarks"]["sample"]
    sample["generator"] |= tiny
    (folder / f"exams{suffix}").write_text(yaml.safe_dump({"benchmarks": {"exams": sample}}))


@pytest.fixture
def elsewhere(project) -> Path:
    """A configuration beside the project's own, with a benchmark more."""
    conf = project.parent / "elsewhere"
    shutil.copytree(ROOT / "conf", conf)
    add_benchmark(conf)
    return conf


@pytest.mark.slow
def test_a_run_reads_the_configuration_that_it_is_given(kedro, kedro_run, project, elsewhere):
    with pytest.raises(CoattendError, match="no benchmark is called 'exams'"):
        kedro_run("ingestion", "exams")
    completed = kedro("run", *INGESTION, "--conf-source", str(elsewhere))
    assert completed.returncode == 0, completed.stderr
    assert "exams: " in completed.stdout
    assert (project / "data/test/02_intermediate/exams").is_dir()


def test_a_session_reads_the_configuration_that_it_is_given(project, elsewhere):
    bootstrap_project(project)
    with settings.SESSION_CLASS.create(project_path=project, env="test", conf_source=str(elsewhere)) as session:
        context = session.load_context()
        assert "exams" in context.params["benchmarks"]
        assert "exams.questions" in pipelines["ingestion"].all_outputs()
        assert "exams" in entries.benchmark_names()
    with settings.SESSION_CLASS.create(project_path=project, env="test") as session:
        assert "exams" not in session.load_context().params["benchmarks"]
        assert "exams.questions" not in pipelines["ingestion"].all_outputs()


def test_settings_name_another_configuration(project, elsewhere, monkeypatch):
    shutil.move(project / "conf", project / "moved")
    add_benchmark(project / "moved", ".yaml")
    bootstrap_project(project)
    monkeypatch.setattr(type(settings), "CONF_SOURCE", "moved", raising=False)
    assert "exams" in entries.benchmark_names()
    assert "exams.questions" in pipelines["ingestion"].all_outputs()


def test_encoders_studies_and_environments_are_those_of_the_source(elsewhere, monkeypatch):
    file = elsewhere / "base/parameters_training.yml"
    encoders = yaml.safe_load(file.read_text())
    file.unlink()
    encoders["encoders"]["mine"] = {"source": "embedded", "tokenizer": "bert_base"}
    file.with_suffix(".yaml").write_text(yaml.safe_dump(encoders))
    (elsewhere / "mine").mkdir()
    (elsewhere / "mine/parameters.yaml").write_text("readers: { duma: { encoder: mine } }\n")
    (elsewhere / "mine/parameters_more.yml").write_text(
        "benchmarks: { sample: { encoder: mine } }\nreaders: { duma: { layers: 2 } }\n"
    )
    (elsewhere / "base/studies/grid.yml").unlink()
    loader = ProjectConfigLoader(str(elsewhere), env="mine", **CONFIG_LOADER_ARGS)
    assert entries.text_profiles(entries.reader_entry("duma"), "dream").tokenizer == "bert_base"
    assert entries.text_profiles(entries.reader_entry("plain"), "dream").tokenizer == "minilm"
    assert entries.text_profiles(entries.reader_entry("plain"), "sample").tokenizer == "bert_base"
    assert not [name for name in studies.study_names() if name.startswith("grid")]
    assert "exams" in loader["parameters"]["benchmarks"]
    with pytest.raises(Exception, match=r"there is no environment 'mien'.*Did you mean 'mine'\?"):
        ProjectConfigLoader(str(elsewhere), env="mien", **CONFIG_LOADER_ARGS)


def test_a_benchmark_names_its_readers_although_their_entries_leave_it_out(elsewhere):
    assert "exams" not in entries.reader_entry("plain_word")["benchmarks"]
    file = elsewhere / "base/parameters/benchmarks/exams.yml"
    benchmark = yaml.safe_load(file.read_text())
    benchmark["benchmarks"]["exams"]["readers"] = ["plain_word", "plain"]
    file.write_text(yaml.safe_dump(benchmark))
    source.enter(str(elsewhere), "test")
    assert entries.readers_of("exams") == ["plain", "plain_word"]


@pytest.mark.parametrize("form", ["zip", "gztar"])
def test_an_archive_is_a_source_too(elsewhere, form):
    """As ``kedro package`` writes one."""
    archive = shutil.make_archive(str(elsewhere.with_name("conf")), form, elsewhere.parent, elsewhere.name)
    source.enter(archive, "paper")
    assert "exams" in entries.benchmark_names()
    assert entries.reader_entry("poi_net")["encoder"] == "albert_base"
    assert "duma_table7" in studies.study_names()
    assert "paper" in source.environments(archive)


@pytest.mark.slow
def test_the_packaged_project_runs_beside_a_copy_of_the_configuration(tmp_path):
    """Without a checkout: the wheel, an empty folder with ``conf`` in it, and nothing else."""
    copied, site, folder = (tmp_path / name for name in ("checkout", "site", "work"))
    shutil.copytree(ROOT / "src", copied / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copied)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, copied], check=True)
    (wheel,) = tmp_path.glob("coattend-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", site, wheel], check=True)
    folder.mkdir()
    shutil.copytree(ROOT / "conf", folder / "conf")
    add_benchmark(folder / "conf", ".yaml")
    environment = os.environ | {"PYTHONPATH": str(site), "DO_NOT_TRACK": "1"}

    def run(*command):
        completed = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        return completed.returncode, completed.stdout + completed.stderr

    status, output = run(sys.executable, "-m", "coattend", *INGESTION)
    assert (status, "exams: " in output) == (0, True), output
    assert (folder / "data/test/02_intermediate/exams").is_dir()
    status, output = run(sys.executable, site / "bin/coattend", *INGESTION[:-1], "exam")
    assert (status, "Did you mean 'exams'?" in output) == (1, True), output
    shutil.move(folder / "conf", tmp_path / "settings")
    status, output = run(site / "bin/coattend", *INGESTION, "--conf-source", str(tmp_path / "settings"))
    assert (status, "exams: " in output) == (0, True), output
