"""A reader's architecture as a picture."""

from collections.abc import Iterator
from typing import Any

from coattend.readers import registry
from coattend.readers.assembly import Assembly, fitting, resolve
from coattend.readers.parts import Configs, PartConfig

_FEATURES = {
    "character_width": "character n-grams",
    "tag_embedding": "POS tags",
    "hidden_tag_embedding": "POS tags",
    "context": "context vectors",
}
"""Options of encoders that ask for more of a token than what it is."""


def architecture(name: str, head: str | None = None, **overrides: Any) -> str:
    """Draw a reader, from what its parts fill and need.

    Args:
        name: A name out of `coattend.readers.names`.
        head: None takes the reader's own.
        overrides: Options that differ from the reader's defaults.

    Returns:
        A Mermaid flowchart.

    Raises:
        CoattendError: If a name or a value is wrong, or the parts do not fit together.
    """
    parts = fitting(name, head, resolve(name, head, **overrides))
    return "\n".join(["flowchart TD", *(f"    {line}" for line in _lines(parts))])


def _lines(parts: Assembly) -> Iterator[str]:
    encoded = parts.configs.encoder.fills()
    task = registry.task_of(parts.head)
    yield f'tokens(["{_read(parts)}"]) --> encoder'
    for role, part, config in zip(Configs._fields, parts.classes, parts.configs, strict=True):
        yield f'{role}["{_label(part, config)}"]'
    yield f'answer(["{task}"])'
    # What an interaction passes on as it is comes from the encoder, through it.
    for stream in sorted(encoded & ({"passage", "question"} | parts.needed)):
        yield f"encoder -->|{stream}| interaction"
    for field in sorted(parts.needed):
        yield f"interaction -->|{field}| head"
    yield "head --> answer"


def _read(parts: Assembly) -> str:
    """What the encoder is given of a text."""
    config = parts.configs.encoder.model_dump()
    asked_for = [what for option, what in _FEATURES.items() if config.get(option)]
    tokens = "words" if registry.encoder_of(parts.reader) == "recurrent" else "subword tokens"
    return ", ".join(dict.fromkeys([tokens, *asked_for]))


def _label(part: type, config: PartConfig) -> str:
    options = config.model_dump(exclude_none=True).items()
    shown = (f"{name.replace('_', ' ')}: {_shown(value)}" for name, value in options)
    return "<br/>".join([_words(part.__name__), *shown])


def _words(name: str) -> str:
    return "".join(f" {letter}" if letter.isupper() else letter for letter in name).strip()


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
