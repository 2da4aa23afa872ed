"""The numbers that a paper prints, on a study's page and in its exports."""

import csv
import io

import pytest
from example_study import STUDY, findings_of, study

from coattend import studies
from coattend.reports.study.boundary_words import boundary_section
from coattend.reports.study.costs import cost_section
from coattend.reports.study.page import latex_tables, score_tables
from coattend.reports.study.paper_numbers import printed_scores
from coattend.reports.study.sections import unmeasured_table
from coattend.reports.study.table import arrow_table
from coattend.reports.tables import to_csv

STEPS = {400: {"accuracy": 76.94, "loss": 0.6223}, 2800: {"accuracy": 85.42, "loss": 0.7931}, 3200: {"accuracy": 84.0}}


def printing(*blocks, shows=(), **changes):
    """A study with printed numbers: encoder, variant to numbers, and True for those of an ensemble."""
    printed = [{"encoder": encoder, "numbers": numbers, "ensemble": together} for encoder, numbers, together in blocks]
    return study(*shows, printed=printed, **changes)


def unmeasured_rows(findings):
    return [tuple(cell.text for cell in row) for row in unmeasured_table(findings).rows]


def printed_column(findings, caption):
    """Texts and notes of the last column of a table of scores."""
    table = next(table for table in score_tables(findings) if table.caption == caption)
    return [(row[-1].text, *row[-1].notes) for row in table.rows]


def test_printed_scores_without_a_measured_one_are_listed():
    numbers = {"plain": {"exams": {"dev": 61.0, "test": 60.5, "test/NE": 58}}}
    spans = {"poi_net": {"articles": {"dev": {"f1": 80.1}, "test": {"exact_match": 71.6, "f1": 80.4}}}}
    not_run = {"lost": {"exams": {"dev": 66.6}}}
    variants = {**STUDY.model_dump()["variants"], "lost": {"title": "Lost", "benchmarks": ["articles"]}}
    single = ("ALBERT-base", numbers | spans | not_run, False)
    ensemble = ("ALBERT-base", {"plain": {"exams": {"test": 62}}}, True)
    findings = findings_of(printing(single, ensemble, variants=variants), variants=("plain", "poi_net"))
    assert unmeasured_rows(findings) == [
        ("Baseline", "exams", "test", "Accuracy", "60.5", "ALBERT-base"),
        ("Baseline", "exams", "test", "Accuracy", "62", "ALBERT-base, ensemble"),
        ("Baseline", "exams", "test, NE", "Accuracy", "58", "ALBERT-base"),
        ("POI-Net", "articles", "test", "Exact match", "71.6", "ALBERT-base"),
        ("POI-Net", "articles", "test", "F1", "80.4", "ALBERT-base"),
        ("Lost", "exams", "dev", "Accuracy", "66.6", "ALBERT-base"),
    ]
    latex = latex_tables(findings).partition("Printed, not measured here")[2]
    assert "POI-Net & articles & test & F1 & 80.4 & ALBERT-base" in latex


def test_printed_scores_that_were_all_measured_need_no_further_table():
    findings = findings_of(printing(("ALBERT-base", {"plain": {"exams": {"dev": 61.0}}}, False)))
    assert printed_column(findings, "exams, dev: Accuracy, 60 questions") == [("61.0",), ("–",)]
    assert unmeasured_table(findings) is None


QUANTITIES = {"parameters_millions": 11.15, "exams": {"minutes_per_epoch": 83}, "boundary_pos": {"NN": 11254}}


@pytest.mark.parametrize(("shows", "variants"), [((), ("plain", "poi_net")), (("parameters",), ("plain",))])
def test_printed_quantities_that_were_not_measured_are_listed(shows, variants):
    parameters = printing(("ALBERT-base", {"poi_net": QUANTITIES}, False), shows=shows)
    assert set(unmeasured_rows(findings_of(parameters, variants=variants))) == {
        ("POI-Net", "–", "–", "Parameters, millions", "11.15", "ALBERT-base"),
        ("POI-Net", "exams", "–", "Minutes for an epoch", "83", "ALBERT-base"),
        ("POI-Net", "–", "–", "Boundary words, NN", "11254", "ALBERT-base"),
    }


def test_printed_quantities_beside_measured_ones_are_listed_once():
    parameters = printing(("ALBERT-base", {"poi_net": QUANTITIES}, False), shows=("parameters", "boundary_pos"))
    findings = findings_of(parameters)
    rows = {row[0].text: row[-1].text for row in cost_section(findings).tables[0].rows}
    assert rows["POI-Net"] == "11.15 million, 83 minutes"
    counts = next(table for table in boundary_section(findings).tables if table.caption == "Boundary words, articles")
    printed = [column.text for column in counts.columns].index("POI-Net, printed")
    assert "11,254" in [row[printed].text for row in counts.rows]
    assert unmeasured_table(findings) is None


def test_exports_have_every_printed_number_and_keep_ensembles_apart():
    def numbers(value, **extra):
        return {"plain": {"exams": {"dev": value}}} | extra

    parameters = printing(
        ("ALBERT-base", numbers(78.9, poi_net={"exams": {"dev": 80}}), True),
        ("ALBERT-base", numbers(71.8), False),
        ("BERT-base", numbers(68.1), False),
    )
    table = arrow_table(findings_of(parameters))
    rows = {(row["variant"], row["group"], row["benchmark"]): row for row in csv.DictReader(io.StringIO(to_csv(table)))}
    plain = rows["plain", "all", "exams"]
    assert (plain["printed"], plain["printed_encoder"]) == ("71.8", "ALBERT-base")
    assert plain["printed_all"] == "78.9 (ALBERT-base, ensemble); 71.8 (ALBERT-base); 68.1 (BERT-base)"
    ensemble_only = rows["poi_net", "all", "exams"]
    assert (ensemble_only["printed"], ensemble_only["printed_encoder"]) == ("", "")
    assert ensemble_only["printed_all"] == "80 (ALBERT-base, ensemble)"
    assert table.slice(0, 1)["printed_all"].to_pylist() == [plain["printed_all"]]
    assert rows["plain", "NE", "exams"]["printed_all"] == ""


def test_of_scores_printed_step_by_step_the_best_checkpoint_counts():
    numbers = {"plain": {"exams": {"dev": STEPS, "test": STEPS}}}
    findings = findings_of(printing(("ALBERT", numbers, False)))
    cell = ("85.42", "best of 3 printed checkpoints")
    assert printed_column(findings, "exams, dev: Accuracy, 60 questions") == [cell, ("–",)]
    (row,) = unmeasured_table(findings).rows
    assert (row[2].text, row[4].text, row[4].notes) == ("test", "85.42", ("best of 3 printed checkpoints",))
    exported = arrow_table(findings).to_pylist()[0]
    assert exported["printed"] == 85.42
    assert exported["printed_all"] == "85.42 (ALBERT, best of 3 printed checkpoints)"


def test_recams_steps_are_compared_with_the_checkpoints_that_its_paper_keeps():
    parameters = studies.load_study("recam_steps").parameters
    scores = printed_scores(parameters.model_dump(mode="json")["printed"], parameters.benchmarks)
    values = {key.variant: [score["value"] for score in printed] for key, printed in scores.items()}
    assert values == {"recam_duma": [85.42], "duma": [83.63]}
    assert {tuple(key[1:]) for key in scores} == {("recam", "dev", "task 1", "accuracy")}
