"""Prompts: a question about a passage as the text that a language model goes on from, and its options as what follows.

A question with options becomes ::

    Passage: <passage>

    Question: <question>
    Answer: <option>

and one whose options fill its blank becomes the sentence itself, ``Statement: <before> <option> <after>``. What is
scored begins behind ``Answer:`` or at the blank. If options are answered by letter, they are listed above ``Answer:``,
which a letter follows. Examples with their right answers may come before, in the same form.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Literal

AnswerBy = Literal["text", "letter"]
SEPARATOR = "\n\n"
"""Between passage and question, and between examples."""


@dataclass(frozen=True)
class Inquiry:
    """A question as a prompt is written of it.

    Attributes:
        passage: None: the question is put without its passage.
        blank: Start and end of the blank that an option fills; None: options follow the question.
    """

    passage: str | None
    question: str
    options: tuple[str, ...]
    blank: tuple[int, int] | None = None


@dataclass(frozen=True)
class Prompt:
    """A text, and what may follow it, each with the space before it."""

    context: str
    continuations: tuple[str, ...]

    @property
    def tail(self) -> str:
        """The last line of the context: tokens of what follows do not depend on lines before it."""
        return self.context.rpartition("\n")[2]

    @property
    def characters(self) -> tuple[int, ...]:
        """The number of characters of each continuation, without the space before it."""
        return tuple(len(text.removeprefix(" ")) for text in self.continuations)

    def behind(self, examples: str) -> "Prompt":
        """Put a text before the context."""
        return replace(self, context=examples + self.context)


def write_prompt(inquiry: Inquiry, answer_by: AnswerBy = "text") -> Prompt:
    """Write the prompt of a question, with a continuation for each option.

    Raises:
        ValueError: If there are more options than letters.
    """
    passage = "" if inquiry.passage is None else f"Passage: {inquiry.passage.strip()}{SEPARATOR}"
    if answer_by == "letter":
        if len(inquiry.options) > len(ascii_uppercase):
            raise ValueError(f"has {len(inquiry.options)} options, and there are {len(ascii_uppercase)} letters")
        letters = ascii_uppercase[: len(inquiry.options)]
        listed = "".join(
            f"{letter}. {option.strip()}\n" for letter, option in zip(letters, inquiry.options, strict=True)
        )
        context = f"{passage}Question: {inquiry.question.strip()}\n{listed}Answer:"
        return Prompt(context, tuple(f" {letter}" for letter in letters))
    if inquiry.blank is None:
        context = f"{passage}Question: {inquiry.question.strip()}\nAnswer:"
        return Prompt(context, tuple(f" {option.strip()}" for option in inquiry.options))
    start, end = inquiry.blank
    before = f"{passage}Statement: {inquiry.question[:start].lstrip()}"
    # Tokens of words begin with the space before them, which therefore belongs to the option.
    context = before.rstrip()
    space, after = before[len(context) :], inquiry.question[end:].rstrip()
    return Prompt(context, tuple(f"{space}{option.strip()}{after}" for option in inquiry.options))


def write_examples(examples: Sequence[tuple[Prompt, int]]) -> str:
    """Write prompts with the numbers of their right options as the text before another prompt."""
    return "".join(f"{prompt.context}{prompt.continuations[label]}{SEPARATOR}" for prompt, label in examples)
