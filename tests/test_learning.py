"""The sample can be learned: readers with an interaction beat what can be had without reading."""

import json

import pytest

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def scored(empty_project, run_empty):
    """Scores on dev, over everything, of a reader with its own parameters and others that are given."""
    run_empty("ingestion,tagging,tokenization", "sample", env="local")

    def train(reader, **options):
        run_empty("training,evaluation", f"sample.{reader}", env="local", readers={reader: options})
        metrics = json.loads((empty_project / f"data/07_model_output/sample/{reader}/metrics.json").read_text())
        return metrics["splits"]["dev"]["all"]

    return train


def test_options_are_learned(scored):
    assert scored("poi_net")["accuracy"]["low"] > 40  # Guessing scores 33.


def test_spans_are_learned(scored):
    # Half as long again as by default, so that it does not hang on the processor's roundings.
    scores = scored("poi_net_span", training={"epochs": 6})
    assert scores["f1"]["low"] > 40  # Answering nothing scores 33.
    assert scores["has_answer_f1"]["low"] > 15  # There it scores 0.
    assert scores["answerability_auroc"] > 60


def test_missing_words_are_learned(scored):
    assert scored("aoa_reader")["accuracy"]["low"] > 40  # Guessing scores 10.


def test_spans_are_learned_without_a_pretrained_encoder(scored):
    training = {"epochs": 12, "learning_rate": 2e-3}
    scores = scored("dcn", hidden=100, pool=8, dropout=0.3, training=training)
    assert scores["f1"]["low"] > 50  # Answering nothing scores 33.
