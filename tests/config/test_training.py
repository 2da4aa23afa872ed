import pytest

from coattend.config import BenchmarkParameters, ReaderParameters, training_of
from coattend.config.reader import UntrainedParameters
from coattend.errors import CoattendError

SOURCE = {"format": "dream", "folder": ".", "files": {}}


def benchmark(**sections) -> BenchmarkParameters:
    return BenchmarkParameters(name="tiny", title="Tiny", tasks=("options",), sources=[SOURCE], **sections)


def trained(benchmark: BenchmarkParameters, *, recurrent=False, **training):
    return training_of(benchmark, ReaderParameters(name="own", reader="plain", training=training), recurrent=recurrent)


def test_a_reader_has_the_last_word_and_its_kind_the_one_before():
    tiny = benchmark(
        training={"epochs": 2, "clip": 3},
        frozen={"learning_rate": 1e-3, "epochs": 4},
        recurrent={"learning_rate": 2e-3, "epochs": 8},
    )
    assert trained(tiny).epochs == 2
    assert trained(tiny, frozen=True).epochs == 4
    assert trained(tiny, recurrent=True).epochs == 8
    assert trained(tiny, frozen=True, epochs=6).epochs == 6
    assert {trained(tiny, frozen=frozen).clip for frozen in (True, False)} == {3}


def test_over_a_frozen_encoder_the_rate_is_larger():
    assert trained(benchmark(), frozen=True).learning_rate > trained(benchmark()).learning_rate
    everywhere = benchmark(training={"frozen": True})
    assert trained(everywhere).learning_rate == trained(benchmark(), frozen=True).learning_rate


@pytest.mark.parametrize("section", ["frozen", "recurrent"])
def test_a_wrong_difference_is_told_with_its_place(section):
    tiny = benchmark(**{section: {"epoch": 3}})
    with pytest.raises(CoattendError, match="epochs") as raised:
        trained(tiny, **{section: True})
    assert raised.value.where == f"benchmarks.tiny.{section}.epoch"


def test_a_benchmark_names_the_profiles_of_readers_that_name_none():
    chinese = benchmark(encoder="characters", tagging="jieba")
    reader = ReaderParameters(name="plain", reader="plain", tagging="nltk_penn").on(chinese)
    assert (reader.encoder, reader.tagging) == ("characters", "nltk_penn")
    assert ReaderParameters(name="plain", reader="plain").with_seeds((1,)).on(chinese).tagging == "jieba"
    english = chinese.model_copy(update={"encoder": None, "tagging": None})
    assert ReaderParameters(name="plain", reader="plain").on(english).encoder == "minilm"


def test_heads_divide_the_width_of_an_untrained_encoder():
    with pytest.raises(ValueError, match="3 heads do not divide a width of 64"):
        UntrainedParameters(hidden=64, heads=3)
