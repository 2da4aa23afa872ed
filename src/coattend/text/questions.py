"""How a question and an option become text: filled into its blank, or one after the other."""

import re

BLANK = re.compile(r"@placeholder|(?<!_)_(?!_)|_{2,}")


def is_cloze(question: str) -> bool:
    """Whether a question has a blank that an option can fill."""
    return BLANK.search(question) is not None


def fill(question: str, option: str) -> str:
    """The question with its first blank replaced by an option; one text, tagged and tokenised whole."""
    return BLANK.sub(lambda _: option, question, count=1)


def question_texts(question: str, option: str | None) -> list[str]:
    """The texts that stand in a sequence's question domain, in order.

    Args:
        question: The question, with or without a blank.
        option: An answer option; None where the answer is looked for in the passage.

    Returns:
        The question alone, the filled question, or the question and then the option.
    """
    if option is None:
        return [question]
    return [fill(question, option)] if is_cloze(question) else [question, option]
