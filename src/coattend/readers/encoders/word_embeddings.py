"""The vocabulary of a recurrent encoder and its word vectors."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from coattend.errors import CoattendError
from coattend.readers.encoders.pretrained import load_model, load_tokenizer, word_table

if TYPE_CHECKING:
    from transformers import PretrainedConfig

PAD, UNKNOWN, BOUNDARY = 0, 1, 2
"""Ids of padding, of an unknown word, and of the boundary before a passage, which stands for "no answer"."""

SPECIAL = ("<pad>", "<unknown>", "<boundary>")
"""Spellings of these ids."""

MODEL_TYPE = "words"
"""Marks the description of a recurrent encoder, as ``model_type`` does in a configuration of transformers."""

LINE = "Each line is a word and its numbers, with single spaces between"


@dataclass(frozen=True, kw_only=True)
class Words:
    """A vocabulary, from which a recurrent encoder can be built.

    Attributes:
        words: The words, the first of which has the id 3; 0, 1 and 2 are padding, an unknown word and a boundary.
        encoder: A pretrained encoder, as `coattend.readers.build` takes it, for ``vectors: encoder`` and context
            vectors. With None, or a configuration, vectors are random.
        width: Width of those random vectors.
    """

    words: tuple[str, ...]
    encoder: "str | Path | PretrainedConfig | Mapping[str, Any] | None" = None
    width: int = 64


@dataclass(frozen=True)
class VectorTable:
    """Word vectors by id.

    Attributes:
        vectors: [V, D].
        words: The vocabulary; None if ids are those of an encoder's own subwords.
    """

    vectors: Tensor
    words: tuple[str, ...] | None

    @property
    def spellings(self) -> list[str]:
        """Spelling of each id; subwords, of which only the configuration is available, are spelt as numbers."""
        if self.words is None:
            return [f"[{number}]" for number in range(len(self.vectors))]
        return [*SPECIAL, *self.words]


def vector_table(source: Any, *, vectors: str, file: str | None, width: int, spread: float) -> VectorTable:
    """Initialise the word vectors of an encoder.

    Args:
        source: `Words`; the result of a recurrent encoder's ``describe``, for an empty table of that size; or a
            pretrained encoder or its configuration, for its own input embeddings.
        vectors: ``encoder``, ``file`` or ``random``.
        file: A file of vectors in GloVe's format.
        width: Width of random vectors.
        spread: Root mean square of their numbers; those of a file stay as they are.

    Raises:
        CoattendError: If the file or the encoder cannot be read.
    """
    # A saved reader: an empty table, whose weights are loaded later.
    if isinstance(source, Mapping) and source.get("model_type") == MODEL_TYPE:
        words = source["words"]
        return VectorTable(torch.zeros(source["size"], source["width"]), None if words is None else tuple(words))
    # A pretrained encoder instead of words: its subwords are read like words.
    if not isinstance(source, Words):
        if vectors == "file":
            raise CoattendError(
                "needs words, and an encoder's pieces are none", where="vectors: file", cure="Give the reader its Words"
            )
        return VectorTable(rescale(input_rows(source), spread), None)
    # Words: vectors from a file, at random, or from the pretrained encoder.
    if vectors == "file":
        if file is None:
            cure = "Name a file of vectors, as GloVe's are published"
            raise CoattendError("is not given", where="option 'vectors_file'", cure=cure)
        rows = read_vectors(Path(file), source.words)
    elif vectors == "random" or not isinstance(source.encoder, str | Path):
        drawn = torch.empty(len(source.words), width if vectors == "random" else source.width).uniform_(-1, 1)
        rows = rescale(drawn, spread)
    else:
        rows = rescale(mean_of_subwords(source.encoder, source.words), spread)
    return VectorTable(torch.cat([torch.zeros(len(SPECIAL), rows.shape[1]), rows]), source.words)


def input_rows(source: Any) -> Tensor:
    """Copy the input embeddings of a pretrained encoder [V, D], without positions and types."""
    table = word_table(load_model(source, dropout=0.0, pooler=False))
    return table.weight.detach().clone()


def mean_of_subwords(source: Any, words: Iterable[str]) -> Tensor:
    """Average, for each word, a pretrained encoder's input embeddings of its subwords [W, D]; zero if it has none."""
    rows = input_rows(source)
    ids = load_tokenizer(source)(list(words), add_special_tokens=False)["input_ids"]
    lengths = torch.tensor([len(subwords) for subwords in ids])
    subwords = torch.tensor([subword for word in ids for subword in word], dtype=torch.long)
    return torch.nn.functional.embedding_bag(subwords, rows, lengths.cumsum(0) - lengths, mode="mean")


def rescale(rows: Tensor, root_mean_square: float) -> Tensor:
    """Scale vectors so that their numbers have the given root mean square.

    A transformer normalises its input embeddings before it reads them. Those of MiniLM have 0.06, so that the states of
    an untrained layer over them hardly differ, and a product of two states carries no signal yet.
    """
    return rows * (root_mean_square / rows.square().mean().sqrt().clamp_min(torch.finfo(rows.dtype).tiny))


def read_vectors(path: Path, words: Iterable[str]) -> Tensor:
    """Read the vectors of words [W, D] from a text file: a word and its numbers on each line, as GloVe is published.

    A word is looked up as it is, else in lower case; one that the file lacks has a vector of zeros.

    Raises:
        CoattendError: If the file cannot be read or is empty, or a line does not hold as many numbers as the first.
    """
    vocabulary = list(words)
    spellings = set(vocabulary) | {word.lower() for word in vocabulary}
    vectors: dict[str, list[float]] = {}
    width = 0
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                word, *values = line.rstrip(" \n").split(" ")  # word2vec writes a space behind each number.
                width = width or len(values)
                if len(values) != width or not width:
                    # Some published words contain spaces; words of the vocabulary do not.
                    if len(values) > width > 0 and not _is_number(values[0]):
                        continue
                    raise CoattendError(
                        f"has {len(values)} numbers and the first line {width}",
                        where=f"{path}, line {number}",
                        cure=LINE,
                    )
                if word in spellings:
                    if not all(map(_is_number, values)):
                        raise CoattendError(f"holds no vector of {word!r}", where=f"{path}, line {number}", cure=LINE)
                    vectors[word] = [float(value) for value in values]
    except (OSError, ValueError) as error:
        raise CoattendError(f"holds no vectors that can be read ({error})", where=str(path)) from None
    if not width:
        raise CoattendError("holds no vectors: it is empty", where=str(path), cure=LINE)
    # Words that the file lacks have vectors of zeros.
    zeros = [0.0] * width
    return torch.tensor([vectors.get(word) or vectors.get(word.lower()) or zeros for word in vocabulary])


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
