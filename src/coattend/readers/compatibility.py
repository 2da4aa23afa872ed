"""The matrix of all encoders, interactions and heads: which of them make a reader together."""

from dataclasses import dataclass, field

from coattend.readers import registry
from coattend.readers.composition import Options, compose, fitting_changes


@dataclass(frozen=True)
class Capability:
    """One combination of an encoder, an interaction and a head, and whether they make a reader.

    Attributes:
        encoder: Module of ``readers/encoders``.
        interaction: Module of ``readers/interactions``.
        head: Module of ``readers/heads``.
        task: The task that the head answers.
        reason: Reason why they do not fit together; None if they do.
        options: Options that have to be set for them to fit; empty if the defaults do.
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


def capabilities() -> list[Capability]:
    """Combine every encoder with every interaction and every head, from the fields that they fill and need."""
    return [
        _capability(encoder, interaction, head)
        for encoder in registry.encoders()
        for interaction in registry.interactions()
        for head in registry.heads()
    ]


def _capability(encoder: str, interaction: str, head: str) -> Capability:
    composition = compose(f"{encoder}{registry.JOIN}{interaction}", head, {})
    task = registry.task_of(head)
    if composition.misfit is None:
        return Capability(encoder, interaction, head, task, None)
    # Another head is another row of the matrix; an option that has to be set makes this row fit.
    settings = [{option: value} for option, value in fitting_changes(composition) if option != "head"]
    if settings:
        return Capability(encoder, interaction, head, task, None, dict(settings[-1]))
    return Capability(encoder, interaction, head, task, composition.misfit)
