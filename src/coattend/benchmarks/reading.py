"""A benchmark's raw files as the common tables, read once, in flat memory."""

from array import array
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from coattend.benchmarks.formats import reader_of
from coattend.benchmarks.raw import RawFile
from coattend.benchmarks.records import PassageRecord, QuestionRecord, Rejected
from coattend.benchmarks.spool import Spool
from coattend.errors import CoattendError
from coattend.parameters import BenchmarkParameters
from coattend.tables import PASSAGES, QUESTIONS, REJECTED


@dataclass
class Tables:
    """What a benchmark's raw files hold.

    Attributes:
        passages: Rows of the passages table.
        questions: Rows of the questions table.
        rejected: Rows of the rejected table.
        reasons: The first few records that were left out.
    """

    passages: Spool = field(default_factory=lambda: Spool(PASSAGES))
    questions: Spool = field(default_factory=lambda: Spool(QUESTIONS))
    rejected: Spool = field(default_factory=lambda: Spool(REJECTED))
    reasons: list[Rejected] = field(default_factory=list)

    def reject(self, record: Rejected) -> None:
        """List a record that is left out."""
        self.rejected.add((record.file, record.record, record.reason), characters=len(record.reason))
        if len(self.reasons) < 3:
            self.reasons.append(record)


def read_benchmark(benchmark: BenchmarkParameters, files: list[RawFile]) -> Tables:
    """Read every raw file once.

    A passage that comes again with the same id and text is one passage. A question id that comes again, and a passage
    id that comes again with another text, are rejected.

    Args:
        benchmark: Formats, subsets and limits.
        files: Its raw files.

    Raises:
        CoattendError: If a format is unknown, a file cannot be used, or a split has no usable question.
    """
    tables, identities = Tables(), _Identities()
    for file in files:
        identities.begin(file)
        read = reader_of(file.source.format)
        for record in read(file.path, max_characters=benchmark.max_characters):
            if isinstance(record, Rejected):
                tables.reject(record)
                continue
            identities.add(record)
            _add(tables, record, file)
    tables.passages.finish()
    tables.questions.finish()
    identities.settle(tables)
    tables.rejected.finish()
    _check_splits(benchmark, tables, identities)
    return tables


def _add(tables: Tables, record: PassageRecord, file: RawFile) -> None:
    row = (record.passage_id, record.text, record.turns, record.source)
    tables.passages.add(row, characters=len(record.text))
    for question in record.questions:
        tables.questions.add(_row(question, record, file), characters=len(question.question))


def _row(question: QuestionRecord, passage: PassageRecord, file: RawFile) -> tuple:
    answers = question.answers
    return (
        question.question_id,
        passage.passage_id,
        file.split,
        question.subset or file.source.subset,
        question.task,
        question.question,
        question.options,
        question.label,
        None if answers is None else [{"text": text, "start": start} for text, start in answers],
        question.answerable,
        question.question_types,
    )


class _Identities:
    """Which rows have an id that came before. It keeps 8 bytes for each id: a hash, which two ids of a million share
    with a chance of one in 30 million."""

    def __init__(self) -> None:
        self.files: list[RawFile] = []
        self.first_questions: list[int] = []
        self.kept: np.ndarray = np.zeros(0, bool)
        self._passages, self._texts = array("q"), array("q")
        self._questions, self._passage_of = array("q"), array("q")

    def begin(self, file: RawFile) -> None:
        self.files.append(file)
        self.first_questions.append(len(self._questions))

    def add(self, record: PassageRecord) -> None:
        for question in record.questions:
            self._questions.append(hash(question.question_id))
            self._passage_of.append(len(self._passages))
        self._passages.append(hash(record.passage_id))
        self._texts.append(hash(record.text))

    def settle(self, tables: Tables) -> None:
        """Leave repeated rows out of the tables, and list those that contradict or repeat what came before."""
        passages, texts = np.array(self._passages), np.array(self._texts)
        first = _first_of(passages)
        repeated = first != np.arange(len(passages))
        other_text = repeated & (texts != texts[first])
        tables.passages.drop(repeated)
        for row, (passage_id, file) in tables.passages.dropped(["passage_id", "source"]):
            if other_text[row]:
                tables.reject(Rejected(file, passage_id, "this id is another passage's; its questions are left out"))
        again = _first_of(np.array(self._questions)) != np.arange(len(self._questions))
        astray = other_text[np.array(self._passage_of, dtype=int)]
        tables.questions.drop(again | astray)
        for row, (question_id,) in tables.questions.dropped(["question_id"]):
            reason = "its passage is left out" if astray[row] else "a question with this id came before"
            tables.reject(Rejected(self.file_of(row).path.name, question_id, reason))
        self.kept = ~(again | astray)

    def file_of(self, question: int) -> RawFile:
        """The file that a question's row comes from."""
        return self.files[bisect_right(self.first_questions, question) - 1]


def _first_of(values: np.ndarray) -> np.ndarray:
    """For each element, where an equal one stands first."""
    _, first, group = np.unique(values, return_index=True, return_inverse=True)
    return first[group] if len(values) else np.zeros(0, int)


def _check_splits(benchmark: BenchmarkParameters, tables: Tables, identities: _Identities) -> None:
    counts: Counter[str] = Counter()
    ends = [*identities.first_questions[1:], len(identities.kept)]
    for file, start, end in zip(identities.files, identities.first_questions, ends, strict=True):
        counts[file.split] += int(identities.kept[start:end].sum())
    for split, count in counts.items():
        if not count:
            why = "; ".join(f"{one.file}, {one.record}: {one.reason}" for one in tables.reasons) or "they hold none"
            names = ", ".join(sorted({file.path.name for file in identities.files if file.split == split})[:3])
            raise CoattendError(
                f"no question of the split {split!r} can be used ({why})",
                where=f"{benchmark.title}: {names}",
                cure="Mend or fetch the files again",
            )
