"""Every study runs from raw files to its page at a tiny size: each variant is trained and scored, and the page has all
that the study asks for."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml
from published_files import WRITERS, write_published_files

from coattend import studies
from coattend.config import StudyParameters
from coattend.reports.records import StudyFindings
from coattend.reports.render import Section, html_page
from coattend.reports.study.page import study_sections
from coattend.reports.tables import NO_VALUE
from conftest import write_tiny_encoder

pytestmark = pytest.mark.slow

TINY = {
    "epochs": 1,
    "evaluations": 1,
    "held_out": 0.25,
    "tokens_per_batch": 1024,
    "max_length": 256,
    "stride": 64,
    "precision": "fp32",  # Processors without bf16 imitate it slowly.
}
"""Training of one to four steps; studies and variants change what they are about."""
NAVIGATION = re.compile(r'<nav class="site".*?</nav>\n')
"""Links to other pages and to MLflow, which depend on what was tracked."""
FILES = ("index.html", "table.md", "table.csv", "table.tex", "chart.json", "rows.parquet", "costs.json")
MODEL = "random_language_model"
"""Folder of a language model with random weights, inside a project."""
DEEP = "six_layers"
"""Folder of an encoder of as many layers as MiniLM, inside a project."""
LAYERED = ("ours_apart_layers", "ours_tuned_layers")
"""Studies that read the passage apart in some of MiniLM's layers."""
MAY_BE_EMPTY = {
    "Printed": "the paper prints nothing",
    "McNemar's p": "F1 is graded, and the test is of right and wrong answers",
}
"""Beginnings of the heads of columns, and why cells of theirs may be empty."""
SPARSE = {"Tag": "no word has the tag", "Part of the steps": "nothing was scored then"}
"""First heads of tables, and why cells of theirs may be empty."""


def seeds_of(study: StudyParameters) -> list[int]:
    """One seed, or all that an ensemble is chosen from."""
    return list(study.seeds if "ensemble" in study.shows else study.seeds[:1])


@pytest.fixture(scope="session")
def raw_files(built_once) -> Path:
    """The raw folder of the benchmarks of studies; some questions of dev are those that studies show."""
    examples: dict[str, list[str]] = {}
    for name in studies.study_names():
        for example in studies.load_study(name).parameters.examples:
            examples.setdefault(example.benchmark, []).append(example.question)
    return built_once("published", lambda folder: write_published_files(folder, examples))


@pytest.fixture(scope="session")
def studied_tables(built_once, new_project, run_in, raw_files) -> Path:
    """The tables of all benchmarks of studies, from their raw files to subwords."""

    def fill(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setenv("COATTEND_RAW", str(raw_files))
            project = make_tiny(new_project(folder / "project", monkeypatch))
            read = {benchmark for name in studies.study_names() for benchmark in studies.load_study(name).read}
            run_in(project)("ingestion,tagging,tokenization", ",".join(sorted(read)))

    return built_once("studied", fill) / "project" / "data"


@pytest.fixture(scope="session")
def project_of_studies(tmp_path_factory, new_project, studied_tables) -> Path:
    """A project that the studies of one worker share, so that a trial of several studies is trained once."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        project = make_tiny(new_project(tmp_path_factory.mktemp("studies") / "project", monkeypatch))
    shutil.copytree(studied_tables, project / "data")
    return project


@pytest.fixture
def run_study(project_of_studies, run_in, raw_files, quick_store, monkeypatch) -> Callable[[str], Path]:
    """Run a study, and return the folder that it is reported in."""
    monkeypatch.chdir(project_of_studies)
    monkeypatch.setenv("COATTEND_RAW", str(raw_files))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)

    def run(name: str) -> Path:
        seeds = seeds_of(studies.load_study(name).parameters)
        run_in(project_of_studies)(f"study_{name}", study={"seeds": seeds}, attention={"questions": 2})
        return project_of_studies / "data/test/08_reporting/studies" / name

    return run


def make_tiny(project: Path) -> Path:
    """Give all benchmarks a tiny training, and all encoders and tokenizers those of the tests."""
    tests, base = project / "conf" / "test", project / "conf" / "base"
    parameters = yaml.safe_load((tests / "parameters.yml").read_text())
    benchmarks = parameters["benchmarks"]
    benchmarks |= {name: {"shards": 1, "workers": 1, "training": TINY, "recurrent": TINY} for name in WRITERS}
    benchmarks["sample"] |= {"training": TINY | {"max_questions": 12}, "recurrent": {"epochs": 1}}
    # Calibration divides the words of dev into ten parts.
    benchmarks["sample"]["generator"]["clozes"]["dev"] = 5
    # A study whose base names an encoder has its rows of other encoders, too, as with --env paper.
    repeating = [name for name in studies.study_names() if repeats(studies.load_study(name).parameters)]
    parameters["studies"] = {name: {"base": {"encoder": "minilm"}} for name in repeating}
    # Thresholds are such that trials of a few steps may reach them.
    for name in studies.study_names():
        study = studies.load_study(name).parameters
        if "time_to_score" in study.shows:
            parameters["studies"][name] = {"thresholds": dict.fromkeys(study.benchmarks, 1.0)}
    # This one is about language models, of which an environment names its own: one with random weights.
    # Only here is torch needed, without which this module is collected, too.
    from experiments import write_language_model

    write_language_model(project / MODEL, ["Where is the lamp?", "台灯在哪儿？"])
    parameters["studies"]["today"] = {"beside": f"option_likelihood:{MODEL}"}
    # These count more layers than the tests' encoder has: another stands under the name that shares its subwords.
    parameters["studies"] |= {name: {"base": {"encoder": "minilm_4"}} for name in LAYERED}
    (project / DEEP).mkdir()
    write_tiny_encoder(project / DEEP, layers=6)
    (tests / "parameters.yml").write_text(yaml.safe_dump(parameters))
    encoders_file = tests / "parameters_encoders.yml"
    tiny_encoder = yaml.safe_load(encoders_file.read_text())["encoders"]["minilm"]
    encoders = yaml.safe_load((base / "parameters_training.yml").read_text())["encoders"]
    tokenizers = yaml.safe_load((base / "parameters_tokenization.yml").read_text())["tokenizers"]
    replaced = {
        "encoders": dict.fromkeys(encoders, tiny_encoder) | {"minilm_4": tiny_encoder | {"source": DEEP}},
        "tokenizers": {name: {"source": tiny_encoder["source"]} for name in tokenizers},
    }
    # The one over characters has no other's weights.
    replaced["encoders"]["characters"] = {"untrained": {"layers": 1, "hidden": 16, "heads": 2}}
    del replaced["tokenizers"]["characters"]
    encoders_file.write_text(yaml.safe_dump(replaced))
    return project


def repeats(study: StudyParameters) -> bool:
    """Tell if a study has rows over a second encoder."""
    return any(variant.repeats for variant in study.variants.values())


@pytest.mark.parametrize("name", studies.study_names())
def test_a_study_runs_from_raw_files_to_its_page(name, run_study):
    # A trial that fails fails the run.
    folder = run_study(name)
    assert all((folder / file).stat().st_size for file in FILES)
    study = studies.wired_study(name).parameters
    findings = json.loads((folder / "findings.json").read_text(), parse_constant=refuse)
    check_trials(study, findings)
    check_scores(study, findings)
    sections = study_sections(findings)
    page = NAVIGATION.sub("", (folder / "index.html").read_text())
    assert page == html_page(findings["title"], sections)
    assert not list(empty_cells(sections))
    for analysis in study.shows:
        check_analysis(analysis, study, findings)
    if "attention" in study.shows:
        assert all((folder / f"{benchmark}_attention.html").is_file() for benchmark in study.benchmarks)


def refuse(constant: str) -> NoReturn:
    raise AssertionError(f"the findings hold {constant}")


def check_trials(study: StudyParameters, findings: StudyFindings) -> None:
    """Every variant has a finished trial of every seed on each of its benchmarks."""
    assert not findings["failures"]
    assert not findings["left_out"]
    for variant in study.variants:
        for benchmark in study.benchmarks_of(variant):
            trials = findings["trials"][benchmark][variant]
            assert [trial["seed"] for trial in trials] == seeds_of(study), (benchmark, variant)


def check_scores(study: StudyParameters, findings: StudyFindings) -> None:
    """All variants of a benchmark are scored on the same questions, and compared with their baselines there."""
    scored: dict[str, dict[tuple[str, str, str], list[str]]] = {benchmark: {} for benchmark in study.benchmarks}
    for row in findings["rows"]:
        scored[row["benchmark"]].setdefault((row["split"], row["group"], row["metric"]), []).append(row["variant"])
        assert row["trials"] == len(seeds_of(study)), row
        assert isfinite(row["mean"]), row
        assert row["questions"] > 0, row
        if row["baseline"] is not None:
            assert row["difference"] is not None, row
            assert row["verdict"], row
    for benchmark, tables in scored.items():
        variants = [variant for variant in study.variants if benchmark in study.benchmarks_of(variant)]
        assert tables, f"{benchmark} has no table of scores"
        assert all(rows == variants for rows in tables.values()), benchmark


def empty_cells(sections: list[Section]) -> Iterator[tuple[str, ...]]:
    """Yield section, table, row and column of cells without a value or a reason, and of tables without a row."""
    for section in sections:
        for table in (*section.tables, *section.folded):
            if not table.rows:
                yield section.title, table.caption, "", ""
            # What a paper cites from others is as it prints it.
            measured = not table.quiet and table.columns[0].text not in SPARSE
            for row in table.rows if measured else ():
                for head, cell in zip(table.columns, row, strict=True):
                    if cell.text in ("", NO_VALUE) and not cell.notes and not head.text.startswith(tuple(MAY_BE_EMPTY)):
                        yield section.title, table.caption, row[0].text, head.text


def check_analysis(analysis: str, study: StudyParameters, findings: StudyFindings) -> None:
    """An analysis adds to the page, and covers every variant."""
    without, alone = (sections_showing(findings, *shown) for shown in ((), (analysis,)))
    added = [section for section in alone if section not in without]
    assert added, f"the page has nothing of {analysis}"
    for section in added:
        assert any((section.tables, section.folded, section.figures, section.links)), section.title
    for benchmark in study.benchmarks:
        variants = {variant for variant in study.variants if benchmark in study.benchmarks_of(variant)}
        results: Any = findings["analyses"][benchmark].get(analysis)
        if isinstance(results, dict):
            assert {variant for variant in variants if results.get(variant)} == variants, analysis
        if analysis == "predictions":
            assert not [example for example in results if "missing" in example]
        # Not every benchmark has types of questions, or what else its questions are divided by.
        divided = {
            row["variant"]
            for row in findings["breakdowns"]
            if (row["breakdown"], row["benchmark"]) == (analysis, benchmark)
        }
        assert divided in (set(), variants), analysis


def sections_showing(findings: StudyFindings, *shown: str) -> list[Section]:
    """The sections of the page if the study asked for some of its analyses alone."""
    left_out = {name for name in findings["shows"] if name not in shown}
    analyses = {
        benchmark: {name: results for name, results in by_name.items() if name not in left_out}
        for benchmark, by_name in findings["analyses"].items()
    }
    return study_sections(findings | {"shows": list(shown), "analyses": analyses})  # type: ignore[typeddict-item]
