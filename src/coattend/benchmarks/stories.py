"""Dialogues, stories and cloze questions about the simulated world, as plain data in no file format.

To somebody who has not read the passage, all options of a question are equally good: they are drawn by lot from
values of one kind. Of the wrong ones some come from outside, and some from the same passage, which gives them to
something else or gave them to the same thing earlier: to look for options that occur is a beginning, not the end.
"""

from random import Random
from typing import Any, NamedTuple

from coattend.benchmarks import vocabulary
from coattend.benchmarks.vocabulary import Value
from coattend.benchmarks.world import JOB, KINDS, OWNER, PLACE, PLAN, PURCHASE, Kind, fill, partners, tell

FACTS = 3
"""Facts in a dialogue, which is also the number of options of a question."""
PERSONS = 10
"""Candidates of a cloze question; each has two of its twenty sentences."""
CLOZE_KINDS = {"NE": (JOB, PLAN, PURCHASE), "CN": (PLACE, OWNER)}
"""What is told in cloze passages whose missing word is a name, or a common noun."""
ASKED_BACK = 0.25
MEANT = 0.4
FROM_OUTSIDE = 0.7
"""Share of wrong options that the passage does not name."""


class Choice(NamedTuple):
    """A question with options; ``label`` is the right one's index."""

    question: str
    options: list[str]
    label: int


class Span(NamedTuple):
    """A question with its answers as (text, offset), the most exact first; none if the story does not tell."""

    question: str
    answers: list[tuple[str, int]]


class Cloze(NamedTuple):
    """Twenty sentences, and a query in which a word is missing."""

    sentences: list[str]
    query: str
    answer: str
    candidates: list[str]


def dialogue(rng: Random, *, changes: float) -> tuple[list[str], list[Choice]]:
    """A dialogue of a man and a woman about facts of one kind.

    Args:
        rng: Where chance comes from.
        changes: Share of dialogues in which one of the facts changes.

    Returns:
        The turns, and two questions.
    """
    kind = rng.choice(KINDS)
    drawn = rng.sample(kind.keys, 2 * FACTS)
    keys, strangers = drawn[:FACTS], drawn[FACTS:]
    later, *values = rng.sample(kind.values, 2 * FACTS)
    facts = dict(zip(keys, values, strict=False))
    outside = values[FACTS:]
    lines = [fill(rng.choice(vocabulary.HEDGES) + rng.choice(kind.told), key, facts[key]) for key in keys]
    earlier: dict[str, Value] = {}
    if rng.random() < changes:
        key = rng.choice(keys)
        earlier, facts[key] = {key: facts[key]}, later
        lines.append(fill(rng.choice(kind.changed), key, later))
    questions = [_choice(rng, kind, key, facts, earlier, outside, strangers) for key in rng.sample(keys, 2)]
    return _turns(rng, lines), questions


def _turns(rng: Random, lines: list[str]) -> list[str]:
    said = [rng.choice(vocabulary.OPENINGS)]
    said += [f"{rng.choice(vocabulary.REPLIES)} {line}" if rng.random() < 0.5 else line for line in lines]
    speakers = rng.choice(("MW", "WM"))
    return [f"{speakers[turn % 2]}: {text}" for turn, text in enumerate(said)]


def _choice(
    rng: Random,
    kind: Kind,
    key: str,
    facts: dict[str, Value],
    earlier: dict[str, Value],
    outside: list[Value],
    strangers: list[str],
) -> Choice:
    right = facts[key]
    if not earlier and rng.random() < ASKED_BACK:
        others = _mixed(rng, [other for other in facts if other != key], strangers)
        question = fill(rng.choice(kind.asked_back), key, right)
        return _shuffled(rng, question, [fill("{k}.", answer, right) for answer in (key, *others)])
    wrong = _mixed(rng, [value for other, value in facts.items() if other != key], outside)
    if key in earlier:  # A reader has to notice the change.
        wrong[0] = earlier[key]
    meant = kind.options_meant and rng.random() < MEANT
    option = rng.choice(kind.options_meant if meant else kind.options)
    return _shuffled(rng, fill(rng.choice(kind.asked), key, right), [fill(option, key, v) for v in (right, *wrong)])


def _mixed(rng: Random, inside: list[Any], outside: list[Any]) -> list[Any]:
    """Wrong answers, each from the passage or from outside."""
    rng.shuffle(inside)
    pairs = zip(inside[: FACTS - 1], outside, strict=False)
    return [stranger if rng.random() < FROM_OUTSIDE else familiar for familiar, stranger in pairs]


def _shuffled(rng: Random, question: str, options: list[str]) -> Choice:
    right = options[0]
    rng.shuffle(options)
    return Choice(question, options, options.index(right))


def story(rng: Random, *, changes: float) -> tuple[str, list[Span]]:
    """A story with four facts of two kinds about three people, things or events.

    Args:
        rng: Where chance comes from.
        changes: Share of stories in which one of the facts changes.

    Returns:
        The story, two questions that it answers, and one that it does not.
    """
    kind = rng.choice(KINDS)
    other = rng.choice(partners(kind))
    first, second, third, absent = rng.sample(kind.keys, 4)
    values, others = rng.sample(kind.values, 4), rng.sample(other.values, 3)
    facts = [
        (kind, first, values[0], kind.told),
        (kind, second, values[1], kind.told),
        (other, second, others[0], other.told),
        (other, third, others[1], other.told),
    ]
    rng.shuffle(facts)
    if rng.random() < changes:
        facts.append((kind, first, values[2], kind.changed))
    text = rng.choice(vocabulary.SCENES)
    spans = {}
    for fact_kind, key, value, templates in facts:
        told = tell(rng.choice(templates), key, value)
        spans[fact_kind, key] = (value, len(text) + 1 + told.key, len(text) + 1 + told.value)
        text += " " + told.text
    questions = [_answered(rng, *fact, *spans[fact], text=text) for fact in rng.sample(list(spans), 2)]
    unanswered = rng.choice(((kind, third, values[3]), (other, first, others[2]), (kind, absent, values[3])))
    return text, [*questions, _unanswered(rng, *unanswered)]


def _answered(rng: Random, kind: Kind, key: str, value: Value, key_at: int, value_at: int, *, text: str) -> Span:
    if rng.random() < ASKED_BACK:
        return Span(fill(rng.choice(kind.asked_back), key, value), [(text[key_at : key_at + len(key)], key_at)])
    phrase_at = value_at + len(value.text) - len(value.phrase)
    answers = {phrase_at: value.phrase, value_at: value.text}
    question = fill(rng.choice(kind.asked), key, value)
    return Span(question, [(text[at : at + len(answer)], at) for at, answer in answers.items()])


def _unanswered(rng: Random, kind: Kind, key: str, value: Value) -> Span:
    asked = kind.asked_back if rng.random() < ASKED_BACK else kind.asked
    return Span(fill(rng.choice(asked), key, value), [])


def cloze(rng: Random, subset: str) -> Cloze:
    """Twenty sentences about ten people or things, and one of them told again with a gap.

    Args:
        rng: Where chance comes from.
        subset: ``NE`` (a name is missing) or ``CN`` (a common noun is).
    """
    kinds = rng.sample(CLOZE_KINDS[subset], 2)
    keys = rng.sample(kinds[0].keys, PERSONS)
    values = {kind: rng.sample(kind.values, PERSONS) for kind in kinds}
    facts = [(kind, key, value) for kind in kinds for key, value in zip(keys, values[kind], strict=True)]
    rng.shuffle(facts)
    asked = rng.randrange(len(facts))
    kind, key, value = facts[asked]
    told, again = rng.sample(kind.told, 2)
    templates = [rng.choice(kind.told) for kind, _, _ in facts]
    templates[asked] = told
    sentences = [fill(template, key, value) for template, (_, key, value) in zip(templates, facts, strict=True)]
    missing = key.removeprefix("the ")
    candidates = sorted(name.removeprefix("the ") for name in keys)
    return Cloze(sentences, fill(again, key.replace(missing, "XXXXX"), value), missing, candidates)
