"""Groups of passages that overlap: the independent units of a benchmark.

What a reader knows of one passage it knows of another that shares its text. So questions whose passages overlap are
held out together, and drawn together where chance is estimated. Passages that share a key are in one group, and so are
those that a chain of such passages connects. Keys are:

- the passage's text: equal passages are always in one group;
- what its format says (`PassageRecord.group_keys`): runs of sentences of the Children's Book Test, the URL of a story;
- else runs of its words in lower case without punctuation (`coattend.text.hashing.normalize`), so that nearly equal
  passages and windows over one document are in one group. Nearly equal means: at least `RUN` characters in a row are
  the same. Passages without `GRAM` such characters are never joined. In between it depends on which fingerprints
  winnowing selects (Schleimer et al. 2003, "Winnowing: Local Algorithms for Document Fingerprinting").

Dialogues are passages, and so are the paragraphs of an article: their texts differ, so each is a group.
"""

import hashlib
import tempfile
from array import array
from functools import cache

import numpy as np
import pyarrow as pa

from coattend.data.formats.base import PassageRecord
from coattend.data.text_store import disk_full
from coattend.text.hashing import normalize

RUN = 200
"""Equal characters in a row that always join two passages: some 38 words of English."""
GRAM = 150
"""Equal characters in a row without which two passages are never joined by their words."""

# One of so many neighbouring fingerprints is stored at least; Schleimer's guarantee: RUN = GRAM + _WINDOW - 1.
_WINDOW = RUN - GRAM + 1
# Base of the polynomial hash: odd, so that it has an inverse modulo 2^64.
_BASE = 0x9E3779B97F4A7C15
_MIXER = np.uint64(0xFF51AFD7ED558CCD)

# Keys are spread over so many parts of a file by their six leading bits; one part is in memory at once.
_PARTS = 64
# Characters of records before their keys are computed: many in a row take two thirds of the time of each alone,
# between the parsing of others.
_WAITING_CHARACTERS = 1 << 20
# Keys in memory before they are written.
_BUFFER_KEYS = 1 << 18
_PAIR = np.dtype([("key", "<u8"), ("record", "<u4")])


class PassageGroups:
    """Groups of passage records that come one by one; in memory are 16 bytes for each, and on disk their keys."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, tuple[str, ...] | None]] = []
        self._waiting_characters = 0
        self._text_keys = array("Q")
        self._buffer: list[np.ndarray] = []
        self._buffered = 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the groups, and vanishes with them)
        # Offset and number of keys of each segment in the file, by part.
        self._segments: list[list[tuple[int, int]]] = [[] for _ in range(_PARTS)]

    def add(self, record: PassageRecord) -> None:
        """Add a record."""
        self._waiting.append((record.text, record.group_keys))
        self._waiting_characters += len(record.text)
        if self._waiting_characters >= _WAITING_CHARACTERS:
            self._hash_waiting()

    def numbers(self) -> np.ndarray:
        """Return the number of each record's group, uint64 [records]; it depends on the group's texts alone."""
        self._hash_waiting()
        self._flush()
        groups = np.arange(len(self._text_keys))
        for part in range(_PARTS):
            pairs = self._read(part)
            pairs = pairs[np.argsort(pairs["key"], kind="stable")]
            equal = pairs["key"][1:] == pairs["key"][:-1]
            records = groups[pairs["record"]]
            groups = _join(groups, records[:-1][equal], records[1:][equal])
        # The least of its texts' hashes names a group, whatever the order of the records.
        least = np.full(len(groups), np.iinfo(np.uint64).max, np.uint64)
        np.minimum.at(least, groups, np.array(self._text_keys, np.uint64))
        numbers: np.ndarray = least[groups]
        return numbers

    def _hash_waiting(self) -> None:
        for text, group_keys in self._waiting:
            if group_keys is None:
                words = normalize(text)
                text_key, keys = _hash(words), fingerprints(words)
            else:
                text_key, keys = _hash(text), np.array([_hash(key) for key in group_keys], np.uint64)
            pairs = np.empty(len(keys) + 1, _PAIR)
            pairs["key"][0], pairs["key"][1:], pairs["record"] = text_key, keys, len(self._text_keys)
            self._text_keys.append(text_key)
            self._buffer.append(pairs)
            self._buffered += len(pairs)
            if self._buffered >= _BUFFER_KEYS:
                self._flush()
        self._waiting, self._waiting_characters = [], 0

    def _flush(self) -> None:
        """Append a segment to each part that has keys in memory."""
        if not self._buffer:
            return
        pairs = np.concatenate(self._buffer)
        parts = pairs["key"] >> np.uint64(58)
        self._buffer, self._buffered = [], 0
        try:
            for part in np.unique(parts):
                selected = pairs[parts == part]
                self._segments[part].append((self._file.seek(0, 2), len(selected)))
                self._file.write(selected.tobytes())
            self._file.flush()
        except OSError as error:
            raise disk_full(error) from error

    def _read(self, part: int) -> np.ndarray:
        segments = [np.zeros(0, _PAIR)]
        for offset, count in self._segments[part]:
            self._file.seek(offset)
            segments.append(np.frombuffer(self._file.read(count * _PAIR.itemsize), _PAIR))
        return np.concatenate(segments)


def group_names(numbers: np.ndarray) -> pa.Array:
    """Write the numbers of groups as names of 16 hexadecimal digits."""
    return pa.array([f"{number:016x}" for number in numbers.tolist()], pa.string())


def fingerprints(words: str) -> np.ndarray:
    """Select hashes of runs of `GRAM` characters by winnowing, uint64.

    Of every `_WINDOW` neighbouring runs the least hash is selected, so that texts with `RUN` characters in common have
    a fingerprint in common, wherever these stand in them.
    """
    count = len(words) - GRAM + 1
    if count < 1:
        return np.zeros(0, np.uint64)
    codes = np.frombuffer(words.encode("utf-32-le", errors="surrogatepass"), "<u4").astype(np.uint64)
    # Polynomial hashes of all runs from sums over prefixes, shifted to the same power; all modulo 2^64.
    powers, inverse_powers = _powers(1 << len(codes).bit_length())
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum((codes + np.uint64(1)) * powers[: len(codes)])])
    hashes = (sums[GRAM:] - sums[:-GRAM]) * inverse_powers[:count]
    # Low bits of a polynomial hash hang on few characters: the product spreads them.
    hashes = (hashes ^ (hashes >> np.uint64(33))) * _MIXER
    # Minima of windows that double until they have the size.
    size = 1
    while size < min(_WINDOW, count):
        step = min(size, min(_WINDOW, count) - size)
        hashes = np.minimum(hashes[:-step], hashes[step:])
        size += step
    # Neighbouring windows mostly have the same minimum.
    changes = np.flatnonzero(hashes[1:] != hashes[:-1]) + 1
    selected: np.ndarray = hashes[np.concatenate([np.zeros(1, int), changes])]
    return selected


@cache
def _powers(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first powers of the base and of its inverse, modulo 2^64 [count]."""
    factors = np.array([[_BASE], [pow(_BASE, -1, 1 << 64)]], np.uint64).repeat(count, axis=1)
    factors[:, 0] = 1
    powers, inverse_powers = np.cumprod(factors, axis=1)
    return powers, inverse_powers


def _join(groups: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Join pairs of groups, and return the group of each record [records]; a group is the index of one of them."""
    apart = first != second
    parents: dict[int, int] = {}
    for pair in np.unique(np.stack([first[apart], second[apart]], axis=1), axis=0).tolist():
        low, high = sorted(_root(parents, group) for group in pair)
        if low != high:
            parents[high] = low
    if not parents:
        return groups
    targets = np.arange(len(groups))
    for group in parents:
        targets[group] = _root(parents, group)
    joined: np.ndarray = targets[groups]
    return joined


def _root(parents: dict[int, int], group: int) -> int:
    """Follow a group to the one that it was joined to, and shorten the way for the next."""
    path: list[int] = []
    while group in parents:
        path.append(group)
        group = parents[group]
    parents.update(dict.fromkeys(path, group))
    return group


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())
