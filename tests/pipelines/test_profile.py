"""The profile of a benchmark, from its raw files to its page."""

import pyarrow.parquet as pq
import pytest


def values(project, benchmark):
    folder = project / "data" / "test" / "08_reporting" / benchmark
    rows = pq.read_table(folder / "profile.parquet").to_pylist()
    return {(r["section"], r["split"], r["subset"], r["name"]): r["value"] for r in rows}, folder


def test_the_sample(kedro_run, sample_project):
    kedro_run("profile", "sample")
    statistics, folder = values(sample_project, "sample")
    assert (
        statistics["counts", "train", "all", "questions"] == 40 * 2 + 40 * 3 + 2 * 4 + 2 * 2 + 2 * 3 + 2 + 2 + 2 * 3 * 3
    )
    assert statistics["counts", "dev", "NE", "questions"] == 2
    assert statistics["counts", "all", "all", "rejected records"] == 0
    page = (folder / "profile.html").read_text()
    assert "Sample: profile" in page
    assert "sequences over 512 tokens" in page


@pytest.mark.slow
def test_published_counts_of_dream(kedro_run, project, raw):
    kedro_run("ingestion,tagging,tokenization,profile", "dream")
    statistics, _ = values(project, "dream")
    for split, questions, passages in (("train", 6116, 3869), ("dev", 2040, 1288)):
        assert statistics["counts", split, "all", "questions"] == questions
        assert statistics["counts", split, "all", "passages"] == passages
    assert statistics["copies", "train", "all", "passages that repeat another"] == 8
    assert statistics["copies", "dev", "all", "passages that repeat another"] == 3
    assert statistics["copies", "dev", "all", "passages that are in train too"] == 0
    assert statistics["copies", "train", "all", "questions with equal options"] == 1
