"""Dialogues, stories and cloze questions about the simulated world, as plain data in no file format.

``rng`` is the source of randomness; ``changes`` is the share of passages in which one of the facts changes.
"""

from random import Random
from typing import NamedTuple

from coattend.data.synthetic import lexicon, world
from coattend.data.synthetic.lexicon import Value
from coattend.data.synthetic.questions import REVERSE_SHARE, Choice, choice_question, gap_question, sample_facts
from coattend.data.synthetic.world import FACT_TYPES, FactType, fill, related_types, state

# Facts in a passage, and options of a question about it.
DIALOGUE_FACTS = 3
EXAM_FACTS = 4
SUMMARY_FACTS = 5
CLOZE_CANDIDATES = 10
"""Candidates of a cloze question; each has two of its twenty sentences."""
CLOZE_FACT_TYPES = {"NE": (world.JOB, world.PLAN, world.PURCHASE), "CN": (world.PLACE, world.OWNER)}
"""Types of facts whose keys are names, and common nouns."""


class Span(NamedTuple):
    """A question with its answers as (text, offset), the most exact first; none if the story has no answer."""

    question: str
    answers: list[tuple[str, int]]


class Cloze(NamedTuple):
    """Twenty sentences, and a query with a missing word."""

    sentences: list[str]
    query: str
    answer: str
    candidates: list[str]


def dialogue(rng: Random, *, changes: float) -> tuple[list[str], list[Choice]]:
    """Write the turns of a man and a woman about facts of one type, and two questions."""
    facts = sample_facts(rng, DIALOGUE_FACTS, changes=changes, hedges=lexicon.HEDGES)
    questions = [choice_question(rng, facts, key) for key in rng.sample(list(facts.values), 2)]
    return _turns(rng, facts.lines), questions


def _turns(rng: Random, lines: list[str]) -> list[str]:
    texts = [rng.choice(lexicon.OPENINGS)]
    texts += [f"{rng.choice(lexicon.REPLIES)} {line}" if rng.random() < 0.5 else line for line in lines]
    speakers = rng.choice(("MW", "WM"))
    return [f"{speakers[turn % 2]}: {text}" for turn, text in enumerate(texts)]


def exam(rng: Random, *, changes: float) -> tuple[str, list[Choice]]:
    """Write an article with two questions and a sentence to complete, with four options each; the gap is ``_``."""
    facts = sample_facts(rng, EXAM_FACTS, changes=changes)
    *question_keys, gap_key = rng.sample(list(facts.values), 3)
    choices = [choice_question(rng, facts, key) for key in question_keys]
    return _article(rng, facts.lines), [*choices, gap_question(rng, facts, gap_key, "_")]


def summary(rng: Random, *, changes: float) -> tuple[str, Choice]:
    """Write an article and a sentence about it with a gap ``@placeholder``, and five options."""
    facts = sample_facts(rng, SUMMARY_FACTS, changes=changes)
    choice = gap_question(rng, facts, rng.choice(list(facts.values)), "@placeholder")
    return _article(rng, facts.lines), choice


def _article(rng: Random, lines: list[str]) -> str:
    return " ".join([rng.choice(lexicon.SCENES), *lines])


def story(rng: Random, *, changes: float) -> tuple[str, list[Span]]:
    """Write a story with four facts of two types about three people, things or events.

    Returns:
        The story, two questions that it answers, and one that it does not.
    """
    fact_type = rng.choice(FACT_TYPES)
    related = rng.choice(related_types(fact_type))
    first, second, third, absent = rng.sample(fact_type.keys, 4)
    values, related_values = rng.sample(fact_type.values, 4), rng.sample(related.values, 3)
    facts = [
        (fact_type, first, values[0], fact_type.statements),
        (fact_type, second, values[1], fact_type.statements),
        (related, second, related_values[0], related.statements),
        (related, third, related_values[1], related.statements),
    ]
    rng.shuffle(facts)
    if rng.random() < changes:
        facts.append((fact_type, first, values[2], fact_type.corrections))
    text = rng.choice(lexicon.SCENES)
    # The last statement of a fact holds, with the offsets of its key and its value in the story.
    stated: dict[tuple[FactType, str], tuple[Value, int, int]] = {}
    for of_type, key, value, templates in facts:
        statement = state(rng.choice(templates), key, value)
        stated[of_type, key] = (value, len(text) + 1 + statement.key, len(text) + 1 + statement.value)
        text += " " + statement.text
    questions = [
        _answered_question(rng, text, of_type, key, *stated[of_type, key])
        for of_type, key in rng.sample(list(stated), 2)
    ]
    # The story says nothing of the absent key, and of these keys nothing of this type.
    unanswered = ((fact_type, third, values[3]), (related, first, related_values[2]), (fact_type, absent, values[3]))
    return text, [*questions, _unanswered_question(rng, *rng.choice(unanswered))]


def _answered_question(
    rng: Random, text: str, fact_type: FactType, key: str, value: Value, key_start: int, value_start: int
) -> Span:
    if rng.random() < REVERSE_SHARE:
        question = fill(rng.choice(fact_type.reverse_questions), key, value)
        return Span(question, [(text[key_start : key_start + len(key)], key_start)])
    phrase_start = value_start + len(value.text) - len(value.phrase)
    answers = {phrase_start: value.phrase, value_start: value.text}
    question = fill(rng.choice(fact_type.questions), key, value)
    return Span(question, [(text[start : start + len(answer)], start) for start, answer in answers.items()])


def _unanswered_question(rng: Random, fact_type: FactType, key: str, value: Value) -> Span:
    templates = fact_type.reverse_questions if rng.random() < REVERSE_SHARE else fact_type.questions
    return Span(fill(rng.choice(templates), key, value), [])


def cloze(rng: Random, subset: str) -> Cloze:
    """Write twenty sentences about ten people (``NE``) or things (``CN``), and a paraphrase of one with a gap."""
    fact_types = rng.sample(CLOZE_FACT_TYPES[subset], 2)
    keys = rng.sample(fact_types[0].keys, CLOZE_CANDIDATES)
    values = [(fact_type, rng.sample(fact_type.values, CLOZE_CANDIDATES)) for fact_type in fact_types]
    facts = [(fact_type, *fact) for fact_type, of_type in values for fact in zip(keys, of_type, strict=True)]
    rng.shuffle(facts)
    index = rng.randrange(len(facts))
    fact_type, key, value = facts[index]
    statement, paraphrase = rng.sample(fact_type.statements, 2)
    templates = [rng.choice(fact_type.statements) for fact_type, _, _ in facts]
    templates[index] = statement
    sentences = [fill(template, key, value) for template, (_, key, value) in zip(templates, facts, strict=True)]
    answer = key.removeprefix("the ")
    candidates = sorted(key.removeprefix("the ") for key in keys)
    return Cloze(sentences, fill(paraphrase, key.replace(answer, "XXXXX"), value), answer, candidates)
