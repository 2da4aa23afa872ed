"""Which parts make a reader together."""

from dataclasses import dataclass, field
from typing import Any

from coattend.readers import registry
from coattend.readers.assembly import alternatives, assemble


@dataclass(frozen=True)
class Capability:
    """Whether an encoder, an interaction and a head make a reader.

    Attributes:
        encoder: Module of ``readers/encoders``.
        interaction: Module of ``readers/interactions``.
        head: Module of ``readers/heads``.
        task: What the head answers.
        reason: Why they do not; None if they do.
        options: What has to be set for it; empty where the defaults do.
    """

    encoder: str
    interaction: str
    head: str
    task: str
    reason: str | None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def reader(self) -> str:
        """The name by which `coattend.readers.build` makes it."""
        return f"{self.encoder}{registry.JOIN}{self.interaction}"


def capabilities() -> list[Capability]:
    """Every encoder with every interaction and every head, from what they fill and need."""
    return [
        _capability(encoder, interaction, head)
        for encoder in registry.encoders()
        for interaction in registry.interactions()
        for head in registry.heads()
    ]


def _capability(encoder: str, interaction: str, head: str) -> Capability:
    parts = assemble(f"{encoder}{registry.JOIN}{interaction}", head, {})
    task = registry.task_of(head)
    if parts.misfit is None:
        return Capability(encoder, interaction, head, task, None)
    would_fit = [{option: value} for option, value in alternatives(parts) if option != "head"]
    reason = None if would_fit else parts.misfit
    return Capability(encoder, interaction, head, task, reason, would_fit[-1] if would_fit else {})
