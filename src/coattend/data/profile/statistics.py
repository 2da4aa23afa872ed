"""Statistics of a benchmark: counts beside the published ones, lengths, answers, duplicates and tags."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.config import BenchmarkParameters
from coattend.evaluation.groups import EVERYTHING, TRAINING_SPLIT, members, subsets, within
from coattend.schemas import PROFILE, PassageRow, QuestionRow
from coattend.text.cloze import domains_of
from coattend.text.hashing import normalize, text_id

logger = logging.getLogger(__name__)

OVERVIEW = "overview"
QUANTILES = {"mean": None, "median": 0.5, "90 %": 0.9, "99 %": 0.99, "longest": 1.0}
MAX_SEQUENCE_TOKENS = 512
"""Tokens of the longest sequence that most encoders accept."""


class Statistic(NamedTuple):
    """One number of a profile, in percent if it is a share; split and subset may be ``all``."""

    section: str
    split: str
    subset: str
    name: str
    value: float
    published: float | None = None


class QuestionGroup(NamedTuple):
    """The questions of a split, or of a subset of it."""

    split: str
    subset: str
    questions: list[QuestionRow]


@dataclass(frozen=True)
class BenchmarkRows:
    """A benchmark's questions, also by split and subset, and its passages by id.

    Attributes:
        groups: Every split with the subset ``all``, and every subset of it.
        normalized: Passage id to its words in lower case, without punctuation.
    """

    questions: list[QuestionRow]
    groups: list[QuestionGroup]
    passages: dict[str, PassageRow]
    normalized: dict[str, str]

    @classmethod
    def from_tables(cls, questions: pa.Table, passages: pa.Table) -> "BenchmarkRows":
        """Read the two tables."""
        rows = questions.to_pylist()
        groups = [
            QuestionGroup(split, subset, [rows[row] for row in np.flatnonzero(mask)])
            for split, in_split in members(questions["split"]).items()
            for subset, mask in within(in_split, subsets(questions))
        ]
        by_id = {row["passage_id"]: row for row in passages.to_pylist()}
        return cls(rows, groups, by_id, {name: normalize(row["text"]) for name, row in by_id.items()})

    def is_extractive(self, question: QuestionRow, answer: str) -> bool:
        """Check if an answer occurs in its passage, whatever the case and the punctuation."""
        words = normalize(answer)
        return bool(words) and f" {words} " in f" {self.normalized[question['passage_id']]} "

    def extractive_share(self, questions: list[QuestionRow]) -> float | None:
        """Percentage of extractive answers; None if no question has an answer."""
        answers = [(question, gold_answer(question)) for question in questions]
        extractive = [self.is_extractive(question, answer) for question, answer in answers if answer is not None]
        return 100 * sum(extractive) / len(extractive) if extractive else None


@dataclass(frozen=True)
class TextLengths:
    """Numbers of words, punctuation included, and of subwords of all texts of a benchmark [texts]."""

    # Text id to its place in the arrays.
    rows: dict[str, int]
    words: np.ndarray
    tokens: np.ndarray

    @classmethod
    def read(cls, tags: pads.Dataset, tokens: pads.Dataset) -> "TextLengths":
        """Read the stored tags and tokens, which are of the same texts in the same order."""
        text_ids, words = _list_lengths(tags, "tags")
        token_text_ids, subwords = _list_lengths(tokens, "input_ids")
        if text_ids != token_text_ids:
            raise ValueError("tags and tokens are not of the same texts")
        return cls({name: row for row, name in enumerate(text_ids)}, words, subwords)

    def words_of(self, text: str) -> int:
        """Count the words of a text; those between spaces if it was not tagged by itself."""
        row = self.rows.get(text_id(text))
        return len(text.split()) if row is None else int(self.words[row])

    def tokens_of(self, text: str) -> int:
        """Count the subwords of a text."""
        return int(self.tokens[self.rows[text_id(text)]])


def gold_answer(question: QuestionRow) -> str | None:
    """Return the right option, or the first gold answer; None if there is none."""
    if question["options"] is not None:
        return None if question["label"] is None else question["options"][question["label"]]
    return question["answers"][0]["text"] if question["answers"] else None


def profile_table(statistics: Iterable[Statistic]) -> pa.Table:
    """Store statistics as rows of a profile table."""
    return pa.table(list(zip(*statistics, strict=True)), schema=PROFILE)


def overview_statistics(
    benchmark: BenchmarkParameters, rows: BenchmarkRows, tags: pads.Dataset, lengths: TextLengths
) -> Iterator[Statistic]:
    """Yield the rows of DUMA's table 1, over all splits that exist.

    The paper does not define its counts. Here: an answer is a right option; lengths are the tagger's words, with
    punctuation and the names of speakers; the vocabulary is that of all texts, in lower case. On DREAM's train and dev
    this comes to the paper's lengths but for half a word.
    """
    questions, passages = rows.questions, rows.passages
    answers = [answer for answer in map(gold_answer, questions) if answer is not None]
    values: dict[str, float] = {"source documents": len(passages), "questions": len(questions)}
    extractive = rows.extractive_share(questions)
    if extractive is not None:
        values |= {"extractive, %": extractive, "abstractive, %": 100 - extractive}
        values["average answer length"] = float(np.mean([lengths.words_of(answer) for answer in answers]))
    options = [len(question["options"]) for question in questions if question["options"]]
    if options:
        values["answers per question"] = float(np.mean(options))
    turns = np.array([len(passage["turns"]) for passage in passages.values() if passage["turns"]])
    if len(turns):
        values |= {"average turns of a dialogue": float(turns.mean()), "most turns of a dialogue": int(turns.max())}
    passage_words = [lengths.words_of(passage["text"]) for passage in passages.values()]
    values |= {"average passage length": float(np.mean(passage_words)), "vocabulary": _vocabulary_size(tags)}
    published = benchmark.published.get(OVERVIEW, {})
    for name, value in values.items():
        yield Statistic(OVERVIEW, EVERYTHING, EVERYTHING, name, value, published.get(name))


def count_statistics(benchmark: BenchmarkParameters, rows: BenchmarkRows, rejected: int) -> Iterator[Statistic]:
    """Yield the numbers of questions, passages, groups and rejected records.

    One that is not the published one is logged. A group's questions have passages that overlap.
    """
    for split, subset, questions in rows.groups:
        published = benchmark.published.get(split if subset == EVERYTHING else f"{split}/{subset}", {})
        counts = {
            "questions": len(questions),
            "passages": len({question["passage_id"] for question in questions}),
            "groups": len({question["group"] for question in questions}),
            "unanswerable": sum(not question["answerable"] for question in questions),
        }
        # A difference to the published numbers hints at missing or other files.
        for name, count in counts.items():
            expected = published.get(name)
            if expected is not None and expected != count:
                group = f"{benchmark.title}, {split}" + (f", {subset}" if subset != EVERYTHING else "")
                logger.warning("%s: %s %s here, %s published", group, f"{count:,}", name, f"{expected:,.0f}")
            yield Statistic("counts", split, subset, name, count, expected)
    without_question = len(rows.passages.keys() - {question["passage_id"] for question in rows.questions})
    yield Statistic("counts", EVERYTHING, EVERYTHING, "passages", len(rows.passages))
    yield Statistic("counts", EVERYTHING, EVERYTHING, "passages without a question", without_question)
    of_splits: dict[str, set[str]] = {}
    for question in rows.questions:
        of_splits.setdefault(question["group"], set()).add(question["split"])
    crossing = sum(len(splits) > 1 for splits in of_splits.values())
    yield Statistic("counts", EVERYTHING, EVERYTHING, "groups", len(of_splits))
    yield Statistic("counts", EVERYTHING, EVERYTHING, "groups in several splits", crossing)
    yield Statistic("counts", EVERYTHING, EVERYTHING, "rejected records", rejected)


def answer_statistics(rows: BenchmarkRows) -> Iterator[Statistic]:
    """Yield the balance of labels, the types of questions, and the share of extractive answers."""
    for split, subset, questions in rows.groups:
        labels = Counter(question["label"] for question in questions if question["label"] is not None)
        for label, count in sorted(labels.items()):
            yield Statistic("answers", split, subset, f"option {label + 1} is right, %", 100 * count / labels.total())
        types = Counter(name for question in questions for name in question["question_types"] or ())
        for name, count in sorted(types.items()):
            yield Statistic("answers", split, subset, f"{name}, % of questions", 100 * count / len(questions))
        extractive = rows.extractive_share(questions)
        if extractive is not None:
            yield Statistic("answers", split, subset, "extractive, %", extractive)


def length_statistics(
    benchmark: BenchmarkParameters, rows: BenchmarkRows, lengths: TextLengths, *, special_tokens: int
) -> Iterator[Statistic]:
    """Yield lengths in words, and sequences in tokens with the share over `MAX_SEQUENCE_TOKENS`."""

    def words(texts: Iterable[str]) -> np.ndarray:
        return np.array([lengths.words_of(text) for text in texts])

    for split, subset, questions in rows.groups:
        passage_ids = dict.fromkeys(question["passage_id"] for question in questions)
        passages = [rows.passages[passage_id] for passage_id in passage_ids]
        tokens = [_sequence_tokens(benchmark, question, rows, lengths) for question in questions]
        sequences = special_tokens + np.array(tokens)
        distributions = {
            "words of a passage": words(passage["text"] for passage in passages),
            "words of a question": words(question["question"] for question in questions),
            "words of an option": words(option for question in questions for option in question["options"] or ()),
            "words of an answer": words(filter(None, map(gold_answer, questions))),
            "turns of a passage": np.array([len(passage["turns"]) for passage in passages if passage["turns"]]),
            "tokens of a sequence": sequences,
        }
        for name, values in distributions.items():
            if not len(values):
                continue
            for label, quantile in QUANTILES.items():
                value = values.mean() if quantile is None else np.quantile(values, quantile, method="higher")
                yield Statistic("lengths", split, subset, f"{name}, {label}", float(value))
        too_long = 100 * float((sequences > MAX_SEQUENCE_TOKENS).mean())
        yield Statistic("lengths", split, subset, f"sequences over {MAX_SEQUENCE_TOKENS} tokens, %", too_long)


def duplicate_statistics(rows: BenchmarkRows) -> Iterator[Statistic]:
    """Yield the numbers of equal passages, questions and options, whatever the case and the punctuation.

    Beside them stand the questions of a split whose groups another split has, too: their passages overlap.
    """
    passages: dict[str, set[str]] = {}
    pairs: dict[str, set[tuple[str, str]]] = {}
    units: dict[str, Counter[str]] = {}
    for split, subset, questions in rows.groups:
        passage_ids = {question["passage_id"] for question in questions}
        distinct = {rows.normalized[passage_id] for passage_id in passage_ids}
        # A question is a copy only if its passage is one, too.
        keys = [(rows.normalized[question["passage_id"]], normalize(question["question"])) for question in questions]
        options = [question["options"] for question in questions if question["options"]]
        equal_options = sum(len(set(texts)) < len(texts) for texts in options)
        yield Statistic("copies", split, subset, "passages that repeat another", len(passage_ids) - len(distinct))
        yield Statistic("copies", split, subset, "questions that repeat another", len(keys) - len(set(keys)))
        yield Statistic("copies", split, subset, "questions with equal options", equal_options)
        if subset == EVERYTHING:
            passages[split], pairs[split] = distinct, set(keys)
            units[split] = Counter(question["group"] for question in questions)
    # Training first, so that its copies are listed under the splits that are scored.
    splits = sorted(passages, key=lambda split: (split != TRAINING_SPLIT, split))
    for earlier, split in combinations(splits, 2):
        shared = {"passages": len(passages[split] & passages[earlier]), "questions": len(pairs[split] & pairs[earlier])}
        for name, count in shared.items():
            yield Statistic("copies", split, EVERYTHING, f"{name} that are in {earlier} too", count)
        overlapping = sum(units[split][group] for group in units[split].keys() & units[earlier].keys())
        yield Statistic("copies", split, EVERYTHING, f"questions of groups that are in {earlier} too", overlapping)


def tag_statistics(tags: pads.Dataset, names: tuple[str, ...]) -> Iterator[Statistic]:
    """Yield the share of each tag among the words of all distinct texts, the most frequent first."""
    counts = np.zeros(len(names), np.int64)
    for batch in tags.to_batches(columns=["tags"]):
        values = pc.list_flatten(batch.column("tags")).to_numpy(zero_copy_only=False)
        counts += np.bincount(values, minlength=len(names))
    for tag_id in np.argsort(-counts, kind="stable"):
        if counts[tag_id]:
            share = 100 * counts[tag_id] / counts.sum()
            yield Statistic("tags", EVERYTHING, EVERYTHING, f"{names[tag_id]}, % of words", float(share))


def _sequence_tokens(
    benchmark: BenchmarkParameters, question: QuestionRow, rows: BenchmarkRows, lengths: TextLengths
) -> int:
    """Count the tokens of a question's longest sequence, without special tokens."""
    domains = domains_of(question, benchmark)
    question_tokens = max(sum(map(lengths.tokens_of, texts)) for texts in domains)
    return question_tokens + lengths.tokens_of(rows.passages[question["passage_id"]]["text"])


def _vocabulary_size(tags: pads.Dataset) -> int:
    words: set[str] = set()
    for batch in tags.to_batches(columns=["words"]):
        words.update(pc.unique(pc.utf8_lower(pc.list_flatten(batch.column("words")))).to_pylist())
    return len(words)


def _list_lengths(table: pads.Dataset, column: str) -> tuple[list[str], np.ndarray]:
    text_ids: list[str] = []
    counts: list[np.ndarray] = [np.zeros(0, np.int64)]
    for batch in table.to_batches(columns=["text_id", column]):
        text_ids += batch.column("text_id").to_pylist()
        counts.append(pc.list_value_length(batch.column(column)).cast(pa.int64()).to_numpy(zero_copy_only=False))
    return text_ids, np.concatenate(counts)
