"""Wrong part-of-speech tags by lot, to see how much a reader leans on right ones (POI-Net, table 6)."""

from dataclasses import replace
from typing import Literal

import numpy as np

from coattend.parameters import TrainingParameters
from coattend.text.tagset import ERR
from coattend.training.tokens import Tokens

_FIRST = ERR + 1
"""The first tag that is one; those before stand for padding, special tokens and what has none."""


def as_tagged(tokens: Tokens, training: TrainingParameters, *, tags: int) -> tuple[Tokens, Tokens]:
    """Tokens as they are trained on and as they are scored.

    Args:
        tokens: As they are stored; subwords with the words that they lie in, if there is noise.
        training: How many tags are wrong, which ones, and where.
        tags: How many tags there are.
    """
    if not training.tag_noise:
        return tokens, tokens
    words = tokens.word_index if len(tokens.word_index) else None
    noisy = with_noise(tokens, share=training.tag_noise, kind=training.tag_noise_kind, tags=tags, words=words)
    trained, scored = (noisy if where in training.tag_noise_in else tokens for where in ("train", "dev"))
    return trained, scored


def with_noise(
    tokens: Tokens, *, share: float, kind: Literal["wrong", "err"], tags: int, words: np.ndarray | None = None
) -> Tokens:
    """Tokens of texts in which some words have another tag.

    The draw depends on the text alone, not on the order of texts, so a text has the same mistakes wherever it stands;
    and with a greater share it has those of a smaller one and more.

    Args:
        tokens: Subwords, or words.
        share: Share of the words.
        kind: ``err``: ERR; ``wrong``: a tag other than the word's own, each as likely.
        tags: How many tags there are, PAD, SPE and ERR among them.
        words: The place of the word that each token lies in within its text, -1 for none; None: each is one.
    """
    changed = tokens.tag_ids.copy()
    for name, row in tokens.rows.items():
        where = tokens.slice(row)
        of_word = np.arange(where.stop - where.start) if words is None else words[where]
        if not len(of_word):
            continue
        chance = np.random.default_rng(int(name[:16], 16))
        count = int(of_word.max()) + 1
        hit, drawn = chance.random(count) < share, chance.random(count)
        own = changed[where]
        other = _other(own, drawn[of_word], tags) if kind == "wrong" else ERR
        changed[where] = np.where((of_word >= 0) & hit[of_word], other, own)
    return replace(tokens, tag_ids=changed)


def _other(own: np.ndarray, drawn: np.ndarray, tags: int) -> np.ndarray:
    """A tag other than one's own, for numbers drawn from [0, 1)."""
    is_tag = own >= _FIRST
    other = _FIRST + (drawn * (tags - _FIRST - is_tag)).astype(own.dtype)
    return other + (is_tag & (other >= own))
