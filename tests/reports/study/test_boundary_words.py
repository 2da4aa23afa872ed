"""Boundary words on a study's page: totals, shares, and the mistakes that a variant corrects."""

import pytest
from example_study import STUDY, findings_of, study

from coattend.reports.study.boundary_words import boundary_section


def tables(findings):
    return {table.caption: table for table in boundary_section(findings).tables}


def with_counts(**by_variant):
    """Findings with other counts of boundary words."""
    findings = findings_of(study("boundary_pos"))
    return findings | {"analyses": {"articles": {"boundary_pos": by_variant}}}


def counts(wrong, wrong_answers, gold=None):
    gold = gold or {"NN": 150.0, "CD": 50.0}
    return {"gold": gold, "predicted": gold, "wrong": wrong, "questions": 100, "wrong_answers": wrong_answers}


def test_all_words_are_added_up_and_wrong_ones_are_shares_of_the_gold_words():
    findings = with_counts(plain=counts({"NN": 30.0}, 40.0), poi_net=counts({"NN": 15.0, "CD": 5.0}, 38.0))
    predicted, wrong = list(tables(findings).values())[:2]
    rows = {row[0].text: [(cell.text, *cell.notes) for cell in row[1:]] for row in predicted.rows}
    assert rows["CD"][0] == ("50", "25.0 %")
    assert rows["All"] == [("200", "100.0 %")] * 3
    rows = {row[0].text: [(cell.text, *cell.notes) for cell in row[1:]] for row in wrong.rows}
    assert rows["NN"] == [("150", "75.0 %"), ("30", "20.0 %"), ("15", "10.0 %")]
    assert rows["All"] == [("200", "100.0 %"), ("30", "15.0 %"), ("20", "10.0 %")]
    assert list(rows) == ["NN", "CD", "All"]


def test_corrections_are_shares_of_the_baselines_mistakes_and_of_everything():
    findings = with_counts(plain=counts({"NN": 30.0}, 40.0), poi_net=counts({"NN": 15.0, "CD": 5.0}, 38.0))
    numbers = {"poi_net": {"corrected_pos_percent": 8.09, "corrected_answers_percent": 1.82}}
    printed = [{"encoder": "ALBERT-base", "ensemble": False, "numbers": numbers}]
    corrections = tables(findings | {"printed": printed})["Corrections, articles"]
    assert [[cell.text for cell in row] for row in corrections.rows] == [
        ["POI-Net", "Wrong parts of speech", "30", "20", "33.33", "5.00", "8.09"],
        ["POI-Net", "Wrong answers", "40", "38", "5.00", "2.00", "1.82"],
    ]


def test_variants_that_read_other_tags_than_their_baseline_are_not_compared():
    other = counts({"NN": 1.0}, 38.0, gold={"NNP": 200.0})
    assert "Corrections, articles" not in tables(with_counts(plain=counts({"NN": 30.0}, 40.0), poi_net=other))
    variants = STUDY.model_dump()["variants"]
    lower = {"plain_lower": {"title": "Lower"}, "poi_net": variants["poi_net"] | {"against": "plain_lower"}}
    findings = with_counts(
        plain=counts({"NN": 30.0}, 40.0), plain_lower=counts({"NN": 2.0}, 40.0, other["gold"]), poi_net=other
    )
    corrections = tables(findings | {"variants": variants | lower})["Corrections, articles"]
    assert [row[4].text for row in corrections.rows] == ["50.00", "5.00"]


def test_wrong_answers_are_those_of_the_scores():
    findings = findings_of(study("boundary_pos"))
    measured = findings["analyses"]["articles"]["boundary_pos"]
    exact = {
        row["variant"]: row["mean"]
        for row in findings["rows"]
        if (row["benchmark"], row["metric"], row["group"]) == ("articles", "exact", "all")
    }
    wrong = {name: 100 * of_variant["wrong_answers"] / of_variant["questions"] for name, of_variant in measured.items()}
    assert wrong == pytest.approx({name: 100 - score for name, score in exact.items()})
