"""Trials that were trained are asked, and one that cannot be does not keep the others from it."""

import shutil

import pytest

from coattend.errors import CoattendError
from coattend.training.fan_out import train_seeds
from coattend.training.predict import predict_all, predict_each


def test_a_trial_that_cannot_be_asked_fails_alone(plan_for, tmp_path, caplog):
    plan = plan_for()
    model = {"trials": train_seeds(plan, tmp_path, processes=1)}
    asked, _ = predict_all(plan, model, tmp_path)
    answers, outcomes = predict_each(plan, model, tmp_path)
    assert answers.equals(asked)
    assert outcomes == model["trials"]

    lost, kept = outcomes
    shutil.rmtree(tmp_path / lost["folder"] / "model")
    with pytest.raises(CoattendError, match="is missing or is not what was trained"):
        predict_all(plan, model, tmp_path)
    answers, outcomes = predict_each(plan, model, tmp_path)
    problem = f"{tmp_path / lost['folder'] / 'model'}: is missing or is not what was trained"
    told = f"{problem}. Run the training pipeline again"
    assert outcomes == [lost | {"failure": f"cannot be asked: CoattendError: {told}"}, kept]
    assert answers.equals(asked.filter([name == kept["trial_id"] for name in asked["trial_id"].to_pylist()]))
    assert f"trial {lost['trial_id']} (seed 3) cannot be asked: {told}" in caplog.text

    answers, outcomes = predict_each(plan, {"trials": [lost, {"failure": "the loss became nan"}]}, tmp_path)
    assert not len(answers)
    assert [one["failure"].partition(":")[0] for one in outcomes] == ["cannot be asked", "the loss became nan"]


@pytest.mark.parametrize(("device", "by_transformer", "budget"), [("cpu", True, 2048), ("cpu", False, 6144)])
def test_a_processor_asks_a_transformer_less_at_once_than_it_learns_from(plan_for, device, by_transformer, budget):
    plan = plan_for(tokens_per_batch=6144, device=device)
    assert plan.asked_at_once(by_transformer=by_transformer) == budget
    assert plan_for(tokens_per_batch=256, device=device).asked_at_once(by_transformer=by_transformer) == 256


def test_answers_are_the_same_however_many_are_asked_at_once(plan_for, monkeypatch):
    plan = plan_for(precision="fp32")
    asked, _ = plan.training_questions()
    reader = plan.build(asked)
    monkeypatch.setattr("coattend.training.plan.IN_CACHE", 64)
    alone = {one.example.question_id: one.scores for one in plan.ask(reader, asked)}
    monkeypatch.undo()
    together = {one.example.question_id: one.scores for one in plan.ask(reader, asked)}
    assert alone.keys() == together.keys()
    assert all(alone[key] == pytest.approx(together[key], abs=1e-5) for key in alone)
