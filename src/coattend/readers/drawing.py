"""A reader's architecture as a Mermaid flowchart."""

from collections.abc import Iterator
from typing import Any

from coattend.readers import registry
from coattend.readers.composition import Composition, Configs, compose_fitting, resolve
from coattend.readers.interfaces import PartConfig

_FEATURES = {
    "character_width": "character n-grams",
    "tag_embedding": "POS tags",
    "hidden_tag_embedding": "POS tags",
    "context": "context vectors",
}
"""Options of encoders that add features to a token."""


def architecture(name: str, head: str | None = None, **overrides: Any) -> str:
    """Draw a reader as a Mermaid flowchart, from the fields that its parts fill and need.

    Raises:
        CoattendError: If a name or a value is wrong, or the parts do not fit together.
    """
    composition = compose_fitting(name, head, resolve(name, head, **overrides))
    return "\n".join(["flowchart TD", *(f"    {line}" for line in _lines(composition))])


def _lines(composition: Composition) -> Iterator[str]:
    encoder_fields = composition.configs.encoder.provides()
    task = registry.task_of(composition.head)
    # Nodes: tokens, the three parts with their options, and the answer.
    yield f'tokens(["{_input_label(composition)}"]) --> encoder'
    for role, part, config in zip(Configs._fields, composition.classes, composition.configs, strict=True):
        yield f'{role}["{_part_label(part, config)}"]'
    yield f'answer(["{task}"])'
    # Edges: fields that an interaction passes on unchanged come from the encoder, through it.
    for field in sorted(encoder_fields & ({"passage", "question"} | composition.required_fields)):
        yield f"encoder -->|{field}| interaction"
    for field in sorted(composition.required_fields):
        yield f"interaction -->|{field}| head"
    yield "head --> answer"


def _input_label(composition: Composition) -> str:
    """List the features that the encoder reads."""
    options = composition.configs.encoder.model_dump()
    features = [feature for option, feature in _FEATURES.items() if options.get(option)]
    tokens = "words" if registry.encoder_of(composition.reader) == "recurrent" else "subword tokens"
    return ", ".join(dict.fromkeys([tokens, *features]))


def _part_label(part: type, config: PartConfig) -> str:
    options = config.model_dump(exclude_none=True).items()
    lines = (f"{name.replace('_', ' ')}: {_format(value)}" for name, value in options)
    return "<br/>".join([_spaced(part.__name__), *lines])


def _spaced(class_name: str) -> str:
    return "".join(f" {letter}" if letter.isupper() else letter for letter in class_name).strip()


def _format(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
