"""Signs of a training, beside counting them question by question and token by token."""

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pyarrow as pa
import pytest

from coattend.batches.dataset import QuestionSource
from coattend.config import EncoderParameters, TrainingParameters
from coattend.schemas import PREDICTIONS
from coattend.training.diagnostics import answer_diagnostics, training_diagnostics
from coattend.training.run_trial import TrialRunner
from coattend.trials.experiment import TrainingQuestions


@dataclass(frozen=True)
class Planned:
    """The fields of an experiment that are looked at."""

    task: str
    options: dict
    training: TrainingParameters
    encoder: EncoderParameters = field(default_factory=EncoderParameters)


def source_of(sample, unit, task):
    read = sample.read(unit, task)
    return QuestionSource(
        "sample", sample.questions, sample.passages, read.tokens, task, read.layout.count, fill_blanks=True
    )


def diagnosed(sample, unit, task, *, answered=(), curve=(), options=None, words=(), **training):
    training = TrainingParameters(**{"max_length": 256, "stride": 0} | training)
    train, held_out = source_of(sample, unit, task).training(training)
    reader = SimpleNamespace(encoder=SimpleNamespace(words=words, lowercase=True))
    table = pa.Table.from_pylist(list(answered), schema=PREDICTIONS)
    experiment = Planned(task, options or {}, training)
    questions = TrainingQuestions(train, held_out)
    signs = training_diagnostics(experiment, reader, questions, list(curve)) | answer_diagnostics(table)
    return train, held_out, signs


def prediction(number, **columns):
    row = {"question_id": str(number), "trial_id": "t", "seed": 0, "prediction": "x", "correct": True, "f1": 1.0}
    return row | columns


def test_whole_passages_are_not_truncated_and_lose_nothing(sample):
    for task in ("options", "span"):
        _, _, signs = diagnosed(sample, "subwords", task, max_length=512)
        assert signs["truncated_passages"] == 0
    assert signs["lost_answers"] == 0


def test_cut_passages_are_counted_once_each(sample):
    train, held_out, signs = diagnosed(sample, "subwords", "options", max_length=64)
    cut = Counter()
    for example in (*train.examples, *held_out.examples):
        room = 64 - sample.special_tokens.count - max(example.lengths)
        cut[example.passage] |= train.tokens.length(example.passage) > room
    assert 0 < signs["truncated_passages"] < 1
    assert signs["truncated_passages"] == pytest.approx(sum(cut.values()) / len(cut))
    assert signs["lost_answers"] is None


def test_passages_that_are_left_out_on_purpose_are_not_truncated(sample):
    for reads, share in (("no_passage", None), ("shuffled_passage", 0)):
        _, _, signs = diagnosed(sample, "subwords", "options", max_length=512, reads=reads)
        assert signs["truncated_passages"] == share


def test_answers_that_are_lost_are_counted_in_training_and_held_out(sample):
    uncut, choosing, _ = diagnosed(sample, "words", "word", max_length=512)
    train, held_out, signs = diagnosed(sample, "words", "word", max_length=40)
    lost = len(uncut.examples) - len(train.examples)
    assert lost == len(train.dropped) > 0
    rows = {row["question_id"]: row for row in held_out.questions.to_pylist()}
    for example in held_out.examples:
        text = held_out.texts[example.question_id]
        read = held_out.tokens.slice(example.passage).start + example.windows[0][1] - 1
        row = rows[example.question_id]
        lost += row["options"][row["label"]] not in text[: held_out.tokens.ends[read]].split()
    assert signs["lost_answers"] == pytest.approx(lost / (len(uncut.examples) + len(choosing.examples)))


def test_windows_hold_all_of_a_passage_and_may_cut_an_answer_in_two(sample):
    _, _, signs = diagnosed(sample, "subwords", "span", max_length=24)
    assert signs["truncated_passages"] == 0
    assert 0 < signs["lost_answers"] < 1


def test_tags_are_counted_in_each_text_once(sample):
    train, held_out, signs = diagnosed(sample, "subwords", "options")
    texts = {row for example in (*train.examples, *held_out.examples) for rows in example.sequences for row in rows}
    texts |= {example.passage for example in (*train.examples, *held_out.examples)}
    tags = [tag for row in texts for tag in train.tokens.tag_ids[train.tokens.slice(row)].tolist()]
    assert signs["err_tags"] == pytest.approx(tags.count(2) / len(tags))
    assert signs["unknown_words"] is None


def test_words_that_the_vocabulary_lacks_are_counted_where_they_were_held_out(sample):
    words = ("the", "to", "in")
    _, held_out, signs = diagnosed(sample, "words", "word", words=words)
    texts = {example.passage for example in held_out.examples}
    texts |= {row for example in held_out.examples for rows in example.sequences for row in rows}
    spelt = [
        held_out.tokens.lexicon[word].lower()
        for row in texts
        for word in held_out.tokens.input_ids[held_out.tokens.slice(row)]
    ]
    unknown = sum(word not in words for word in spelt)
    assert 0 < unknown < len(spelt)
    assert signs["unknown_words"] == pytest.approx(unknown / len(spelt))


@pytest.mark.parametrize(
    ("rows", "share"),
    [
        ([{"label": 0}, {"label": 0}, {"label": 2}, {"label": 0}], 0.75),
        ([{"label": 1, "prediction": word} for word in "abcd"], 1.0),
        ([{"start": 0, "end": 3}, {"start": 0, "end": 4}, {"start": 0, "end": 3}, {"start": 5, "end": 6}], 0.5),
        ([{"start": start, "end": 9, "prediction": ""} for start in range(4)], 1.0),
        ([{"prediction": word} for word in "abaa"], 0.75),
    ],
)
def test_the_most_frequent_answer_is_a_place_or_else_a_word(sample, rows, share):
    answered = [prediction(number, **row) for number, row in enumerate(rows)]
    _, _, signs = diagnosed(sample, "subwords", "options", answered=answered)
    assert signs["most_given"] == share
    assert signs["held_out_questions"] == len(rows)


def test_the_final_loss_is_that_of_the_last_quarter(sample):
    curve = [{"step": step, "loss": loss} for step, loss in ((10, 9.0), (75, 5.0), (80, 1.0), (100, 2.0))]
    curve.insert(3, {"step": 90, "eval_score": 0.3})
    _, _, signs = diagnosed(sample, "subwords", "options", curve=curve)
    assert signs["final_loss"] == 1.5


def test_guessing_has_the_mean_loss_over_questions_as_training_has(sample):
    train, _, signs = diagnosed(sample, "subwords", "options")
    losses = [math.log(len(example.sequences)) for example in train.examples]
    assert signs["chance_loss"] == pytest.approx(sum(losses) / len(losses))


@pytest.mark.parametrize(
    ("task", "normalise", "has_loss"),
    [("span", None, False), ("word", "document", False), ("word", "candidates", True), ("word", None, True)],
)
def test_guessing_has_a_loss_where_it_is_over_candidates(sample, task, normalise, has_loss):
    _, _, signs = diagnosed(sample, "words", task, options={"normalise": normalise})
    assert (signs["chance_loss"] is not None) == has_loss


def test_a_set_without_candidates_or_spans_has_no_answer_to_lose(sample):
    train, held_out = source_of(sample, "subwords", "options").training(TrainingParameters())
    nothing = replace(held_out, examples=held_out.examples[:1])
    planned, questions = Planned("options", {}, TrainingParameters()), TrainingQuestions(train, nothing)
    signs = training_diagnostics(planned, None, questions, [])
    assert signs["lost_answers"] is signs["final_loss"] is None
    assert answer_diagnostics(PREDICTIONS.empty_table())["most_given"] is None


@pytest.mark.parametrize(
    ("pooling", "frozen", "sign"), [("cls_pooler", True, 1.0), ("mean", True, 0.0), ("cls_pooler", False, None)]
)
def test_a_trial_over_a_frozen_pooler_that_was_never_trained_says_so(
    experiment_for, tmp_path, caplog, pooling, frozen, sign
):
    experiment = experiment_for(frozen=frozen)
    experiment = replace(experiment, options=experiment.options | {"pooling": pooling})
    outcome, problem = TrialRunner.of(experiment, tmp_path / "trials").attempt(0)
    assert problem is None
    assert outcome["signs"]["untrained_pooler"] == sign
    assert ("it scores the vector of a frozen pooler that was never trained" in caplog.text) == bool(sign)
