"""Readers and their parts by name, known from files alone.

Beside the named readers there is one for every encoder and interaction, ``recurrent+coattention``, with every head.
"""

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from coattend.errors import CoattendError, did_you_mean
from coattend.readers import declared

ENTRY_POINTS = "coattend.readers"
"""Group in which other packages name modules with readers."""

JOIN = "+"
"""Stands between encoder and interaction in the name of a reader that has no other."""

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class NamedReader:
    """A reader that has a name: which parts it is made of and how they are set.

    A module in ``readers/named``, or one that an entry point of the group ``coattend.readers`` names, assigns it to
    ``READER``.

    Attributes:
        title: Name as the literature writes it.
        paper: Where it comes from.
        encoder: Module of ``readers/encoders``.
        interaction: Module of ``readers/interactions``, or a class like those there, defined beside the reader.
        heads: Modules of ``readers/heads`` that it may be built with, its own first. Written out, not computed, as it
            is read without running the module.
        defaults: Options that differ from the parts' own defaults.
    """

    title: str
    paper: str = ""
    encoder: str = "transformer"
    interaction: str | type = "none"
    heads: tuple[str, ...] = ("options",)
    defaults: Mapping[str, Any] = field(default_factory=dict)


def names() -> list[str]:
    """Names of all readers, sorted."""
    return sorted(_modules())


def find(name: str) -> NamedReader:
    """A reader's declaration; this imports its module.

    Raises:
        CoattendError: If there is no such reader, or its module declares none.
    """
    if JOIN in name:
        encoder, interaction = _joined(name)
        return NamedReader(title=name, encoder=encoder, interaction=interaction, heads=tuple(heads()))
    module = _module(name)
    reader = getattr(importlib.import_module(module), "READER", None)
    if not isinstance(reader, NamedReader):
        raise CoattendError("assigns no NamedReader to READER", where=module)
    return reader


def file_of(name: str) -> Path:
    """The file that declares a reader.

    Raises:
        CoattendError: If there is no such reader, or its module is missing.
    """
    if JOIN in name:
        return _FOLDER / "interactions" / f"{_joined(name)[1]}.py"
    module = _module(name)
    file = _file_of_module(module)
    if file is None:
        raise CoattendError(f"the reader {name!r} names a module that is missing", where=module)
    return file


@cache
def _file_of_module(module: str) -> Path | None:
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return None if found is None or found.origin is None else Path(found.origin)


def encoders() -> list[str]:
    """Names of all encoders, sorted."""
    return list(_parts("encoders"))


def interactions() -> list[str]:
    """Names of all interactions, sorted."""
    return list(_parts("interactions"))


def heads() -> list[str]:
    """Names of all heads, sorted."""
    return list(_parts("heads"))


def heads_of(name: str) -> tuple[str, ...]:
    """The heads that a reader may be built with, its own first.

    Raises:
        CoattendError: If there is no such reader.
    """
    if JOIN in name:
        _joined(name)
        return tuple(heads())
    return tuple(declared.keyword(file_of(name), "READER", "heads") or NamedReader.heads)


def encoder_of(name: str) -> str:
    """The encoder that a reader has: a module of ``readers/encoders``.

    Raises:
        CoattendError: If there is no such reader.
    """
    if JOIN in name:
        return _joined(name)[0]
    encoder: str = declared.keyword(file_of(name), "READER", "encoder") or NamedReader.encoder
    return encoder


def part_files(name: str, heads: Sequence[str]) -> list[Path]:
    """The files that define a reader's encoder, its interaction, which may stand beside the reader, and some heads.

    Raises:
        CoattendError: If there is no such reader.
    """
    encoder, interaction = _FOLDER / "encoders" / f"{encoder_of(name)}.py", _interaction_file(name)
    return [encoder, interaction, *(_FOLDER / "heads" / f"{head}.py" for head in heads)]


def task_of(head: str) -> str:
    """The task that a head answers: ``options``, ``span`` or ``word``.

    Raises:
        CoattendError: If there is no such head.
    """
    if head not in heads():
        raise CoattendError(f"there is no head {head!r}", cure=suggest(head, heads()))
    task: str = declared.constant(_FOLDER / "heads" / f"{head}.py", "TASK")
    return task


def own_head(name: str, head: str | None = None) -> str:
    """The head asked for, or the reader's first.

    Raises:
        CoattendError: If there is no such reader, or it cannot be built with that head.
    """
    known = heads_of(name)
    if head is None:
        return known[0]
    if head not in known:
        raise CoattendError(f"the reader {name!r} has no head {head!r}", cure=suggest(head, known))
    return head


def fits(name: str, tasks: Sequence[str], head: str | None = None) -> bool:
    """Whether a reader can answer one of the tasks, with the given head or with any of its own.

    Raises:
        CoattendError: If there is no such reader, or it cannot be built with that head.
    """
    candidates = heads_of(name) if head is None else (own_head(name, head),)
    return any(task_of(candidate) in tasks for candidate in candidates)


def head_for(name: str, tasks: Sequence[str], head: str | None = None) -> str:
    """The head with which a reader answers a benchmark.

    Args:
        name: The reader.
        tasks: What the benchmark asks for.
        head: The head to take; None takes the reader's first that answers one of the tasks.

    Raises:
        CoattendError: If there is none.
    """
    candidates = heads_of(name) if head is None else (own_head(name, head),)
    for candidate in candidates:
        if task_of(candidate) in tasks:
            return candidate
    raise CoattendError(
        f"the reader {name!r} cannot answer what is asked for: {', '.join(tasks)}",
        cure=f"Its heads answer: {', '.join(task_of(candidate) for candidate in candidates)}",
    )


def suggest(word: str, known: Sequence[str]) -> str:
    """The nearest known name and all of them, as the cure of an error."""
    nearest, everything = did_you_mean(word, list(known)), f"Known: {', '.join(sorted(known))}"
    return everything if nearest == everything else f"{nearest} {everything}"


def _interaction_file(name: str) -> Path:
    """The file that defines a reader's interaction: a part's, or the reader's own where it stands beside it."""
    file = file_of(name)
    if JOIN in name or declared.is_named(file, "READER", "interaction"):
        return file
    interaction = declared.keyword(file, "READER", "interaction") or NamedReader.interaction
    return _FOLDER / "interactions" / f"{interaction}.py"


def _joined(name: str) -> tuple[str, str]:
    """Encoder and interaction of a reader that is named by them."""
    encoder, _, interaction = name.partition(JOIN)
    for kind, part, known in (("encoder", encoder, encoders()), ("interaction", interaction, interactions())):
        if part not in known:
            raise CoattendError(f"there is no {kind} {part!r}", where=f"reader {name!r}", cure=suggest(part, known))
    return encoder, interaction


@cache
def _parts(kind: str) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (_FOLDER / kind).glob("*.py") if declared.assigns(path, "PART")))


def _module(name: str) -> str:
    modules = _modules()
    if name not in modules:
        raise CoattendError(f"there is no reader {name!r}", cure=suggest(name, list(modules)))
    return modules[name]


@cache
def _modules() -> dict[str, str]:
    own = (path.stem for path in (_FOLDER / "named").glob("*.py") if not path.stem.startswith("_"))
    return {**_of_other_packages(), **{name: f"{__package__}.named.{name}" for name in own}}


@cache
def _of_other_packages() -> dict[str, str]:
    return {entry.name: entry.module for entry in entry_points(group=ENTRY_POINTS)}
