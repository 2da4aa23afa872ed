"""Benchmarks that a study's variants run on, and their baselines there."""

from study_files import error_of, read

POI_NET, DUMA, TURNS = "{ title: POI-Net", "{ title: DUMA", "{ title: 1 turn"


def test_a_benchmark_that_is_there_twice_is_told_with_its_line(tmp_path):
    for right, wrong, line in [
        ("[dream, race]", "[dream, race, dream]", 6),
        ("[dream, race]", "\n    - dream\n    - race\n    - race", 9),
        (TURNS, f"{TURNS}, benchmarks: [race, race]", 12),
    ]:
        error = error_of(tmp_path, right, wrong)
        assert error.problem in ("'dream' is there twice", "'race' is there twice")
        assert f"mine.yml, line {line}, studies.table1." in error.where
        assert error.cure == "Name it once"


def test_a_baseline_that_is_not_run_where_another_is_compared_with_it_is_refused(tmp_path):
    error = error_of(tmp_path, POI_NET, f"{POI_NET}, benchmarks: [dream]")
    assert error.problem == "'poi_net' is not run on race, where 'duma' is compared with it"
    assert "mine.yml, line 8, studies.table1.baseline" in error.where
    assert error.cure == "Run it there too, or say with 'against' what 'duma' is compared with"


def test_so_is_the_variant_that_another_names(tmp_path):
    error = error_of(tmp_path, DUMA, f"{DUMA}, benchmarks: [dream]", TURNS, f"{TURNS}, against: duma")
    assert error.problem == "'duma' is not run on race, where 'turns_1' is compared with it"
    assert "mine.yml, line 12, studies.table1.variants.turns_1.against" in error.where


def test_a_benchmark_on_which_nothing_is_run_is_refused(tmp_path):
    only = (text for title in (POI_NET, DUMA, TURNS) for text in (title, f"{title}, benchmarks: [dream]"))
    error = error_of(tmp_path, *only)
    assert error.problem == "no variant is run on 'race'"
    assert "mine.yml, line 6, studies.table1.benchmarks" in error.where


def test_variants_may_be_run_on_fewer_benchmarks_than_their_baseline(tmp_path):
    assert read(tmp_path, TURNS, f"{TURNS}, benchmarks: [race]")


def test_a_baseline_may_be_run_on_fewer_where_the_others_have_one_of_their_own(tmp_path):
    changes = (DUMA, f"{DUMA}, against: duma", TURNS, f"{TURNS}, against: duma")
    assert read(tmp_path, POI_NET, f"{POI_NET}, benchmarks: [dream]", *changes)


def test_fields_of_an_entry_that_do_nothing_in_a_study_are_refused(tmp_path):
    for field, value, cure in [
        ("training_on", "{ dream: { epochs: 9 } }", "own block 'training'"),
        ("benchmarks", "[dream]", "beside 'change'"),
        ("name", "mine", "the name of its block"),
    ]:
        error = error_of(tmp_path, "change: { turns: 1", f"change: {{ {field}: {value}, turns: 1")
        assert error.problem == f"{field!r} does nothing in a study" and cure in error.cure
        assert f"mine.yml, line 12, studies.table1.variants.turns_1.change.{field}" in error.where
        error = error_of(tmp_path, "base: { reader: poi_net", f"base: {{ {field}: {value}, reader: poi_net")
        assert f"mine.yml, line 7, studies.table1.base.{field}" in error.where


LARGE = "      large: { title: Large, repeats: duma, change: { reader: duma, encoder: albert_base } }\n      turns_1:"


def test_a_row_over_a_second_encoder_repeats_a_row_of_the_study_and_has_the_encoder(tmp_path):
    assert read(tmp_path, "      turns_1:", LARGE)
    error = error_of(tmp_path, "      turns_1:", LARGE.replace("repeats: duma", "repeats: dumb"))
    assert "mine.yml, line 12, studies.table1.variants.large.repeats" in error.where and "'duma'" in error.cure
    error = error_of(tmp_path, "      turns_1:", LARGE.replace(", encoder: albert_base", ", layers: 2"))
    assert error.problem == "'large' has no encoder of its own"


def test_what_is_always_run_needs_no_row_over_a_second_encoder(tmp_path):
    error = error_of(tmp_path, "      turns_1:", LARGE, TURNS, f"{TURNS}, against: large")
    assert error.problem == "'turns_1' needs 'large', which is left out where the base names no encoder"
    assert error.cure == "Take 'duma'"


def test_a_variant_learns_from_another_one_that_is_trained_before_it(tmp_path):
    def taught_by(name):
        return f"{DUMA}, change: {{ reader: duma, training: {{ distillation: {{ teacher: {name} }} }} }}"

    duma = f"{DUMA}, change: {{ reader: duma }}"
    where = "studies.table1.variants.duma.change.training.distillation.teacher"
    assert read(tmp_path, duma, taught_by("poi_net"))
    error = error_of(tmp_path, duma, taught_by("poi_nett"))
    assert where in error.where and "'poi_net'" in error.cure
    # By itself, and around a corner.
    error = error_of(tmp_path, duma, taught_by("duma"))
    assert where in error.where and error.problem == "'duma' would need its own trials"
    begins = f"{POI_NET}, change: {{ training: {{ start_from: duma }} }}"
    error = error_of(tmp_path, duma, taught_by("poi_net"), POI_NET, begins)
    assert "would need its own trials" in error.problem
    # What it begins with is sound, and is not blamed for what it learns from.
    both = "change: { reader: duma, training: { start_from: poi_net, distillation: { teacher: duma } } }"
    error = error_of(tmp_path, duma, f"{DUMA}, {both}")
    assert where in error.where
    assert read(tmp_path, duma, taught_by("poi_net"), "[dream, race]", "[squad_v1]"), "spans have a teacher, too"
    softmaxed = f"{DUMA}, change: {{ score: softmax, training: {{ distillation: {{ teacher: poi_net }} }} }}"
    error = error_of(tmp_path, duma, softmaxed, "[dream, race]", "[squad_v1]")
    assert error.where.endswith("training.distillation") and "has none on squad_v1" in error.problem
    # Other mistakes are told as those of any other value.
    for wrong, problem in [
        ("[poi_net]", "should be a valid string"),
        ("poi_net, weight: 2", "less than or equal to 1"),
    ]:
        error = error_of(tmp_path, duma, taught_by(wrong))
        assert error.where.endswith("line 11, studies.table1.variants.duma.change.training.distillation")
        assert problem in error.problem
