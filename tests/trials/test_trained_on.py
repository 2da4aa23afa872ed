"""A reader was trained on the benchmarks of its trial, and on those of the trials that it started from."""

from types import SimpleNamespace

import pytest

from coattend.config import BenchmarkParameters, DistillationParameters, TaggingParameters, TrainingParameters
from coattend.config.entries import benchmark_entry
from coattend.errors import CoattendError
from coattend.trials import run_spec
from coattend.trials.run_spec import RunSpec, also_trained_on

BENCHMARKS = {
    name: BenchmarkParameters.model_validate(benchmark_entry(name) | {"name": name})
    for name in ("dream", "race", "custom")
}


def experiment_on(benchmark, parent=None, teacher=None, **training):
    """The parts of an experiment that say what it is trained on."""
    distillation = DistillationParameters(teacher=teacher) if teacher else None
    return SimpleNamespace(
        benchmark=benchmark,
        benchmarks=BENCHMARKS,
        training=TrainingParameters(**training),
        parent_trial=lambda seed: parent,
        distillation=lambda seed: distillation,
    )


def spec_of(trial_id, experiment, store, **fields):
    """The specification of a trial of an experiment, as training writes it."""
    (store / trial_id).mkdir(exist_ok=True)
    spec = RunSpec(
        trial_id=trial_id,
        name="plain",
        benchmark=experiment.benchmark,
        title=BENCHMARKS[experiment.benchmark].title,
        licence=BENCHMARKS[experiment.benchmark].licence,
        published_at=BENCHMARKS[experiment.benchmark].published_at,
        hub=BENCHMARKS[experiment.benchmark].hub,
        also_trained_on=also_trained_on(experiment, 0, store),
        task="options",
        reader="plain",
        head="options",
        options={},
        encoder="embedded",
        tokenizer="",
        tokenizer_profile="minilm",
        reads_words=False,
        tagging=TaggingParameters(),
        tagging_profile="nltk_penn",
        tagger="tagger",
        fill_blanks=False,
        words_as_options=False,
        training=experiment.training,
        **fields,
    )
    run_spec.write(spec, store / trial_id)
    return spec


def test_its_own_benchmark_alone_is_nothing_more(tmp_path):
    assert also_trained_on(experiment_on("dream"), 0, tmp_path) == ()


def test_benchmarks_beside_it_and_before_it_are_told_once(tmp_path):
    spec_of("first", experiment_on("race", train_on={"race": []}), tmp_path)
    mixture = experiment_on("dream", parent="first", train_on={"dream": [], "race": "high"})
    spec_of("second", mixture, tmp_path)
    dream, race = also_trained_on(experiment_on("custom", parent="second"), 0, tmp_path)
    assert (dream.name, dream.for_research, race.for_research) == ("dream", True, True)
    for benchmark in (dream, race):
        for field in ("title", "licence", "published_at", "hub"):
            assert getattr(benchmark, field) == getattr(BENCHMARKS[benchmark.name], field)
    assert also_trained_on(mixture, 0, tmp_path) == (race,)


def test_a_trial_that_is_gone_is_told_as_such(tmp_path):
    (deleted,) = also_trained_on(experiment_on("custom", parent="0123"), 0, tmp_path)
    assert "0123" in deleted.title and deleted.licence == ""


def test_what_a_teacher_was_trained_on_counts_too(tmp_path):
    spec_of("teacher", experiment_on("race", train_on={"race": []}), tmp_path)
    (race,) = also_trained_on(experiment_on("dream", teacher="teacher"), 0, tmp_path)
    assert (race.name, race.licence, race.for_research) == ("race", BENCHMARKS["race"].licence, True)
    # Beside the trial that it began with, which is gone.
    told = also_trained_on(experiment_on("dream", parent="0123", teacher="teacher"), 0, tmp_path)
    assert {each.name for each in told} == {"race", "0123"}
    (gone,) = also_trained_on(experiment_on("dream", teacher="4567"), 0, tmp_path)
    assert gone.title == "the trial 4567, which it learned from and which is gone"


def test_a_spec_is_read_as_it_was_written_and_written_once(tmp_path):
    spec = spec_of("trial", experiment_on("dream"), tmp_path)
    file = tmp_path / "trial" / run_spec.FILE
    written = file.stat().st_mtime_ns
    run_spec.write(spec, tmp_path / "trial")
    assert file.stat().st_mtime_ns == written
    assert run_spec.read(tmp_path / "trial") == spec


def test_a_damaged_spec_is_refused_with_its_cure(tmp_path):
    spec_of("trial", experiment_on("dream"), tmp_path)
    file = tmp_path / "trial" / run_spec.FILE
    file.write_text(file.read_text().replace("dream", "drama"))
    with pytest.raises(CoattendError, match="pipeline training of its reader again"):
        run_spec.read(tmp_path / "trial")


def test_a_reader_of_parts_of_its_questions_is_not_served(tmp_path):
    spec_of("trial", experiment_on("dream", reads="no_passage"), tmp_path)
    assert run_spec.read(tmp_path / "trial").training.reads == "no_passage"
    with pytest.raises(CoattendError, match="in part only"):
        run_spec.read_servable(tmp_path / "trial")
