"""Ablations of the input: parts of a question left out, and POS tags replaced at random."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from coattend.batches.examples import Example
from coattend.batches.memory_mapped import Records
from coattend.batches.tokens import Tokens
from coattend.config import TrainingParameters
from coattend.config.training import Reads
from coattend.errors import CoattendError
from coattend.text.tagset import ERR

_FIRST_TAG = ERR + 1
"""The first real tag; lower ids stand for padding, special tokens and words without a tag."""


def drop_inputs(examples: Sequence[Example], tokens: Tokens, reads: Reads) -> tuple[Sequence[Example], Tokens]:
    """Leave out, or shuffle, a part of the input of questions with options.

    Without its passage a question keeps the passage's first token, since there must be something to attend to. A
    passage is shuffled the same way wherever it occurs. An option that fills the question's blank is one text with the
    question, and stays whole without it.
    """
    if reads == "all":
        return examples, tokens
    if any(example.spans or example.candidates for example in examples):
        problem = f"{reads!r} is for questions with options"
        raise CoattendError(problem, where="training.reads", cure="Set it to all")
    if reads == "shuffled_passage":
        return examples, _shuffle_passages(tokens, {example.passage for example in examples})
    # Examples are rewritten lazily, so that only one is in memory.
    partial: Iterable[Example] = examples
    if reads in ("no_passage", "options_only"):
        partial = map(_without_passage, partial)
    if reads in ("no_question", "options_only"):
        partial = (_without_question(example, tokens) for example in partial)
    return Records.write(Example, partial), tokens


def _without_passage(example: Example) -> Example:
    # The windows of a long passage would all be the same.
    count = example.option_count
    sequences, lengths = example.sequences[:count], example.lengths[:count]
    return replace(example, sequences=sequences, lengths=lengths, windows=((0, 1),) * count)


def _without_question(example: Example, tokens: Tokens) -> Example:
    sequences = tuple(texts[-1:] for texts in example.sequences)
    return replace(example, sequences=sequences, lengths=tuple(map(tokens.total_length, sequences)))


def _shuffle_passages(tokens: Tokens, passages: set[int]) -> Tokens:
    ids, tags = tokens.input_ids.copy(), tokens.tag_ids.copy()
    for text_id, row in tokens.rows.items():
        if row in passages:
            row_slice = tokens.slice(row)
            order = _generator(text_id).permutation(tokens.length(row))
            ids[row_slice], tags[row_slice] = ids[row_slice][order], tags[row_slice][order]
    return replace(tokens, input_ids=ids, tag_ids=tags)


def corrupt_tags(tokens: Tokens, training: TrainingParameters, *, tag_count: int) -> tuple[Tokens, Tokens]:
    """Replace a share of the POS tags of the tokens for training, for evaluation, or for both (POI-Net, table 6)."""
    if not training.tag_noise:
        return tokens, tokens
    words = tokens.word_index if len(tokens.word_index) else None
    noisy = replace_tags(
        tokens, share=training.tag_noise, kind=training.tag_noise_kind, tag_count=tag_count, words=words
    )
    train_tokens, eval_tokens = (noisy if part in training.tag_noise_in else tokens for part in ("train", "dev"))
    return train_tokens, eval_tokens


def replace_tags(
    tokens: Tokens, *, share: float, kind: Literal["wrong", "err"], tag_count: int, words: np.ndarray | None = None
) -> Tokens:
    """Replace the tags of a random share of the words.

    The draw depends on a text alone, not on the order of texts, so a text has the same mistakes wherever it occurs;
    with a greater share it has those of a smaller one and more.

    Args:
        kind: ``err``: ERR; ``wrong``: another tag than the word's own, each with the same probability.
        words: Index within its text of the word that each token belongs to, -1 for none; None if tokens are words.
    """
    # The stored tags are memory-mapped and read-only.
    tag_ids = tokens.tag_ids.copy()
    for text_id, row in tokens.rows.items():
        row_slice = tokens.slice(row)
        # All subwords of a word share its draw, and so its tag.
        word_of_token = np.arange(tokens.length(row)) if words is None else words[row_slice]
        if not len(word_of_token):
            continue
        generator = _generator(text_id)
        word_count = int(word_of_token.max()) + 1
        replaced, drawn = generator.random(word_count) < share, generator.random(word_count)
        tags = tag_ids[row_slice]
        noise = _different_tags(tags, drawn[word_of_token], tag_count) if kind == "wrong" else ERR
        tag_ids[row_slice] = np.where((word_of_token >= 0) & replaced[word_of_token], noise, tags)
    return replace(tokens, tag_ids=tag_ids)


def _generator(text_id: str) -> np.random.Generator:
    """Seed a generator with a text's id, so that draws do not depend on the order of texts."""
    return np.random.default_rng(int(text_id[:16], 16))


def _different_tags(tags: np.ndarray, drawn: np.ndarray, tag_count: int) -> np.ndarray:
    """Map numbers drawn from [0, 1) to tags that differ from the present ones."""
    # Draw from one tag less, and skip the present one by moving it and all above it up.
    is_tag = tags >= _FIRST_TAG
    different = _FIRST_TAG + (drawn * (tag_count - _FIRST_TAG - is_tag)).astype(tags.dtype)
    shifted: np.ndarray = different + (is_tag & (different >= tags))
    return shifted
