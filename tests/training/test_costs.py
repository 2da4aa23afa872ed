"""What trials will cost: which earlier ones say so, what cannot be timed, and what a budget leaves out.

No reader can be built with the length that these plans ask for, so that nothing is timed here but in one test: what is
known comes from an earlier trial.
"""

import logging
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

from coattend.evaluation.variants import expected_resolution
from coattend.parameters import StudyParameters
from coattend.readers.encoders.transformer import encoder_folder
from coattend.training.costs import ASKED_FASTER, cost_of
from coattend.training.devices import device_name
from coattend.training.fit import Work
from coattend.training.study_costs import estimate

TOO_LONG = 100_000
CANNOT = "cannot be timed: CoattendError: training.max_length: is 100000, and the encoder reads at most 512 tokens"


@pytest.fixture
def plan(plan_for):
    return plan_for("poi_net", max_length=TOO_LONG)


def finish(plan, store, seed=99, rate=2.0, device=None):
    """A trial of a plan that has come to its end, with so many questions a second."""
    trial = Work.of(plan, store).trial(seed)
    trial.model.mkdir(parents=True)
    with trial.locked():
        trial.finish({"questions_per_second": rate, "device": device or device_name("cpu")})


def test_an_earlier_trial_of_the_same_reader_tells_how_fast_it_is(plan, tmp_path):
    finish(plan, tmp_path, rate=2.0)
    learns_faster = replace(plan, training=plan.training.model_copy(update={"learning_rate": 0.1, "epochs": 3.0}))
    cost = cost_of(learns_faster, tmp_path)
    work = Work.of(learns_faster, tmp_path)
    learned, marked = 3 * len(work.train.examples), len(work.held_out.examples)
    scored = len(plan.source.scored(plan.training).examples)
    assert (cost.trials, cost.known_from) == (2, "earlier trials")
    assert cost.seconds == pytest.approx(2 * (learned + (marked + scored) / ASKED_FASTER) / 2.0)
    asked_alone = cost_of(learns_faster, tmp_path, counted=True)
    assert (asked_alone.trials, asked_alone.seconds) == (0, pytest.approx(2 * scored / ASKED_FASTER / 2.0))


def copy_of_the_encoder(folder):
    """The embedded encoder's files, and one more."""
    folder.mkdir()
    for file in Path(encoder_folder("embedded")).iterdir():
        folder.joinpath(file.name).symlink_to(file)
    folder.joinpath("note.txt").write_text("another one")
    return str(folder)


@pytest.mark.parametrize("differs", ["options", "encoder", "dropout", "head", "tokens_per_batch", "precision"])
def test_a_trial_of_other_sizes_or_another_encoder_tells_nothing(plan, tmp_path, differs):
    other = {
        "options": lambda: {"options": plan.options | {"turns": plan.options["turns"] + 1}},
        "encoder": lambda: _encoder(plan, source=copy_of_the_encoder(tmp_path / "encoder")),
        "dropout": lambda: _encoder(plan, dropout=0.3),
        "head": lambda: {"head": "word"},
        "tokens_per_batch": lambda: _training(plan, tokens_per_batch=1024),
        "precision": lambda: _training(plan, precision="fp32" if plan.precision()[1] else "bf16"),
    }
    store = tmp_path / "trials"
    finish(replace(plan, **other[differs]()), store)
    assert cost_of(plan, store).known_from == f"{CANNOT}. Set it to 512 or less"


def _encoder(plan, **changed):
    return {"encoder": plan.encoder.model_copy(update=changed)}


def _training(plan, **changed):
    return {"training": plan.training.model_copy(update=changed)}


@pytest.mark.parametrize(("threads", "known"), [("{}, 64 threads", True), ("another than {}", False)])
def test_a_trial_of_another_machine_tells_nothing(plan, tmp_path, threads, known):
    finish(plan, tmp_path, device=threads.format(device_name("cpu").partition(",")[0]))
    assert (cost_of(plan, tmp_path).known_from == "earlier trials") == known


def test_of_several_trials_the_last_one_tells(plan, tmp_path):
    for age, (seed, rate) in enumerate(((8, 5.0), (9, 1.0))):
        finish(plan, tmp_path, seed, rate)
        file = tmp_path / Work.of(plan, tmp_path).trial(seed).id / "outcome.json"
        os.utime(file, (1_000_000 - age, 1_000_000 - age))
    fast = cost_of(plan, tmp_path).seconds
    finish(plan, tmp_path, 10, 2.5)
    assert cost_of(plan, tmp_path).seconds == pytest.approx(2 * fast)


def test_what_cannot_be_timed_costs_nothing_and_is_told(plan, tmp_path, caplog):
    cost = cost_of(plan, tmp_path)
    assert (cost.trials, cost.seconds) == (2, 0.0)
    assert cost.known_from.startswith(CANNOT)
    assert f"poi_net on sample {CANNOT}" in caplog.text
    assert cost_of(plan, tmp_path, counted=True).trials == 0


def test_without_an_earlier_trial_a_few_batches_are_timed(plan_for, tmp_path):
    cost = cost_of(plan_for(), tmp_path)
    assert (cost.trials, cost.known_from) == (2, "3 batches")
    assert cost.seconds > 0


STUDY = StudyParameters(
    name="mine", title="Mine", source="Mine, table 1", benchmarks=("sample",), base={"reader": "poi_net"},
    baseline="plain", variants={name: {"title": name} for name in ("plain", "poi_net", "broken")},
)  # fmt: skip


@pytest.mark.parametrize(("share", "told"), [(0.99, True), (1.01, False)])
def test_a_budget_that_the_baselines_alone_exceed_is_told(plan_for, tmp_path, caplog, share, told):
    plans = {name: plan_for(name, max_length=TOO_LONG) for name in ("plain", "poi_net")}
    plans["broken"] = replace(plans["poi_net"], options=plans["poi_net"].options | {"turns": 9})
    finish(plans["plain"], tmp_path, rate=1.0)
    finish(plans["poi_net"], tmp_path, rate=1.0)
    needed = cost_of(plans["plain"], tmp_path).seconds / 3600
    given = {("sample", name): (plan, plan) for name, plan in plans.items()}
    with caplog.at_level(logging.WARNING, "coattend"):
        found = estimate(STUDY, given, tmp_path, hours=share * needed)
    assert found["costs"]["sample"]["broken"]["seconds"] == 0.0
    assert found["left_out"] == ["broken", "poi_net"]
    assert ("mine: baselines alone take about" in caplog.text) == told


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
    plan_for, tmp_path, caplog, subsets, counted
):
    known = plan_for("plain").source.questions.to_table()
    split = known["split"].cast(pa.string())
    train, dev = (known.filter(pc.equal(split, name)) for name in ("train", "dev"))
    questions = pa.concat_tables([train, dev.slice(0, 9)])
    asked = {
        "split": ["train"] * len(train) + ["dev"] * 6 + ["test"] * 3,
        "subset": [("CN", "NE")[number % 2] for number in range(len(train))] + ["CN", "NE", "NE"] * 3,
    }
    for name, values in asked.items():
        place = questions.column_names.index(name)
        questions = questions.set_column(place, name, pa.array(values).cast(questions.schema.field(name).type))
    given = {}
    for name, own in subsets.items():
        plan = plan_for(name, max_length=TOO_LONG)
        training = plan.training.model_copy(update={"train_on": {"sample": own}})
        plan = replace(plan, training=training, source=replace(plan.source, questions=pads.dataset(questions)))
        given["sample", name] = plan, plan
    study = STUDY.model_copy(update={"variants": {name: STUDY.variants[name] for name in subsets}})
    one = estimate(study.model_copy(update={"asks": {"sample": ("NE",)}}), given, tmp_path, hours=None)
    both = estimate(study.model_copy(update={"asks": {"sample": ("CN", "NE")}}), given, tmp_path, hours=None)
    assert one["questions"] == {"sample": {"dev": 4, "test": 2}}
    assert both["questions"] == {"sample": {"dev, CN": 2, "dev, NE": 4, "test, CN": 1, "test, NE": 2}}
    with caplog.at_level(logging.INFO, "coattend"):
        found = estimate(study, given, tmp_path, hours=None)
    assert found["questions"] == {"sample": dict(zip(("dev", "test"), counted, strict=True))}
    assert found["resolves"]["sample"] == expected_resolution(min(counted))
    assert f"sample, dev: {counted[0]} questions to score; they can show differences of" in caplog.text
