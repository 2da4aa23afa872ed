"""Facts about readers: their parts, their options and their numbers of parameters."""

from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from docs._tools.markdown import table, yaml_value
from pydantic.fields import FieldInfo

from coattend import readers
from coattend.readers import registry
from coattend.readers.composition import compose

VOCABULARY_PARAMETERS = ("encoder.ngrams.", "head.answers.")
"""Parameters whose number grows with the vocabulary, which are not counted."""

LIMITS = (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"))
ROLES: dict[str, registry.Role] = {"encoders": "encoder", "interactions": "interaction", "heads": "head"}


def reader_tables(*names: str) -> str:
    """Write two tables: the parts of readers, and their numbers of trained parameters if they have any.

    Args:
        names: Names of readers.
    """
    rows = ((f"`{name}`", *parts(name)) for name in names)
    table_of_parts = table(("reader", "encoder", "interaction", "heads", "options that differ"), rows)
    if not any(map(registry.is_trained, names)):
        return table_of_parts
    counts = table(
        ("reader", "head", "encoder", "interaction", "head alone", "together"),
        (row for name in names for row in _parameter_counts(name)),
    )
    return f"{table_of_parts}\n\n{counts}"


def option_table(part: str) -> str:
    """Write a table of the options of one part.

    Args:
        part: Folder and name, such as ``heads/span``.
    """
    folder, _, name = part.partition("/")
    fields = registry.part_config(ROLES[folder], name).model_fields
    if not fields:
        return "It has no options."
    rows = (
        (f"`{option}`", f"`{yaml_value(field.default)}`", _values(field), field.description or "")
        for option, field in fields.items()
    )
    return table(("option", "default", "values", "what it is"), rows)


def differing_options(name: str) -> dict[str, Any]:
    """Collect the options of a reader, with any of its heads, that differ from its parts' defaults."""
    configs = [config for head in readers.heads_of(name) for config in compose(name, head, {}).configs]
    return {
        option: value
        for config in configs
        for option, value in config.model_dump().items()
        if value != type(config).model_fields[option].default
    }


def format_options(name: str) -> str:
    """Write the options of a reader that differ from its parts' defaults."""
    return ", ".join(f"`{option}: {yaml_value(value)}`" for option, value in differing_options(name).items())


def parts(name: str) -> tuple[str, ...]:
    """Name a reader's encoder, interaction and heads, and the options that differ from their defaults."""
    reader = registry.find(name)
    # A reader's own file may hold the class of its interaction.
    interaction = getattr(reader.interaction, "__name__", reader.interaction)
    heads = ", ".join(f"`{head}`" for head in reader.heads)
    return f"`{reader.encoder}`", f"`{interaction}`", heads, format_options(name)


def _parameter_counts(name: str) -> Iterator[tuple[str, ...]]:
    for head in readers.heads_of(name):
        counts = _count_parameters(name, head)
        yield f"`{name}`", f"`{head}`", *(f"{count:,}" for count in (*counts, sum(counts)))


def _count_parameters(name: str, head: str) -> tuple[int, ...]:
    """Count the trained parameters of encoder, interaction and head, over MiniLM or word vectors of its width."""
    import torch
    from transformers import AutoConfig

    from coattend.readers.encoders.pretrained import EMBEDDED, encoder_folder
    from coattend.readers.encoders.word_embeddings import Words
    from coattend.readers.reader import Reader

    minilm = AutoConfig.from_pretrained(str(encoder_folder(EMBEDDED)), trust_remote_code=False)
    recurrent = registry.encoder_of(name) == "recurrent"
    options = {"vectors": "random", "vector_width": minilm.hidden_size} if recurrent else {}
    encoder = Words(words=(), encoder=minilm) if recurrent else minilm
    # On the meta device a reader takes no memory.
    with torch.device("meta"):
        reader = Reader.build(name, encoder=encoder, head=head, **options)
    trained = [(key, weight.numel()) for key, weight in reader.named_parameters() if weight.requires_grad]
    counted = [(key, count) for key, count in trained if not (recurrent and key.startswith(VOCABULARY_PARAMETERS))]
    return tuple(sum(count for key, count in counted if key.startswith(f"{part}.")) for part in ROLES.values())


def _values(field: FieldInfo) -> str:
    """Describe the values of an option."""
    types: Sequence[Any] = (field.annotation,)
    if get_origin(field.annotation) in (Union, UnionType):
        types = [candidate for candidate in get_args(field.annotation) if candidate is not type(None)]
    (value_type,) = types
    if get_origin(value_type) is Literal:
        return ", ".join(f"`{yaml_value(value)}`" for value in get_args(value_type))
    limits = [
        f"{sign} {getattr(constraint, name):g}"
        for constraint in field.metadata
        for name, sign in LIMITS
        if hasattr(constraint, name)
    ]
    type_names = {bool: "`true`, `false`", int: "whole number", float: "number", str: "text"}
    return " ".join([type_names[value_type], " and ".join(limits)]).strip()
