"""What is measured can be run: small sizes, no judgement of speed."""

import pytest
import torch

from coattend.readers.attended import Attended
from coattend.readers.parts import EncoderShape
from perf import data_stages, interactions, kept, scale, training


def test_training_finds_its_questions(kedro_run, project):
    """The sample's tables in the place of DREAM's."""
    kedro_run("ingestion,tagging,tokenization", "sample", benchmarks={"sample": {"fill_blanks": False}})
    data = project / "data" / "test"
    for folder in ("02_intermediate", "05_model_input"):
        (data / folder / "sample").rename(data / folder / "dream")
    examples, collator = training.load(data)
    assert 0 < training.real_tokens(examples, collator) <= 1


def test_the_released_way_and_ours(raw):
    pairs = data_stages.read_pairs(raw, "dream")
    assert len(pairs) == 24_468
    found = data_stages.measure(pairs[:60], timed=10, workers=1)
    assert found["pairs"] == 60 and found["times_faster"] > 0


def test_the_sample_of_any_size():
    found = scale.main(["--passages", "30", "60"])
    assert set(found["passages"]) == {"30", "60"}
    assert len(found["peak_beside_the_first"]) == 1


@pytest.fixture(scope="module")
def measured():
    return interactions.main(["--rounds", "1", "--sequences", "1", "--passage", "20", "--question", "6"])


def test_every_interaction_has_its_cost_on_a_transformer(measured):
    costs = measured["costs"]["transformer"]
    assert {"encoder", "poi_net", "duma", "recam_duma", "bidaf", "0 turns", "4 turns"} <= costs.keys()
    assert "plain" not in costs, "it has no interaction"
    assert costs["encoder"]["layers"] == 6
    assert all("percent_added" in costs[f"{turns} turns"] for turns in range(1, 5))


def test_every_interaction_has_its_cost_on_a_recurrent_encoder(measured):
    costs = measured["costs"]["recurrent"]
    cloze = {"aoa_reader", "as_reader", "cas_reader", "ga_reader", "attentive_reader", "stanford_reader"}
    assert cloze | {"encoder", "dcn", "dcn_plus", "aoa_span", "dual_multi_head", "bidaf"} <= costs.keys()
    assert costs["encoder"]["layers"] == 1


def test_one_encoder_can_be_chosen():
    sizes = ["--rounds", "1", "--sequences", "1", "--passage", "5", "--question", "2"]
    found = interactions.main([*sizes, "--encoder", "recurrent"])
    assert found["costs"].keys() == found["memory"].keys() == {"recurrent"}


@pytest.mark.parametrize("encoder", interactions.ENCODERS)
def test_what_interactions_keep_grows_no_faster_than_their_tokens(measured, encoder):
    memory = measured["memory"][encoder]
    assert memory.keys() == measured["costs"][encoder].keys() - {"encoder"}
    for name, one in memory.items():
        assert one["passage_doubled"] <= 2 and one["question_doubled"] <= 2 and one["both_doubled"] <= 4, name


class Squared(torch.nn.Module):
    """Keeps every token's likeness to every token of the passage: P x P numbers."""

    def forward(self, encoded):
        likeness = (encoded.passage @ encoded.passage.transpose(1, 2)).exp()
        return Attended(
            passage=likeness.sum(-1, keepdim=True) + encoded.passage,
            question=encoded.question,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
        )


def test_bytes_that_are_kept_are_counted_once():
    assert kept.kept_bytes(Squared(), kept.vectors(30, 5, 8)) == 30 * 30 * 4
    assert kept.growth(Squared(), EncoderShape(8, 2))["passage_doubled"] == 4
