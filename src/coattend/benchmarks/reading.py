"""A benchmark's raw files as the common tables, read once, in flat memory."""

from array import array
from bisect import bisect_right
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType

import numpy as np

from coattend.benchmarks.formats import reader_of
from coattend.benchmarks.raw import WITHHELD, RawFile, contents
from coattend.benchmarks.records import PassageRecord, QuestionRecord, Rejected
from coattend.benchmarks.spool import Spool
from coattend.errors import CoattendError
from coattend.parameters import BenchmarkParameters
from coattend.tables import PASSAGES, QUESTIONS, REJECTED
from coattend.text.identity import bare, text_id


@dataclass
class Tables:
    """What a benchmark's raw files hold.

    Attributes:
        passages: Rows of the passages table.
        questions: Rows of the questions table.
        rejected: Rows of the rejected table.
        usable: How many questions of each split can be used.
        names: The files of each split.
    """

    passages: Spool = field(default_factory=lambda: Spool(PASSAGES))
    questions: Spool = field(default_factory=lambda: Spool(QUESTIONS))
    rejected: Spool = field(default_factory=lambda: Spool(REJECTED))
    usable: dict[str, int] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)

    def reject(self, record: Rejected) -> None:
        """List a record that is left out."""
        self.rejected.add((record.file, record.record, record.reason), characters=len(record.reason))

    def reasons(self, files: Container[str] | None = None) -> str:
        """The first few records, of some files or of all, that were left out, and why."""
        rows = (row for table in self.rejected for row in table.to_pylist() if files is None or row["file"] in files)
        return "; ".join("{file}, {record}: {reason}".format(**row) for row in islice(rows, 3))


def read_benchmark(
    benchmark: BenchmarkParameters, files: list[RawFile], types: Mapping[str, tuple[str, ...]] = MappingProxyType({})
) -> Tables:
    """Read every raw file once, into tables of which every split has questions.

    Args:
        benchmark: Formats, subsets and limits.
        files: Its raw files.
        types: Annotated types of questions by question id.

    Raises:
        CoattendError: If a format is unknown, a file cannot be used, or a split has no usable question.
    """
    tables = gather(benchmark, files, types)
    for split, count in tables.usable.items():
        if not count:
            why = tables.reasons(set(tables.names[split])) or "they hold none"
            raise CoattendError(
                f"no question of the split {split!r} can be used ({why})",
                where=f"{benchmark.title}: {', '.join(tables.names[split][:3])}",
                cure="Mend or fetch the files again",
            )
    return tables


def gather(
    benchmark: BenchmarkParameters, files: list[RawFile], types: Mapping[str, tuple[str, ...]] = MappingProxyType({})
) -> Tables:
    """Read every raw file once, into tables that may be empty.

    A passage that comes again with the same id and text is one passage. A question id that comes again, and a passage
    id that comes again with another text, are rejected; so are training questions that another split asks too, where
    the benchmark says so. Where it asks a share of what is scored only, the rest is left out without a word.

    Args:
        benchmark: Formats, subsets and limits.
        files: Its raw files.
        types: Annotated types of questions by question id.

    Raises:
        CoattendError: If a format is unknown, or a file cannot be used.
    """
    tables, identities = Tables(), _Identities(benchmark)
    for file in files:
        read = reader_of(file.source.format, file.source.options)
        for path, split in contents(file):
            identities.begin(path.name, split)
            for record in read(path, max_characters=benchmark.max_characters):
                if isinstance(record, Rejected):
                    tables.reject(record)
                    continue
                identities.add(record)
                _add(tables, record, split, file.source.subset, types)
    tables.passages.finish()
    tables.questions.finish()
    identities.settle(tables)
    tables.rejected.finish()
    expected = {split for file in files for split in file.splits if file.split or split != WITHHELD}
    _count(tables, identities, expected)
    return tables


def _add(
    tables: Tables, record: PassageRecord, split: str, subset: str | None, types: Mapping[str, tuple[str, ...]]
) -> None:
    row = (record.passage_id, record.text, record.turns, record.source)
    tables.passages.add(row, characters=len(record.text))
    for question in record.questions:
        typed = question.question_types or types.get(question.question_id)
        tables.questions.add(_row(question, record, split, subset, typed), characters=len(question.question))


def _row(
    question: QuestionRecord, passage: PassageRecord, split: str, subset: str | None, types: tuple[str, ...] | None
) -> tuple:
    answers = question.answers
    return (
        question.question_id,
        passage.passage_id,
        split,
        question.subset or subset,
        question.task,
        question.question,
        question.options,
        question.label,
        None if answers is None else [{"text": text, "start": start} for text, start in answers],
        question.answerable,
        types,
    )


class _Identities:
    """Which rows have an id that came before. It keeps 8 bytes for each id: a hash, which two ids of a million share
    with a chance of one in 30 million; and 8 for each passage's place in its file."""

    def __init__(self, benchmark: BenchmarkParameters) -> None:
        self._drop_asked, self._share = benchmark.drop_asked, benchmark.scored
        self._asked, self._spared = array("q"), array("b")
        self.files: list[tuple[str, str]] = []
        self.first_questions: list[int] = []
        self.kept: np.ndarray = np.zeros(0, bool)
        self._passages, self._texts = array("q"), array("q")
        self._questions, self._passage_of = array("q"), array("q")
        self._units: list[str] = []
        self._numbers = array("q")

    def begin(self, name: str, split: str) -> None:
        self.files.append((name, split))
        self.first_questions.append(len(self._questions))
        self._units.append("")

    def add(self, record: PassageRecord) -> None:
        passage = bare(record.text) if self._drop_asked else ""
        for question in record.questions:
            if self._drop_asked:
                self._asked.append(hash((passage, bare(question.question))))
            self._questions.append(hash(question.question_id))
            self._spared.append(self._is_spared(question.question_id))
            self._passage_of.append(len(self._passages))
        self._passages.append(hash(record.passage_id))
        self._texts.append(hash(record.text))
        if record.place is None:
            self._numbers.append(0)
        else:
            self._units[-1], _, number = record.place.partition(" ")
            self._numbers.append(int(number))

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
        scored = self._also_scored()
        spared = np.array(self._spared, bool)
        self.kept = ~(again | astray | scored | spared)
        tables.questions.drop(~self.kept)
        for row, (question_id,) in tables.questions.dropped(["question_id"]):
            if spared[row]:
                continue
            reason = (
                "its passage is left out" if astray[row] else "a question with this id, or these texts, came before"
            )
            if scored[row]:
                reason = "another split asks the same about the same passage"
            file, place = self._stands(row)
            tables.reject(Rejected(file, f"{place}{question_id}", reason))

    def _is_spared(self, question_id: str) -> bool:
        """Whether a question to score is outside the share that is asked."""
        _, split = self.files[-1]
        return split != "train" and self._share < 1 and int(text_id(question_id)[:8], 16) >= self._share * 16**8

    def _also_scored(self) -> np.ndarray:
        """Which training questions are asked in another split too."""
        if not self._drop_asked:
            return np.zeros(len(self._questions), bool)
        counts = np.diff([*self.first_questions, len(self._questions)])
        train = np.repeat([split == "train" for _, split in self.files], counts)
        asked = np.array(self._asked)
        return train & np.isin(asked, asked[~train])

    def _stands(self, question: int) -> tuple[str, str]:
        """The file that a question's row comes from, and the place there, if it has one."""
        file = bisect_right(self.first_questions, question) - 1
        number = self._numbers[self._passage_of[question]]
        return self.files[file][0], f"{self._units[file]} {number}, " if number else ""


def _first_of(values: np.ndarray) -> np.ndarray:
    """For each element, where an equal one stands first."""
    _, first, group = np.unique(values, return_index=True, return_inverse=True)
    return first[group] if len(values) else np.zeros(0, int)


def _count(tables: Tables, identities: _Identities, expected: set[str]) -> None:
    """Note how many questions of each split can be used, and which files it has."""
    tables.usable = dict.fromkeys(sorted(expected), 0)
    ends = [*identities.first_questions[1:], len(identities.kept)]
    for (_, split), start, end in zip(identities.files, identities.first_questions, ends, strict=True):
        tables.usable[split] += int(identities.kept[start:end].sum())
    tables.names = {split: sorted({name for name, its in identities.files if its == split}) for split in tables.usable}
