"""The options that a study gives its readers: values that they cannot have, and those that they have anyway."""

import subprocess
import sys

from study_files import error_of, read

CHANGE = "{ turns: 1 }"

WRONG = {
    "a misspelt choice": ("strategy: forgeting", "strategy cannot be forgeting: Input should be", "'forgetting'"),
    "a choice of a head": ("reader: duma, fuse: concatinate", "fuse cannot be concatinate", "'concatenate'"),
    "a choice that another module names": ("reader: dcn, cell: lstn", "cell cannot be lstn", "'lstm'"),
    "a choice of a joined reader": (
        "reader: transformer+consensus_attention, merge: maxx",
        "merge cannot be maxx",
        "'max'",
    ),
    "no number": ("turns: many", "turns cannot be many: Input should be a valid integer", None),
    "a fraction": ("turns: 1.5", "turns cannot be 1.5: Input should be a valid integer", None),
    "too few": ("turns: -1", "turns cannot be -1: Input should be greater than or equal to 0", None),
    "too many": ("turns: 101", "turns cannot be 101: Input should be less than or equal to 100", None),
    "a limit of what may be null": ("reader: duma, heads: 0", "heads cannot be 0", None),
    "no yes or no": ("tag_embedding: maybe", "tag_embedding cannot be maybe: Input should be a valid boolean", None),
    "nothing": ("turns: null", "turns cannot be null: Input should be a valid integer", None),
    "a number for a choice": ("reader: dcn, directions: 3", "directions cannot be 3: Input should be 1 or 2", None),
    "a truth for a choice": ("strategy: true", "strategy cannot be true: Input should be", "Known: average"),
}


def test_a_value_that_an_option_cannot_have_is_told_with_its_line(tmp_path):
    for mistake, (change, problem, cure) in WRONG.items():
        error = error_of(tmp_path, CHANGE, f"{{ {change} }}")
        assert error.problem.startswith(problem), mistake
        assert "mine.yml, line 12, studies.table1.variants.turns_1.change." in error.where, mistake
        assert (error.cure is None) if cure is None else (cure in error.cure), mistake


def test_what_this_project_says_of_a_value_has_no_prefix(tmp_path):
    error = error_of(tmp_path, CHANGE, "{ training: { precision: fp16 } }")
    assert error.problem.startswith("precision cannot be fp16: float16 ends at")


def test_what_all_variants_are_given_is_told_where_it_stands(tmp_path):
    for right, wrong, line in [
        ("{ reader: poi_net }", "{ reader: poi_net, turns: -1 }", 7),
        ("{ reader: poi_net }", "{ reader: poi_net, turnz: 1 }", 7),
        ("    base:", "    options: { tag_embedding: maybe }\n    base:", 7),
    ]:
        assert f"mine.yml, line {line}, studies.table1." in error_of(tmp_path, right, wrong).where


def test_right_values_are_taken(tmp_path):
    assert read(tmp_path, CHANGE, "{ turns: 0, strategy: gate, tag_embedding: false, beta: learned, dropout: null }")
    assert read(tmp_path, CHANGE, "{ reader: duma, layers: 2, heads: null, attention_dropout: 0.5 }")
    assert read(tmp_path, CHANGE, "{ reader: transformer+multi_head_block, turns: 2 }")


def test_to_say_what_a_reader_has_anyway_is_no_change(tmp_path):
    for baseline, restated in [
        ("poi_net", "beta: confidence"),
        ("poi_net", "compared: original"),
        ("poi_net", "tag_embedding: true"),
        ("poi_net", "pooling: max"),
        ("poi_net", "pooling: max, turns: 3, dropout: null"),
        ("poi_net", 'turns: "3"'),
        # An option of another head than that of the benchmarks.
        ("poi_net", "loss: mean"),
        ("duma", "reader: duma, output_projection: false"),
        ("duma", "reader: duma, pooling: mean"),
    ]:
        error = error_of(tmp_path, f"change: {CHANGE}", f"against: {baseline}, change: {{ {restated} }}")
        assert error.problem == f"'turns_1' is what its baseline {baseline!r} is"
        assert "mine.yml, line 12, studies.table1.variants.turns_1.change" in error.where
        assert error.cure == "Change something in it"


def test_to_say_something_else_is_one(tmp_path):
    for change in ("beta: learned", "tag_embedding: false", "pooling: mean", "head_dropout: 0.1"):
        assert read(tmp_path, CHANGE, f"{{ {change} }}")


def test_to_give_a_default_where_the_base_has_something_else_is_one(tmp_path):
    assert read(tmp_path, "{ reader: poi_net }", "{ reader: poi_net, turns: 2 }", CHANGE, "{ turns: 3 }")


def test_a_reader_with_defaults_of_its_own_may_be_given_others(tmp_path):
    for change in ["experts: true", "dropout: 0.0"]:
        changed = ("reader: poi_net }", "reader: dcn_plus_no_experts }", "[dream, race]", "[squad_v1]")
        assert read(tmp_path, *changed, CHANGE, f"{{ {change} }}")


def test_options_that_are_no_mapping_are_refused(tmp_path):
    error = error_of(tmp_path, CHANGE, "{ options: 3 }")
    assert "mine.yml, line 12, studies.table1.variants.turns_1.change.options" in error.where
    assert error.problem == "Input should be a valid dictionary"


def test_studies_are_read_without_torch():
    code = (
        "import sys; from coattend import studies; assert studies.study_names()\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    process = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
