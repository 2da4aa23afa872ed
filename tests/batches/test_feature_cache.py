"""States of a frozen encoder that are kept are those that it makes itself."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import BertConfig

from coattend import readers
from coattend.batches.collator import Collator
from coattend.batches.feature_cache import FeatureCache
from coattend.errors import CoattendError
from coattend.inference.predict import answer_questions, predict_all
from coattend.readers.batch import Batch
from coattend.readers.reader import Reader
from coattend.serving.predictor import Predictor, Query
from coattend.serving.preprocessor import pack
from coattend.training.run_trial import TrialRunner
from experiments import train_reader

TINY = BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)


@pytest.fixture(scope="module")
def reader():
    torch.manual_seed(0)
    duma = readers.build("duma", encoder=TINY, dropout=0.0)
    duma.encoder.freeze()
    return duma.train()


@pytest.fixture(scope="module")
def examples(sample):
    return sample.build(sample.rows("options", "train"), sample.read("subwords", "options"))[0][:12]


@pytest.fixture
def collator(sample, reader, examples, tmp_path):
    """Makes batches, with what is kept where it is said in which precision."""
    tokens, layout = sample.subwords, sample.special_tokens
    collator_of_batches = Collator(tokens, layout, "options")

    def make(bf16=None):
        if bf16 is None:
            return collator_of_batches
        cache = FeatureCache(tmp_path, "tiny", tokens_per_batch=512, bf16=bf16)
        features = cache.hidden_states(reader, examples, tokens, collator_of_batches)
        return Collator(tokens, layout, "options", features=features)

    make.folder = tmp_path
    return make


def losses(reader, examples, collator):
    """The loss of each of some steps, after which the reader is as it was."""
    weights = {name: weight.clone() for name, weight in reader.state_dict().items()}
    optimizer = torch.optim.AdamW([parameter for parameter in reader.parameters() if parameter.requires_grad], lr=1e-3)
    history = []
    for first in range(0, len(examples), 3):
        loss = reader(Batch(**collator(examples[first : first + 3]))).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        history.append(loss.item())
    reader.load_state_dict(weights)
    return history


def test_a_reader_makes_the_same_of_them(reader, examples, collator):
    live, cached = collator(), collator(bf16=False)
    stored = cached(examples)["hidden"]
    batch = Batch(**live(examples))
    with torch.no_grad():
        encoded = reader.encoder.read(batch) * batch.attention_mask.unsqueeze(-1)
    torch.testing.assert_close(stored, encoded, rtol=1e-5, atol=1e-5)


def test_a_reader_learns_the_same_from_them(reader, examples, collator):
    expected = losses(reader, examples, collator())
    assert len({round(loss, 4) for loss in expected}) == 4, "it learns"
    assert losses(reader, examples, collator(bf16=False)) == pytest.approx(expected, rel=1e-5)


def test_they_take_half_as_much_where_products_run_in_bf16(examples, collator):
    for bf16 in (False, True, False):
        collator(bf16=bf16)
    files = sorted(collator.folder.glob("*.npy"), key=lambda file: file.stat().st_size)
    half, single = (np.load(file) for file in files)
    assert (half.dtype, single.dtype) == (np.float16, np.float32)
    np.testing.assert_allclose(half, single, atol=0.1)


def test_trials_over_states_in_single_precision_are_not_those_from_before(experiment_for, tmp_path):
    ways = ({"frozen": True}, {"frozen": True, "precision": "bf16"}, {"frozen": False})
    contents = [
        TrialRunner.of(experiment_for(**{"precision": "fp32"} | way), tmp_path).trial(3).content for way in ways
    ]
    assert ["kept" in content["encoder"] for content in contents] == [True, False, False]


def trained(experiment, store, **training):
    """Train one trial of an experiment with other training parameters; return its experiment and outcome."""
    experiment = replace(experiment, training=experiment.training.model_copy(update={"seeds": (3,), **training}))
    (outcome,) = train_reader(experiment, store)
    assert outcome["failure"] is None
    return experiment, outcome


def uncached_scores(experiment, outcome, store):
    """The scores of a trial's options when its encoder reads the questions itself."""
    questions = experiment.source.evaluation(experiment.training)
    reader = Reader.load(store / outcome["trial_id"] / "model")
    return {answer.example.question_id: answer.scores for answer in answer_questions(experiment, reader, questions)}


def assert_asked_with_own_weights(experiment, outcome, store):
    predictions, _ = predict_all(experiment, [outcome], store)
    rows = predictions.select(["question_id", "scores"]).to_pylist()
    expected = uncached_scores(experiment, outcome, store)
    assert expected
    for row in rows:
        assert row["scores"] == pytest.approx(expected[row["question_id"]], abs=1e-5)


@pytest.mark.parametrize("pretrained_first", [True, False])
def test_states_are_those_of_the_weights_in_use_whichever_trial_ran_first(experiment_for, tmp_path, pretrained_first):
    store, plain = tmp_path / "trials", experiment_for(precision="fp32", learning_rate=1e-2)
    _, tuned = trained(plain, store)
    ways = [{"frozen": True}, {"frozen": True, "start_from": tuned["trial_id"]}]
    for way in ways if pretrained_first else reversed(ways):
        experiment, outcome = trained(plain, store, **way)
        assert_asked_with_own_weights(experiment, outcome, store)


def test_outputs_that_half_precision_cannot_hold_are_refused(collator, reader):
    norm = reader.encoder.model.encoder.layer[-1].output.LayerNorm
    with torch.no_grad():
        norm.weight.mul_(1e6)
    try:
        assert np.isfinite(collator(bf16=False).features.vectors).all()
        with pytest.raises(CoattendError, match=r"do not fit into float16.*precision to fp32"):
            collator(bf16=True)
    finally:
        with torch.no_grad():
            norm.weight.div_(1e6)


@pytest.mark.parametrize(
    ("name", "frozen"),
    [
        ("plain", False),
        ("plain_apart", True),
        pytest.param("plain", True, marks=pytest.mark.slow),
    ],
)
def test_windows_of_options_are_learned_from_asked_and_served_alike(experiment_for, tmp_path, name, frozen):
    store, experiment = tmp_path / "trials", experiment_for(name, precision="fp32", max_length=48, stride=8)
    experiment, outcome = trained(experiment, store, over_windows="logsumexp", frozen=frozen)
    assert outcome["signs"]["truncated_passages"] == 0
    questions = experiment.source.evaluation(experiment.training)
    assert any(len(example.sequences) > example.option_count for example in questions.examples)
    assert_asked_with_own_weights(experiment, outcome, store)
    # The same windows, asked in another way, have other answers.
    in_another_way = experiment.training.model_copy(update={"over_windows": "max"})
    assert_asked_with_own_weights(replace(experiment, training=in_another_way), outcome, store)
    # One by one, from their texts, by the packed reader that an MLflow model carries.
    pack(store / outcome["trial_id"], tmp_path / "packed")
    predictor = Predictor.load(tmp_path / "packed")
    rows = {row["question_id"]: row for row in predict_all(experiment, [outcome], store)[0].to_pylist()}
    longest = sorted(questions.examples, key=lambda example: -len(example.sequences))[:4]
    for example in longest:
        question, row = questions.rows[example.question_id], rows[example.question_id]
        query = Query(questions.texts[example.question_id], question["question"], tuple(question["options"]))
        answer = predictor.answer(query)
        expected = torch.tensor(row["scores"]).softmax(0).tolist()
        assert answer["probabilities"] == pytest.approx(expected, abs=1e-5)
        assert answer["label"] == row["label"]


def test_a_trial_that_was_not_frozen_is_not_asked_as_if_it_were(experiment_for, tmp_path):
    store, plain = tmp_path / "trials", experiment_for(precision="fp32", learning_rate=1e-2)
    trained(plain, store, frozen=True)
    _, tuned = trained(plain, store)
    # The entry has changed since, or the benchmark is one whose readers are frozen.
    frozen = replace(plain, training=plain.training.model_copy(update={"frozen": True}))
    assert_asked_with_own_weights(frozen, tuned, store)
    files = {path.name for path in (tmp_path / "encoder_outputs").glob("*.npy")}
    assert len(files) == 2, "of the frozen trial's training and held-out questions alone"


def test_passages_that_are_read_once_are_kept_once(sample, examples, tmp_path):
    torch.manual_seed(0)
    reader = readers.build("duma_apart", encoder=TINY, dropout=0.0).train()
    reader.encoder.freeze()
    tokens, layout = sample.subwords, sample.special_tokens
    live = Collator(tokens, layout, "options", apart=True)
    features = FeatureCache(tmp_path, "tiny", tokens_per_batch=512, bf16=False).passage_states(
        reader, examples, tokens, live
    )
    cached = replace(live, features=features)
    for members in (examples, examples[3:5], examples[::-1]):
        batch = Batch(**live(members))
        with torch.no_grad():
            encoded = reader.encoder.read(batch) * batch.attention_mask.unsqueeze(-1)
        torch.testing.assert_close(cached(members)["hidden"], encoded, rtol=1e-5, atol=1e-5)
    assert losses(reader, examples, cached) == pytest.approx(losses(reader, examples, live), rel=1e-5)
    passages = {(example.passage, *example.windows[0]) for example in examples}
    assert len(passages) < len(examples)
    special = len(layout.prefix) + len(layout.middle)
    segments = sum(length + len(layout.suffix) for example in examples for length in example.lengths)
    assert len(features.vectors) == sum(special + size for _, _, size in passages) + segments
