"""What a reader sees of its passages: whether all of one, and whether an answer."""

import re

from coattend.training.examples import Example, is_in_sight
from coattend.training.tokens import Tokens

_REST_OF_WORD = re.compile(r"\S*")


def is_read_whole(example: Example, tokens: Tokens) -> bool:
    """Whether the windows of an example together reach to the end of its passage."""
    first, count = example.windows[-1]
    return first + count >= tokens.length(example.passage)


def has_place(example: Example) -> bool:
    """Whether the answer to an example stands at a place of its passage; that of options does not."""
    return bool(example.spans or example.candidates)


def holds_answer(example: Example, passage: str, tokens: Tokens) -> bool:
    """Whether what is read of a passage holds the answer, or the answer has no place.

    Args:
        example: The question.
        passage: The passage's text.
        tokens: Its tokens.
    """
    if example.spans:
        return is_in_sight(example, tokens)
    if not example.candidates:
        return True
    where, (first, count) = tokens.slice(example.passage), example.windows[0]
    last = int(tokens.ends[where][first + count - 1]) - 1
    # A word of which only some subwords are read is in sight, as it is in a batch; its first letters are no word.
    end = _REST_OF_WORD.match(passage, last).end()
    return example.candidates[example.label] in passage[:end].split()
