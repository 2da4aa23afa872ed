"""Questions with options of which a part only is read, to see what reading the rest adds."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from coattend.errors import CoattendError
from coattend.parameters.training import Reads
from coattend.training.examples import Example
from coattend.training.records import Records
from coattend.training.tokens import Tokens


def read_in_part(examples: Sequence[Example], tokens: Tokens, reads: Reads) -> tuple[Sequence[Example], Tokens]:
    """Take away what is not to be read.

    Args:
        examples: Questions with options.
        tokens: Their tokens.
        reads: What is read. Without its passage a question keeps the first token of it, since there must be something
            to attend to; a shuffled passage has its tokens in an order by lot, the same wherever it stands. An option
            that fills the question's blank is one text with it, and stays whole without the question.

    Returns:
        The examples as they are read, and their tokens.

    Raises:
        CoattendError: If the questions have no options.
    """
    if reads == "all":
        return examples, tokens
    if any(example.spans or example.candidates for example in examples):
        problem = f"{reads!r} is for questions with options"
        raise CoattendError(problem, where="training.reads", cure="Set it to all")
    if reads == "shuffled_passage":
        return examples, _shuffled(tokens, {example.passage for example in examples})
    read: Iterable[Example] = examples
    if reads in ("no_passage", "options_only"):
        read = (replace(one, windows=((0, 1),) * len(one.windows)) for one in read)
    if reads in ("no_question", "options_only"):
        read = (_without_question(one, tokens) for one in read)
    return Records.of(Example, read), tokens


def _without_question(example: Example, tokens: Tokens) -> Example:
    sequences = tuple(texts[-1:] for texts in example.sequences)
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
