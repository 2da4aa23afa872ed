"""Facts of the simulated world, and questions about them with options.

Without the passage all options of a question are equally good: they are sampled from values of one type. Some wrong
options come from outside, and some from the same passage, which states them of another key, or of the same key earlier:
to look for options that occur is a beginning, not the end.
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple, TypeVar

from coattend.data.synthetic.lexicon import Value
from coattend.data.synthetic.world import FACT_TYPES, FactType, fill

Answer = TypeVar("Answer", str, Value)

REVERSE_SHARE = 0.25
"""Share of questions that ask for the key."""
PARAPHRASE_SHARE = 0.4
"""Share of questions whose options are paraphrased."""
OUTSIDE_SHARE = 0.7
"""Share of wrong options that the passage does not name."""


class Choice(NamedTuple):
    """A question with options; ``label`` is the index of the right one."""

    question: str
    options: list[str]
    label: int


class Facts(NamedTuple):
    """Facts of one type and their statements.

    Attributes:
        fact_type: Their type.
        values: Key to its value at the end of the passage.
        superseded: The key that changed, if any, with its earlier value.
        lines: Sentences that state them.
        unused_values: Values that no line names.
        unused_keys: Keys that no line names.
    """

    fact_type: FactType
    values: dict[str, Value]
    superseded: dict[str, Value]
    lines: list[str]
    unused_values: list[Value]
    unused_keys: list[str]


def sample_facts(rng: Random, count: int, *, changes: float, hedges: Sequence[str] = ("",)) -> Facts:
    """Sample facts of one type; with the probability ``changes`` one of them changes."""
    fact_type = rng.choice(FACT_TYPES)
    sampled_keys = rng.sample(fact_type.keys, 2 * count)
    keys, unused_keys = sampled_keys[:count], sampled_keys[count:]
    # The first value is for the fact that may change.
    new_value, *sampled_values = rng.sample(fact_type.values, 2 * count)
    values = dict(zip(keys, sampled_values, strict=False))
    lines = [fill(rng.choice(hedges) + rng.choice(fact_type.statements), key, values[key]) for key in keys]
    superseded: dict[str, Value] = {}
    if rng.random() < changes:
        key = rng.choice(keys)
        superseded, values[key] = {key: values[key]}, new_value
        lines.append(fill(rng.choice(fact_type.corrections), key, new_value))
    return Facts(fact_type, values, superseded, lines, sampled_values[count:], unused_keys)


def choice_question(rng: Random, facts: Facts, key: str) -> Choice:
    """Ask about a fact, with as many options as there are facts."""
    fact_type, answer = facts.fact_type, facts.values[key]
    if not facts.superseded and rng.random() < REVERSE_SHARE:
        # A question for the key, whose options are keys.
        wrong_keys = _mix(rng, [wrong_key for wrong_key in facts.values if wrong_key != key], facts.unused_keys)
        question = fill(rng.choice(fact_type.reverse_questions), key, answer)
        return _shuffle(rng, question, [fill("{k}.", option, answer) for option in (key, *wrong_keys)])
    wrong = _wrong_values(rng, facts, key)
    paraphrased = fact_type.paraphrased_options and rng.random() < PARAPHRASE_SHARE
    template = rng.choice(fact_type.paraphrased_options if paraphrased else fact_type.options)
    question = fill(rng.choice(fact_type.questions), key, answer)
    return _shuffle(rng, question, [fill(template, key, value) for value in (answer, *wrong)])


def gap_question(rng: Random, facts: Facts, key: str, gap: str) -> Choice:
    """State a fact with a gap in place of its value, and as many options as there are facts."""
    answer = facts.values[key]
    template = rng.choice([statement for statement in facts.fact_type.statements if "{v}" in statement])
    question = fill(template, key, answer._replace(text=answer.text.removesuffix(answer.phrase) + gap))
    return _shuffle(rng, question, [value.phrase for value in (answer, *_wrong_values(rng, facts, key))])


def _wrong_values(rng: Random, facts: Facts, key: str) -> list[Value]:
    wrong = _mix(rng, [value for wrong_key, value in facts.values.items() if wrong_key != key], facts.unused_values)
    # The earlier value is an option, so that a reader has to notice the change.
    if key in facts.superseded:
        wrong[0] = facts.superseded[key]
    return wrong


def _mix(rng: Random, inside: list[Answer], outside: list[Answer]) -> list[Answer]:
    """Take each wrong answer from the passage or from outside."""
    rng.shuffle(inside)
    pairs = zip(inside, outside, strict=False)
    return [unnamed if rng.random() < OUTSIDE_SHARE else mentioned for mentioned, unnamed in pairs]


def _shuffle(rng: Random, question: str, options: list[str]) -> Choice:
    answer = options[0]
    rng.shuffle(options)
    return Choice(question, options, options.index(answer))
