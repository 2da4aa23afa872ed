"""From a reader's name and options to its parts: what fits together is built, what does not is refused."""

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import ValidationError

from coattend.errors import CoattendError
from coattend.readers import registry
from coattend.readers.parts import Classes, Configs, PartConfig

Options = dict[str, Any]
Config = TypeVar("Config", bound=PartConfig)


@dataclass(frozen=True)
class Assembly:
    """The parts of a reader and their options.

    Attributes:
        reader: Name of the reader.
        head: Name of its head.
        classes: What they are.
        configs: How they are set.
    """

    reader: str
    head: str
    classes: Classes
    configs: Configs

    @property
    def given(self) -> frozenset[str]:
        """Fields of `Attended` that are filled."""
        return self.configs.interaction.fills(self.configs.encoder.fills())

    @property
    def needed(self) -> frozenset[str]:
        """Fields of `Attended` that the head reads."""
        return self.configs.head.needs(self.given)

    @property
    def encoder_sums_up(self) -> bool:
        """Whether the encoder has to make the summary that the head reads."""
        without = self.configs.encoder.fills() - {"summary"}
        return "summary" in self.needed - self.configs.interaction.fills(without)

    @property
    def options(self) -> Options:
        """All options; those that are left to the encoder (null) are left out."""
        return {name: value for one in self.configs for name, value in one.model_dump(exclude_none=True).items()}

    @property
    def _unasked(self) -> str | None:
        """Why the head would answer without the question; None if it does not."""
        together = self.configs.encoder.reads_together or self.configs.interaction.brings_together()
        if together or "passage" not in self.needed or "question" in self.needed:
            return None
        return f"the head {self.head!r} reads the passage, which nothing has brought together with the question"

    @property
    def misfit(self) -> str | None:
        """Why the parts do not fit together; None if they do."""
        lacking = self.needed - self.given
        if not lacking:
            return self._unasked
        needs, has = ", ".join(sorted(lacking)), ", ".join(sorted(self.given))
        return f"the head {self.head!r} needs {needs}, and its interaction fills {has or 'nothing'}"


def resolve(name: str, head: str | None = None, **overrides: Any) -> Options:
    """Check a reader's options and complete them, without building it.

    One entry of parameters serves benchmarks of several tasks: options of the reader's other heads are checked and
    left out.

    Args:
        name: A name out of `names`.
        head: None takes the reader's own.
        overrides: Options that differ from the reader's defaults.

    Returns:
        All options as JSON values, without those that are left to the encoder.

    Raises:
        CoattendError: If a name or a value is wrong, or the parts do not fit together.
    """
    chosen = registry.own_head(name, head)
    own = dict(overrides)
    for other in registry.heads_of(name):
        theirs = {option: value for option, value in own.items() if option in _options_of(other) - _options_of(chosen)}
        assemble(name, other, theirs)
        own = {option: value for option, value in own.items() if option not in theirs}
    return fitting(name, chosen, own).options


def fitting(name: str, head: str | None, overrides: Options) -> Assembly:
    """A reader's parts with their options, if they fit together.

    Raises:
        CoattendError: If a name or a value is wrong, or the parts do not fit: with the reason and what would fit.
    """
    parts = assemble(name, head, overrides)
    if parts.misfit is not None:
        changes = [f"{option}={value}" for option, value in alternatives(parts)]
        raise CoattendError(
            f"the reader {name!r} cannot be built so: {parts.misfit}",
            cure=f"What would fit: {', '.join(changes)}" if changes else None,
        )
    return parts


def assemble(name: str, head: str | None, overrides: Options) -> Assembly:
    """A reader's parts with their options, whether or not they fit together.

    Raises:
        CoattendError: If a name or a value is wrong.
    """
    named, head = registry.find(name), registry.own_head(name, head)
    classes = Classes(_part("encoder", named.encoder), _part("interaction", named.interaction), _part("head", head))
    owner = {option: role for role, part in classes._asdict().items() for option in part.Config.model_fields}
    elsewhere = {option for other in registry.heads() for option in _options_of(other)}
    _check_names(f"the reader {name!r} with the head {head!r}", overrides, owner)
    _check_names(f"the declaration of the reader {name!r}", named.defaults, {**owner, **dict.fromkeys(elsewhere)})
    options = {option: value for option, value in named.defaults.items() if option in owner} | overrides
    given = {role: {key: value for key, value in options.items() if owner[key] == role} for role in Classes._fields}
    configs = Configs(
        _configure(name, classes.encoder.Config, given["encoder"]),
        _configure(name, classes.interaction.Config, given["interaction"]),
        _configure(name, classes.head.Config, given["head"]),
    )
    return Assembly(name, head, classes, configs)


def _part(role: str, named: str | type) -> Any:
    return named if isinstance(named, type) else importlib.import_module(f"{__package__}.{role}s.{named}").PART


def _options_of(head: str) -> frozenset[str]:
    return frozenset(_part("head", head).Config.model_fields)


def _check_names(where: str, options: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for option in options:
        if option not in known:
            raise CoattendError(
                f"there is no option {option!r}", where=where, cure=registry.suggest(option, list(known))
            )


def _configure(reader: str, config: type[Config], options: Options) -> Config:
    try:
        return config(**options)
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0])
        raise CoattendError(
            f"{first['msg']}, not {first['input']!r}",
            where=f"option {option!r} of the reader {reader!r}",
            cure=config.model_fields[option].description,
        ) from None


def alternatives(parts: Assembly) -> Iterator[tuple[str, str]]:
    """Single changes of the head, or of an option with listed values, with which parts that do not fit would."""
    chosen = {option: value for config in parts.configs for option, value in config.model_dump().items()}
    for head in registry.heads_of(parts.reader):
        kept = {option: value for option, value in chosen.items() if option not in _options_of(parts.head)}
        if head != parts.head and assemble(parts.reader, head, kept).misfit is None:
            yield "head", head
    for config in parts.configs:
        for option, field in type(config).model_fields.items():
            for value in get_args(field.annotation) if get_origin(field.annotation) is Literal else ():
                if assemble(parts.reader, parts.head, chosen | {option: value}).misfit is None:
                    yield option, value
