"""Near copies of training texts among those that are scored, by the runs of words that they share."""

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from coattend.data.profile.statistics import BenchmarkRows, Statistic
from coattend.evaluation.groups import EVERYTHING, TRAINING_SPLIT
from coattend.schemas import QuestionRow
from coattend.text.hashing import normalize

GRAM_WORDS = 13
"""Words of a run. Texts that share so many in a row have them from one source (GPT-3, appendix C)."""
NEAR_COPY_SHARE = 0.5
"""Share of a text's runs that stand in train, from which on it is a near copy."""

_GRAMS_AT_ONCE = 1 << 22
"""Runs of scored texts that are held at once, and of training texts that are looked up at once: eight bytes each."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def near_copy_statistics(rows: BenchmarkRows) -> Iterator[Statistic]:
    """Yield how many passages and questions of each scored split are nearly in train, copies among them.

    A passage is a near copy if half of its runs of 13 words stand in passages of train, whatever the case and the
    punctuation; a shorter one if it is equal to one there. A question is a near copy if its passage is one, and its
    words with those of its options are, by the same rule, nearly those of questions of train.
    """
    splits = {group.split: group.questions for group in rows.groups if group.subset == EVERYTHING}
    train = splits.pop(TRAINING_SPLIT, [])
    if not train or not splits:
        return
    train_passages = {rows.normalized[question["passage_id"]] for question in train}
    train_questions = set(map(_words_of, train))
    for split, questions in splits.items():
        passage_ids = list(dict.fromkeys(question["passage_id"] for question in questions))
        shares = shares_in([rows.normalized[name] for name in passage_ids], train_passages)
        copied = {name for name, share in zip(passage_ids, shares, strict=True) if share >= NEAR_COPY_SHARE}
        on_copies = [question for question in questions if question["passage_id"] in copied]
        question_shares = shares_in(list(map(_words_of, on_copies)), train_questions)
        counts = {
            "passages that are nearly in train too": len(copied),
            "questions on passages that are nearly in train": len(on_copies),
            "questions that are nearly in train too": int((question_shares >= NEAR_COPY_SHARE).sum()),
        }
        for name, count in counts.items():
            yield Statistic("copies", split, EVERYTHING, name, count)


def shares_in(texts: Sequence[str], sources: Collection[str], *, words: int = GRAM_WORDS) -> np.ndarray:
    """Compute the share of each text's runs of words that stand in any source; shorter texts are one run.

    Time is linear in all words. Memory is bounded: texts are taken in parts, with a pass over the sources for each, and
    of both only a limited number of runs is held at once. Runs are compared by 64-bit hashes.

    Args:
        texts: Normalised texts, words with a space between.
        sources: Normalised texts, too.
        words: Words of a run.

    Returns:
        Shares from 0 to 1 [texts]; 0 for texts without words.
    """
    parts = [_shares_of(runs, sources, words) for runs in _batches(texts, words)]
    return np.concatenate([np.zeros(0), *parts])


def _shares_of(runs: Sequence[np.ndarray], sources: Iterable[str], words: int) -> np.ndarray:
    counts = np.array([len(hashes) for hashes in runs])
    every_run = np.concatenate(runs)
    distinct, places = np.unique(every_run, return_inverse=True)
    in_sources = np.zeros(len(distinct), bool)
    for batch in _batches(sources, words) if len(distinct) else ():
        hashes = np.concatenate(batch)
        positions = np.minimum(np.searchsorted(distinct, hashes), len(distinct) - 1)
        in_sources[positions[distinct[positions] == hashes]] = True
    # Sums up to each text's end, so that texts without a run are possible.
    ends = np.cumsum(counts)
    totals = np.concatenate([[0], np.cumsum(in_sources[places])])
    shares: np.ndarray = (totals[ends] - totals[ends - counts]) / np.maximum(counts, 1)
    return shares


def _batches(texts: Iterable[str], words: int) -> Iterator[list[np.ndarray]]:
    """Hash the runs of texts, and yield them in lists of a limited number of runs."""
    batch: list[np.ndarray] = []
    size = 0
    for text in texts:
        hashes = _hash_runs(text, words)
        if batch and size + len(hashes) > _GRAMS_AT_ONCE:
            yield batch
            batch, size = [], 0
        batch.append(hashes)
        size += len(hashes)
    if batch:
        yield batch


def _hash_runs(text: str, words: int) -> np.ndarray:
    """Hash each run of so many words of a text; a shorter text is one run, an empty one has none."""
    tokens = text.split()
    # Strings hash to 64 well-mixed bits, of which a polynomial is taken.
    hashes = np.fromiter(map(hash, tokens), np.int64, count=len(tokens)).view(np.uint64)
    width = min(words, len(tokens))
    runs = np.zeros(len(tokens) - width + 1 if tokens else 0, np.uint64)
    for first in range(width):
        runs = runs * _MULTIPLIER + hashes[first : first + len(runs)]
    return runs


def _words_of(question: QuestionRow) -> str:
    """Return the normalised words of a question and its options."""
    return normalize(" ".join([question["question"], *(question["options"] or ())]))
