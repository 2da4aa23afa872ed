"""From a reader's name and options to its parts, and the matrix of all parts: which of them make a reader together."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar, cast, get_args, get_origin

from pydantic import ValidationError

from coattend.errors import CoattendError
from coattend.readers import registry
from coattend.readers.interfaces import (
    STREAMS,
    Encoder,
    EncoderConfig,
    Head,
    HeadConfig,
    Interaction,
    InteractionConfig,
    PartConfig,
)

Options = dict[str, Any]
"""Options by name, with JSON values."""

Config = TypeVar("Config", bound=PartConfig)


class Classes(NamedTuple):
    """The class of each part."""

    encoder: type[Encoder]
    interaction: type[Interaction]
    head: type[Head]


class Configs(NamedTuple):
    """The options of each part."""

    encoder: EncoderConfig
    interaction: InteractionConfig
    head: HeadConfig


@dataclass(frozen=True)
class Composition:
    """The parts of a reader and their options."""

    reader: str
    head: str
    configs: Configs

    @property
    def classes(self) -> Classes:
        """The classes of its parts; this imports torch."""
        declaration = registry.find(self.reader)
        return Classes(
            registry.part_class("encoder", declaration.encoder),
            registry.part_class("interaction", declaration.interaction),
            registry.part_class("head", self.head),
        )

    @property
    def provided_fields(self) -> frozenset[str]:
        """Fields of `Attended` that encoder and interaction fill."""
        return self.configs.interaction.fills(self.configs.encoder.provides())

    @property
    def required_fields(self) -> frozenset[str]:
        """Fields of `Attended` that the head reads."""
        return self.configs.head.needs(self.provided_fields)

    @property
    def encoder_summarises(self) -> bool:
        """True if the encoder has to provide the summary that the head reads."""
        without_summary = self.configs.encoder.provides() - {"summary"}
        return "summary" in self.required_fields - self.configs.interaction.fills(without_summary)

    @property
    def options(self) -> Options:
        """All options, except those that are left to the encoder (null)."""
        return {name: value for part in self.configs for name, value in part.model_dump(exclude_none=True).items()}

    @property
    def misfit(self) -> str | None:
        """Reason why the parts do not fit together; None if they do."""
        missing = self.required_fields - self.provided_fields
        encoder, interaction, head = self.configs
        if missing:
            required, provided = ", ".join(sorted(missing)), ", ".join(sorted(self.provided_fields))
            reason = f"the head {self.head!r} needs {required}, and its interaction fills {provided or 'nothing'}"
            withheld = missing & encoder.output_fields - encoder.provides()
            return f"{reason}: a passage that is read apart does not know its question" if withheld else reason
        # What a head reads must have seen the other stream. A bag of both is allowed where they are always apart.
        if interaction.brings_together() or head.brings_together():
            return None
        streams = self.required_fields & STREAMS
        unaware = sorted(streams - encoder.aware())
        if not unaware or (streams == STREAMS and encoder.provides() == encoder.output_fields):
            return None
        other = {"passage": "question", "question": "passage"}[unaware[0]]
        return f"the head {self.head!r} reads the {unaware[0]}, which nothing has brought together with the {other}"


def compose(name: str, head: str | None, overrides: Options) -> Composition:
    """Compose a reader's parts with their options, whether or not they fit together.

    Args:
        name: A name out of `coattend.readers.names`, or an encoder and an interaction joined by ``+``.
        head: None takes the reader's default.

    Raises:
        CoattendError: If a name or a value is wrong.
    """
    declaration, head = registry.find(name), registry.select_head(name, head)
    configs = _part_configs(name, (head,))
    names = [option for config in configs for option in config.model_fields]
    # One declaration may set options of several heads: those of the other heads are checked by name alone.
    options_of_heads = [option for other_head in registry.heads() for option in _options_of(other_head)]
    _check_names(f"the reader {name!r} with the head {head!r}", overrides, names)
    _check_names(f"the declaration of the reader {name!r}", declaration.defaults, [*names, *options_of_heads])
    # Overrides win over the declaration, and what neither sets is left to the part's own default.
    options = {**declaration.defaults, **overrides}
    validated = (
        _validate(name, config, {option: options[option] for option in config.model_fields if option in options})
        for config in configs
    )
    return Composition(name, head, Configs(*cast(Any, validated)))


def compose_fitting(name: str, head: str | None, overrides: Options) -> Composition:
    """Compose a reader's parts with their options, if they fit together.

    Raises:
        CoattendError: If a name or a value is wrong, or the parts do not fit: with the reason and changes that would
            make them fit.
    """
    composition = compose(name, head, overrides)
    check_fit(composition)
    return composition


def check_fit(composition: Composition) -> None:
    """Raise a `CoattendError` if parts do not fit together, with the reason and changes that would make them fit."""
    if composition.misfit is not None:
        changes = [f"{option}={value}" for option, value in fitting_changes(composition)]
        raise CoattendError(
            f"the reader {composition.reader!r} cannot be built so: {composition.misfit}",
            cure=f"What would fit: {', '.join(changes)}" if changes else None,
        )


def fitting_changes(composition: Composition) -> Iterator[tuple[str, str]]:
    """Yield single changes, of the head or of an option with listed values, with which misfitting parts would fit."""
    name, head = composition.reader, composition.head
    values = {option: value for config in composition.configs for option, value in config.model_dump().items()}
    # Another head keeps the options of encoder and interaction.
    for other_head in registry.heads_of(name):
        shared = {option: value for option, value in values.items() if option not in _options_of(head)}
        if other_head != head and compose(name, other_head, shared).misfit is None:
            yield "head", other_head
    # Other values of options whose type lists them.
    for config in composition.configs:
        for option, field_info in type(config).model_fields.items():
            for value in _listed_values(field_info.annotation):
                if compose(name, head, values | {option: value}).misfit is None:
                    yield option, value


def _listed_values(annotation: Any) -> Iterator[Any]:
    """Yield the values that a type lists, such as ``Literal["a", "b"] | None``."""
    for part in (annotation, *get_args(annotation)):
        if get_origin(part) is Literal:
            yield from get_args(part)


def resolve(name: str, head: str | None = None, **overrides: Any) -> Options:
    """Check a reader's options and complete them, without building it.

    One entry of parameters serves benchmarks of several tasks: options of the reader's other heads are checked and
    left out. The result has all options as JSON values, but for those that are left to the encoder.

    Raises:
        CoattendError: If a name or a value is wrong, or the parts do not fit together.
    """
    head = registry.select_head(name, head)
    options = dict(overrides)
    # Options of each other head are validated with that head, then dropped.
    for other_head in registry.heads_of(name):
        foreign = _options_of(other_head) - _options_of(head)
        compose(name, other_head, {option: value for option, value in options.items() if option in foreign})
        options = {option: value for option, value in options.items() if option not in foreign}
    return compose_fitting(name, head, options).options


def completed(name: str, head: str, options: Mapping[str, Any]) -> Options:
    """Complete a reader's options with one of its heads, including those that are left to the encoder (None).

    Unlike `resolve`, this accepts options of other heads and parts that do not fit together.

    Raises:
        ValidationError: If an option cannot have its value.
    """
    values = {**registry.find(name).defaults, **options}
    configs = [
        config.model_validate({option: values[option] for option in config.model_fields if option in values})
        for config in _part_configs(name, (head,))
    ]
    return {option: value for config in configs for option, value in config}


def option_names(name: str) -> list[str]:
    """Return the names of the options that a reader has with any of its heads."""
    return sorted(_config_by_option(name))


def default_of(name: str, option: str) -> Any:
    """Return the value that a reader's declaration gives to an option; None if it leaves the option to its part."""
    return registry.find(name).defaults.get(option)


def check_option(name: str, option: str, value: Any) -> None:
    """Refuse a value that an option of a reader cannot have.

    Raises:
        KeyError: If it has no such option.
        ValidationError: If the option cannot have this value.
    """
    _config_by_option(name)[option].model_validate({option: value})


@dataclass(frozen=True)
class Capability:
    """One combination of an encoder, an interaction and a head, and whether they make a reader.

    Attributes:
        task: The task that the head answers.
        reason: Reason why they do not fit together; None if they do.
        options: Options that have to be set for them to fit, with those that were asked for.
    """

    encoder: str
    interaction: str
    head: str
    task: str
    reason: str | None
    options: Options = field(default_factory=dict)

    @property
    def reader(self) -> str:
        """The name by which `coattend.readers.build` builds it."""
        return f"{self.encoder}{registry.JOIN}{self.interaction}"


def capabilities(**options: Any) -> list[Capability]:
    """Combine every encoder with every interaction and every head, from the fields that they fill and need.

    Args:
        options: Options of an encoder, such as ``passage="apart"``; encoders without them are left out.
    """
    return [
        _capability(encoder, interaction, head, options)
        for encoder in registry.encoders()
        if options.keys() <= registry.part_config("encoder", encoder).model_fields.keys()
        for interaction in registry.interactions()
        for head in registry.heads()
    ]


def _capability(encoder: str, interaction: str, head: str, encoder_options: Options) -> Capability:
    composition = compose(f"{encoder}{registry.JOIN}{interaction}", head, encoder_options)
    task = registry.task_of(head)
    if composition.misfit is None:
        return Capability(encoder, interaction, head, task, None, encoder_options)
    # Another head is another row of the matrix; an option that has to be set makes this row fit.
    fixed = {"head", *encoder_options}
    settings = [{option: value} for option, value in fitting_changes(composition) if option not in fixed]
    if settings:
        return Capability(encoder, interaction, head, task, None, encoder_options | settings[-1])
    return Capability(encoder, interaction, head, task, composition.misfit)


def _part_configs(name: str, heads: tuple[str, ...]) -> list[type[PartConfig]]:
    declaration = registry.find(name)
    return [
        registry.part_config("encoder", declaration.encoder),
        registry.part_config("interaction", declaration.interaction),
        *(registry.part_config("head", head) for head in heads),
    ]


def _config_by_option(name: str) -> dict[str, type[PartConfig]]:
    configs = _part_configs(name, registry.heads_of(name))
    return {option: config for config in configs for option in config.model_fields}


def _options_of(head: str) -> frozenset[str]:
    return frozenset(registry.part_config("head", head).model_fields)


def _check_names(where: str, options: Iterable[str], choices: list[str]) -> None:
    for option in options:
        if option not in choices:
            cure = registry.suggest(option, list(dict.fromkeys(choices)))
            raise CoattendError(f"there is no option {option!r}", where=where, cure=cure)


def _validate(reader: str, config: type[Config], options: Options) -> Config:
    try:
        return config(**options)
    except ValidationError as error:
        # The first error is enough for one line; the option's description says what would be right.
        first = error.errors()[0]
        option = str(first["loc"][0])
        raise CoattendError(
            f"{first['msg']}, not {first['input']!r}",
            where=f"option {option!r} of the reader {reader!r}",
            cure=config.model_fields[option].description,
        ) from None
