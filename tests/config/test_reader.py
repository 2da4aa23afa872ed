"""What is published about encoders, by which trainings are checked."""

import pytest
import yaml

from coattend.config import EncoderParameters, TrainingParameters
from coattend.config.reader import FAR, check_fine_tuning
from coattend.errors import CoattendError
from conftest import ROOT

FAMILIES = ("albert", "roberta", "electra", "deberta", "modernbert", "qwen", "llama")


@pytest.fixture(scope="module")
def encoders():
    entries = yaml.safe_load((ROOT / "conf/base/parameters_training.yml").read_text())["encoders"]
    return {name: EncoderParameters.model_validate(entry) for name, entry in entries.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_has_an_entry_with_its_tokenizer_and_cited_rates(encoders, family):
    tokenizers = yaml.safe_load((ROOT / "conf/base/parameters_tokenization.yml").read_text())["tokenizers"]
    entries = {name: encoder for name, encoder in encoders.items() if name.startswith(family)}
    assert entries
    for encoder in entries.values():
        assert encoder.fine_tuning.source
        # ALBERT's sizes share the files of one tokenizer.
        assert family == "albert" or tokenizers[encoder.tokenizer]["source"] == encoder.source
        low, high = encoder.fine_tuning.learning_rate
        for rate in (low, high, low / FAR, high * FAR):
            training = TrainingParameters(learning_rate=rate, max_length=encoder.fine_tuning.max_length)
            assert check_fine_tuning(family, encoder, training) is None


def test_a_rate_far_outside_is_warned_of_unless_the_encoder_is_frozen(encoders):
    encoder = encoders["deberta_v3_base"]
    for rate in (1e-3, 1e-6):
        warning = check_fine_tuning("deberta_v3_base", encoder, TrainingParameters(learning_rate=rate))
        assert f"learning_rate is {rate:g}" in warning
        assert "7e-06 to 4.5e-05 (microsoft/DeBERTa" in warning
        frozen = TrainingParameters(learning_rate=rate, frozen=True)
        assert check_fine_tuning("deberta_v3_base", encoder, frozen) is None
    assert check_fine_tuning("minilm", encoders["minilm"], TrainingParameters(learning_rate=1.0)) is None


def test_sequences_longer_than_those_of_pretraining_are_refused(encoders):
    long = TrainingParameters(max_length=1024, learning_rate=2e-5)
    assert check_fine_tuning("modernbert_base", encoders["modernbert_base"], long) is None
    message = r"max_length with the encoder 'deberta_v3_base': is 1024, and .* 512 at most.*over_windows"
    with pytest.raises(CoattendError, match=message):
        check_fine_tuning("deberta_v3_base", encoders["deberta_v3_base"], long)


@pytest.mark.parametrize("rates", [(2e-5, 1e-5), (0.0, 1e-5)])
def test_rates_are_a_low_and_a_high_one(rates):
    with pytest.raises(ValueError, match="must be a low and a high rate above 0"):
        EncoderParameters(fine_tuning={"learning_rate": rates, "max_length": 512, "source": "a paper"})


def test_float16_is_refused_with_what_to_take(kedro_run):
    with pytest.raises(CoattendError, match=r"training\.precision: float16 ends at 65,504, .* DeBERTa .* bf16"):
        kedro_run("ingestion", "sample", benchmarks={"sample": {"training": {"precision": "fp16"}}})
