"""From raw files to the tables of passages, questions and rejected records, read once, or to a list of all problems."""

import hashlib
from array import array
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from coattend import schemas
from coattend.config import BenchmarkParameters
from coattend.data.formats import format_reader
from coattend.data.formats.base import PassageRecord, Rejection
from coattend.data.overlap import PassageGroups, group_names
from coattend.data.raw_files import WITHHELD_SPLIT, RawFile, raw_file_digest, readable_files
from coattend.data.text_store import Spool
from coattend.errors import CoattendError
from coattend.schemas import PASSAGES, QUESTIONS, REJECTED
from coattend.text import cloze, hashing
from coattend.text.hashing import combined_digest, normalize, text_id

QuestionTypes = Mapping[str, tuple[str, ...]]
"""Annotated types of questions by question id."""

NO_TYPES: QuestionTypes = MappingProxyType({})

ONE_GROUP = (
    "all questions of the split 'train' are about one passage, or passages that overlap, and training holds passages "
    "out. Add questions about other passages"
)

SOURCE_PARAMETERS = {"sources", "max_characters", "drop_asked", "scored", "train_from_dev"}
"""The parameters of a benchmark that decide about its tables."""


@dataclass
class BenchmarkTables:
    """The tables of a benchmark, in files until they are stored.

    Attributes:
        usable: Split to its number of usable questions.
        groups: Split to its number of groups, of usable questions.
        crossing: Groups that have usable questions in more than one split.
        file_names: Split to the names of its files.
        tasks: What the questions ask for.
    """

    passages: Spool = field(default_factory=lambda: Spool(PASSAGES))
    questions: Spool = field(default_factory=lambda: Spool(QUESTIONS))
    rejected: Spool = field(default_factory=lambda: Spool(REJECTED))
    usable: dict[str, int] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)
    crossing: int = 0
    file_names: dict[str, list[str]] = field(default_factory=dict)
    tasks: set[str] = field(default_factory=set)

    def add(self, passage: PassageRecord, split: str, subset: str | None, types: QuestionTypes) -> None:
        """Add a passage and its questions; ``subset`` is that of the source, for questions without their own."""
        passage_row = (passage.passage_id, passage.text, passage.turns, passage.source)
        self.passages.add(passage_row, characters=len(passage.text))
        for question in passage.questions:
            row = (
                # The group is filled in when all passages are read.
                *(question.question_id, passage.passage_id, "", split, question.subset or subset),
                *(question.task, question.question, question.options, question.label, question.answers),
                *(question.answerable, question.question_types or types.get(question.question_id)),
            )
            self.questions.add(row, characters=len(question.question))
            self.tasks.add(question.task)

    def reject(self, record: Rejection) -> None:
        """List a record that is left out."""
        self.rejected.add((record.file, record.record, record.reason), characters=len(record.reason))

    @property
    def lacks_groups(self) -> bool:
        """True if training could hold nothing out: its questions are all of one group."""
        return self.groups.get("train") == 1

    def reasons(self, files: Container[str] | None = None) -> str:
        """Summarize the first few rejections, of some files or of all."""
        rows = (row for table in self.rejected for row in table.to_pylist() if files is None or row["file"] in files)
        return "; ".join("{file}, {record}: {reason}".format(**row) for row in islice(rows, 3))


def read_benchmark(
    benchmark: BenchmarkParameters, files: Sequence[RawFile], types: QuestionTypes = NO_TYPES
) -> BenchmarkTables:
    """Read every raw file once, into tables of which every split has questions; see `read_tables`."""
    tables = read_tables(benchmark, files, types)
    for split, count in tables.usable.items():
        if not count:
            names = tables.file_names[split]
            reasons = tables.reasons(set(names)) or "they hold none"
            problem = f"no question of the split {split!r} can be used ({reasons})"
            where = f"{benchmark.title}: {', '.join(names[:3])}"
            raise CoattendError(problem, where=where, cure="Mend or fetch the files again")
    return tables


def read_tables(
    benchmark: BenchmarkParameters, files: Sequence[RawFile], types: QuestionTypes = NO_TYPES
) -> BenchmarkTables:
    """Read every raw file once, into tables that may be empty.

    A passage that comes again with the same id and text is one passage. A question id that comes again, and a passage
    id that comes again with another text, are rejected; so are training questions that another split asks too, if the
    benchmark says so. If the benchmark scores a share of its questions, the rest is left out without a rejection.
    Questions whose passages overlap are of one group, whatever their splits; none is moved to another. If the benchmark
    says so, and there are no training questions, whole groups of dev are.
    """
    tables, index = BenchmarkTables(), _RecordIndex(benchmark)
    for file in files:
        read = format_reader(file.source.format, file.source.options, file.source.fields)
        for path, split in readable_files(file):
            index.begin_file(path.name, split)
            for record in read(path, max_characters=benchmark.max_characters):
                if isinstance(record, Rejection):
                    tables.reject(record)
                else:
                    index.add(record)
                    tables.add(record, split, file.source.subset, types)
    tables.passages.finish()
    tables.questions.finish()
    index.drop_duplicates(tables)
    tables.rejected.finish()
    # An archive need not hold the withheld split.
    splits = {split for file in files for split in file.splits if file.split or split != WITHHELD_SPLIT}
    if benchmark.train_from_dev is not None and not index.usable_in("train"):
        index.train_from_dev(tables, benchmark.train_from_dev)
        splits.add("train")
    index.count_usable(tables, splits)
    index.group_questions(tables)
    return tables


def source_digest(files: Iterable[tuple[str, Path]], benchmark: BenchmarkParameters) -> str:
    """Hash raw files with their roles, such as source and split, the parameters of their reading, and the code that
    reads them and says which columns they become."""
    content = hashlib.sha256(benchmark.model_dump_json(include=SOURCE_PARAMETERS).encode())
    package = Path(__file__).parent
    others = (Path(str(module.__file__)) for module in (cloze, hashing, schemas))
    code = combined_digest([*package.glob("*.py"), *package.glob("formats/*.py"), *others])
    content.update(code.encode())
    for role, path in files:
        content.update(f"{role} {path.name} {raw_file_digest(path)}".encode())
    return content.hexdigest()


class _RecordIndex:
    """Ids and texts of all rows, to detect repetitions, and the groups of those that overlap.

    It holds 8 bytes for each id and text: a hash, which two ids of a million share with a chance of one in 30 million.
    """

    def __init__(self, benchmark: BenchmarkParameters) -> None:
        self._drop_repeated_in_train, self._scored_share = benchmark.drop_asked, benchmark.scored
        self._groups = PassageGroups()
        # One element per file.
        self._files: list[tuple[str, str]] = []
        self._first_questions: list[int] = []
        self._location_units: list[str] = []
        # One element per row of passages.
        self._passage_ids, self._texts, self._location_numbers = array("q"), array("q"), array("q")
        # One element per row of questions.
        self._question_ids, self._passage_rows = array("q"), array("q")
        self._contents, self._unscored = array("q"), array("b")
        self._usable: np.ndarray = np.zeros(0, bool)
        # Questions that are in train although their file is of another split; None: there are none.
        self._moved: np.ndarray | None = None

    def begin_file(self, name: str, split: str) -> None:
        self._files.append((name, split))
        self._first_questions.append(len(self._question_ids))
        self._location_units.append("")

    def add(self, record: PassageRecord) -> None:
        self._groups.add(record)
        passage = normalize(record.text) if self._drop_repeated_in_train else ""
        for question in record.questions:
            if self._drop_repeated_in_train:
                self._contents.append(hash((passage, normalize(question.question))))
            self._question_ids.append(hash(question.question_id))
            self._unscored.append(self._is_unscored(question.question_id))
            self._passage_rows.append(len(self._passage_ids))
        self._passage_ids.append(hash(record.passage_id))
        self._texts.append(hash(record.text))
        # A location such as "line 3"; all of a file have the same unit.
        unit, _, number = (record.location or " 0").partition(" ")
        self._location_units[-1] = unit
        self._location_numbers.append(int(number))

    def drop_duplicates(self, tables: BenchmarkTables) -> None:
        """Drop repeated rows from the tables, and list those that contradict or repeat an earlier one."""
        passage_ids, texts = np.array(self._passage_ids), np.array(self._texts)
        first = _first_equal(passage_ids)
        repeated = first != np.arange(len(passage_ids))
        contradicts = repeated & (texts != texts[first])
        tables.passages.drop(repeated)
        for row, (passage_id, file) in tables.passages.dropped(["passage_id", "source"]):
            if contradicts[row]:
                reason = "this id is another passage's; its questions are left out"
                tables.reject(Rejection(str(file), str(passage_id), reason))

        without_passage = contradicts[np.array(self._passage_rows, dtype=int)]
        in_other_split = self._in_other_split()
        # A training question that gives way to the same one of another split repeats nothing, and nothing repeats it.
        candidates = np.flatnonzero(~in_other_split)
        repeated = np.zeros(len(self._question_ids), bool)
        first = _first_equal(np.array(self._question_ids)[candidates])
        repeated[candidates] = first != np.arange(len(candidates))
        unscored = np.array(self._unscored, bool)
        self._usable = ~(repeated | without_passage | in_other_split | unscored)
        tables.questions.drop(~self._usable)
        for row, (question_id,) in tables.questions.dropped(["question_id"]):
            # Not scored is not wrong.
            if unscored[row]:
                continue
            if in_other_split[row]:
                reason = "another split asks the same about the same passage"
            elif without_passage[row]:
                reason = "its passage is left out"
            else:
                reason = "a question with this id, or these texts, came before"
            file, location = self._locate(row)
            tables.reject(Rejection(file, f"{location}{question_id}", reason))

    def group_questions(self, tables: BenchmarkTables) -> None:
        """Fill in the groups of the questions, and count those of each split and those that cross splits."""
        groups = self._question_groups
        tables.questions.fill("group", lambda rows: group_names(groups[rows]))
        in_split: dict[str, list[np.ndarray]] = {split: [groups[:0]] for split in tables.usable}
        for split, _, rows in self._split_rows():
            in_split[split].append(groups[rows][self._usable[rows]])
        distinct = {split: np.unique(np.concatenate(parts)) for split, parts in in_split.items()}
        tables.groups = {split: len(numbers) for split, numbers in distinct.items()}
        _, counts = np.unique(np.concatenate([groups[:0], *distinct.values()]), return_counts=True)
        tables.crossing = int((counts > 1).sum())

    def count_usable(self, tables: BenchmarkTables, splits: set[str]) -> None:
        """Count the usable questions of each split, and name its files."""
        tables.usable = dict.fromkeys(sorted(splits), 0)
        names: dict[str, set[str]] = {split: set() for split in tables.usable}
        for split, name, rows in self._split_rows():
            tables.usable[split] += int(self._usable[rows].sum())
            names[split].add(name)
        tables.file_names = {split: sorted(names[split]) for split in tables.usable}

    def usable_in(self, split: str) -> int:
        """Count the usable questions of a split."""
        return sum(int(self._usable[rows].sum()) for name, _, rows in self._split_rows() if name == split)

    def train_from_dev(self, tables: BenchmarkTables, share: float) -> None:
        """Move whole groups of dev to train, drawn by their names: as many as have at most a share of its questions."""
        splits = np.full(len(self._question_ids), "", object)
        for split, _, rows in self._split_rows():
            splits[rows] = split
        in_dev = splits == "dev"
        groups, counts = np.unique(self._question_groups[in_dev & self._usable], return_counts=True)
        order = sorted(range(len(groups)), key=lambda row: text_id(f"train {group_names(groups[[row]])[0]}"))
        room = np.cumsum(counts[order]) <= share * counts.sum()
        self._moved = moved = in_dev & np.isin(self._question_groups, groups[order][room])
        splits[moved] = "train"
        dtype = QUESTIONS.field("split").type
        tables.questions.fill("split", lambda rows: pa.array(splits[rows], pa.string()).cast(dtype))

    @cached_property
    def _question_groups(self) -> np.ndarray:
        """The group of each question's passage, once all are read [questions]."""
        groups: np.ndarray = self._groups.numbers()[np.array(self._passage_rows, dtype=int)]
        return groups

    def _split_rows(self) -> Iterator[tuple[str, str, np.ndarray]]:
        """Yield a split of each file, the file's name, and the rows of its questions of that split."""
        ends = [*self._first_questions[1:], len(self._question_ids)]
        for (name, split), start, end in zip(self._files, self._first_questions, ends, strict=True):
            rows = np.arange(start, end)
            if self._moved is None:
                yield split, name, rows
                continue
            moved = self._moved[rows]
            yield split, name, rows[~moved]
            if moved.any():
                yield "train", name, rows[moved]

    def _is_unscored(self, question_id: str) -> bool:
        """Check if a question of a scored split is outside of the share that is scored, by a hash of its id."""
        _, split = self._files[-1]
        if split == "train" or self._scored_share >= 1:
            return False
        return int(text_id(question_id)[:8], 16) >= self._scored_share * 16**8

    def _in_other_split(self) -> np.ndarray:
        """Mask the training questions that another split asks, too [questions]."""
        if not self._drop_repeated_in_train:
            return np.zeros(len(self._question_ids), bool)
        counts = np.diff([*self._first_questions, len(self._question_ids)])
        train = np.repeat([split == "train" for _, split in self._files], counts)
        contents = np.array(self._contents)
        in_other_split: np.ndarray = train & np.isin(contents, contents[~train])
        return in_other_split

    def _locate(self, question: int) -> tuple[str, str]:
        """Return the file of a question's row, and its location there if the format has one: ``line 3, ``."""
        file = bisect_right(self._first_questions, question) - 1
        number = self._location_numbers[self._passage_rows[question]]
        return self._files[file][0], f"{self._location_units[file]} {number}, " if number else ""


def _first_equal(values: np.ndarray) -> np.ndarray:
    """Index of the first element that equals each element."""
    _, first, group = np.unique(values, return_index=True, return_inverse=True)
    return first[group] if len(values) else np.zeros(0, int)
