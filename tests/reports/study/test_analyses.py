"""Analyses on a study's page: averages over splits, and printed scores of answers that were ranked again."""

import numpy as np
import pytest
from example_study import STUDY, findings_of, question_rows, study

from coattend.reports.study.analyses import average_section, reranking_section
from coattend.reports.study.sections import unmeasured_table


def with_test_split(dev, test):
    """Questions of exams with so many in dev, and others, about passages of their own, in test."""
    rows = question_rows("exams", dev + test)
    return {"exams": [row | {"split": "dev" if number < dev else "test"} for number, row in enumerate(rows)]}


def printing(encoder, **numbers):
    return study("average", printed=[{"encoder": encoder, "numbers": numbers}], benchmarks=["exams"])


def listed(findings):
    """Variant to the texts and notes of the other cells, by column."""
    (table,) = average_section(findings).tables
    heads = [column.text for column in table.columns[1:]]
    return {
        row[0].text: dict(zip(heads, ((cell.text, *cell.notes) for cell in row[1:]), strict=True)) for row in table.rows
    }


def test_each_split_counts_alike_whatever_its_size():
    findings = findings_of(study("average", benchmarks=["exams"]), questions=with_test_split(dev=60, test=20))
    scores = {
        (row["variant"], row["split"]): row["mean"]
        for row in findings["rows"]
        if row["group"] == "all" and row["metric"] == "accuracy"
    }
    means = {name: (scores[name, "dev"] + scores[name, "test"]) / 2 for name in STUDY.variants}
    rows = {name: rows[0] for name, rows in findings["analyses"]["exams"]["average"].items()}
    assert {name: row["mean"] for name, row in rows.items()} == pytest.approx(means)
    assert rows["plain"]["gain"] is None
    assert rows["poi_net"]["gain"]["mean"] == pytest.approx(means["poi_net"] - means["plain"])
    cells = listed(findings)["POI-Net"]
    assert cells["Mean of dev and test"] == (f"{means['poi_net']:.1f}",)
    assert cells["Gain"][0] == f"{means['poi_net'] - means['plain']:+.1f}"


def test_the_interval_of_a_gain_is_that_of_groups_in_each_split(monkeypatch):
    questions = with_test_split(dev=240, test=80)
    # With one seed nothing but the questions varies.
    monkeypatch.setattr("example_study.SEEDS", (0,))
    findings = findings_of(study("average", benchmarks=["exams"]), questions=questions)
    gain = findings["analyses"]["exams"]["average"]["poi_net"][0]["gain"]
    by_split = {row["split"]: row for row in findings["rows"] if (row["variant"], row["group"]) == ("poi_net", "all")}
    # Independent splits: variances add up, each halved twice.
    widths = [row["difference_high"] - row["difference_low"] for row in by_split.values()]
    assert gain["high"] - gain["low"] == pytest.approx(np.sqrt(np.sum(np.square(widths))) / 2, rel=0.15)
    assert gain["low"] < gain["mean"] < gain["high"]


def test_printed_means_and_gains_stand_beside_measured_ones():
    numbers = {
        "plain": {"exams": {"dev": 64.51, "test": 64.43, "average": 64.47}},
        "poi_net": {"exams": {"dev": 66.76, "test": 66.29, "average": 66.53, "average_gain": 2.06}},
    }
    blocks = [
        {"encoder": "ALBERT-base", "numbers": numbers},
        {"encoder": "BERT-base", "numbers": {"poi_net": {"exams": {"dev": 60, "test": 61}}}},
    ]
    parameters = study("average", printed=blocks, benchmarks=["exams"])
    findings = findings_of(parameters, questions=with_test_split(dev=40, test=20))
    rows = listed(findings)
    assert rows["POI-Net"]["Printed, ALBERT-base"] == ("66.53",)
    # The second encoder's block prints dev and test alone.
    assert not [column for column in rows["POI-Net"] if "BERT-base" in column and "ALBERT" not in column]
    assert rows["POI-Net"]["Printed gain, ALBERT-base"] == ("2.06",)
    assert rows["Baseline"]["Printed gain, ALBERT-base"] == ("–",)
    assert unmeasured_table(findings) is None


def test_a_mean_over_fewer_splits_than_the_papers_is_left_out():
    numbers = {"poi_net": {"exams": {"dev": 66.76, "test": 66.29, "average": 66.53}}}
    cells = listed(findings_of(printing("ALBERT-base", **numbers)))["POI-Net"]
    assert cells == {
        "Mean of dev and test": ("–", "scored: dev"),
        "Gain": ("–", "scored: dev"),
        "Printed, ALBERT-base": ("66.53",),
    }


def test_a_gain_may_be_printed_by_one_of_two_metrics():
    numbers = {"poi_net": {"articles": {"dev": {"exact_match": 89.5, "f1": 95}, "average_gain": {"exact_match": 1.3}}}}
    printed = [{"encoder": "ALBERT", "numbers": numbers}]
    findings = findings_of(study("average", printed=printed, benchmarks=["articles"]))
    exact, f1 = average_section(findings).tables
    assert (exact.caption, exact.rows[1][-1].text) == ("articles: Exact match", "1.3")
    assert [column.text for column in f1.columns] == ["Variant", "Mean of dev", "Gain"]


def test_averages_are_shown_where_a_study_asks_for_them():
    assert average_section(findings_of()) is None


def test_printed_scores_stand_beside_those_ranked_again():
    seed = {"before": 50.0, "after": 60.0, "right_among_n_best": 80.0, "gained": 3, "lost": 1, "p": 0.5}
    group = {"questions": 60, "missing": 0, "seeds": {"0": seed}}
    reranked = {"exams": {"reranking": {"poi_net": {"splits": {"dev": {"all": group, "NE": group}}}}}}
    numbers = {"poi_net": {"exams": {"reranked": {"dev/NE": 79.6, "test/NE": 74.0}}}}
    findings = findings_of(printing("recurrent", **numbers)) | {"analyses": reranked}
    (table,) = reranking_section(findings).tables
    assert [(row[1].text, row[4].text) for row in table.rows] == [("dev", "–"), ("dev, NE", "79.6")]
    assert unmeasured_table(findings) is None
