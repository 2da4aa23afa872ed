"""Which readers can be built with which heads."""

from dataclasses import dataclass

from coattend.readers import registry
from coattend.readers.assembly import assemble


@dataclass(frozen=True)
class Capability:
    """Whether a reader, with its defaults, can be built with a head.

    Attributes:
        reader: The reader.
        head: The head.
        reason: Why not; None if it can.
    """

    reader: str
    head: str
    reason: str | None


def capabilities() -> list[Capability]:
    """Every reader with every one of its heads, from what their parts fill and need."""
    return [
        Capability(name, head, assemble(name, head, {}).misfit)
        for name in registry.names()
        for head in registry.heads_of(name)
    ]
