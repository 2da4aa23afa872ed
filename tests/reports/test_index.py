"""All pages are listed by kind, with links that lead there and back, and to the runs in MLflow."""

import re
from pathlib import Path

import pytest

from coattend.reports.index import page_folders, page_kind, write_index
from coattend.reports.navigation import page_links
from coattend.reports.render import Section, html_page

PAGES = {
    "sample/index.html": "benchmark",
    "sample/profile.html": "profile",
    "studies/duma_table7/index.html": "study",
    "studies/duma_table7/dream_attention.html": "attention",
    "attention/index.html": "attention",
    "compare/aa_bb/index.html": "comparison",
    "results.html": "overview",
    "trials.html": "overview",
}


def links_of(file):
    return re.findall(r'<a href="([^"]+)">([^<]*)</a>', file.read_text())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    # Without a store, and so without links to it.
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'none.db'}")
    folder = tmp_path / "08_reporting"
    for path in PAGES:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        links = page_links("../" * (len(Path(path).parts) - 1))
        file.write_text(html_page(f"A & B of {path}", [Section("In short")], links=links))
    return folder


def test_every_page_is_listed_once_and_links_back(folder):
    index = write_index(folder)
    assert {address for address, _ in links_of(index)} == PAGES.keys()
    assert "A &amp; B of sample/index.html" in index.read_text()
    for path, kind in PAGES.items():
        assert page_kind(Path(path)) == kind
        back = {text: (folder / path).parent / address for address, text in links_of(folder / path)}
        assert back["All pages"].resolve() == index.resolve()


def test_a_list_that_has_not_changed_is_not_written_again(folder):
    written = write_index(folder).stat().st_mtime_ns
    assert write_index(folder).stat().st_mtime_ns == written


def test_the_folder_of_all_pages_is_found_from_any_of_them(folder):
    paths = [str(folder / path) for path in PAGES]
    assert list(page_folders([*paths, "", str(folder / "compare"), "elsewhere/page.html"])) == [folder]


def test_pages_of_a_run_lead_to_each_other_and_to_its_run_in_mlflow(run_trained, trained_sample, runs):
    run_trained("profile,reporting", "sample")
    pages = trained_sample / "data/test/08_reporting"
    index = dict(links_of(pages / "index.html"))
    assert {"sample/index.html", "sample/profile.html"} <= index.keys()
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{trained_sample / 'mlflow.db'}")
    run = client.get_run(runs["poi_net"])
    experiment, parent = run.info.experiment_id, run.data.tags["mlflow.parentRunId"]
    address = f"http://127.0.0.1:5000/#/experiments/{experiment}/runs/{parent}?workflowType=machine_learning"
    assert index[address] == "its run in MLflow"
    assert dict(links_of(pages / "sample/index.html"))[address] == "Its run in MLflow"

    trials = [client.get_run(runs[reader]).data.tags["trial_id"] for reader in ("poi_net",)]
    run_trained("attention", attention={"left": "sample.poi_net/0", "questions": 1})
    page = dict(links_of(pages / "attention/index.html"))
    assert trials[0] in (pages / "attention/index.html").read_text()
    address = f"http://127.0.0.1:5000/#/experiments/{experiment}/runs/{runs['poi_net']}?workflowType=machine_learning"
    assert page[address] == "poi_net, seed 0, in MLflow"
    assert "attention/index.html" in dict(links_of(pages / "index.html"))
