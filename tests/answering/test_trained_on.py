"""A reader has learned from all that its trial, and the trials that this began with, were trained on."""

from coattend.answering.trained_on import also_trained_on
from coattend.configuration import benchmark_entry
from coattend.training.trial import Trial

BENCHMARKS = {name: benchmark_entry(name) for name in ("dream", "race", "custom")}


def trained(store, benchmark, **training):
    training = {"train_on": {}, "start_from": None} | training
    trial = Trial({"benchmark": benchmark, "seed": 0, "training": training}, store)
    with trial.locked():
        return trial


def test_its_own_benchmark_alone_is_nothing_more(tmp_path):
    assert also_trained_on(trained(tmp_path, "dream").content, tmp_path, BENCHMARKS) == ()


def test_benchmarks_beside_it_and_before_it_are_told_once(tmp_path):
    first = trained(tmp_path, "race", train_on={"race": []})
    second = trained(tmp_path, "dream", train_on={"dream": [], "race": "high"}, start_from=first.id)
    third = trained(tmp_path, "custom", start_from=second.id)
    dream, race = also_trained_on(third.content, tmp_path, BENCHMARKS)
    assert (dream.name, dream.for_research, race.for_research) == ("dream", True, True)
    for name in ("title", "licence", "published_at", "hub"):
        assert getattr(race, name) == BENCHMARKS["race"][name]
    assert also_trained_on(second.content, tmp_path, BENCHMARKS) == (race,)


def test_a_trial_that_is_gone_is_told_as_such(tmp_path):
    (gone,) = also_trained_on(trained(tmp_path, "custom", start_from="0123").content, tmp_path, BENCHMARKS)
    assert "0123" in gone.title and gone.licence == ""
