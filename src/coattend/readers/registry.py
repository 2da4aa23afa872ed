"""Readers and their parts by name.

Besides the named readers of the zoo and of other packages there is a reader for every encoder and interaction,
``recurrent+coattention``, with every head. Names, heads and options are known without torch. Exceptions are readers of
other packages, and a new file of ``readers/interactions`` that ``configs.py`` does not list yet and that declares a
``READER`` of its own: their names are known at once, and their modules are imported when more is needed.

An unknown name raises a `CoattendError` with the nearest right ones.
"""

import importlib
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal

from coattend.errors import CoattendError, did_you_mean
from coattend.readers.encoders.configs import CONFIGS as ENCODERS
from coattend.readers.encoders.configs import UNTRAINED as UNTRAINED_ENCODERS
from coattend.readers.heads.configs import CONFIGS as HEADS
from coattend.readers.heads.configs import UNTRAINED as UNTRAINED_HEADS
from coattend.readers.interactions.configs import CONFIGS as INTERACTIONS
from coattend.readers.interfaces import HeadConfig, NamedReader, PartConfig
from coattend.readers.zoo import ZOO

__all__ = ["JOIN", "NamedReader", "names"]

ENTRY_POINTS = "coattend.readers"
"""Group in which other packages name modules with readers."""

WEIGHTS, DESCRIPTION = "model.safetensors", "reader.json"
"""Files of a saved reader."""

JOIN = "+"
"""Joins encoder and interaction in the name of a reader that has no name of its own."""

Role = Literal["encoder", "interaction", "head"]

_CONFIGS: Mapping[Role, Mapping[str, type[PartConfig]]] = {
    "encoder": ENCODERS | UNTRAINED_ENCODERS,
    "interaction": INTERACTIONS,
    "head": HEADS | UNTRAINED_HEADS,
}
_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the names of all readers, sorted."""
    return sorted({*ZOO, *_declaring_modules()})


def find(name: str) -> NamedReader:
    """Return a reader's declaration; a module that declares a single reader is imported.

    Raises:
        CoattendError: If there is no such reader, or its module cannot be imported or declares none.
    """
    # A joined name may take any head; whether it fits is checked when the reader is composed.
    if JOIN in name:
        encoder, interaction = _split(name)
        return NamedReader(title=name, encoder=encoder, interaction=interaction, heads=tuple(heads()))
    if name in ZOO:
        return ZOO[name]
    module = _declaring_module(name)
    reader = getattr(_import(module), "READER", None)
    if not isinstance(reader, NamedReader):
        raise CoattendError(
            "assigns no NamedReader to READER",
            where=module,
            cure="End the module with READER = NamedReader(...), or list an interaction's options in configs.py",
        )
    return reader


def module_of(name: str) -> str:
    """Return the name of the module that declares a reader: the zoo, an interaction, or a module of another package."""
    if JOIN in name:
        return f"{__package__}.interactions.{_split(name)[1]}"
    return f"{__package__}.zoo" if name in ZOO else _declaring_module(name)


def encoders() -> list[str]:
    """Return the names of all encoders that are trained, sorted."""
    return sorted(ENCODERS)


def interactions() -> list[str]:
    """Return the names of all interactions, sorted."""
    return sorted({*INTERACTIONS, *_unlisted_interactions()})


def heads() -> list[str]:
    """Return the names of all heads that are trained, sorted."""
    return sorted(HEADS)


def heads_of(name: str) -> tuple[str, ...]:
    """Return the heads that a reader may be built with, the default first."""
    return tuple(find(name).heads)


def encoder_of(name: str) -> str:
    """Return the encoder of a reader: a module of ``readers/encoders``."""
    return find(name).encoder


def is_trained(name: str) -> bool:
    """Tell whether a reader is trained; one that is not is a language model, used as it is."""
    return encoder_of(name) not in UNTRAINED_ENCODERS


def task_of(head: str) -> str:
    """Return the task that a head answers: ``options``, ``span`` or ``word``."""
    config = part_config("head", head)
    assert issubclass(config, HeadConfig)
    return config.task


def select_head(name: str, head: str | None = None) -> str:
    """Return the requested head, or the reader's default; one that the reader cannot have is refused."""
    candidates = heads_of(name)
    if head is None:
        return candidates[0]
    if head not in candidates:
        raise CoattendError(f"the reader {name!r} has no head {head!r}", cure=suggest(head, candidates))
    return head


def fits(name: str, tasks: Sequence[str], head: str | None = None) -> bool:
    """Tell whether a reader can answer one of the tasks, with the requested head or with any of its own."""
    return any(task_of(candidate) in tasks for candidate in _candidate_heads(name, head))


def head_for(name: str, tasks: Sequence[str], head: str | None = None) -> str:
    """Return the requested head, or a reader's first one, that answers one of a benchmark's tasks.

    Raises:
        CoattendError: If there is none.
    """
    candidates = _candidate_heads(name, head)
    for candidate in candidates:
        if task_of(candidate) in tasks:
            return candidate
    raise CoattendError(
        f"the reader {name!r} cannot answer what is asked for: {', '.join(tasks)}",
        cure=f"Its heads answer: {', '.join(task_of(candidate) for candidate in candidates)}",
    )


def _candidate_heads(name: str, head: str | None) -> tuple[str, ...]:
    return heads_of(name) if head is None else (select_head(name, head),)


def part_config(role: Role, part: str | type) -> type[PartConfig]:
    """Return the class of a part's options; torch is imported only for parts that ``configs.py`` does not list."""
    if isinstance(part, str) and part in _CONFIGS[role]:
        return _CONFIGS[role][part]
    config: type[PartConfig] = part_class(role, part).Config
    for option, declaration in config.model_fields.items():
        if declaration.is_required() or not declaration.description:
            raise CoattendError(
                f"the option {option!r} of {config.__qualname__} lacks a default or a description",
                where=config.__module__,
                cure=f'Write {option}: ... = Field(..., description="...")',
            )
    return config


def part_class(role: Role, part: str | type) -> Any:
    """Import the class of a part from its name, or from a reference ``"package.module:Class"``."""
    if isinstance(part, type):
        return part
    # Only a declaration in code refers to an interaction of another package: `head` may come from a user's file.
    module, _, class_name = part.partition(":") if role == "interaction" else (part, "", "")
    if not class_name:
        choices = {"encoder": encoders(), "interaction": interactions(), "head": heads()}[role]
        if part not in choices and part not in _CONFIGS[role]:
            raise CoattendError(f"there is no {role} {part!r}", cure=suggest(part, choices))
        module = f"{__package__}.{role}s.{part}"
        if role == "interaction" and part not in INTERACTIONS:
            return part_class(role, find(part).interaction)
        class_name = "PART"
    part_type = getattr(_import(module), class_name, None)
    if part_type is None:
        raise CoattendError(f"defines no {class_name}", where=module)
    return part_type


def suggest(word: str, choices: Sequence[str]) -> str:
    """Return the nearest right name and all right names, as the cure of an error."""
    nearest, everything = did_you_mean(word, list(choices)), f"Known: {', '.join(sorted(choices))}"
    return everything if nearest == everything else f"{nearest} {everything}"


def _split(name: str) -> tuple[str, str]:
    """Split a joined name into encoder and interaction."""
    encoder, _, interaction = name.partition(JOIN)
    for role, part, choices in (("encoder", encoder, encoders()), ("interaction", interaction, interactions())):
        if part not in choices:
            raise CoattendError(f"there is no {role} {part!r}", where=f"reader {name!r}", cure=suggest(part, choices))
    return encoder, interaction


@cache
def _unlisted_interactions() -> frozenset[str]:
    """Return the files of ``readers/interactions`` that its ``configs.py`` does not list."""
    files = {path.stem for path in (_FOLDER / "interactions").glob("*.py")}
    return frozenset(files - INTERACTIONS.keys() - {"__init__", "configs"})


@cache
def _declaring_modules() -> dict[str, str]:
    """Return the modules that declare one reader each; a reader of this package takes precedence over another's."""
    # Entry points are read from the packages' metadata: nothing is imported here.
    plugins = {entry.name: entry.module for entry in entry_points(group=ENTRY_POINTS)}
    return plugins | {name: f"{__package__}.interactions.{name}" for name in _unlisted_interactions()}


def _declaring_module(name: str) -> str:
    if name not in _declaring_modules():
        raise CoattendError(f"there is no reader {name!r}", cure=suggest(name, names()))
    return _declaring_modules()[name]


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except SyntaxError as error:
        raise CoattendError(f"is no Python: {error}", where=module) from None
    except CoattendError:
        raise
    except ImportError as error:
        raise CoattendError(f"cannot be imported: {error}", where=module) from error
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if Path(frame.filename).stem == module.rpartition(".")[2]]
        place = (own or frames)[-1]
        kind = " ".join([f"{type(error).__name__}:", *str(error).splitlines()[:1]])
        problem = f"cannot be imported: {kind} ({Path(place.filename).name}, line {place.lineno})"
        raise CoattendError(problem, where=module) from error
