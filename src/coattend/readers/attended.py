"""What the parts of a reader hand to each other."""

from dataclasses import dataclass, field

from torch import Tensor


@dataclass(kw_only=True)
class Encoded:
    """What an encoder hands to an interaction. Values at padding are arbitrary but finite.

    Attributes:
        passage: Vectors of the passage domain [S, P, H]: CLS, passage, first SEP.
        question: Vectors of the question domain [S, Q, H]: question, option, last SEP.
        passage_mask: True at real tokens [S, P].
        question_mask: True at real tokens [S, Q].
        question_words: What a recurrent encoder's layer reads of the question domain [S, Q, D], word vectors with their
            features; None from a transformer, whose words are read nowhere apart.
        option_mask: True at the question domain's tokens that are the option [S, Q]; None where nobody told.
        question_state: One vector of the question domain [S, H]: the last states of a recurrent encoder, or the mean of
            a transformer's; None where nobody told.
        blank_mask: True at the question domain's tokens that are its blank [S, Q]; all False where it has none, None
            where nobody told.
        summary: One vector of the whole sequence [S, H], if a head asked for it.
    """

    passage: Tensor
    question: Tensor
    passage_mask: Tensor
    question_mask: Tensor
    question_state: Tensor | None = None
    question_words: Tensor | None = None
    option_mask: Tensor | None = None
    blank_mask: Tensor | None = None
    summary: Tensor | None = None


@dataclass(kw_only=True)
class Attended:
    """What an interaction hands to a head. A field that it does not fill is None.

    Attributes:
        passage: Attended vectors of the passage domain [S, P, H].
        question: Attended vectors of the question domain [S, Q, H].
        passage_mask: True at real tokens [S, P].
        question_mask: True at real tokens [S, Q].
        option: Vectors of the option alone, where an interaction keeps it apart.
        token_mass: Probability of each passage token [S, P].
        summary: One vector of the whole sequence [S, H].
        maps: What there is to look at, by name, such as the scores of each turn [S, T, P]; filled only where the
            interaction's ``keep_maps`` is true.
    """

    passage: Tensor | None
    question: Tensor | None
    passage_mask: Tensor
    question_mask: Tensor
    option: Tensor | None = None
    token_mass: Tensor | None = None
    summary: Tensor | None = None
    maps: dict[str, Tensor] = field(default_factory=dict)
