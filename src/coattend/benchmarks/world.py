"""The simulated world of the sample: what can be said of people, things and events, and asked about them.

A fact joins a key (``the umbrella``) to a value (``in the kitchen``). Which value goes with which key is drawn by lot,
so nothing but the passage can tell; and values have a second wording, so that matching strings is not enough.
"""

from dataclasses import dataclass
from typing import NamedTuple

from coattend.benchmarks import vocabulary
from coattend.benchmarks.vocabulary import Value


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of fact, with its sentences: ``{k}`` is the key, ``{v}`` the value's text, ``{m}`` its meaning.

    Attributes:
        keys: What such facts are about.
        values: What can hold of them.
        told: Statements of a fact.
        changed: Statements that another value holds now.
        asked: Questions for the value.
        asked_back: Questions for the key.
        options: The value as an answer.
        options_meant: Its meaning as an answer; empty where the values have none.
    """

    keys: tuple[str, ...]
    values: tuple[Value, ...]
    told: tuple[str, ...]
    changed: tuple[str, ...]
    asked: tuple[str, ...]
    asked_back: tuple[str, ...]
    options: tuple[str, ...]
    options_meant: tuple[str, ...] = ()


PLACE = Kind(
    keys=vocabulary.THINGS,
    values=vocabulary.PLACES,
    told=("{k} is {v}.", "{k} was left {v}.", "you will find {k} {v}.", "they keep {k} {v}.", "somebody put {k} {v}."),
    changed=("no, {k} has been moved and is {v} now.", "but {k} was taken away later, and now it is {v}."),
    asked=("where is {k}?", "where can {k} be found?", "in which place is {k} now?"),
    asked_back=("what is {v}?", "what can be found {v}?"),
    options=("{v}.", "it is {v}.", "{k} is {v}."),
    options_meant=("{m}.", "it is {m}.", "{k} is {m}."),
)
OWNER = Kind(
    keys=vocabulary.THINGS,
    values=vocabulary.OWNERS,
    told=("{k} belongs to {v}.", "{v} owns {k}.", "{k} is a present for {v}.", "{v} has {k}.", "they gave {k} to {v}."),
    changed=("no, {k} was sold and belongs to {v} now.", "but {k} has changed hands, and now {v} has it."),
    asked=("who has {k}?", "whose is {k}?", "who is the owner of {k}?"),
    asked_back=("what does {v} have?", "what belongs to {v}?"),
    options=("{v}.", "{v} has it.", "{k} belongs to {v}."),
)
TIME = Kind(
    keys=vocabulary.EVENTS,
    values=vocabulary.TIMES,
    told=("{k} is {v}.", "{k} takes place {v}.", "{k} begins {v}.", "they want to hold {k} {v}.", "{k} will be {v}."),
    changed=("no, {k} was put off and is {v} now.", "but the date of {k} has changed, and now it is {v}."),
    asked=("when is {k}?", "when does {k} take place?", "what is the time of {k}?"),
    asked_back=("what is {v}?", "what takes place {v}?"),
    options=("{v}.", "it is {v}.", "{k} is {v}."),
)
VENUE = Kind(
    keys=vocabulary.EVENTS,
    values=vocabulary.PLACES,
    told=("{k} is {v}.", "{k} is held {v}.", "{k} takes place {v}.", "they meet for {k} {v}.", "{k} will be {v}."),
    changed=("no, {k} was moved and is {v} now.", "but there was no room for {k} there, and now it is {v}."),
    asked=("where is {k}?", "where does {k} take place?", "in which place is {k} held?"),
    asked_back=("what is {v}?", "what is held {v}?"),
    options=("{v}.", "it is {v}.", "{k} is {v}."),
    options_meant=("{m}.", "it is {m}.", "{k} is {m}."),
)
JOB = Kind(
    keys=vocabulary.PEOPLE,
    values=vocabulary.JOBS,
    told=(
        "{k} is {v}.",
        "{k} works as {v}.",
        "{k} has become {v}.",
        "{k} has a job as {v}.",
        "they hired {k} as {v}.",
    ),
    changed=("no, {k} gave that up and is {v} now.", "but that was long ago, and now {k} works as {v}."),
    asked=("what does {k} do for a living?", "what is the job of {k}?", "what kind of work does {k} do?"),
    asked_back=("who is {v}?", "who works as {v}?"),
    options=("{v}.", "{k} is {v}.", "{k} works as {v}."),
    options_meant=("{k} {m}.", "it is somebody who {m}."),
)
PLAN = Kind(
    keys=vocabulary.PEOPLE,
    values=vocabulary.PLANS,
    told=("{k} is going to {v}.", "{k} wants to {v}.", "{k} hopes to {v}.", "{k} has decided to {v}.", "{k} will {v}."),
    changed=("no, {k} has thought again and will {v}.", "but that has changed, and now {k} would rather {v}."),
    asked=("what is {k} planning to do?", "what is the plan of {k}?", "what does {k} intend to do?"),
    asked_back=("who intends to {v}?", "who is planning to {v}?"),
    options=("{v}.", "{k} plans to {v}.", "to {v}."),
    options_meant=("{m}.", "{k} plans to {m}.", "to {m}."),
)
PURCHASE = Kind(
    keys=vocabulary.PEOPLE,
    values=vocabulary.PURCHASES,
    told=("{k} bought {v}.", "{k} came home with {v}.", "{k} has got {v}.", "{k} was given {v}.", "{k} found {v}."),
    changed=("no, {k} took that back and got {v} instead.", "but {k} lost it again and bought {v}."),
    asked=("what does {k} have?", "what is it that {k} owns?", "which thing belongs to {k}?"),
    asked_back=("who has {v}?", "who owns {v}?"),
    options=("{v}.", "{k} has {v}.", "it is {v}."),
    options_meant=("{m}.", "{k} has {m}.", "it is {m}."),
)
KINDS = (PLACE, OWNER, TIME, VENUE, JOB, PLAN, PURCHASE)


def partners(kind: Kind) -> list[Kind]:
    """The other kinds of fact about the same keys."""
    return [other for other in KINDS if other.keys is kind.keys and other is not kind]


class Told(NamedTuple):
    """A sentence that tells a fact.

    Attributes:
        text: The sentence.
        key: Offset of the key in it.
        value: Offset of the value's text in it.
    """

    text: str
    key: int
    value: int


def tell(template: str, key: str, value: Value) -> Told:
    """Tell a fact with a template that has a place for its key and one for its value."""
    before_key, before_value = template.partition("{k}")[0], template.partition("{v}")[0]
    return Told(fill(template, key, value), len(fill(before_key, key, value)), len(fill(before_value, key, value)))


def fill(template: str, key: str, value: Value) -> str:
    """A template filled in, with a capital letter."""
    text = template.format(k=key, v=value.text, m=value.meaning)
    return text[:1].upper() + text[1:]
