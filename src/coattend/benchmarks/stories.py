"""Dialogues, stories and cloze questions about the simulated world, as plain data in no file format."""

from random import Random
from typing import NamedTuple

from coattend.benchmarks import vocabulary
from coattend.benchmarks.choices import ASKED_BACK, Choice, choose, draw_facts, fill_in
from coattend.benchmarks.vocabulary import Value
from coattend.benchmarks.world import JOB, KINDS, OWNER, PLACE, PLAN, PURCHASE, Kind, fill, partners, tell

FACTS = 3
"""Facts in a dialogue, which is also the number of options of a question."""
EXAM_FACTS = 4
SUMMARY_FACTS = 5
"""Facts in an article, which is also the number of options of a question about it."""
PERSONS = 10
"""Candidates of a cloze question; each has two of its twenty sentences."""
CLOZE_KINDS = {"NE": (JOB, PLAN, PURCHASE), "CN": (PLACE, OWNER)}
"""What is told in cloze passages whose missing word is a name, or a common noun."""


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
    facts = draw_facts(rng, FACTS, changes=changes, hedges=vocabulary.HEDGES)
    questions = [choose(rng, facts, key) for key in rng.sample(list(facts.held), 2)]
    return _turns(rng, facts.lines), questions


def _turns(rng: Random, lines: list[str]) -> list[str]:
    said = [rng.choice(vocabulary.OPENINGS)]
    said += [f"{rng.choice(vocabulary.REPLIES)} {line}" if rng.random() < 0.5 else line for line in lines]
    speakers = rng.choice(("MW", "WM"))
    return [f"{speakers[turn % 2]}: {text}" for turn, text in enumerate(said)]


def exam(rng: Random, *, changes: float) -> tuple[str, list[Choice]]:
    """An article with two questions and a sentence to complete, with four options each; the gap is ``_``.

    Args:
        rng: Where chance comes from.
        changes: Share of articles in which one of the facts changes.
    """
    facts = draw_facts(rng, EXAM_FACTS, changes=changes)
    *asked, completed = rng.sample(list(facts.held), 3)
    choices = [choose(rng, facts, key) for key in asked]
    return _article(rng, facts.lines), [*choices, fill_in(rng, facts, completed, "_")]


def summary(rng: Random, *, changes: float) -> tuple[str, Choice]:
    """An article and a sentence about it with a gap ``@placeholder``, and five options.

    Args:
        rng: Where chance comes from.
        changes: Share of articles in which one of the facts changes.
    """
    facts = draw_facts(rng, SUMMARY_FACTS, changes=changes)
    choice = fill_in(rng, facts, rng.choice(list(facts.held)), "@placeholder")
    return _article(rng, facts.lines), choice


def _article(rng: Random, lines: list[str]) -> str:
    return " ".join([rng.choice(vocabulary.SCENES), *lines])


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
