"""What the code knows of a reader: its parts, its options, and how many parameters it has."""

import importlib
from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from coattend import readers
from coattend.readers import registry
from coattend.readers.assembly import assemble
from coattend.reporting.markdown_table import shown, table

GROWING = ("encoder.ngrams.", "head.answers.")
"""Parameters that are as many as the vocabulary is long."""

LIMITS = (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"))


def of_readers(*names: str) -> str:
    """Two tables: what readers are made of, and how many parameters they learn.

    Args:
        names: Names of readers.
    """
    made_of = ("reader", "encoder", "interaction", "heads", "options that differ")
    counted = ("reader", "head", "encoder", "interaction", "head alone", "together")
    return "\n\n".join(
        [
            table(made_of, map(_made_of, names)),
            table(counted, (row for name in names for row in _counted(name))),
        ]
    )


def of_options(part: str) -> str:
    """A table of the options of one part.

    Args:
        part: Its kind and name, such as ``heads/span``.
    """
    fields = importlib.import_module(f"{readers.__name__}.{part.replace('/', '.')}").PART.Config.model_fields
    if not fields:
        return "It has no options."
    rows = (
        (f"`{name}`", f"`{shown(one.default)}`", _values(one), one.description or "") for name, one in fields.items()
    )
    return table(("option", "default", "values", "what it is"), rows)


def differing(name: str) -> dict[str, Any]:
    """Options whose values are not their part's own, with any of the reader's heads.

    Args:
        name: The reader's.
    """
    configs = [one for head in readers.heads_of(name) for one in assemble(name, head, {}).configs]
    return {
        option: value
        for config in configs
        for option, value in config.model_dump().items()
        if value != type(config).model_fields[option].default
    }


def _made_of(name: str) -> tuple[str, ...]:
    reader = registry.find(name)
    options = ", ".join(f"`{option}: {shown(value)}`" for option, value in differing(name).items())
    heads = ", ".join(f"`{head}`" for head in reader.heads)
    return f"`{name}`", f"`{reader.encoder}`", f"`{reader.interaction}`", heads, options


def _counted(name: str) -> Iterator[tuple[str, ...]]:
    for head in readers.heads_of(name):
        parts = _parameters(name, head)
        yield f"`{name}`", f"`{head}`", *(f"{count:,}" for count in (*parts, sum(parts)))


def _parameters(name: str, head: str) -> tuple[int, ...]:
    """What encoder, interaction and head learn, over MiniLM or word vectors as wide as its own; no memory is taken."""
    import torch
    from transformers import AutoConfig

    from coattend.readers.encoders.pretrained import EMBEDDED, encoder_folder
    from coattend.readers.encoders.words import Words
    from coattend.readers.reader import Reader

    minilm = AutoConfig.from_pretrained(str(encoder_folder(EMBEDDED)), trust_remote_code=False)
    recurrent = registry.encoder_of(name) == "recurrent"
    options = {"vectors": "random", "vector_width": minilm.hidden_size} if recurrent else {}
    with torch.device("meta"):
        made = Reader.build(
            name, encoder=Words(words=(), encoder=minilm) if recurrent else minilm, head=head, **options
        )
    learned = [(key, one.numel()) for key, one in made.named_parameters() if one.requires_grad]
    fixed = [(key, count) for key, count in learned if not (recurrent and key.startswith(GROWING))]
    return tuple(
        sum(count for key, count in fixed if key.startswith(f"{part}.")) for part in ("encoder", "interaction", "head")
    )


def _values(field: FieldInfo) -> str:
    """What an option may be."""
    kinds: Sequence[Any] = (field.annotation,)
    if get_origin(field.annotation) in (Union, UnionType):
        kinds = [one for one in get_args(field.annotation) if one is not type(None)]
    (kind,) = kinds
    if get_origin(kind) is Literal:
        return ", ".join(f"`{shown(one)}`" for one in get_args(kind))
    limits = [f"{sign} {getattr(one, key):g}" for one in field.metadata for key, sign in LIMITS if hasattr(one, key)]
    named = {bool: "`true`, `false`", int: "whole number", float: "number", str: "text"}[kind]
    return " ".join([named, " and ".join(limits)]).strip()
