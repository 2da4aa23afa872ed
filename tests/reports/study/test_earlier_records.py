"""A study that is recorded in parts: what stays of earlier records, and what does not."""

import copy

import pyarrow.dataset as pads
import pytest
from example_study import SEEDS, STUDY, record_study, study, study_parts, with_shared_trials

from coattend.reports.study import earlier_records
from coattend.reports.study.earlier_records import with_earlier_records
from coattend.reports.study.page import recorded_page
from coattend.reports.study.trial_records import STUDY_FILE, recorded_findings
from coattend.schemas import PREDICTIONS

SHOWS = ("by_subset", "ensemble")


@pytest.fixture(autouse=True)
def _code(request, monkeypatch):
    """The code of readers without their modules, which need PyTorch."""
    if "code_digest" not in request.fixturenames:
        monkeypatch.setattr(earlier_records, "code_digest", lambda reader, head: f"the code of {reader}")


@pytest.fixture
def code_digest():
    """What the code of a reader is known by."""
    pytest.importorskip("torch")
    return earlier_records.code_digest


def recorded(folder, variants, *, parameters=None, left_out=()):
    """Records of a study of which only these variants were run."""
    parameters = parameters or study(*SHOWS)
    parts = study_parts(parameters, variants=variants)
    return record_study(parameters, folder / "-".join(variants), parts, left_out=left_out)[1]


def trials_of(records):
    return {name for name in records if name[-1].isdigit()}


@pytest.mark.parametrize("parts", [(["plain"], ["poi_net"]), (["poi_net"], ["plain"])])
def test_recorded_in_parts_it_is_what_it_is_recorded_at_once(tmp_path, parts):
    whole = recorded(tmp_path, ["plain", "poi_net"])
    before: dict[str, object] = {}
    for variants in parts:
        before = with_earlier_records(recorded(tmp_path, variants), before)
    assert before.keys() == whole.keys()
    assert recorded_findings(before)["rows"] == recorded_findings(whole)["rows"]
    assert any(row["difference"] for row in recorded_findings(before)["rows"])
    assert recorded_page(recorded_findings(before)) == recorded_page(recorded_findings(whole))
    assert before[STUDY_FILE]["analyses"] == whole[STUDY_FILE]["analyses"]


def test_a_gain_that_was_not_measured_at_once_is_none(tmp_path):
    parameters = study("average")
    plain, poi_net = (recorded(tmp_path, [name], parameters=parameters) for name in ("plain", "poi_net"))
    page = recorded_page(recorded_findings(with_earlier_records(plain, poi_net)))
    averages = page.partition("## Averages over splits")[2].partition("\n## ")[0]
    assert averages.count("(the baseline)") == averages.count("(not run beside its baseline)") == 3


def test_a_baseline_that_is_itself_compared_was_not_run_beside_its_own(tmp_path):
    third = STUDY.variants["poi_net"].model_copy(update={"title": "Third", "against": "poi_net"})
    parameters = study("average", variants=STUDY.variants | {"third": third})
    page = recorded_page(recorded_findings(recorded(tmp_path, ["poi_net"], parameters=parameters)))
    assert page.count("(not run beside its baseline)") == 3 and "(the baseline)" not in page


def test_a_variant_that_was_run_again_is_recorded_anew(tmp_path):
    before = recorded(tmp_path, ["plain", "poi_net"])
    for seed in SEEDS:
        before[f"poi_net{seed}"]["commit"] = before[f"plain{seed}"]["commit"] = "an earlier one"
    merged = with_earlier_records(recorded(tmp_path, ["poi_net"]), before)
    assert {merged[f"poi_net{seed}"]["commit"] for seed in SEEDS} == {"abcdef123"}
    assert {merged[f"plain{seed}"]["commit"] for seed in SEEDS} == {"an earlier one"}


def test_a_variant_stays_on_the_benchmarks_where_it_was_not_run_again(tmp_path):
    before = recorded(tmp_path, ["plain", "poi_net"])
    now = recorded(tmp_path, ["plain", "poi_net"])
    del now[STUDY_FILE]["outcomes"]["articles"]["poi_net"], now["poi_net0"]["answers"]["articles"]
    merged = with_earlier_records(now, before)
    assert recorded_findings(merged)["rows"] == recorded_findings(before)["rows"]


@pytest.mark.parametrize("order", [("plain", "poi_net"), ("poi_net", "plain")])
def test_variants_that_share_their_trials_keep_their_own_answers_if_they_are_recorded_in_parts(tmp_path, order):
    parameters = study(*SHOWS)
    parts = with_shared_trials(study_parts(parameters), parameters)
    _, whole = record_study(parameters, tmp_path / "whole", parts)
    before: dict[str, object] = {}
    for variant in order:
        own = {name: part for name, part in parts.items() if name.split(".")[1] not in {*order} - {variant}}
        before = with_earlier_records(record_study(parameters, tmp_path / variant, own)[1], before)
    assert recorded_findings(before)["rows"] == recorded_findings(whole)["rows"]
    # One that is recorded again has its new answers.
    for benchmark in parameters.benchmarks:
        parts[f"{benchmark}.poi_net.answers"] = parts[f"{benchmark}.plain.answers"]
    _, whole = record_study(parameters, tmp_path / "again", parts)
    own = {name: part for name, part in parts.items() if name.split(".")[1] != "plain"}
    again = with_earlier_records(record_study(parameters, tmp_path / "second", own)[1], before)
    assert recorded_findings(again)["rows"] == recorded_findings(whole)["rows"]


def test_what_its_budget_left_out_and_was_trained_before_is_not_left_out(tmp_path):
    before, now = recorded(tmp_path, ["poi_net"]), recorded(tmp_path, ["plain"], left_out=["poi_net"])
    assert now[STUDY_FILE]["left_out"] == ["poi_net"]
    assert with_earlier_records(now, before)[STUDY_FILE]["left_out"] == []


def test_an_outcome_without_trials_of_what_the_budget_left_out_records_nothing(tmp_path):
    parts = study_parts(STUDY, variants=["plain"])
    for benchmark in STUDY.benchmarks:
        parts[f"{benchmark}.poi_net.outcome"] = {"variant": "poi_net", "task": None, "encoder": "minilm", "trials": []}
        parts[f"{benchmark}.poi_net.answers"] = pads.dataset(PREDICTIONS.empty_table())
    _, now = record_study(STUDY, tmp_path / "now", parts, left_out=["poi_net"])
    before = recorded(tmp_path, ["plain", "poi_net"], parameters=STUDY)
    assert set(now[STUDY_FILE]["outcomes"]["exams"]) == {"plain"}
    assert trials_of(with_earlier_records(now, before)) == trials_of(before)


def other_version(records):
    records[STUDY_FILE]["analyses"]["exams"]["benchmark_version"] = 0
    records[STUDY_FILE]["analyses"]["articles"]["benchmark_version"] = 0


@pytest.mark.parametrize(
    "change",
    [
        lambda records: records.clear(),
        lambda records: records[STUDY_FILE].update(format=0),
        lambda records: records[STUDY_FILE]["study"].update(seeds=[7]),
        lambda records: records[STUDY_FILE]["study"].update(base={"reader": "plain"}),
        lambda records: records[STUDY_FILE]["study"]["variants"]["plain"].update(change={"pooling": "max"}),
        lambda records: [records[f"{name}.questions"].update(digest="another") for name in ("exams", "articles")],
        other_version,
        lambda records: records["plain0"]["configuration"].update(source="other code"),
        lambda records: records["plain1"]["configuration"]["training"].update(max_questions=7),
        lambda records: records.pop("plain1"),
        lambda records: [runs["plain"].update(trials=[]) for runs in records[STUDY_FILE]["outcomes"].values()],
    ],
)
def test_records_that_do_not_hold_any_more_go(tmp_path, change):
    before, now = recorded(tmp_path, ["plain"]), recorded(tmp_path, ["poi_net"])
    assert trials_of(with_earlier_records(now, before)) == {"plain0", "plain1", "poi_net0", "poi_net1"}
    changed = copy.deepcopy(before)
    change(changed)
    assert with_earlier_records(now, changed) == now


@pytest.mark.parametrize(
    ("reader", "head", "kept"),
    [("plain", "options", True), ("plain", "span", False), ("a reader that was taken out", "options", False)],
)
def test_records_stay_while_the_code_of_their_reader_does(tmp_path, code_digest, reader, head, kept):
    before, now = recorded(tmp_path, ["plain"]), recorded(tmp_path, ["poi_net"])
    for seed in SEEDS:
        before[f"plain{seed}"]["configuration"] |= {"reader": reader, "head": head}
        before[f"plain{seed}"]["configuration"]["source"] = code_digest("plain", "options")
    assert ("plain0" in with_earlier_records(now, before)) == kept


def test_records_of_other_sizes_go_on_their_benchmark_alone(tmp_path):
    before, now = recorded(tmp_path, ["plain"]), recorded(tmp_path, ["poi_net"])
    before[STUDY_FILE]["study"]["training"] = {"exams": {"max_questions": 7}}
    outcomes = with_earlier_records(now, before)[STUDY_FILE]["outcomes"]
    assert {benchmark: [*variants] for benchmark, variants in outcomes.items()} == {
        "exams": ["poi_net"],
        "articles": ["plain", "poi_net"],
    }


def test_what_a_variant_itself_changes_and_readers_over_other_encoders_may_learn_from_more(tmp_path):
    less = STUDY.variants["plain"].model_copy(update={"change": {"training": {"max_questions": 7}}})
    parameters = study(*SHOWS, variants=STUDY.variants | {"plain": less})
    before = recorded(tmp_path, ["plain"], parameters=parameters)
    for seed in SEEDS:
        before[f"plain{seed}"]["configuration"]["training"]["max_questions"] = 7
    now = recorded(tmp_path, ["poi_net"], parameters=parameters)
    assert {"plain0", "plain1"} <= trials_of(with_earlier_records(now, before))
    for seed in SEEDS:
        before[f"plain{seed}"]["configuration"] |= {"training": {"epochs": 3}, "encoder": "another"}
    assert {"plain0", "plain1"} <= trials_of(with_earlier_records(now, before))


def test_variants_that_the_study_has_no_more_go(tmp_path):
    before = recorded(tmp_path, ["plain", "poi_net"])
    alone = study(*SHOWS, variants={"plain": STUDY.variants["plain"].model_dump()})
    now = recorded(tmp_path, ["plain"], parameters=alone)
    assert trials_of(with_earlier_records(now, before)) == {"plain0", "plain1"}
