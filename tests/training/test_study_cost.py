"""Cost estimates of trials: from earlier trials, for readers that cannot be timed, and under a budget.

No reader can be built with the length that these experiments ask for, so that nothing is timed here but in two tests:
what is known comes from an earlier trial.
"""

import logging
import os
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

from coattend.config import StudyParameters
from coattend.evaluation.comparison import expected_resolution
from coattend.training.run_trial import TrialRunner
from coattend.training.study_cost import INFERENCE_SPEEDUP, cost_of, estimate
from coattend.trials.build import build_collator, build_reader, cached_features, training_batches
from coattend.trials.device import device_and_precision, device_name

TOO_LONG = 100_000
CANNOT = "cannot be timed: CoattendError: training.max_length: is 100000, and the encoder reads at most 512 tokens"


@pytest.fixture
def experiment(experiment_for):
    return experiment_for("poi_net", max_length=TOO_LONG)


def finish(experiment, store, seed=99, rate=2.0, device=None):
    """A trial of an experiment that has come to its end, with so many questions a second."""
    trial = TrialRunner.of(experiment, store).trial(seed)
    trial.model.mkdir(parents=True)
    with trial.locked():
        trial.finish({"questions_per_second": rate, "device": device or device_name("cpu")})


def test_an_earlier_trial_of_the_same_reader_tells_how_fast_it_is(experiment, tmp_path):
    finish(experiment, tmp_path, rate=2.0)
    learns_faster = replace(
        experiment, training=experiment.training.model_copy(update={"learning_rate": 0.1, "epochs": 3.0})
    )
    cost = cost_of(learns_faster, tmp_path)
    work = TrialRunner.of(learns_faster, tmp_path)
    learned, marked = 3 * len(work.questions.train.examples), len(work.questions.held_out.examples)
    scored = len(experiment.source.evaluation(experiment.training).examples)
    assert (cost["trials"], cost["known_from"]) == (2, "earlier trials")
    assert cost["seconds"] == pytest.approx(2 * (learned + (marked + scored) / INFERENCE_SPEEDUP) / 2.0)
    asked_alone = cost_of(learns_faster, tmp_path, counted=True)
    assert (asked_alone["trials"], asked_alone["seconds"]) == (0, pytest.approx(2 * scored / INFERENCE_SPEEDUP / 2.0))


def test_a_fewest_number_of_steps_costs_the_epochs_that_it_takes(experiment_for, tmp_path):
    training = {"min_steps": 7, "accumulate": 2, "tokens_per_batch": 1024}
    outcome, _ = TrialRunner.of(experiment_for(**training), tmp_path).attempt(3)
    epochs, rate = outcome["curve"][-1]["epoch"], outcome["questions_per_second"]
    assert epochs > experiment_for().training.epochs
    again = experiment_for(**training, learning_rate=0.1)
    cost, work = cost_of(again, tmp_path), TrialRunner.of(again, tmp_path)
    answered = len(work.questions.held_out.examples) + len(again.source.evaluation(again.training).examples)
    expected = 2 * (epochs * len(work.questions.train.examples) + answered / INFERENCE_SPEEDUP) / rate
    assert (cost["trials"], cost["known_from"]) == (2, "earlier trials")
    assert cost["seconds"] == pytest.approx(expected)


def copy_of_the_encoder(experiment, folder):
    """The encoder's files, and one more."""
    folder.mkdir()
    for file in Path(experiment.encoder.source).iterdir():
        folder.joinpath(file.name).symlink_to(file)
    folder.joinpath("note.txt").write_text("another one")
    return str(folder)


@pytest.mark.parametrize("differs", ["options", "encoder", "dropout", "head", "tokens_per_batch", "precision"])
def test_a_trial_of_other_sizes_or_another_encoder_tells_nothing(experiment, tmp_path, differs):
    changes = {
        "options": lambda: {"options": experiment.options | {"turns": experiment.options["turns"] + 1}},
        "encoder": lambda: _encoder(experiment, source=copy_of_the_encoder(experiment, tmp_path / "encoder")),
        "dropout": lambda: _encoder(experiment, dropout=0.3),
        "head": lambda: {"head": "word"},
        "tokens_per_batch": lambda: _training(experiment, tokens_per_batch=1024),
        "precision": lambda: _training(
            experiment, precision="fp32" if device_and_precision(experiment.training)[1] else "bf16"
        ),
    }
    store = tmp_path / "trials"
    finish(replace(experiment, **changes[differs]()), store)
    assert cost_of(experiment, store)["known_from"] == f"{CANNOT}. Set it to 512 or less"


def _encoder(experiment, **changed):
    return {"encoder": experiment.encoder.model_copy(update=changed)}


def _training(experiment, **changed):
    return {"training": experiment.training.model_copy(update=changed)}


@pytest.mark.parametrize(("threads", "comparable"), [("{}, 64 threads", True), ("another than {}", False)])
def test_a_trial_of_another_machine_tells_nothing(experiment, tmp_path, threads, comparable):
    finish(experiment, tmp_path, device=threads.format(device_name("cpu").partition(",")[0]))
    assert (cost_of(experiment, tmp_path)["known_from"] == "earlier trials") == comparable


def test_of_several_trials_the_last_one_tells(experiment, tmp_path):
    for age, (seed, rate) in enumerate(((8, 5.0), (9, 1.0))):
        finish(experiment, tmp_path, seed, rate)
        file = tmp_path / TrialRunner.of(experiment, tmp_path).trial(seed).id / "outcome.json"
        os.utime(file, (1_000_000 - age, 1_000_000 - age))
    fast = cost_of(experiment, tmp_path)["seconds"]
    finish(experiment, tmp_path, 10, 2.5)
    assert cost_of(experiment, tmp_path)["seconds"] == pytest.approx(2 * fast)


def test_what_cannot_be_timed_costs_nothing_and_is_told(experiment, tmp_path, caplog):
    cost = cost_of(experiment, tmp_path)
    assert (cost["trials"], cost["seconds"]) == (2, 0.0)
    assert cost["known_from"].startswith(CANNOT)
    assert f"poi_net on sample {CANNOT}" in caplog.text
    assert cost_of(experiment, tmp_path, counted=True)["trials"] == 0


def test_without_an_earlier_trial_a_few_batches_are_timed(experiment_for, tmp_path):
    cost = cost_of(experiment_for(), tmp_path)
    assert (cost["trials"], cost["known_from"]) == (2, "3 batches")
    assert cost["seconds"] > 0


def rate_of_timed_batches(experiment, questions):
    """Questions a second if the batches that are timed take one."""
    reader = build_reader(experiment, questions)
    collator = build_collator(experiment, reader, questions)
    batches, _ = training_batches(collator, questions.examples, experiment.training)
    assert len({len(batch) for batch in batches}) > 1
    return min(3, len(batches) - 1) * len(questions.examples) / len(batches)


def test_a_timed_batch_stands_for_as_many_questions_as_batches_have_on_average(experiment_for, tmp_path, monkeypatch):
    experiment = experiment_for(tokens_per_batch=1024)
    questions = TrialRunner.of(experiment, tmp_path).questions
    rate = rate_of_timed_batches(experiment, questions.train)
    clock = SimpleNamespace(perf_counter=partial(next, count()))  # The batches that are timed take a second.
    monkeypatch.setattr("coattend.training.study_cost.time", clock)
    cost = cost_of(experiment, tmp_path)
    learned, marked = len(questions.train.examples), len(questions.held_out.examples)
    scored = len(experiment.source.evaluation(experiment.training).examples)
    assert cost["seconds"] == pytest.approx(2 * (learned + (marked + scored) / INFERENCE_SPEEDUP) / rate)


def test_a_frozen_encoder_reads_each_question_once_whatever_trains_over_it(experiment_for, tmp_path, monkeypatch):
    experiment, read = experiment_for("duma", tokens_per_batch=1024, frozen=True), []

    def count_examples(experiment, reader, questions, store):
        read.append(len(questions.examples))
        features = cached_features(experiment, reader, questions, store)
        return lambda examples, arrays: read.append(0) or features(examples, arrays)

    monkeypatch.setattr("coattend.training.study_cost.cached_features", count_examples)
    clock = SimpleNamespace(perf_counter=partial(next, count()))  # The encoder takes a second, and the batches another.
    monkeypatch.setattr("coattend.training.study_cost.time", clock)
    cost = cost_of(experiment, tmp_path)
    timed, *batches = read
    assert timed > 0 and batches == [0] * len(batches) and 2 <= len(batches) <= 4  # They read what it said.
    questions = TrialRunner.of(experiment, tmp_path).questions
    learned, marked = len(questions.train.examples), len(questions.held_out.examples)
    scored = len(experiment.source.evaluation(experiment.training).examples)
    trained = 2 * (learned + (marked + scored) / INFERENCE_SPEEDUP) / rate_of_timed_batches(experiment, questions.train)
    assert cost["seconds"] == pytest.approx(trained + (learned + marked + scored) / timed)


STUDY = StudyParameters(
    name="mine", title="Mine", source="Mine, table 1", benchmarks=("sample",), base={"reader": "poi_net"},
    baseline="plain", variants={name: {"title": name} for name in ("plain", "poi_net", "broken")},
)  # fmt: skip


@pytest.mark.parametrize(("share", "warned"), [(0.99, True), (1.01, False)])
def test_a_budget_that_the_baselines_alone_exceed_is_told(experiment_for, tmp_path, caplog, share, warned):
    experiments = {name: experiment_for(name, max_length=TOO_LONG) for name in ("plain", "poi_net")}
    experiments["broken"] = replace(experiments["poi_net"], options=experiments["poi_net"].options | {"turns": 9})
    finish(experiments["plain"], tmp_path, rate=1.0)
    finish(experiments["poi_net"], tmp_path, rate=1.0)
    needed = cost_of(experiments["plain"], tmp_path)["seconds"] / 3600
    pairs = {("sample", name): (experiment, experiment) for name, experiment in experiments.items()}
    with caplog.at_level(logging.WARNING, "coattend"):
        estimated = estimate(STUDY, pairs, tmp_path, hours=share * needed)
    assert estimated["costs"]["sample"]["broken"]["seconds"] == 0.0
    assert estimated["left_out"] == ["broken", "poi_net"]
    assert ("mine: baselines alone take about" in caplog.text) == warned


def test_a_budget_keeps_variants_that_have_nothing_left_to_train(experiment_for, tmp_path):
    plain, done = experiment_for("plain", max_length=TOO_LONG), experiment_for("poi_net", max_length=TOO_LONG)
    other = replace(done, options=done.options | {"turns": 2})
    for seed in done.training.seeds:
        finish(done, tmp_path, seed=seed)
    finish(plain, tmp_path)
    finish(other, tmp_path)
    variants = {"plain": plain, "poi_net": other, "broken": done}  # The last one back is the first to go.
    pairs = {("sample", name): (experiment, experiment) for name, experiment in variants.items()}
    assert estimate(STUDY, pairs, tmp_path, hours=1e-6)["left_out"] == ["poi_net"]


NEEDS = StudyParameters(
    name="needs", title="Needs", source="Mine, table 2", benchmarks=("sample",), base={"reader": "poi_net"},
    baseline="plain",
    variants={
        "plain": {"title": "Baseline"},
        "fine": {"title": "Fine", "change": {"training": {"start_from": "coarse"}}},
        "finest": {"title": "Finest", "change": {"training": {"start_from": "fine"}}},
        "coarse": {"title": "Coarse"},
    },
)  # fmt: skip


@pytest.mark.parametrize(
    ("baseline", "left_out"), [("plain", ["coarse", "fine", "finest"]), ("fine", ["finest", "plain"])]
)
def test_a_budget_leaves_out_what_needs_what_it_leaves_out(experiment_for, tmp_path, baseline, left_out):
    plain = experiment_for("plain", max_length=TOO_LONG)
    finish(plain, tmp_path, rate=1.0)
    pairs = {("sample", name): (plain, plain) for name in NEEDS.variants}
    estimated = estimate(NEEDS.model_copy(update={"baseline": baseline}), pairs, tmp_path, hours=1e-6)
    assert sorted(estimated["left_out"]) == left_out


@pytest.fixture
def experiments_on(experiment_for):
    """Make the experiments of variants that are trained on subsets of the sample, with questions of every split."""
    sample_questions = experiment_for("plain").source.questions.to_table()
    split = sample_questions["split"].cast(pa.string())
    train, dev = (sample_questions.filter(pc.equal(split, name)) for name in ("train", "dev"))
    questions = pa.concat_tables([train, dev.slice(0, 9)])
    columns = {
        "split": ["train"] * len(train) + ["dev"] * 6 + ["test"] * 3,
        "subset": [("CN", "NE")[number % 2] for number in range(len(train))] + ["CN", "NE", "NE"] * 3,
    }
    for name, values in columns.items():
        index = questions.column_names.index(name)
        questions = questions.set_column(index, name, pa.array(values).cast(questions.schema.field(name).type))

    def make(subsets):
        pairs = {}
        for name, trained_on in subsets.items():
            experiment = experiment_for(name, max_length=TOO_LONG)
            training = experiment.training.model_copy(update={"train_on": {"sample": trained_on}})
            source = replace(experiment.source, questions=pads.dataset(questions))
            experiment = replace(experiment, training=training, source=source)
            pairs["sample", name] = experiment, experiment
        return pairs

    return make


TWO_VARIANTS = STUDY.model_copy(update={"variants": {name: STUDY.variants[name] for name in ("plain", "poi_net")}})


@pytest.mark.parametrize(
    ("subsets", "counted"),
    [
        ({"plain": (), "poi_net": ()}, [6, 3]),
        ({"plain": "CN", "poi_net": ("CN",)}, [2, 1]),
        ({"plain": "CN", "poi_net": "NE"}, [6, 3]),
        ({"plain": ("NE", "CN"), "poi_net": ("NE", "CN")}, [6, 3]),
    ],
)
def test_questions_are_counted_by_split_and_where_all_are_trained_on_one_subset_in_that(
    experiments_on, tmp_path, caplog, subsets, counted
):
    with caplog.at_level(logging.INFO, "coattend"):
        estimated = estimate(TWO_VARIANTS, experiments_on(subsets), tmp_path, hours=None)
    assert estimated["questions"] == {"sample": dict(zip(("dev", "test"), counted, strict=True))}
    assert estimated["resolves"]["sample"] == expected_resolution(min(counted))
    assert f"sample, dev: {counted[0]} questions to score; they can show differences of" in caplog.text


def test_questions_of_the_subsets_that_a_study_asks_about_are_counted_apart(experiments_on, tmp_path):
    pairs = experiments_on({"plain": "CN", "poi_net": ()})
    one_subset, two_subsets = (
        estimate(TWO_VARIANTS.model_copy(update={"asks": {"sample": asked}}), pairs, tmp_path, hours=None)
        for asked in (("NE",), ("CN", "NE"))
    )
    assert one_subset["questions"] == {"sample": {"dev": 4, "test": 2}}
    assert two_subsets["questions"] == {"sample": {"dev, CN": 2, "dev, NE": 4, "test, CN": 1, "test, NE": 2}}
