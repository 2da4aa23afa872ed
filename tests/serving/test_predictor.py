"""Answers to raw texts are those of evaluation, one by one or many at once, wherever the reader lies."""

import copy
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampled import answered, trial_of
from tiny_nltk_data import write_nltk_data

from coattend.config import Limits
from coattend.errors import CoattendError
from coattend.inference.predict import predict_all
from coattend.io.atomic import write_with_checksum
from coattend.readers.batch import Batch
from coattend.serving.predictor import InvalidQuery, Predictor, PreparedQueries, Query
from coattend.serving.preprocessor import pack
from coattend.text import nltk as nltk_data
from coattend.text.nltk import NltkTagger
from coattend.text.textblob import TextblobTagger
from coattend.trials.build import build_collator
from experiments import tokenized, train_seed

READERS = ("poi_net", "plain_span", "aoa_reader")
PASSAGE = "The lamp is in the hall . Mary carried the sofa to the attic ."
QUESTIONS = {
    "poi_net": Query(PASSAGE, "Where is the sofa?", ("In the hall.", "In the attic.")),
    "plain_span": Query(PASSAGE, "Where is the sofa?"),
    "aoa_reader": Query(PASSAGE, "The _ is in the hall .", ("sofa", "lamp")),
}


@pytest.fixture(scope="module")
def answerers(trained_sample):
    return {name: Predictor.load(trial_of(trained_sample, name)) for name in READERS}


def softmax(scores):
    powers = np.exp(np.array(scores) - max(scores))
    return powers / powers.sum()


@pytest.mark.parametrize("name", READERS)
def test_answers_are_those_of_evaluation(answerers, trained_sample, name):
    pairs = answered(trained_sample, name)
    answers = list(answerers[name].answers([query for query, _ in pairs]))
    assert len(pairs) > 4
    for (query, row), answer in zip(pairs, answers, strict=True):
        assert answer["answer"] == row["prediction"]
        if name == "plain_span":
            assert answer["null_score"] == pytest.approx(row["null_score"], abs=1e-4)
            if answer["answer"]:
                assert (answer["start"], answer["end"]) == (row["start"], row["end"])
                assert query.passage[answer["start"] : answer["end"]] == answer["answer"] == answer["choices"][0]
            assert answer["probabilities"][0] == pytest.approx(row["scores"][0], abs=1e-4)
            assert 0 < row["scores"][1] < 1
            continue
        scores = np.array(row["scores"])
        expected = scores / scores.sum() if name == "aoa_reader" else softmax(scores)
        assert answer["probabilities"] == pytest.approx(expected.tolist(), abs=1e-4)
        assert answer["choices"] == list(query.options)
        assert answer["label"] == row["label"]


@pytest.mark.parametrize("name", READERS)
def test_an_answer_does_not_depend_on_what_else_is_asked(answerers, trained_sample, name):
    queries = [query for query, _ in answered(trained_sample, name)][:5]
    answers = list(answerers[name].answers([*queries, Query("", "?"), *queries[::-1]]))
    assert isinstance(answers[5], InvalidQuery)
    assert answers[:5] == answers[:5:-1] == [answerers[name].answer(query) for query in queries]


@pytest.mark.parametrize(("span", "text"), [((2, 4), "lamp is in"), ((4, 2), ""), ((0, 0), "")])
def test_a_span_that_the_head_proposes_is_the_answer_and_without_text_there_is_none(answerers, span, text):
    answerer = answerers["plain_span"]
    answerer = replace(answerer, spec=answerer.spec.model_copy(update={"null_threshold": None}))
    propose = lambda module, inputs, output: replace(output, proposal=torch.tensor([span] * len(output.start)))  # noqa: E731
    handle = answerer.reader.head.register_forward_hook(propose)
    answer = answerer.answer(QUESTIONS["plain_span"])
    handle.remove()
    assert answer["answer"] == text
    if text:
        assert PASSAGE[answer["start"] : answer["end"]] == answer["choices"][0] == text
    else:
        assert answer["start"] is answer["end"] is None
        assert all(answer["choices"])


def shares(values, real):
    positive = np.where(real, np.maximum(values, 0), 0)
    return positive / positive.sum()


def test_evidence_of_co_attention_is_the_mean_of_its_maps(answerers):
    answerer, query = answerers["poi_net"], QUESTIONS["poi_net"]
    answer = answerer.answer(query)
    reading = PreparedQueries.of({"0": answerer._ready(query)}, answerer.processing)
    reader = answerer.reader
    reader.keep_maps()
    with torch.inference_mode():
        output = reader(
            Batch(**build_collator(reading.experiment, reader, reading.questions)(reading.questions.examples))
        )
    reader.keep_maps(False)
    maps = {name: attention_map[answer["label"]].numpy() for name, attention_map in output.attended.maps.items()}
    tokens = reading.questions.tokens
    where = tokens.slice(reading.questions.examples[0].passage)
    real = np.zeros(maps["passage_attention"].shape, bool)
    real[1 : 1 + where.stop - where.start] = True
    expected = (shares(maps["passage_scores"].mean(0), real) + shares(maps["passage_attention"], real)) / 2
    starts = tokens.starts[where].tolist()
    assert answer["evidence"]
    for piece in answer["evidence"]:
        assert query.passage[piece["start"] : piece["end"]] == piece["text"]
        assert piece["weight"] == pytest.approx(expected[1 + starts.index(piece["start"])], rel=1e-4)
    weights = [piece["weight"] for piece in answer["evidence"]]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == pytest.approx(expected.max(), rel=1e-4)


def test_evidence_of_a_reader_without_maps_is_the_encoders_last_layer(answerers, trained_sample):
    answer = answerers["plain_span"].answer(QUESTIONS["plain_span"])
    apart = Predictor.load(trial_of(trained_sample, "plain_span"))
    reading = PreparedQueries.of({"0": apart._ready(QUESTIONS["plain_span"])}, apart.processing)
    batch = Batch(**build_collator(reading.experiment, apart.reader, reading.questions)(reading.questions.examples))
    model = apart.reader.encoder.model
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        layers = model(
            input_ids=batch.input_ids,
            attention_mask=batch.attention_mask,
            token_type_ids=batch.token_type_ids,
            output_attentions=True,
        ).attentions
    positions = batch.question_index[0][batch.question_mask[0]]
    attention = layers[-1][0].mean(0)[positions].mean(0).numpy()
    where = reading.questions.tokens.slice(reading.questions.examples[0].passage)
    real = np.zeros(attention.shape, bool)
    real[1 : 1 + where.stop - where.start] = True
    expected = np.sort(shares(attention, real))[::-1]
    assert [piece["weight"] for piece in answer["evidence"]] == pytest.approx(expected[:10].tolist(), rel=1e-3)


def test_a_word_is_found_without_candidates(answerers):
    answer = answerers["aoa_reader"].answer(Query(PASSAGE, "The _ is in the hall ."))
    assert answer["answer"] == answer["choices"][0]
    assert answer["label"] is None
    assert set(answer["choices"]) <= set(PASSAGE.split())
    assert answer["probabilities"] == sorted(answer["probabilities"], reverse=True)


REFUSED = [
    ("poi_net", Query("", "Who?", ("a", "b")), "passage is empty"),
    ("poi_net", Query("...", "Who?", ("a", "b")), "passage has no words"),
    ("poi_net", Query(PASSAGE, " ", ("a", "b")), "question is empty"),
    ("poi_net", Query(PASSAGE, "Who?"), "has no options, and this reader chooses one"),
    ("poi_net", Query(PASSAGE, "Who?", ("a",)), "one option only"),
    ("poi_net", Query(PASSAGE, "Who?", ("a", "")), "option 2 is empty"),
    ("poi_net", Query(PASSAGE, "Who?", ("a",) * 101), "has 101 options, more than 100"),
    ("poi_net", Query("a" * 100_001, "Who?", ("a", "b")), "passage has 100,001 characters, more than 100,000"),
    ("poi_net", Query(PASSAGE, "a" * 5_001, ("a", "b")), "question has 5,001 characters"),
    ("poi_net", Query(PASSAGE, "Who?", ("a", "b" * 5_001)), "option 2 has 5,001 characters"),
    ("poi_net", Query(PASSAGE, "who " * 300, ("a", "b")), "leave no room for a passage"),
    ("poi_net", Query("half \ud800", "Who?", ("a", "b")), "half a surrogate"),
    ("plain_span", Query(PASSAGE, "Who?", ("a", "b")), "has options, and this reader answers with a span"),
    ("aoa_reader", Query(PASSAGE, "Who?", ("a", "b")), "the question has no blank"),
]


def test_what_cannot_be_answered_is_refused_with_the_reason(subtests, answerers):
    for name, query, message in REFUSED:
        with subtests.test(name=name, message=message), pytest.raises(InvalidQuery, match=message):
            answerers[name].answer(query)


def test_limits_can_be_lower(trained_sample):
    small = Predictor.load(trial_of(trained_sample, "plain_span"), limits=Limits(passage=10))
    with pytest.raises(InvalidQuery, match="more than 10"):
        small.answer(QUESTIONS["plain_span"])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(passage=st.text(max_size=60), question=st.text(max_size=30))
def test_any_text_is_answered_or_refused(answerers, passage, question):
    try:
        answer = answerers["plain_span"].answer(Query(passage, question))
    except InvalidQuery:
        return
    assert answer["answer"] == ("" if answer["start"] is None else passage[answer["start"] : answer["end"]])
    for piece in answer["evidence"]:
        assert passage[piece["start"] : piece["end"]] == piece["text"]


@pytest.mark.parametrize("name", READERS)
def test_a_packed_reader_needs_nothing_else(answerers, trained_sample, tmp_path, monkeypatch, name):
    pack(trial_of(trained_sample, name), tmp_path / "first")
    shutil.move(tmp_path / "first", tmp_path / "moved")
    # What it came from is gone: a name that nothing can be had of.
    spec = json.loads((tmp_path / "moved" / "run_spec.json").read_text())
    with write_with_checksum(tmp_path / "moved" / "run_spec.json") as file:
        file.write_text(json.dumps(spec | {"encoder": "./nowhere"}))
    monkeypatch.setattr(nltk_data, "search_folders", lambda: [])
    monkeypatch.setenv("COATTEND_RAW", str(tmp_path / "nothing"))
    moved = Predictor.load(tmp_path / "moved")
    assert moved.answer(QUESTIONS[name]) == answerers[name].answer(QUESTIONS[name])
    suffixes = {file.suffix for file in (tmp_path / "moved").rglob("*") if file.is_file()}
    assert suffixes <= {".safetensors", ".json", ".tab", ".txt", ".sha256"}


def test_adapters_are_merged_where_a_reader_is_packed_so(experiment_for, tmp_path):
    pytest.importorskip("peft", reason="peft is not installed: it is in the extra `lora`")
    experiment = experiment_for(lora={"rank": 2}, learning_rate=1e-2)
    outcome = train_seed(experiment, tmp_path / "trials")
    trial = tmp_path / "trials" / outcome["trial_id"]
    questions = [QUESTIONS["poi_net"], QUESTIONS["aoa_reader"]]
    expected = list(Predictor.load(trial).answers(questions))
    for merge in (False, True):
        packed = pack(trial, tmp_path / f"{merge}", merge=merge)
        assert packed.has_adapters != merge
        reader = Predictor.load(tmp_path / f"{merge}")
        assert ("lora" in str(reader.reader.state_dict().keys())) != merge
        for answer, known in zip(reader.answers(questions), expected, strict=True):
            assert answer["label"] == known["label"]
            assert answer["probabilities"] == pytest.approx(known["probabilities"], abs=1e-6)
    # A bit that a disk has lost is noticed in what was merged, too.
    weights = tmp_path / "True/model/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"!")
    with pytest.raises(CoattendError, match="is not the reader that was trained"):
        Predictor.load(tmp_path / "True")


def test_a_reader_over_a_decoder_is_trained_packed_and_asked(experiment_for, sample, language_model, tmp_path):
    tokens = tokenized(sample, language_model)
    experiment = experiment_for("duma", encoder=language_model, tokens=tokens, learning_rate=1e-2, precision="fp32")
    # <s> passage </s> question </s>: its tokenizer sets none of them.
    assert (experiment.layout.prefix, experiment.layout.middle, experiment.layout.suffix) == ((0,), (1,), (1,))
    outcome = train_seed(experiment, tmp_path / "trials")
    predictions, _ = predict_all(experiment, [outcome], tmp_path / "trials")
    pack(tmp_path / "trials" / outcome["trial_id"], tmp_path / "packed")
    reader = Predictor.load(tmp_path / "packed")
    assert reader.reader.encoder.config.attention == "causal"
    assert reader.processing.layout == experiment.layout
    rows = {row["question_id"]: row for row in sample.questions.to_table().to_pylist()}
    passages = sample.passage_of(sample.rows("options"))
    for prediction in predictions.to_pylist()[:8]:
        row = rows[prediction["question_id"]]
        query = Query(passages[row["question_id"]], row["question"], tuple(row["options"]))
        assert reader.answer(query)["probabilities"] == pytest.approx(softmax(prediction["scores"]), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("over_windows", ["max", "logsumexp"])
def test_a_long_passage_is_read_in_windows_as_in_training(experiment_for, sample, tmp_path, over_windows):
    experiment = experiment_for(
        "duma", over_windows=over_windows, max_length=40, stride=8, learning_rate=1e-2, precision="fp32"
    )
    outcome = train_seed(experiment, tmp_path / "trials")
    predictions, _ = predict_all(experiment, [outcome], tmp_path / "trials")
    pack(tmp_path / "trials" / outcome["trial_id"], tmp_path / "packed")
    reader = Predictor.load(tmp_path / "packed")
    assert reader.spec.inference_training.over_windows == over_windows
    cut = reader.spec.training.model_copy(update={"over_windows": None})
    cutting = replace(reader, spec=(spec := reader.spec.model_copy(update={"training": cut})))
    cutting = replace(cutting, processing=replace(reader.processing, spec=spec))
    rows, passages = sample.rows("options", "dev"), sample.passage_of(sample.rows("options", "dev"))
    by_id, differ = {row["question_id"]: row for row in rows.to_pylist()}, 0
    for prediction in predictions.to_pylist()[:12]:
        row = by_id[prediction["question_id"]]
        query = Query(passages[row["question_id"]], row["question"], tuple(row["options"]))
        answer = reader.answer(query)
        assert answer["label"] == prediction["label"]
        assert answer["probabilities"] == pytest.approx(softmax(prediction["scores"]), abs=1e-4)
        # What was asked is longer than one window, beyond which nothing else would be read.
        differ += answer["probabilities"] != pytest.approx(cutting.answer(query)["probabilities"], abs=1e-4)
    assert differ > 6


@pytest.fixture
def retagged(trained_sample, tmp_path):
    """Copy a reader's trial, as if another tagger had made the tags that it was trained on."""

    def copy(reader, tagger):
        folder = shutil.copytree(trial_of(trained_sample, reader), tmp_path / f"{reader}_{tagger[:4]}")
        spec = json.loads((folder / "run_spec.json").read_text())
        with write_with_checksum(folder / "run_spec.json") as file:
            file.write_text(json.dumps(spec | {"tagger": tagger}))
        return folder

    return copy


@pytest.fixture
def without_nltk_data(monkeypatch, tmp_path):
    """NLTK's data is neither at hand nor downloadable."""
    monkeypatch.setattr(nltk_data, "search_folders", lambda: [])
    monkeypatch.setenv("COATTEND_RAW", str(tmp_path / "raw"))
    monkeypatch.setattr("coattend.text.tagging.download_packages", lambda: False)


def test_a_reader_keeps_its_tagger_where_another_one_is_found(retagged, tmp_path, monkeypatch):
    monkeypatch.setenv("NLTK_DATA", str(write_nltk_data(tmp_path / "nltk_data")))
    for reader, tagger in (("poi_net", TextblobTagger), ("aoa_reader", TextblobTagger), ("poi_net", NltkTagger)):
        assert Predictor.load(retagged(reader, tagger.name)).processing.tagger.name == tagger.name


def test_a_reader_without_tags_needs_no_tagger(answerers, retagged, without_nltk_data):
    apart = Predictor.load(retagged("plain_span", NltkTagger.name))
    assert apart.answer(QUESTIONS["plain_span"]) == answerers["plain_span"].answer(QUESTIONS["plain_span"])


def test_texts_that_are_asked_about_again_are_not_tagged_again(answerers, monkeypatch):
    answerer, query = answerers["poi_net"], QUESTIONS["poi_net"]
    first, tagged = answerer.answer(query), []
    tagger = type(answerer.processing.tagger.tagger)
    tag = tagger.tag
    monkeypatch.setattr(tagger, "tag", lambda self, sentences: tagged.extend(sentences) or tag(self, sentences))
    assert answerer.answer(query) == first
    assert not tagged
    answerer.answer(replace(query, passage=f"{query.passage} It is late."))
    assert ["It", "is", "late", "."] in tagged


@pytest.mark.parametrize("reader", ["poi_net", "aoa_reader"])
def test_a_missing_tagger_is_named_with_the_data_that_it_needs(retagged, without_nltk_data, tmp_path, reader):
    message = (
        rf"trial \w+: was trained on the tags of nltk.*put tokenizers/punkt_tab and .* into {tmp_path}/raw/nltk_data"
    )
    with pytest.raises(CoattendError, match=message):
        Predictor.load(retagged(reader, NltkTagger.name))


def test_another_tokenizer_is_refused(trained_sample, tmp_path):
    pack(trial_of(trained_sample, "plain_span"), tmp_path / "packed")
    file = tmp_path / "packed" / "tokenizer" / "tokenizer.json"
    content = json.loads(file.read_text())
    content["model"]["continuing_subword_prefix"] = "@@"
    file.write_text(json.dumps(content))
    with pytest.raises(CoattendError, match="another tokenizer"):
        Predictor.load(tmp_path / "packed")


def test_a_folder_without_a_run_spec_is_refused(trained_sample, tmp_path):
    shutil.copytree(trial_of(trained_sample, "aoa_reader"), tmp_path / "trial")
    (tmp_path / "trial" / "run_spec.json").unlink()
    with pytest.raises(CoattendError, match=r"says nowhere how it is asked.*pipeline training"):
        Predictor.load(tmp_path / "trial")


@pytest.mark.slow
@pytest.mark.parametrize("head", ["options", "pointer"])
def test_a_passage_that_was_asked_about_before_is_not_read_again(sample_project, kedro_run, head):
    entry = f"readers: {{ apart: {{ reader: plain_apart, head: {head} }} }}\n"
    (sample_project / "conf/base/parameters_mine.yml").write_text(entry)
    exact = {"benchmarks": {"sample": {"training": {"precision": "fp32"}}}}
    kedro_run("training,evaluation", "sample.apart", **exact)
    predictor, pairs = Predictor.load(trial_of(sample_project, "apart")), answered(sample_project, "apart")
    answers = list(predictor.answers([query for query, _ in pairs]))
    assert len(predictor.reader.encoder.passage_cache) == len({query.passage for query, _ in pairs}) < len(pairs)
    for (_, row), answer in zip(pairs, answers, strict=True):
        assert answer["answer"] == row["prediction"]
        assert answer["probabilities"][0] <= 1
        assert answer["evidence"][0]["weight"] > 0
    anew = replace(predictor, reader=copy.deepcopy(predictor.reader))
    anew.reader.encoder.passage_cache = None
    for (query, _), answer in zip(pairs[:6], answers, strict=False):
        assert anew.answer(query)["probabilities"] == pytest.approx(answer["probabilities"], abs=1e-5)


def test_threads_that_ask_at_once_get_the_answers_of_one(answerers, trained_sample):
    pairs = answered(trained_sample, "plain_span")[:8]
    expected = [answerers["plain_span"].answer(query) for query, _ in pairs]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            answers = list(pool.map(answerers["plain_span"].answer, [query for query, _ in pairs]))
            for answer, alone in zip(answers, expected, strict=True):
                assert answer["answer"] == alone["answer"]
                assert answer["probabilities"] == pytest.approx(alone["probabilities"], abs=1e-5)
                assert [token["text"] for token in answer["evidence"]] == [token["text"] for token in alone["evidence"]]
