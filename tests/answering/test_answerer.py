"""Answers to raw texts are those of evaluation, one by one or many at once, wherever the reader lies."""

import json
import shutil

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampled import answered, trial_of

from coattend.answering.answerer import Answerer
from coattend.answering.asked import Asked, Refused
from coattend.answering.packing import pack
from coattend.answering.reading import Reading
from coattend.datasets.seals import sealed
from coattend.errors import CoattendError
from coattend.parameters import Limits
from coattend.readers.batch import Batch
from coattend.text import nltk_data

READERS = ("poi_net", "plain_span", "aoa_reader")
PASSAGE = "The lamp is in the hall . Mary carried the sofa to the attic ."
QUESTIONS = {
    "poi_net": Asked(PASSAGE, "Where is the sofa?", ("In the hall.", "In the attic.")),
    "plain_span": Asked(PASSAGE, "Where is the sofa?"),
    "aoa_reader": Asked(PASSAGE, "The _ is in the hall .", ("sofa", "lamp")),
}


@pytest.fixture(scope="module")
def answerers(trained_sample):
    return {name: Answerer.load(trial_of(trained_sample, name)) for name in READERS}


def softmax(scores):
    powers = np.exp(np.array(scores) - max(scores))
    return powers / powers.sum()


@pytest.mark.parametrize("name", READERS)
def test_answers_are_those_of_evaluation(answerers, trained_sample, name):
    pairs = answered(trained_sample, name)
    made = list(answerers[name].answers([asked for asked, _ in pairs]))
    assert len(pairs) > 4
    for (asked, row), told in zip(pairs, made, strict=True):
        assert told["answer"] == row["prediction"]
        if name == "plain_span":
            assert told["null_score"] == pytest.approx(row["null_score"], abs=1e-4)
            if told["answer"]:
                assert (told["start"], told["end"]) == (row["start"], row["end"])
                assert asked.passage[told["start"] : told["end"]] == told["answer"] == told["choices"][0]
            assert told["probabilities"][0] == pytest.approx(row["scores"][0], abs=1e-4)
            assert 0 < row["scores"][1] < 1
            continue
        scores = np.array(row["scores"])
        expected = scores / scores.sum() if name == "aoa_reader" else softmax(scores)
        assert told["probabilities"] == pytest.approx(expected.tolist(), abs=1e-4)
        assert told["choices"] == list(asked.options)
        assert told["label"] == row["label"]


@pytest.mark.parametrize("name", READERS)
def test_an_answer_does_not_depend_on_what_else_is_asked(answerers, trained_sample, name):
    asked = [one for one, _ in answered(trained_sample, name)][:5]
    many = list(answerers[name].answers([*asked, Asked("", "?"), *asked[::-1]]))
    assert isinstance(many[5], Refused)
    assert many[:5] == many[:5:-1] == [answerers[name].answer(one) for one in asked]


def shares(values, real):
    held = np.where(real, np.maximum(values, 0), 0)
    return held / held.sum()


def test_evidence_of_co_attention_is_the_mean_of_its_maps(answerers):
    answerer, asked = answerers["poi_net"], QUESTIONS["poi_net"]
    told = answerer.answer(asked)
    row = answerer._ready("0", asked)
    reading = Reading.of([row], answerer.processing)
    reader = answerer.reader
    reader.keep_maps()
    with torch.inference_mode():
        output = reader(Batch(**reading.plan.collator(reader, reading.asked)(reading.asked.examples)))
    reader.keep_maps(False)
    maps = {name: one[told["label"]].numpy() for name, one in output.attended.maps.items()}
    tokens = reading.asked.tokens
    where = tokens.slice(reading.asked.examples[0].passage)
    real = np.zeros(maps["passage_attention"].shape, bool)
    real[1 : 1 + where.stop - where.start] = True
    expected = (shares(maps["passage_scores"].mean(0), real) + shares(maps["passage_attention"], real)) / 2
    starts = tokens.starts[where].tolist()
    assert told["evidence"]
    for one in told["evidence"]:
        assert asked.passage[one["start"] : one["end"]] == one["text"]
        assert one["weight"] == pytest.approx(expected[1 + starts.index(one["start"])], rel=1e-4)
    weights = [one["weight"] for one in told["evidence"]]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == pytest.approx(expected.max(), rel=1e-4)


def test_evidence_of_a_reader_without_maps_is_the_encoders_last_layer(answerers, trained_sample):
    told = answerers["plain_span"].answer(QUESTIONS["plain_span"])
    apart = Answerer.load(trial_of(trained_sample, "plain_span"))
    row = apart._ready("0", QUESTIONS["plain_span"])
    reading = Reading.of([row], apart.processing)
    batch = Batch(**reading.plan.collator(apart.reader, reading.asked)(reading.asked.examples))
    model = apart.reader.encoder.model
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        layers = model(
            input_ids=batch.input_ids,
            attention_mask=batch.attention_mask,
            token_type_ids=batch.token_type_ids,
            output_attentions=True,
        ).attentions
    places = batch.question_index[0][batch.question_mask[0]]
    seen = layers[-1][0].mean(0)[places].mean(0).numpy()
    where = reading.asked.tokens.slice(reading.asked.examples[0].passage)
    real = np.zeros(seen.shape, bool)
    real[1 : 1 + where.stop - where.start] = True
    expected = np.sort(shares(seen, real))[::-1]
    assert [one["weight"] for one in told["evidence"]] == pytest.approx(expected[:10].tolist(), rel=1e-3)


def test_a_word_is_found_without_candidates(answerers):
    told = answerers["aoa_reader"].answer(Asked(PASSAGE, "The _ is in the hall ."))
    assert told["answer"] == told["choices"][0]
    assert told["label"] is None
    assert set(told["choices"]) <= set(PASSAGE.split())
    assert told["probabilities"] == sorted(told["probabilities"], reverse=True)


REFUSED = [
    ("poi_net", Asked("", "Who?", ("a", "b")), "passage is empty"),
    ("poi_net", Asked("...", "Who?", ("a", "b")), "passage has no words"),
    ("poi_net", Asked(PASSAGE, " ", ("a", "b")), "question is empty"),
    ("poi_net", Asked(PASSAGE, "Who?"), "has no options, and this reader chooses one"),
    ("poi_net", Asked(PASSAGE, "Who?", ("a",)), "one option only"),
    ("poi_net", Asked(PASSAGE, "Who?", ("a", "")), "option 2 is empty"),
    ("poi_net", Asked(PASSAGE, "Who?", ("a",) * 101), "has 101 options, more than 100"),
    ("poi_net", Asked("a" * 100_001, "Who?", ("a", "b")), "passage has 100,001 characters, more than 100,000"),
    ("poi_net", Asked(PASSAGE, "a" * 5_001, ("a", "b")), "question has 5,001 characters"),
    ("poi_net", Asked(PASSAGE, "Who?", ("a", "b" * 5_001)), "option 2 has 5,001 characters"),
    ("poi_net", Asked(PASSAGE, "who " * 300, ("a", "b")), "leave no room for a passage"),
    ("poi_net", Asked("half \ud800", "Who?", ("a", "b")), "half a surrogate"),
    ("plain_span", Asked(PASSAGE, "Who?", ("a", "b")), "has options, and this reader answers with a span"),
    ("aoa_reader", Asked(PASSAGE, "Who?", ("a", "b")), "the question has no blank"),
]


@pytest.mark.parametrize(("name", "asked", "message"), REFUSED)
def test_what_cannot_be_answered_is_refused_with_the_reason(answerers, name, asked, message):
    with pytest.raises(Refused, match=message):
        answerers[name].answer(asked)


def test_limits_can_be_lower(trained_sample):
    small = Answerer.load(trial_of(trained_sample, "plain_span"), limits=Limits(passage=10))
    with pytest.raises(Refused, match="more than 10"):
        small.answer(QUESTIONS["plain_span"])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(passage=st.text(max_size=60), question=st.text(max_size=30))
def test_any_text_is_answered_or_refused(answerers, passage, question):
    try:
        told = answerers["plain_span"].answer(Asked(passage, question))
    except Refused:
        return
    assert told["answer"] == ("" if told["start"] is None else passage[told["start"] : told["end"]])
    for one in told["evidence"]:
        assert passage[one["start"] : one["end"]] == one["text"]


@pytest.mark.parametrize("name", READERS)
def test_a_packed_reader_needs_nothing_else(answerers, trained_sample, tmp_path, monkeypatch, name):
    pack(trial_of(trained_sample, name), tmp_path / "first")
    shutil.move(tmp_path / "first", tmp_path / "moved")
    # What it came from is gone: a name that nothing can be had of.
    recipe = json.loads((tmp_path / "moved" / "recipe.json").read_text())
    with sealed(tmp_path / "moved" / "recipe.json") as file:
        file.write_text(json.dumps(recipe | {"encoder": "./nowhere"}))
    monkeypatch.setattr(nltk_data, "usual_folders", lambda: [])
    monkeypatch.setenv("COATTEND_RAW", str(tmp_path / "nothing"))
    moved = Answerer.load(tmp_path / "moved")
    assert moved.answer(QUESTIONS[name]) == answerers[name].answer(QUESTIONS[name])
    kinds = {file.suffix for file in (tmp_path / "moved").rglob("*") if file.is_file()}
    assert kinds <= {".safetensors", ".json", ".tab", ".txt", ".sha256"}


def test_another_tokenizer_is_refused(trained_sample, tmp_path):
    pack(trial_of(trained_sample, "plain_span"), tmp_path / "packed")
    file = tmp_path / "packed" / "tokenizer" / "tokenizer.json"
    content = json.loads(file.read_text())
    content["model"]["continuing_subword_prefix"] = "@@"
    file.write_text(json.dumps(content))
    with pytest.raises(CoattendError, match="another tokenizer"):
        Answerer.load(tmp_path / "packed")


def test_a_folder_without_a_recipe_is_refused(trained_sample, tmp_path):
    shutil.copytree(trial_of(trained_sample, "aoa_reader"), tmp_path / "trial")
    (tmp_path / "trial" / "recipe.json").unlink()
    with pytest.raises(CoattendError, match=r"says nowhere how it is asked.*pipeline evaluation"):
        Answerer.load(tmp_path / "trial")
