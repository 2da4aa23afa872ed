"""The simulated world of the sample: types of facts, with their statements, questions and options.

A fact joins a key (``the umbrella``) to a value (``in the kitchen``). Keys and values are paired at random, so that
only the passage can tell; and values have a paraphrase, so that matching strings is not enough.
"""

from dataclasses import dataclass
from typing import NamedTuple

from coattend.data.synthetic import lexicon
from coattend.data.synthetic.lexicon import Value


@dataclass(frozen=True, eq=False)
class FactType:
    """A type of fact, with its sentences: ``{k}`` is the key, ``{v}`` the value's text, ``{m}`` its meaning.

    Attributes:
        keys: Subjects of such facts.
        values: Possible values.
        statements: Statements of a fact.
        corrections: Statements that the value has changed.
        questions: Questions for the value.
        reverse_questions: Questions for the key.
        options: The value as an answer.
        paraphrased_options: Its meaning as an answer; empty if the values have none.
    """

    keys: tuple[str, ...]
    values: tuple[Value, ...]
    statements: tuple[str, ...]
    corrections: tuple[str, ...]
    questions: tuple[str, ...]
    reverse_questions: tuple[str, ...]
    options: tuple[str, ...]
    paraphrased_options: tuple[str, ...] = ()


def _templates(text: str) -> tuple[str, ...]:
    return tuple(text.split(" / "))


PLACE = FactType(
    keys=lexicon.THINGS,
    values=lexicon.PLACES,
    statements=_templates(
        "{k} is {v}. / {k} was left {v}. / you will find {k} {v}. / they keep {k} {v}. / somebody put {k} {v}."
    ),
    corrections=_templates("no, {k} has been moved and is {v} now. / but {k} was taken away later, and now it is {v}."),
    questions=_templates("where is {k}? / where can {k} be found? / in which place is {k} now?"),
    reverse_questions=_templates("what is {v}? / what can be found {v}?"),
    options=_templates("{v}. / it is {v}. / {k} is {v}."),
    paraphrased_options=_templates("{m}. / it is {m}. / {k} is {m}."),
)
OWNER = FactType(
    keys=lexicon.THINGS,
    values=lexicon.OWNERS,
    statements=_templates(
        "{k} belongs to {v}. / {v} owns {k}. / {k} is a present for {v}. / {v} has {k}. / they gave {k} to {v}."
    ),
    corrections=_templates("no, {k} was sold and belongs to {v} now. / but {k} has changed hands, and now {v} has it."),
    questions=_templates("who has {k}? / whose is {k}? / who is the owner of {k}?"),
    reverse_questions=_templates("what does {v} have? / what belongs to {v}?"),
    options=_templates("{v}. / {v} has it. / {k} belongs to {v}."),
)
TIME = FactType(
    keys=lexicon.EVENTS,
    values=lexicon.TIMES,
    statements=_templates(
        "{k} is {v}. / {k} takes place {v}. / {k} begins {v}. / they want to hold {k} {v}. / {k} will be {v}."
    ),
    corrections=_templates("no, {k} was put off and is {v} now. / but the date of {k} has changed, and now it is {v}."),
    questions=_templates("when is {k}? / when does {k} take place? / what is the time of {k}?"),
    reverse_questions=_templates("what is {v}? / what takes place {v}?"),
    options=_templates("{v}. / it is {v}. / {k} is {v}."),
)
VENUE = FactType(
    keys=lexicon.EVENTS,
    values=lexicon.PLACES,
    statements=_templates(
        "{k} is {v}. / {k} is held {v}. / {k} takes place {v}. / they meet for {k} {v}. / {k} will be {v}."
    ),
    corrections=_templates(
        "no, {k} was moved and is {v} now. / but there was no room for {k} there, and now it is {v}."
    ),
    questions=_templates("where is {k}? / where does {k} take place? / in which place is {k} held?"),
    reverse_questions=_templates("what is {v}? / what is held {v}?"),
    options=_templates("{v}. / it is {v}. / {k} is {v}."),
    paraphrased_options=_templates("{m}. / it is {m}. / {k} is {m}."),
)
JOB = FactType(
    keys=lexicon.PEOPLE,
    values=lexicon.JOBS,
    statements=_templates(
        "{k} is {v}. / {k} works as {v}. / {k} has become {v}. / {k} has a job as {v}. / they hired {k} as {v}."
    ),
    corrections=_templates("no, {k} gave that up and is {v} now. / but that was long ago, and now {k} works as {v}."),
    questions=_templates("what does {k} do for a living? / what is the job of {k}? / what kind of work does {k} do?"),
    reverse_questions=_templates("who is {v}? / who works as {v}?"),
    options=_templates("{v}. / {k} is {v}. / {k} works as {v}."),
    paraphrased_options=_templates("{k} {m}. / it is somebody who {m}."),
)
PLAN = FactType(
    keys=lexicon.PEOPLE,
    values=lexicon.PLANS,
    statements=_templates(
        "{k} is going to {v}. / {k} wants to {v}. / {k} hopes to {v}. / {k} has decided to {v}. / {k} will {v}."
    ),
    corrections=_templates(
        "no, {k} has thought again and will {v}. / but that has changed, and now {k} would rather {v}."
    ),
    questions=_templates("what is {k} planning to do? / what is the plan of {k}? / what does {k} intend to do?"),
    reverse_questions=_templates("who intends to {v}? / who is planning to {v}?"),
    options=_templates("{v}. / {k} plans to {v}. / to {v}."),
    paraphrased_options=_templates("{m}. / {k} plans to {m}. / to {m}."),
)
PURCHASE = FactType(
    keys=lexicon.PEOPLE,
    values=lexicon.PURCHASES,
    statements=_templates(
        "{k} bought {v}. / {k} came home with {v}. / {k} has got {v}. / {k} was given {v}. / {k} found {v}."
    ),
    corrections=_templates("no, {k} took that back and got {v} instead. / but {k} lost it again and bought {v}."),
    questions=_templates("what does {k} have? / what is it that {k} owns? / which thing belongs to {k}?"),
    reverse_questions=_templates("who has {v}? / who owns {v}?"),
    options=_templates("{v}. / {k} has {v}. / it is {v}."),
    paraphrased_options=_templates("{m}. / {k} has {m}. / it is {m}."),
)
FACT_TYPES = (PLACE, OWNER, TIME, VENUE, JOB, PLAN, PURCHASE)


def related_types(fact_type: FactType) -> list[FactType]:
    """Return the other types of facts about the same keys."""
    return [related for related in FACT_TYPES if related.keys is fact_type.keys and related is not fact_type]


class Statement(NamedTuple):
    """A sentence that states a fact.

    Attributes:
        text: The sentence.
        key: Offset of the key in it.
        value: Offset of the value's text in it.
    """

    text: str
    key: int
    value: int


def state(template: str, key: str, value: Value) -> Statement:
    """State a fact with a template that has one slot for its key and one for its value."""
    before_key, before_value = template.partition("{k}")[0], template.partition("{v}")[0]
    return Statement(fill(template, key, value), len(fill(before_key, key, value)), len(fill(before_value, key, value)))


def fill(template: str, key: str, value: Value) -> str:
    """Fill in a template, and capitalize its first letter."""
    text = template.format(k=key, v=value.text, m=value.meaning)
    return text[:1].upper() + text[1:]
