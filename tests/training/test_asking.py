"""Trials that were trained are asked, and one that cannot be does not keep the others from it."""

import shutil

import pytest
from torch.nn.modules.module import register_module_forward_hook

from coattend.errors import CoattendError
from coattend.readers.reader import Reader
from coattend.training.fan_out import train_seeds
from coattend.training.fit import Work
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


@pytest.mark.parametrize("evaluations", [1, 3])
def test_questions_held_out_are_asked_once_for_each_evaluation(plan_for, tmp_path, evaluations):
    asked = []

    def count(module, given, output):
        if isinstance(module, Reader) and not module.training:
            asked.append(len(given[0].option_index))

    work = Work.of(plan_for(evaluations=evaluations, epochs=3, learning_rate=1e-9), tmp_path)
    counting = register_module_forward_hook(count)
    outcome, _ = work.attempt(0)
    counting.remove()
    last = max(point["step"] for point in outcome["curve"])
    assert (outcome["best_step"] == last) == (evaluations == 1)  # Of scores that are alike the first is the best.
    assert sum(asked) == evaluations * len(work.held_out.examples)
