"""Subword tokens of texts, and the special tokens that a sequence has, without transformers."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coattend.errors import CoattendError
from coattend.parameters import TokenizerParameters
from coattend.text.spans import Spans, offsets_of
from coattend.text.tokenizer_files import TokenizerFiles, find, read

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VERSION = 2
"""Raised whenever this module's own code would give other tokens to some text."""

_PROBES = (
    ("What colour is it?", "dark red"),
    ("Where does she go", "2 o'clock."),
    ('He said "No"', "'Maybe' (later)"),
    ("Who?", "Élodie"),
)


@dataclass(frozen=True)
class Subwords:
    """A tokenizer whose tokens of a question and of an option, joined, are the tokens of both together.

    Attributes:
        source: Where it comes from: ``embedded``, a folder or a Hugging Face name.
        tokenizer: The tokenizer; it neither cuts nor pads.
        leading_space: Whether options are read with the space before them, as byte-level BPE needs it.
        pad_id: Id of padding.
    """

    source: str
    tokenizer: "Tokenizer"
    leading_space: bool
    pad_id: int

    @property
    def digest(self) -> str:
        """A hash of everything that decides about tokens."""
        return hashlib.sha256(f"{VERSION} {self.leading_space} {self.tokenizer.to_str()}".encode()).hexdigest()

    def encode(self, texts: Sequence[str], options: Sequence[bool]) -> tuple[np.ndarray, Spans]:
        """Tokens of T texts without special tokens; a ``[SEP]`` that stands in a text is ordinary characters.

        Args:
            texts: Any texts.
            options: Which of them are answer options, standing behind a question and a space.

        Returns:
            Ids, int32 [n], and the tokens' offsets in code points of their texts.
        """
        shifts = [int(self.leading_space and option) for option in options]
        self.tokenizer.encode_special_tokens = True
        encodings = self.tokenizer.encode_batch(
            [" " * shift + text for shift, text in zip(shifts, texts, strict=True)], add_special_tokens=False
        )
        ids = np.array([token for encoding in encodings for token in encoding.ids], np.int32)
        places = np.array([span for encoding in encodings for span in encoding.offsets], np.int32).reshape(-1, 2)
        lengths = [len(encoding) for encoding in encodings]
        places = np.maximum(places - np.repeat(np.array(shifts, np.int32), lengths)[:, None], 0)
        return ids, Spans(places[:, 0], places[:, 1], offsets_of(lengths))


@dataclass(frozen=True)
class SpecialLayout:
    """The special tokens of ``[CLS] passage [SEP] question [SEP]`` and the token types of its two sides.

    Attributes:
        prefix: Ids before the passage.
        middle: Ids between passage and question; they have the passage's type.
        suffix: Ids after the question; they have the question's type.
        passage_type: Token type of the passage's side.
        question_type: Token type of the question's side.
        pad_id: Id of padding.
    """

    prefix: tuple[int, ...]
    middle: tuple[int, ...]
    suffix: tuple[int, ...]
    passage_type: int
    question_type: int
    pad_id: int

    @property
    def count(self) -> int:
        """How many special tokens a sequence has."""
        return len(self.prefix) + len(self.middle) + len(self.suffix)


def load_tokenizer(tokenizer: TokenizerParameters) -> Subwords:
    """Load the tokenizer of a profile.

    Args:
        tokenizer: The profile.

    Raises:
        CoattendError: If it cannot be found or read, or if options cannot be joined to questions under it.
    """
    files = find(tokenizer.source)
    loaded = read(files, tokenizer.source)
    pad_id = _pad_id(loaded, files)
    loaded.no_padding()
    loaded.no_truncation()
    for leading_space in (False, True):
        subwords = Subwords(tokenizer.source, loaded, leading_space, pad_id)
        if all(_joined_is_whole(subwords, *probe) for probe in _PROBES):
            return subwords
    raise CoattendError(
        "gives other tokens to a question and an option than to both together",
        where=f"tokenizer {tokenizer.source!r}",
        cure="Choose an encoder with a WordPiece, SentencePiece or byte-level BPE tokenizer",
    )


def start_worker() -> None:
    """Have a worker process tokenise with one thread: the processes share the cores already."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def special_layout(subwords: Subwords) -> SpecialLayout:
    """Where special tokens stand in a pair, found by encoding one.

    Raises:
        CoattendError: If one of the three places has none, as readers need [CLS] and both [SEP].
    """
    pair = subwords.tokenizer.encode("passage", "question")
    sides = np.array([-1 if side is None else side for side in pair.sequence_ids])
    ids, types = np.array(pair.ids), np.array(pair.type_ids)
    passage, question = np.flatnonzero(sides == 0), np.flatnonzero(sides == 1)
    parts = (ids[: passage[0]], ids[passage[-1] + 1 : question[0]], ids[question[-1] + 1 :])
    if not all(len(part) for part in parts):
        raise CoattendError(
            "sets no special tokens before, between and behind passage and question",
            where=f"tokenizer {subwords.source!r}",
            cure="Choose an encoder whose tokenizer has them, such as BERT's",
        )
    prefix, middle, suffix = (tuple(part.tolist()) for part in parts)
    types_of_sides = int(types[passage[0]]), int(types[question[0]])
    return SpecialLayout(prefix, middle, suffix, *types_of_sides, subwords.pad_id)


def mask_id(subwords: Subwords) -> int:
    """The token that stands for a hidden one: the tokenizer's mask, or its unknown token, or else padding."""
    ids = (subwords.tokenizer.token_to_id(name) for name in ("[MASK]", "<mask>", "[UNK]", "<unk>"))
    return next((number for number in ids if number is not None), subwords.pad_id)


def _joined_is_whole(subwords: Subwords, question: str, option: str) -> bool:
    whole, _ = subwords.encode([f"{question} {option}"], [False])
    joined, _ = subwords.encode([question, option], [False, True])
    return bool(np.array_equal(whole, joined))


def _pad_id(tokenizer: "Tokenizer", files: TokenizerFiles) -> int:
    if tokenizer.padding is not None:
        return int(tokenizer.padding["pad_id"])
    ids = (tokenizer.token_to_id(token) for token in (files.pad_token, "[PAD]", "<pad>") if token)
    return next((number for number in ids if number is not None), 0)
