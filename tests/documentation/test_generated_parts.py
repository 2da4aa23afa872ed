"""Generated parts of pages have the facts of tables, code and parameter files."""

import shutil
from pathlib import Path

import pytest
from docs._tools import column_table, parameter_reference, reader_facts, results_tables, study_list
from docs._tools.__main__ import main
from docs._tools.generated_parts import COMMAND, renewed

from coattend import readers
from coattend.config import Parameters
from coattend.errors import CoattendError
from coattend.schemas import SCHEMAS

ROOT = Path(__file__).parents[2]

RESULTS = """# Options: dev

| reader | dev accuracy | seeds 0, 1 | training, s |
|---|---|---|---|
| `plain` | 52.4 [50.2, 54.6] | 51.0, 53.8 | 10 |
| `duma`, three seeds | 49.9 | 49.0, 50.8 | 12 |
| `poi_net` | not run | | |

| reader | seconds |
|---|---|
| `plain` | 3 |

## Spans, 1.1

| reader | F1 | exact match |
|---|---|---|
| `plain` | 34.9 | |
"""


def test_scores_are_gathered_with_links_to_their_tables():
    rows = list(results_tables.scored_rows("mine.md", RESULTS))
    table = results_tables.score_table(rows, "plain", "duma", "poi_net").splitlines()
    assert table[2:] == [
        "| `plain` | [Options: dev](../results/mine.md#options-dev) | dev accuracy 52.4 [50.2, 54.6] |",
        "| `plain` | [Spans, 1.1](../results/mine.md#spans-11) | F1 34.9 |",
        "| `duma` | [Options: dev](../results/mine.md#options-dev) | dev accuracy 49.9 |",
    ]
    assert results_tables.score_table(rows, "poi_net").startswith("Not run as it stands")


def test_parameters_are_counted_of_a_reader_that_is_built():
    table = reader_facts.reader_tables("duma").splitlines()
    counts = next(line for line in table if line.startswith("| `duma` | `word` |")).strip("|").split("|")[2:]
    reader = readers.build("duma", encoder="embedded", head="word")
    parts = (reader.encoder, reader.interaction, reader.head, reader)
    assert [int(count.replace(",", "")) for count in counts] == [
        sum(weight.numel() for weight in part.parameters()) for part in parts
    ]


def test_options_have_defaults_values_and_descriptions():
    table = reader_facts.option_table("interactions/iterative_co_attention")
    assert "| `turns` | `3` | whole number ≥ 0 and ≤ 100 | " in table
    assert "| `beta` | `confidence` | `confidence`, `learned` |" in table
    assert reader_facts.option_table("interactions/none") == "It has no options."


def test_only_the_text_between_the_comments_is_renewed():
    page = "# Mine\n\nBy hand.\n\n<!-- generated: options heads/word -->\nold\n<!-- end -->\n\nBy hand, too.\n"
    new = renewed(page, ROOT)
    assert new.startswith("# Mine\n\nBy hand.\n\n<!-- generated: options heads/word -->\n\n| option |")
    assert new.endswith("|\n\n<!-- end -->\n\nBy hand, too.\n") and "old" not in new
    assert renewed(new, ROOT) == new
    with pytest.raises(CoattendError, match=r"nothing generates 'option'\. Did you mean 'options'"):
        renewed(page.replace(": options", ": option"), ROOT)


def test_the_command_renews_the_pages_of_the_working_folder(tmp_path, monkeypatch, capsys):
    # One study stands for all, whose pages are compared with their records elsewhere.
    study = "dcn_plus_answer"
    shutil.copytree(ROOT / f"docs/results/records/{study}", tmp_path / f"docs/results/records/{study}")
    shutil.copy(ROOT / f"docs/results/{study}.md", tmp_path / "docs/results")
    (tmp_path / "docs/mine.md").write_text("<!-- generated: options heads/word -->\n<!-- end -->\n")
    monkeypatch.chdir(tmp_path)
    main([])
    renewed_pages = [f"renewed docs/{name}.md" for name in ("mine", "readers", "results/leaderboard")]
    assert capsys.readouterr().out.splitlines() == renewed_pages
    assert "`normalise`" in (tmp_path / "docs/mine.md").read_text()
    main([])
    assert not capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    assert COMMAND in capsys.readouterr().out


def test_parameters_have_types_as_in_yaml_defaults_and_sentences():
    table = parameter_reference.parameter_table("TrainingParameters")
    assert "| `warmup` | number ≥ 0 and < 1 | `0.06` | Share of all steps in which the rate rises linearly. |" in table
    assert "| `patience` | whole number ≥ 1, or null | `null` | " in table
    assert "| `schedule` | `linear`, `constant` | `linear` | " in table
    assert "| `seeds` | list of whole numbers | `[0]` | " in table
    table = parameter_reference.parameter_table("BenchmarkParameters")
    assert "| `sources` | list of [SourceParameters](#sourceparameters) | required | " in table
    with pytest.raises(CoattendError, match="Did you mean 'TrainingParameters'"):
        parameter_reference.parameter_table("TrainingParameter")


def test_a_parameter_without_a_sentence_is_refused(monkeypatch):
    class Silent(Parameters):
        loud: bool = False

    monkeypatch.setattr(parameter_reference, "models", lambda: {"Silent": Silent})
    with pytest.raises(CoattendError, match=r"Silent\.loud has no sentence"):
        parameter_reference.parameter_table("Silent")


def test_columns_have_types_and_one_without_a_sentence_is_refused(monkeypatch):
    table = column_table.column_table("questions")
    assert "| `label` | 16-bit integer | yes | " in table
    assert "| `question_id` | text |  | " in table
    monkeypatch.setitem(column_table.SCHEMAS, "texts", SCHEMAS["texts"].append(SCHEMAS["questions"].field("label")))
    with pytest.raises(CoattendError, match="label"):
        column_table.column_table("texts")


def test_studies_count_the_trials_and_questions_of_their_variants():
    rows = [line.strip("| ").split(" | ") for line in study_list.study_table(ROOT / "conf", "duma").splitlines()]
    (row,) = [row for row in rows if row[0] == "`study_duma_table7`"]
    # Five variants with three seeds, each over DREAM's 6,116 questions twice.
    assert row[3:6] == ["5", "15", f"{5 * 3 * 2 * 6116 / 1000:.0f} k"]
    with pytest.raises(CoattendError, match="there is no file of studies 'dumo'"):
        study_list.study_table(ROOT / "conf", "dumo")
