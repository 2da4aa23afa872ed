"""Vectors of words in their context that are kept are those that a reader makes itself."""

import numpy as np
import pytest
import torch
from transformers import BertConfig

from coattend import readers
from coattend.batches.collator import Collator
from coattend.batches.feature_cache import FeatureCache
from coattend.batches.subword_alignment import SubwordAlignment
from coattend.readers.batch import Batch
from coattend.readers.encoders.word_embeddings import Words

TINY = BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)


@pytest.fixture(scope="module")
def pieces(sample):
    return SubwordAlignment.between(sample.words, sample.subwords, sample.special_tokens)


@pytest.fixture(scope="module")
def reader():
    torch.manual_seed(0)
    options = {"context": True, "hidden": 8, "vectors": "random"}
    return readers.build("dcn_plus", encoder=Words(words=("the", "of"), encoder=TINY, width=8), **options)


@pytest.fixture
def keep(sample, pieces, reader, tmp_path):
    read = sample.read("words", "span")

    def keep(examples, **options):
        settings = {"encoder": "tiny", "tokens_per_batch": 256, "bf16": False} | options
        before = len(read.layout.prefix)
        return FeatureCache(tmp_path, **settings).context_vectors(reader.encoder.context, examples, pieces, before)

    keep.folder, keep.read = tmp_path, read
    return keep


def examples_of(sample, keep, **options):
    return sample.build(sample.rows("span", "dev"), keep.read, **options)[0]


@pytest.mark.parametrize("windows", [{}, {"max_length": 30, "stride": 8}])
def test_a_reader_makes_the_same_of_them(sample, pieces, reader, keep, windows):
    examples = examples_of(sample, keep, **windows)[:6]
    live = Collator(sample.words, keep.read.layout, "span", lookup=np.arange(10**6) % 5, alignment=pieces)
    cached = Collator(
        sample.words, keep.read.layout, "span", lookup=np.arange(10**6) % 5, alignment=pieces, features=keep(examples)
    )
    live_batch, cached_batch = live(examples), cached(examples)
    assert "passage_pieces" in live_batch and "passage_pieces" not in cached_batch
    with torch.no_grad():
        expected, output = (reader(Batch(**batch)) for batch in (live_batch, cached_batch))
    torch.testing.assert_close(output.start, expected.start, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(output.end, expected.end, rtol=1e-5, atol=1e-5)


def test_a_passage_is_read_once_however_many_questions_it_has(sample, keep):
    examples = examples_of(sample, keep)
    cache = keep(examples)
    passages = {example.passage for example in examples}
    questions = {example.sequences[0] for example in examples}
    assert len(passages) < len(examples)
    assert len(cache.rows) == len(passages) + len(questions)


def test_what_is_kept_is_read_again_and_what_differs_is_not(sample, keep, caplog):
    examples = examples_of(sample, keep)
    caplog.set_level("INFO")
    first = keep(examples[:4])
    assert np.array_equal(keep(examples[:4]).vectors, first.vectors)
    assert caplog.text.count("once") == len(list(keep.folder.glob("*.npy"))) == 1
    keep(examples[:4], encoder="another")
    keep(examples[:3])
    half = keep(examples[:4], bf16=True)
    assert len(list(keep.folder.glob("*.npy"))) == 4
    assert half.vectors.dtype == np.float16 and half.vectors.nbytes == first.vectors.nbytes / 2
    np.testing.assert_allclose(half.vectors, first.vectors, atol=0.1)
