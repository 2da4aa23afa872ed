"""How a question and an option become text: filled into its blank, or one after the other."""

import re
from collections.abc import Sequence

BLANK = re.compile(r"@placeholder|(?<!_)_(?!_)|_{2,}")


def is_cloze(question: str) -> bool:
    """Whether a question has a blank that an option can fill."""
    return BLANK.search(question) is not None


def fill(question: str, option: str) -> str:
    """The question with its first blank replaced by an option; one text, tagged and tokenised whole."""
    return BLANK.sub(lambda _: option, question, count=1)


def question_domains(
    task: str, question: str, options: Sequence[str] | None, *, fill_blanks: bool, words_as_options: bool
) -> list[list[str]]:
    """The texts that stand in the question domain of each of a question's sequences, in order.

    Args:
        task: What the question asks for: ``options``, ``span`` or ``word``.
        question: The question, with or without a blank.
        options: What can be chosen, if anything.
        fill_blanks: Whether an option fills the question's blank, if it has one, or stands behind the question.
        words_as_options: Whether the candidates for a word are read like options, each filled into the blank.

    Returns:
        For each option the filled question, or the question and then the option; once the question alone, where the
        answer is looked for in the passage.
    """
    if task == "span" or (task == "word" and not words_as_options):
        return [[question]]
    filled = is_cloze(question) and (fill_blanks or task == "word")
    return [[fill(question, option)] if filled else [question, option] for option in options or ()]
