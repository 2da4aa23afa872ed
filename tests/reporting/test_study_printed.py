"""What a study's page and exports say of the numbers that its paper prints."""

import csv
import io

import pytest
from studied import STUDY, found

from coattend import studies
from coattend.parameters import StudyParameters
from coattend.reporting import study_page, study_table
from coattend.reporting.study_printed import by_place

STEPS = {400: {"accuracy": 76.94, "loss": 0.6223}, 2800: {"accuracy": 85.42, "loss": 0.7931}, 3200: {"accuracy": 84.0}}


def printing(*blocks, **changed):
    """A study of which the paper prints this: encoder, variant to numbers, and whether they are an ensemble's."""
    printed = [{"encoder": encoder, "numbers": numbers, "ensemble": together} for encoder, numbers, together in blocks]
    return StudyParameters.model_validate(STUDY.model_dump() | {"printed": printed} | changed)


def unmeasured(markdown):
    return markdown.partition("**Printed, not measured here**")[2].partition("## ")[0]


def test_what_is_printed_of_a_split_or_a_variant_without_a_score_is_told():
    numbers = {"plain": {"exams": {"dev": 61.0, "test": 60.5, "test/NE": 58}}}
    spans = {"poi_net": {"articles": {"dev": {"f1": 80.1}, "test": {"exact_match": 71.6, "f1": 80.4}}}}
    lost = {"lost": {"exams": {"dev": 66.6}}}
    about = printing(
        ("ALBERT-base", numbers | spans | lost, False), ("ALBERT-base", {"plain": {"exams": {"test": 62}}}, True),
        variants={**STUDY.model_dump()["variants"], "lost": {"title": "Lost", "benchmarks": ["articles"]}},
    )  # fmt: skip
    results, page, markdown = found(about, run=("plain", "poi_net"))
    table = [line for line in unmeasured(markdown).splitlines() if line.startswith("| ")][2:]
    assert table == [
        "| Baseline | exams | test | Accuracy | 60.5 | ALBERT-base |",
        "| Baseline | exams | test | Accuracy | 62 | ALBERT-base, ensemble |",
        "| Baseline | exams | test, NE | Accuracy | 58 | ALBERT-base |",
        "| POI-Net | articles | test | Exact match | 71.6 | ALBERT-base |",
        "| POI-Net | articles | test | F1 | 80.4 | ALBERT-base |",
        "| Lost | exams | dev | Accuracy | 66.6 | ALBERT-base |",
    ]
    assert "<caption>Printed, not measured here</caption>" in page
    written = study_page.latex(results).partition("Printed, not measured here")[2]
    assert "POI-Net & articles & test & F1 & 80.4 & ALBERT-base" in written


def test_a_study_whose_printed_numbers_all_stand_beside_scores_has_no_further_table():
    _, page, markdown = found(printing(("ALBERT-base", {"plain": {"exams": {"dev": 61.0}}}, False)))
    assert "| 61 |" in markdown
    assert "not measured here" not in page + markdown


@pytest.mark.parametrize(("shows", "run"), [((), ("plain", "poi_net")), (("parameters",), ("plain",))])
def test_printed_quantities_of_what_was_not_measured_are_told(shows, run):
    numbers = {"poi_net": {"parameters_millions": 11.15, "exams": {"minutes_per_epoch": 83}}}
    numbers["poi_net"] |= {"boundary_pos": {"NN": 11254}}
    told = unmeasured(found(printing(("ALBERT-base", numbers, False), shows=shows), run=run)[2])
    assert "| POI-Net | – | – | Parameters, millions | 11.15 | ALBERT-base |" in told
    assert "| POI-Net | exams | – | Minutes for an epoch | 83 | ALBERT-base |" in told
    assert "| POI-Net | – | – | Boundary words, NN | 11254 | ALBERT-base |" in told


def test_printed_quantities_that_stand_beside_measured_ones_are_told_once():
    numbers = {"poi_net": {"parameters_millions": 11.15, "exams": {"minutes_per_epoch": 83}}}
    numbers["poi_net"] |= {"boundary_pos": {"NN": 11254}}
    about = printing(("ALBERT-base", numbers, False), shows=("parameters", "boundary_pos"))
    markdown = found(about)[2]
    assert "11.15 million, 83 minutes" in markdown
    assert "11,254" in markdown
    assert not unmeasured(markdown)


def test_exports_have_every_printed_number_and_never_an_ensembles_as_a_single_readers():
    def at(value, **others):
        return {"plain": {"exams": {"dev": value}}} | others

    about = printing(
        ("ALBERT-base", at(78.9, poi_net={"exams": {"dev": 80}}), True),
        ("ALBERT-base", at(71.8), False),
        ("BERT-base", at(68.1), False),
    )
    rows = study_table.rows_of(found(about)[0])
    every = {
        (row["variant"], row["group"], row["benchmark"]): row
        for row in csv.DictReader(io.StringIO(study_page.csv(rows)))
    }
    plain = every["plain", "all", "exams"]
    assert (plain["printed"], plain["printed_encoder"]) == ("71.8", "ALBERT-base")
    assert plain["printed_all"] == "78.9 (ALBERT-base, ensemble); 71.8 (ALBERT-base); 68.1 (BERT-base)"
    together = every["poi_net", "all", "exams"]
    assert (together["printed"], together["printed_encoder"]) == ("", "")
    assert together["printed_all"] == "80 (ALBERT-base, ensemble)"
    assert rows.slice(0, 1)["printed_all"].to_pylist() == [plain["printed_all"]]
    assert every["plain", "NE", "exams"]["printed_all"] == ""


def test_of_what_is_printed_step_by_step_the_best_checkpoint_stands_beside_the_score():
    results, _, markdown = found(printing(("ALBERT", {"plain": {"exams": {"dev": STEPS, "test": STEPS}}}, False)))
    scores = markdown.partition("**exams, dev: Accuracy, 60 questions**")[2].partition("**")[0]
    assert "| 85.42 (best of 3 printed checkpoints) |" in scores
    assert "| test | Accuracy | 85.42 (best of 3 printed checkpoints) | ALBERT |" in unmeasured(markdown)
    row = study_table.rows_of(results).to_pylist()[0]
    assert row["printed"] == 85.42
    assert row["printed_all"] == "85.42 (ALBERT, best of 3 printed checkpoints)"


def test_recams_steps_are_compared_with_the_checkpoints_that_its_paper_keeps():
    about = studies.study("recam_steps").parameters
    found = by_place(about.model_dump(mode="json")["printed"], about.benchmarks)
    kept = {variant: [one["value"] for one in printed] for (variant, *_), printed in found.items()}
    assert kept == {"recam_duma": [85.42], "duma": [83.63]}
    assert {tuple(place) for _, *place in found} == {("recam", "dev", "task 1", "accuracy")}
