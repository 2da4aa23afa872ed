"""Records of trials: small, without texts, and enough for scores, intervals and tests."""

import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from docs._tools import recorded_pages
from example_study import ANSWERS, PASSAGE, SEEDS, question_rows, record_study, study, study_parts, with_shared_trials

from coattend.errors import CoattendError
from coattend.reports.render import markdown_page
from coattend.reports.study.page import recorded_page, study_sections
from coattend.reports.study.trial_records import STUDY_FILE, pack, recorded_findings, unpack
from coattend.schemas import PREDICTIONS

SHOWS = ("by_subset", "by_question_type", "ensemble", "average", "parameters", "predictions", "attention", "curve")
CURVE = [
    {"step": 5, "loss": 1.2, "held_out": None},
    {"step": 10, "loss": None, "held_out": 0.4, "seconds": 3.0, "processor_seconds": 5.0},
    {"step": 20, "loss": None, "held_out": 0.5, "seconds": 6.0, "processor_seconds": 11.0},
]


@pytest.fixture
def recorded(tmp_path):
    """A study with spans of which some are half right and some are not answered: its findings, its records, and the
    folder of these."""
    parameters = study(*SHOWS)
    parts = study_parts(parameters, curve=CURVE, training={"learning_rate": 1e-4})
    random = np.random.default_rng(0)
    for variant in parameters.variants:
        table = parts[f"articles.{variant}.answers"].to_table()
        f1 = np.where(table["correct"].to_numpy(), 1.0, random.integers(0, 7, len(table)) / 7).astype("float32")
        table = table.set_column(table.schema.get_field_index("f1"), PREDICTIONS.field("f1"), pa.array(f1))
        parts[f"articles.{variant}.answers"] = pads.dataset(table.filter(pa.array(random.random(len(table)) > 0.05)))
    findings, records = record_study(parameters, tmp_path, parts)
    return findings, records, tmp_path / "records"


def test_scores_intervals_and_tests_come_out_the_same(recorded):
    findings, records, _ = recorded
    rebuilt = recorded_findings(records)
    assert {row["metric"] for row in findings["rows"]} == {"accuracy", "exact", "f1"}
    assert any(row["p_corrected"] is not None and row["by_seed"] for row in findings["rows"])
    assert rebuilt["rows"] == findings["rows"]


def test_variants_that_share_their_trials_keep_their_own_answers(tmp_path):
    """As where tags of dev alone are wrong."""
    parameters = study()
    first, second = parameters.variants
    findings, records = record_study(parameters, tmp_path, with_shared_trials(study_parts(parameters), parameters))
    rebuilt = recorded_findings(records)
    assert rebuilt["rows"] == findings["rows"]
    means = {
        (row["variant"], row["benchmark"], row["split"], row["group"], row["metric"]): row["mean"]
        for row in rebuilt["rows"]
    }
    assert any(mean != means[(second, *key[1:])] for key, mean in means.items() if key[0] == first)


def test_variants_keep_the_order_of_the_study(tmp_path):
    backwards = dict(reversed(study().variants.items()))
    _, records = record_study(study(variants=backwards), tmp_path)
    assert list(dict.fromkeys(row["title"] for row in recorded_findings(records)["rows"])) == ["POI-Net", "Baseline"]


def test_the_page_lacks_only_texts_attention_and_figures(recorded):
    findings, records, _ = recorded
    page = recorded_page(recorded_findings(records))
    without = findings | {"shows": [name for name in findings["shows"] if name not in ("predictions", "attention")]}
    for analyses in without["analyses"].values():
        analyses.pop("predictions")
    whole = markdown_page(findings["title"], study_sections(without))
    whole = re.sub(r"Drawn on the HTML page:.*\n\n?", "", whole)
    lines = [line for line in whole.splitlines() if line]
    rebuilt = page.splitlines()
    assert [line for line in lines if line not in rebuilt] == []
    assert "Commit of the code: abcdef12." in page


def test_pages_and_tables_of_the_documentation_are_made_from_records(recorded, tmp_path):
    _, records, folder = recorded
    results = tmp_path / "docs/results"
    shutil.copytree(folder, results / "records/mine_turns")
    pages = {page.relative_to(results).name: text for page, text in recorded_pages.pages(results)}
    assert pages.keys() == {"mine_turns.md", "leaderboard.md"}
    assert pages["mine_turns.md"] == recorded_page(recorded_findings(records))
    # Only variants that change nothing of a reader's entry are the reader's scores.
    rows = list(recorded_pages.scored_rows(results))
    assert {(row.page, row.first) for row in rows} == {("mine_turns.md", "`poi_net`")}
    assert [list(row.scores) for row in rows] == [["exams, dev: Accuracy"], ["articles, dev: Exact match", "F1"]]
    tables = recorded_pages.score_tables_of(results, "mine_turns", "exams")
    assert tables.startswith("**exams, dev: Accuracy, 60 questions**") and tables.count("**") == 2
    with pytest.raises(CoattendError, match="no scores of dream"):
        recorded_pages.score_tables_of(results, "mine_turns", "dream")
    with pytest.raises(CoattendError, match="no records of 'mine_other'"):
        recorded_pages.score_tables_of(results, "mine_other")


def test_records_hold_no_text_and_no_folder_and_are_small(recorded):
    *_, folder = recorded
    files = {file.name: file.read_text() for file in folder.iterdir()}
    texts = {PASSAGE, "Who slept 1?", *(answer for answer in ANSWERS if " " in answer)}
    assert not [(name, text) for name, content in files.items() for text in texts if text in content]
    assert '"/a/b' not in "".join(files.values())
    assert max(len(json.dumps(json.loads(files[f"plain{seed}.json"])["answers"])) for seed in SEEDS) < 2000
    assert len([*files]) == 1 + 2 + 4
    assert question_rows("exams")[0]["question_id"] not in "".join(files.values())


def test_records_that_do_not_belong_together_are_refused(recorded):
    _, records, _ = recorded
    with pytest.raises(CoattendError, match=r"there is no plain0\.json"):
        recorded_findings({name: record for name, record in records.items() if name != "plain0"})
    records["exams.questions"]["digest"] = "another"
    with pytest.raises(CoattendError, match="other questions of exams"):
        recorded_findings(records)
    with pytest.raises(CoattendError, match="has the format 0"):
        recorded_findings({STUDY_FILE: {"format": 0}})


@pytest.mark.parametrize(
    "values",
    [[True, False, True], [-1, 0, 127], [-1, 40_000, 3], [300, -300], []],
)
def test_what_is_packed_is_unpacked(values):
    array = np.array(values, dtype=bool if values and isinstance(values[0], bool) else "int64")
    assert unpack(pack(array), len(values)).tolist() == values


def test_what_is_packed_does_not_look_like_a_path():
    values = np.random.default_rng(0).integers(-1, 30_000, 5_000)
    assert "/" not in pack(values) and np.array_equal(unpack(pack(values), 5_000), values)
