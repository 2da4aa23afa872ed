"""YAML whose mistakes can be shown where they stand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from coattend.errors import CoattendError

BROKEN = (yaml.YAMLError, ValueError, RecursionError, AttributeError, LookupError)
"""What reading YAML that is none raises. Beside PyYAML's own: bytes that are not UTF-8, a day that no calendar has, a
tag such as ``!!timestamp`` before what is none."""
DEEPEST = 100
"""Levels of nesting: libyaml would take a square of time for many, and PyYAML's own half the process."""
MOST = 100_000
"""Entries of a file, each counted as often as it is named: a few lines of names for names can stand for billions."""

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one that is written in C is ten times as fast; not every build of PyYAML has it."""


@dataclass(frozen=True)
class Lines:
    """A YAML file with the lines of its entries.

    Attributes:
        file: The file.
        content: What it holds.
        root: Its nodes.
    """

    file: Path
    content: Any
    root: yaml.Node | None

    @classmethod
    def of(cls, file: Path) -> "Lines":
        """Read a file.

        Raises:
            CoattendError: If it is not YAML, a key stands twice in one mapping, or it has more than `MOST` entries.
        """
        try:
            text = file.read_text(encoding="utf-8")
            check_depth(text)
            loader = LOADER(text)
            root = loader.get_single_node()
            _count(root, {})
            content = None if root is None else loader.construct_document(root)
        except BROKEN as error:
            problem = "it is too deeply nested" if isinstance(error, RecursionError) else " ".join(str(error).split())
            raise CoattendError(f"is not YAML ({problem})", where=str(file), cure="Mend the file") from None
        for key, line in _twice(root):
            raise CoattendError(f"{key!r} is there twice", where=f"{file}, line {line}", cure="Name one of them anew")
        return cls(file, content, root)

    def where(self, path: Sequence[Any]) -> str:
        """File, line and name of an entry, or of the nearest one above it that is there.

        Args:
            path: Keys, and places in lists.
        """
        node, line = self.root, 1
        for step in path:
            found = _child(node, step)
            if found is None:
                break
            line, node = found
        return f"{self.file}, line {line}, {'.'.join(map(str, path))}"


def loaded(file: Path) -> Any:
    """What a file of plain YAML holds.

    Raises:
        Exception: One of `BROKEN`, if it is none.
    """
    text = file.read_text(encoding="utf-8")
    check_depth(text)
    return yaml.load(text, Loader=LOADER)


def check_depth(text: str) -> None:
    """Refuse nesting that no file of ours has, before anything is made of it.

    Raises:
        ValueError: If it is deeper than `DEEPEST`.
        yaml.YAMLError: If the text is no YAML.
    """
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} levels deep")


def _child(node: yaml.Node | None, step: Any) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if str(key.value) == str(step):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step].start_mark.line + 1, node.value[step]
    return None


def _count(node: yaml.Node | None, counted: dict[int, int]) -> int:
    """How many nodes there are in one, those that it names again counted again.

    Raises:
        ValueError: If there are too many, or one is inside itself.
    """
    if node is None or isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in counted:
        counted[id(node)] = MOST  # As long as it is being counted: who meets it again is inside it.
        inside = (one for pair in node.value for one in (pair if isinstance(pair, tuple) else (pair,)))
        counted[id(node)] = 1 + sum(_count(one, counted) for one in inside)
    if counted[id(node)] >= MOST:
        raise ValueError(f"it has more than {MOST:,} entries, or one inside itself")
    return counted[id(node)]


def _twice(node: yaml.Node | None) -> Iterator[tuple[str, int]]:
    """Keys that a mapping has twice, of which YAML would keep the last one without a word."""
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            name = (key.tag, str(key.value))
            if name in seen:
                yield str(key.value), key.start_mark.line + 1
            seen.add(name)
            yield from _twice(value)
    elif isinstance(node, yaml.SequenceNode):
        for one in node.value:
            yield from _twice(one)
