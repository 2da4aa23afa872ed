"""The menu: every pipeline is on it, with a sentence."""

import json

import pytest

from coattend import menu, studies
from coattend.config import entries, source
from coattend.pipeline_registry import register_pipelines
from coattend.pipelines.keys import DEFAULT
from coattend.settings import CONFIG_LOADER_ARGS, ProjectConfigLoader


def names(lines):
    """The first words of indented lines, and whether a sentence follows."""
    return {line.split()[0]: len(line.split()) > 1 for line in lines if line.startswith("  ")}


def parameters(environment=None, **runtime_params):
    """The parameters of a run in an environment."""
    try:
        return ProjectConfigLoader("conf", env=environment, runtime_params=runtime_params, **CONFIG_LOADER_ARGS)[
            "parameters"
        ]
    finally:
        source.enter("conf", "test")


def described(results, study, chosen=None):
    """The line of a study."""
    lines = menu.study_lines(results, parameters() if chosen is None else chosen)
    (line,) = (line for line in lines if line.split()[:1] == [f"study_{study}"])
    return line


@pytest.fixture(scope="module")
def registered():
    return set(register_pipelines())


def test_every_pipeline_but_studies_is_on_the_menu(registered):
    listed = names(menu.pipeline_lines())
    assert listed.keys() - {"study_<name>"} == {
        name for name in registered - {DEFAULT} if not name.startswith(studies.PREFIX)
    }
    assert all(listed.values())


def test_benchmarks_have_the_number_of_their_readers():
    line = next(line for line in menu.pipeline_lines() if line.split()[:1] == ["dream"])
    assert line.split(maxsplit=1)[1] == f"DREAM, {len(entries.readers_of('dream'))} readers"


def test_every_reader_is_on_the_menu_with_what_it_answers_by():
    listed = names(menu.reader_lines())
    assert list(listed) == entries.reader_names() and all(listed.values())
    lines = [line.split(maxsplit=1) for line in menu.reader_lines() if line.startswith("  ")]
    assert dict(lines)["duma"] == "DUMA: options, span, word" and dict(lines)["duma_span"] == "DUMA: span"


def test_benchmarks_are_listed_by_what_they_ask_for():
    listed = {
        block.splitlines()[0]: names(block.splitlines()) for block in "\n".join(menu.pipeline_lines()).split("\n\n")
    }
    of_options, of_several = (
        listed[f"Benchmarks of {tasks}: all stages, with every reader"] for tasks in ("options", "several kinds")
    )
    assert {"dream", "race", "c3"} <= of_options.keys()
    assert set(of_several) == {"sample", "custom"}


def test_every_study_is_listed_with_what_it_trains(registered, tmp_path):
    lines = list(menu.study_lines(tmp_path, parameters()))
    listed = names(lines)
    assert listed.keys() == {name for name in registered if name.startswith(studies.PREFIX)}
    # Five variants, three seeds.
    (line,) = (line for line in lines if line.split()[:1] == ["study_duma_table7"])
    assert line.endswith("(dream; 15 trials, not estimated)")
    assert "Lite Unified Modeling for Discriminative Reading Comprehension (Y. Zhao and others, ACL 2022)" in "\n".join(
        lines
    )


def test_a_variant_that_is_scored_on_several_benchmarks_is_trained_once(tmp_path):
    study = studies.load_study("ours_transfer_options")
    pairs = [pair for variant in study.parameters.variants for pair in study.parameters.benchmarks_of(variant)]
    assert len(study.trainings) < len(pairs)
    assert f"; {len(study.trainings) * len(study.parameters.seeds)} trials, " in described(tmp_path, study.name)


def test_trials_are_those_of_the_environment(tmp_path):
    """POI-Net's rows over a second encoder are run with ``paper``, and a study has a seed there, three elsewhere."""
    for environment, table8, today in ((None, 9, 36), ("small", 9, 12), ("paper", 18, 36)):
        chosen = parameters(environment)
        assert f"; {table8} trials, " in described(tmp_path, "poi_net_table8", chosen)
        assert f"; {today} trials, " in described(tmp_path, "today", chosen)
    # Six configurations of each of five variants, of which the best has two more seeds.
    search = studies.load_study("ours_tuned_baseline").parameters
    assert search.trials == search.search.trials + 2
    assert f"; {len(search.variants) * search.trials} trials, " in described(tmp_path, "ours_tuned_baseline")
    chosen = parameters(study={"seeds": [0, 1]})
    assert "; 6 trials, " in described(tmp_path, "poi_net_table8", chosen)


def test_hours_are_those_of_the_last_estimate(tmp_path):
    file = tmp_path / "duma_table7" / "costs.json"
    file.parent.mkdir()
    seconds = {"plain": 3600, "summation": 5400, "concatenation": 9000}
    costs = {"dream": {name: {"seconds": value} for name, value in seconds.items()}}
    file.write_text(json.dumps({"costs": costs, "left_out": ["concatenation"]}))
    assert described(tmp_path, "duma_table7").endswith("15 trials, about 2.5 hours)")


@pytest.mark.slow
def test_the_command_prints_it(kedro):
    for part, line in {"pipelines": "  ingestion  ", "studies": "  study_duma_table7  "}.items():
        printed = kedro("menu", part)
        assert printed.returncode == 0, printed.stderr
        assert line in printed.stdout
        assert "warning" not in (printed.stdout + printed.stderr).lower()
