"""Distillation: the loss against a slow second form, what the teacher says, and trials that learn from others."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from coattend.config import DistillationParameters
from coattend.errors import CoattendError
from coattend.inference.predict import answer_questions, read_questions
from coattend.readers.batch import Batch
from coattend.readers.reader import Reader
from coattend.training.distillation import TEACHER, distilled_loss, with_teacher
from coattend.training.run_trial import TrialRunner
from coattend.trials import run_spec
from coattend.trials.build import build_collator, build_reader
from coattend.trials.device import device_and_precision
from coattend.trials.store import FinishedTrial
from coattend.trials.trial import read_content
from experiments import lose_a_bit, train_seed


@given(st.lists(st.integers(2, 5), min_size=1, max_size=4), st.integers(0, 99), st.floats(0.01, 1.0))
def test_the_loss_mixes_right_answers_and_the_teachers(counts, seed, weight):
    generator = torch.Generator().manual_seed(seed)
    rows = [torch.randn(count, generator=generator, dtype=torch.float64) for count in counts]
    taught = [torch.randn(count, generator=generator, dtype=torch.float64).softmax(0) for count in counts]
    labels = [int(torch.randint(count, (), generator=generator)) for count in counts]
    # Slowly, question by question, without padding.
    expected = 0.0
    for row, target, label in zip(rows, taught, labels, strict=True):
        probabilities = [math.exp(score) / sum(math.exp(other) for other in row) for score in row]
        gold = -math.log(probabilities[label])
        soft = -sum(float(share) * math.log(p) for share, p in zip(target, probabilities, strict=True))
        expected += ((1 - weight) * gold + weight * soft) / len(rows)
    scores = torch.full((len(rows), max(counts)), -math.inf)
    teacher = torch.zeros(len(rows), max(counts))
    for number, count in enumerate(counts):
        scores[number, :count], teacher[number, :count] = rows[number].float(), taught[number].float()
    scores.requires_grad_()
    loss = distilled_loss(cross_entropy(scores, torch.tensor(labels)), scores, teacher, weight)
    assert loss.item() == pytest.approx(expected, rel=1e-4)
    # Padding gets no gradient, and no NaN; what is right and what is taught pull the softmax to their mixture.
    loss.backward()
    gold = torch.nn.functional.one_hot(torch.tensor(labels), max(counts))
    pulled = (scores.detach().softmax(-1) - (1 - weight) * gold - weight * teacher) / len(rows)
    torch.testing.assert_close(scores.grad, pulled)


@given(st.lists(st.integers(2, 5), min_size=1, max_size=4), st.integers(0, 99), st.floats(0.01, 1.0))
def test_the_loss_of_spans_adds_those_of_first_and_last_tokens(lengths, seed, weight):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.full((len(lengths), 2, max(lengths)), -math.inf)
    teacher, gold, soft = torch.zeros(scores.shape), 0.0, 0.0
    for number, length in enumerate(lengths):
        for bound in range(2):
            row, target = torch.randn(2, length, generator=generator)
            scores[number, bound, :length], teacher[number, bound, :length] = row, target.softmax(0)
            gold += cross_entropy(row, torch.tensor(1)).item() / len(lengths)
            soft += cross_entropy(row, target.softmax(0)).item() / len(lengths)
    loss = distilled_loss(torch.tensor(gold), scores, teacher, weight)
    assert loss.item() == pytest.approx((1 - weight) * gold + weight * soft, rel=1e-4)


def taught_by(experiment, trial, **values):
    distillation = DistillationParameters(teacher=trial, **values)
    return replace(experiment, training=experiment.training.model_copy(update={"distillation": distillation}))


@pytest.fixture(scope="module")
def teacher(experiment_for, tmp_path_factory):
    """A joint reader's trial that knows its training questions by heart, and the folder of trials."""
    store = tmp_path_factory.mktemp("trials")
    experiment = experiment_for(epochs=12, learning_rate=3e-3)
    return train_seed(experiment, store), store


def test_the_teacher_says_what_its_reader_answers_beside_cached_states(teacher, experiment_for):
    outcome, store = teacher
    experiment = taught_by(experiment_for("plain_apart"), outcome["trial_id"])
    questions = experiment.training_questions().train
    reader = Reader.load(store / outcome["trial_id"] / "model")
    answers = answer_questions(experiment_for(), reader, questions)
    scores = {answer.example.question_id: torch.tensor(answer.scores) for answer in answers}

    def cached(examples, arrays):
        return {"hidden": np.ones((len(examples), 2))}

    add = with_teacher(experiment, 3, questions, cached, store)
    added = add(questions.examples[:3], {})
    assert added.keys() == {"hidden", TEACHER}
    for row, example in zip(added[TEACHER], questions.examples[:3], strict=True):
        expected = scores[example.question_id].softmax(0).numpy()
        np.testing.assert_allclose(row[: len(expected)], expected, rtol=1e-5)
        assert not row[len(expected) :].any()
    # It is sure of what it knows by heart: a teacher that says nothing would teach nothing.
    assert added[TEACHER].max(1).mean() > 0.6
    assert with_teacher(experiment_for(), 3, questions, cached, store) is cached


@pytest.fixture(scope="module")
def span_teacher(experiment_for, tmp_path_factory):
    """A joint reader's trial for spans, and the folder of trials."""
    store = tmp_path_factory.mktemp("span trials")
    experiment = experiment_for(task="span", epochs=60, learning_rate=1e-2)
    return train_seed(experiment, store), store


def test_a_teacher_of_spans_says_how_probable_each_first_and_last_token_is(span_teacher, experiment_for):
    outcome, store = span_teacher
    learner = experiment_for("plain_apart", task="span")
    questions = learner.training_questions().train
    # A batch with sequences of several lengths, in another order than the teacher reads them in.
    examples = sorted(questions.examples, key=lambda example: example.passage_tokens)[::3][:4]
    collator = build_collator(learner, build_reader(learner, questions), questions)
    add = with_teacher(taught_by(learner, outcome["trial_id"]), 3, questions, None, store)
    batch = collator(examples)
    taught = add(examples, {"passage_mask": batch["passage_mask"].numpy()})[TEACHER]

    joint, reader = experiment_for(task="span"), Reader.load(store / outcome["trial_id"] / "model").eval()
    alone = build_collator(joint, reader, questions)
    row = 0
    for example in examples:
        with torch.no_grad():
            output = reader(Batch(**alone([example])))
        for start, end in zip(output.start, output.end, strict=True):
            count = len(start)
            np.testing.assert_allclose(taught[row, :, :count], torch.stack([start, end]).softmax(-1), atol=1e-5)
            assert not taught[row, :, count:].any()
            row += 1
    assert row == len(taught) == len(batch["passage_mask"])
    # A teacher that says nothing would teach nothing.
    assert taught.max(-1).mean() > 0.3


def test_a_reader_of_spans_learns_from_its_teacher(span_teacher, experiment_for):
    outcome, store = span_teacher
    alone = experiment_for("plain_apart", task="span", epochs=12, learning_rate=3e-3)
    taught = taught_by(alone, outcome["trial_id"], weight=1.0)
    questions = alone.training_questions().train
    add, untaught = (
        with_teacher(taught, 3, questions, None, store),
        experiment_for("plain_apart", "span", learning_rate=1e-9),
    )

    def distance(trial):
        reader = Reader.load(store / trial["trial_id"] / "model")
        losses = []
        for output, batch, examples, _ in read_questions(alone, reader, questions):
            teacher = torch.tensor(add(examples, {"passage_mask": batch.passage_mask.numpy()})[TEACHER])
            scores = torch.stack([output.start, output.end], 1)
            losses.append(distilled_loss(torch.tensor(0.0), scores, teacher, 1.0).item())
        return np.mean(losses)

    assert distance(train_seed(taught, store)) < 0.8 * distance(train_seed(untaught, store))


def test_a_teacher_is_asked_once_for_all_that_it_teaches_the_same_questions(teacher, experiment_for, monkeypatch):
    outcome, store = teacher
    experiment = taught_by(experiment_for("plain_apart"), outcome["trial_id"])
    questions = experiment.training_questions().train
    first = with_teacher(experiment, 3, questions, None, store)(questions.examples, {})[TEACHER]

    def unexpected(*_, **__):
        raise AssertionError("the teacher read again")

    monkeypatch.setattr("coattend.inference.predict.answer_questions", unexpected)
    other = taught_by(experiment_for("plain_apart", learning_rate=1e-4), outcome["trial_id"], weight=0.9)
    again = with_teacher(other, 5, questions, None, store)(questions.examples, {})[TEACHER]
    np.testing.assert_array_equal(again, first)
    with pytest.raises(AssertionError, match="read again"):
        with_teacher(other, 5, questions.sample(2), None, store)
    # What it says in another precision is another answer.
    now = "bf16" if device_and_precision(other.training)[1] else "fp32"
    precise = taught_by(
        experiment_for("plain_apart", precision="fp32" if now == "bf16" else "bf16"), outcome["trial_id"]
    )
    with pytest.raises(AssertionError, match="read again"):
        with_teacher(precise, 3, questions, None, store)
    # What it taught is none of the predictions that `compare` and the list of trials take from its folder.
    assert not FinishedTrial(store / outcome["trial_id"], {}, outcome).answer_files()


def test_a_reader_comes_close_to_its_teacher_and_its_trial_names_it(teacher, experiment_for):
    outcome, store = teacher
    alone = experiment_for("plain_apart", epochs=12, learning_rate=3e-3)
    taught = taught_by(alone, outcome["trial_id"], weight=1.0)
    questions = alone.training_questions().train
    probabilities = with_teacher(taught, 3, questions, None, store)(questions.examples, {})[TEACHER]

    def distance(experiment, trial):
        reader = Reader.load(store / trial["trial_id"] / "model")
        answers = {a.example.question_id: a for a in answer_questions(experiment, reader, questions)}
        return np.mean(
            [
                -(torch.tensor(row[: example.option_count]) * torch.tensor(scores).log_softmax(-1)).sum().item()
                for row, example in zip(probabilities, questions.examples, strict=True)
                for scores in [answers[example.question_id].scores]
            ]
        )

    untrained = train_seed(experiment_for("plain_apart", learning_rate=1e-9), store)
    trained = train_seed(taught, store)
    assert distance(taught, trained) < 0.8 * distance(alone, untrained)
    # Another training is another trial, and both its files say who taught it.
    assert trained["trial_id"] != TrialRunner.of(alone, store).trial(3).id
    expected = {"teacher": outcome["trial_id"], "weight": 1.0}
    assert read_content(store / trained["trial_id"])["training"]["distillation"] == expected
    assert run_spec.read(store / trained["trial_id"]).training.distillation.model_dump() == expected


def test_trials_without_a_teacher_are_those_from_before_there_were_any(experiment_for, tmp_path):
    outcome = train_seed(experiment_for(), tmp_path)
    assert "distillation" not in read_content(tmp_path / outcome["trial_id"])["training"]


def test_teachers_that_cannot_teach_are_refused(teacher, experiment_for):
    outcome, store = teacher
    questions = experiment_for().training_questions().train
    gone = taught_by(experiment_for(), "gone")
    with pytest.raises(CoattendError, match=r"training.distillation.teacher: there is no trained reader of .*'gone'"):
        with_teacher(gone, 3, questions, None, store)
    (store / "unfinished").mkdir()
    (store / "unfinished" / "model").symlink_to(store / outcome["trial_id"] / "model")
    with pytest.raises(CoattendError, match=r"training.distillation.teacher: the trial 'unfinished' is not finished"):
        with_teacher(taught_by(experiment_for(), "unfinished"), 3, questions, None, store)
    span = taught_by(experiment_for(task="span"), outcome["trial_id"])
    with pytest.raises(CoattendError, match="answers another task"):
        with_teacher(span, 3, questions, None, store)
    softmaxed = replace(span, options={"score": "softmax"})
    with pytest.raises(CoattendError, match="of options or of tokens, and plain answers by the head 'span'"):
        with_teacher(softmaxed, 3, questions, None, store)
    experiment = taught_by(experiment_for(), outcome["trial_id"])
    other = replace(experiment.source, tokens=replace(experiment.source.tokens, tagger="another"))
    with pytest.raises(CoattendError, match="was not trained on texts with these tokens and tags"):
        with_teacher(replace(experiment, source=other), 3, questions, None, store)


def test_a_damaged_teacher_is_refused(experiment_for, tmp_path):
    outcome = train_seed(experiment_for(), tmp_path)
    lose_a_bit(tmp_path / outcome["trial_id"])
    taught = taught_by(experiment_for(), outcome["trial_id"])
    with pytest.raises(CoattendError, match="is not what was trained"):
        with_teacher(taught, 3, taught.training_questions().train, None, tmp_path)
