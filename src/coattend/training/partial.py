"""Questions with options of which a part only is read, to see what reading the rest adds."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from coattend.errors import CoattendError
from coattend.parameters.training import Reads
from coattend.training.examples import Example
from coattend.training.tokens import Tokens


def read_in_part(examples: Sequence[Example], tokens: Tokens, reads: Reads) -> tuple[list[Example], Tokens]:
    """Take away what is not to be read.

    Args:
        examples: Questions with options.
        tokens: Their tokens.
        reads: What is read. Without its passage a question keeps the first token of it, since there must be something
            to attend to; a shuffled passage has its tokens in an order by lot, the same wherever it stands.

    Returns:
        The examples as they are read, and their tokens.

    Raises:
        CoattendError: If the questions have no options, or no question apart from them.
    """
    if reads == "all":
        return list(examples), tokens
    if any(example.spans or example.candidates for example in examples):
        raise _refused(f"{reads!r} is for questions with options")
    if reads == "shuffled_passage":
        return list(examples), _shuffled(tokens, {example.passage for example in examples})
    if reads in ("no_passage", "options_only"):
        examples = [replace(one, windows=((0, 1),) * len(one.windows)) for one in examples]
    if reads in ("no_question", "options_only"):
        examples = [_without_question(one, tokens) for one in examples]
    return list(examples), tokens


def _without_question(example: Example, tokens: Tokens) -> Example:
    if any(len(texts) < 2 for texts in example.sequences):
        raise _refused("a question that is one text with its option cannot be left out")
    sequences = tuple(texts[1:] for texts in example.sequences)
    lengths = tuple(sum(tokens.length(row) for row in texts) for texts in sequences)
    return replace(example, sequences=sequences, lengths=lengths)


def _shuffled(tokens: Tokens, passages: set[int]) -> Tokens:
    ids, tags = tokens.input_ids.copy(), tokens.tag_ids.copy()
    for name, row in tokens.rows.items():
        if row in passages:
            where = tokens.slice(row)
            order = np.random.default_rng(int(name[:16], 16)).permutation(where.stop - where.start)
            ids[where], tags[where] = ids[where][order], tags[where][order]
    return replace(tokens, input_ids=ids, tag_ids=tags)


def _refused(problem: str) -> CoattendError:
    return CoattendError(problem, where="training.reads", cure="Set it to all")
