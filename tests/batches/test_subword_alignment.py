"""Subwords beside words, against the tokenizer of transformers on the whole text and counting characters."""

from functools import cache

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from coattend import readers
from coattend.batches.collator import Collator
from coattend.batches.subword_alignment import OF_NO_WORD, PADDING, SubwordAlignment, pad_subwords
from coattend.readers.batch import Batch
from coattend.readers.encoders.pretrained import encoder_folder
from coattend.readers.encoders.word_embeddings import Words


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(encoder_folder("embedded"))


@pytest.fixture(scope="module")
def pieces(sample):
    return SubwordAlignment.between(sample.words, sample.subwords, sample.special_tokens)


def by_hand(tokenizer, texts, words_of):
    """Subwords of texts one behind the other, and the word of all that each shares most characters with."""
    ids, owners, before = [], [], 0
    for text in texts:
        words = words_of(text)
        for piece, owner in owners_in(tokenizer, text, tuple(words)):
            ids.append(piece)
            owners.append(OF_NO_WORD if owner is None else before + owner)
        before += len(words)
    return ids, owners


@cache
def owners_in(tokenizer, text, words):
    """Subwords of a text, each with the word that it shares most characters with; None if it shares none."""
    encoding = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    owned = []
    for piece, (start, end) in zip(encoding["input_ids"], encoding["offset_mapping"], strict=True):
        shared = [max(0, min(end, last) - max(start, first)) for first, last in words]
        owned.append((piece, shared.index(max(shared)) if any(shared) else None))
    return owned


def words_of(sample):
    def word_bounds(text):
        where = sample.words.slice(sample.words.row(text))
        return list(zip(sample.words.starts[where].tolist(), sample.words.ends[where].tolist(), strict=True))

    return word_bounds


def texts_of(sample, rows):
    names = list(sample.words.rows)
    return [sample.texts[names[row]] for row in rows]


@pytest.mark.parametrize(
    ("task", "max_length", "options"),
    [
        ("options", 256, {}),  # Some question domains are of two texts.
        ("options", 40, {}),  # The passage is cut.
        ("span", 30, {"stride": 8}),  # The passage is read in windows.
        ("word", 256, {}),
    ],
)
def test_pieces_are_those_of_the_words_that_are_read(sample, pieces, tokenizer, task, max_length, options):
    read = sample.read("words", task)
    examples, unreadable = sample.build(sample.rows(task), read, max_length, **options)
    assert not unreadable
    # Every sixth question, so that all subsets of the sample are among them.
    examples = examples[::6]
    batch = Collator(sample.words, read.layout, task, alignment=pieces)(examples)
    before = len(read.layout.prefix)
    row, several_windows, several_texts = 0, False, False
    for example in examples:
        for texts, size, (first, count) in zip(example.sequences, example.lengths, example.windows, strict=True):
            ids, owners = by_hand(tokenizer, texts_of(sample, [example.passage]), words_of(sample))
            passage_pieces = [
                (i, o - first + before) for i, o in zip(ids, owners, strict=True) if first <= o < first + count
            ]
            assert of_row(batch, "passage", row) == with_special(tokenizer, passage_pieces)
            question_pieces = by_hand(tokenizer, texts_of(sample, texts), words_of(sample))
            assert of_row(batch, "question", row) == with_special(tokenizer, list(zip(*question_pieces, strict=True)))
            assert {owner for _, owner in passage_pieces} == set(range(before, before + count))
            assert set(question_pieces[1]) == set(range(size))
            several_windows, several_texts = several_windows or first > 0, several_texts or len(texts) > 1
            row += 1
    assert row == len(batch["passage_pieces"]) == len(batch["input_ids"])
    assert several_windows == (task == "span")
    assert several_texts == (task == "options")


def of_row(batch, side, row):
    ids, words = (batch[f"{side}_{part}"][row].tolist() for part in ("pieces", "piece_words"))
    real = words.index(PADDING) if PADDING in words else len(words)
    assert set(words[real:]) <= {PADDING}
    return list(zip(ids[:real], words[:real], strict=True))


def with_special(tokenizer, pairs):
    return [(tokenizer.cls_token_id, OF_NO_WORD), *pairs, (tokenizer.sep_token_id, OF_NO_WORD)]


def test_texts_are_padded_behind_their_last_piece():
    ids, words = pad_subwords([np.array([[5, 6, 7], [-1, 0, -1]]), np.array([[8], [0]])], pad_id=9)
    assert ids.tolist() == [[5, 6, 7], [8, 9, 9]]
    assert words.tolist() == [[-1, 0, -1], [0, PADDING, PADDING]]


def test_a_word_in_its_context_is_the_mean_of_what_the_transformer_makes_of_its_pieces(sample, pieces, tokenizer):
    """Each side is read alone, and with more padding beside a longer text as without."""
    read = sample.read("words", "span")
    examples, _ = sample.build(sample.rows("span", "dev"), read)
    shorter, longer = examples[0], max(examples, key=lambda example: example.longest)
    collator = Collator(sample.words, read.layout, "span", alignment=pieces)
    words = Words(words=("the",), encoder="embedded")
    options = {"context": True, "hidden": 2, "vectors": "random", "vector_width": 1}
    reader = readers.build("recurrent+coattention", head="span", encoder=words, **options)
    # What stands for the reader's own words plays no part here.
    batch = Batch(**collator([shorter, longer]))
    model = AutoModel.from_pretrained(encoder_folder("embedded"), dtype=torch.float32).eval()
    for side, row in (("passage", shorter.passage), ("question", shorter.sequences[0][0])):
        (text,) = texts_of(sample, [row])
        mask = getattr(batch, f"{side}_mask")
        context = reader.encoder.context(
            getattr(batch, f"{side}_pieces"), getattr(batch, f"{side}_piece_words"), mask.shape[1]
        )[0]
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, 1:-1]
        _, owners = by_hand(tokenizer, [text], words_of(sample))
        before = len(read.layout.prefix) if side == "passage" else 0
        for word in range(len(words_of(sample)(text))):
            positions = [index for index, owner in enumerate(owners) if owner == word]
            torch.testing.assert_close(context[before + word], states[positions].mean(0), rtol=1e-4, atol=1e-4)
        assert not context[:before].any()
        assert not context[before + len(words_of(sample)(text)) :].any()


def test_questions_of_other_examples_change_no_pieces(sample, pieces):
    read = sample.read("words", "options")
    examples, _ = sample.build(sample.rows("options").slice(0, 6), read)
    collator = Collator(sample.words, read.layout, "options", alignment=pieces)
    together, row = collator(examples), 0
    for example in examples:
        alone = collator([example])
        for index in range(len(example.sequences)):
            for side in ("passage", "question"):
                assert of_row(alone, side, index) == of_row(together, side, row)
            row += 1
