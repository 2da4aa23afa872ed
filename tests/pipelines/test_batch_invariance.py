"""Answers of trained readers to questions asked one at a time and in full batches."""

import json
from dataclasses import replace

import pytest
from sampled import trial_of
from torch.nn.modules.module import register_module_forward_hook

from coattend.errors import CoattendError
from coattend.readers.reader import Reader
from coattend.training import batch_invariance


def report(project):
    return json.loads((project / "data/test/08_reporting/batch_invariance.json").read_text())


def test_every_entry_is_asked_alone_and_in_batches_in_both_precisions(run_trained, trained_sample, caplog):
    caplog.set_level("INFO")
    asked = []

    def count(module, inputs, output):
        if isinstance(module, Reader):
            batch = inputs[0]
            rows = batch.option_index if batch.option_index is not None else batch.input_ids
            asked.append(len(rows))

    counting = register_module_forward_hook(count)
    try:
        run_trained("batch_invariance", batch_invariance={"questions": 6})
    finally:
        counting.remove()
    records = report(trained_sample)
    assert [record["reader"] for record in records] == ["aoa_reader", "plain_span", "poi_net"]
    for record in records:
        assert record["trial"] == trial_of(trained_sample, record["reader"]).name
        assert record["questions"] == record["precisions"]["bf16"]["questions"]
        assert record["precisions"]["fp32"]["other_answers"] == 0
        assert record["precisions"]["fp32"]["largest_difference"] < 1e-4
        assert 0 <= record["precisions"]["bf16"]["other_answers"] <= record["questions"]
        assert record["threads"] > 0 and record["processor"] and record["trained_in"] == "fp32"
        assert f"of {record['questions']} answers change in full batches: 0 in fp32" in caplog.text
    (poi_net,) = [record for record in records if record["reader"] == "poi_net"]
    assert poi_net["questions"] == 6
    # Twice each question of every entry alone, and fewer batches of several.
    assert asked.count(1) >= 2 * sum(record["questions"] for record in records)
    assert max(asked) > 1


def test_answers_that_change_are_counted(run_trained, trained_sample, monkeypatch):
    answer = batch_invariance.answer_questions

    def other_answers_alone(*arguments, alone, **keywords):
        answers = answer(*arguments, alone=alone, **keywords)
        if not alone:
            return answers
        turned = [replace(first, scores=first.scores[-1:] + first.scores[:-1]) for first in answers[:2]]
        return turned + answers[2:]

    monkeypatch.setattr(batch_invariance, "answer_questions", other_answers_alone)
    trial = trial_of(trained_sample, "poi_net").name
    run_trained("batch_invariance", batch_invariance={"trials": trial[:9], "questions": 5})
    (record,) = report(trained_sample)
    assert [record["precisions"][name]["other_answers"] for name in ("fp32", "bf16")] == [2, 2]


def test_what_cannot_be_asked_is_refused(run_trained):
    with pytest.raises(
        CoattendError, match=r"dream: has no finished .*kedro run --env test --namespaces dream\.plain$"
    ):
        run_trained("batch_invariance", batch_invariance={"benchmark": "dream"})
    with pytest.raises(CoattendError, match=r"batch_invariance\.trials: there is no trial 'nowhere'"):
        run_trained("batch_invariance", batch_invariance={"trials": "nowhere"})
