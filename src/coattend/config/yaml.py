"""YAML with line numbers for errors, and limits against files that expand without end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import yaml

from coattend.errors import CoattendError

PARSE_ERRORS = (yaml.YAMLError, ValueError, RecursionError, AttributeError, LookupError)
"""Errors of reading a file that is not YAML. Beside PyYAML's: bytes that are not UTF-8, a date that no calendar has, a
tag such as ``!!timestamp`` before something else."""
MAX_DEPTH = 100
"""Levels of nesting: libyaml takes quadratic time for deep nesting, and PyYAML's own parser overflows the stack."""
MAX_ENTRIES = 100_000
"""Entries of a file, an alias counted with its contents: a few lines of aliases can stand for billions of entries."""

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML's loader in C, ten times as fast, where the build of PyYAML has it."""


class TextFile(Protocol):
    """A file that can be read, on disk (`pathlib.Path`) or in an archive."""

    @property
    def stem(self) -> str:
        """Name without folders and suffix."""

    def read_text(self, encoding: str) -> str:
        """Read the file."""


@dataclass(frozen=True)
class Lines:
    """A YAML file with its contents and the line of each entry."""

    file: TextFile
    content: Any
    root: yaml.Node | None

    @classmethod
    def of(cls, file: TextFile) -> "Lines":
        """Read a file. CoattendError if it is not YAML, has a key twice in a mapping, or more than `MAX_ENTRIES`
        entries."""
        try:
            text = file.read_text(encoding="utf-8")
            check_depth(text)
            # Nodes keep their lines, and let aliases be counted before any value is built.
            loader = LOADER(text)
            root = loader.get_single_node()
            _count_entries(root, {})
            # Before values are built, which puts the entries of a merge (<<) beside those that replace them.
            duplicate = next(_duplicate_keys(root), None)
            content = None if root is None else loader.construct_document(root)
        except PARSE_ERRORS as error:
            raise _not_yaml(file, error) from None
        if duplicate is not None:
            key, line = duplicate
            raise CoattendError(f"{key!r} is there twice", where=f"{file}, line {line}", cure="Name one of them anew")
        return cls(file, content, root)

    def where(self, path: Sequence[Any]) -> str:
        """File, line and name of an entry, by its keys and indices; the line is that of its nearest parent in the
        file."""
        return f"{self.file}, line {self._lines(path)[-1]}, {'.'.join(map(str, path))}"

    def line_of(self, path: Sequence[Any]) -> int | None:
        """Line of an entry; None if the file does not have it."""
        lines = self._lines(path)
        return lines[-1] if len(lines) > len(path) else None

    def _lines(self, path: Sequence[Any]) -> list[int]:
        """The first line, and that of each part of a path as far as the file has it."""
        node, lines = self.root, [1]
        for key in path:
            child = _child(node, key)
            if child is None:
                break
            line, node = child
            lines.append(line)
        return lines


def load_yaml(file: TextFile) -> Any:
    """Read a file of plain YAML, or raise CoattendError."""
    try:
        text = file.read_text(encoding="utf-8")
        check_depth(text)
        return yaml.load(text, Loader=LOADER)  # noqa: S506 a safe loader, in C where there is one
    except PARSE_ERRORS as error:
        raise _not_yaml(file, error) from None


def check_depth(text: str) -> None:
    """Raise ValueError for text that is nested deeper than `MAX_DEPTH`, before anything is built of it."""
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")


def _not_yaml(file: TextFile, error: Exception) -> CoattendError:
    mark = getattr(error, "problem_mark", None)
    problem = "it is too deeply nested" if isinstance(error, RecursionError) else " ".join(str(error).split())
    where, cure = str(file), "Mend the file"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem and mark is not None:
        problem, where = error.problem, f"{file}, line {mark.line + 1}"
        if "cannot start any token" in problem:
            cure = "Indent with spaces, not with tabs, and quote texts that begin with @, ` or %"
    return CoattendError(f"is not YAML ({problem})", where=where, cure=cure)


def _child(node: yaml.Node | None, key: Any) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        # Entries of a merge (<<) stand before those that replace them.
        for key_node, value in reversed(node.value):
            if str(key_node.value) == str(key):
                return key_node.start_mark.line + 1, value
    # A dotted name has the place of an entry as text.
    if isinstance(node, yaml.SequenceNode) and str(key).isdecimal() and int(key) < len(node.value):
        entry = node.value[int(key)]
        return entry.start_mark.line + 1, entry
    return None


def _count_entries(node: yaml.Node | None, counts: dict[int, int]) -> int:
    """Count the nodes below a node, aliases with their contents."""
    if node is None or isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in counts:
        counts[id(node)] = MAX_ENTRIES  # While it is counted: a node that contains itself meets this number.
        children = (child for entry in node.value for child in (entry if isinstance(entry, tuple) else (entry,)))
        counts[id(node)] = 1 + sum(_count_entries(child, counts) for child in children)
    if counts[id(node)] >= MAX_ENTRIES:
        raise ValueError(f"it has more than {MAX_ENTRIES:,} entries, or one inside itself")
    return counts[id(node)]


def _duplicate_keys(node: yaml.Node | None) -> Iterator[tuple[str, int]]:
    """Find keys that a mapping has twice, of which YAML silently keeps the last."""
    if isinstance(node, yaml.MappingNode):
        names = set()
        for key, value in node.value:
            # The tag tells the number 1 from the text "1", which are different keys.
            name = (key.tag, str(key.value))
            if name in names:
                yield str(key.value), key.start_mark.line + 1
            names.add(name)
            yield from _duplicate_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _duplicate_keys(child)
