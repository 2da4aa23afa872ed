"""The attention of the AS Reader: every passage token is compared with the question as a whole."""

from collections.abc import Set

from torch import nn

from coattend.readers.attended import Attended, Encoded
from coattend.readers.interactions.pairwise import pointed, weighed
from coattend.readers.needed import needed
from coattend.readers.parts import EncoderShape, InteractionConfig


class AttentionSum(nn.Module):
    """s_i = softmax_i(f_i(d) . g(q)) (Kadlec et al. 2016, equation 1); it has no parameter.

    f_i(d) is the passage's token i, g(q) the question's state. What is summed over the occurrences of a word is the
    head's. Heads that read streams are given the passage with each token weighed by its probability.

    Args:
        config: It has no options.
        shape: The encoder's.
    """

    class Config(InteractionConfig):
        """No options."""

        def fills(self, given: Set[str]) -> frozenset[str]:
            """The passage, weighed, and the token mass."""
            return frozenset({"passage", "token_mass"})

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Attend.

        Args:
            encoded: Passage [S, P, H] and the question's state [S, H].

        Returns:
            The token mass [S, P], and the passage [S, P, H] times it. Map: ``attention`` s [S, P], the token mass.
        """
        asked = needed(encoded.question_state, "encoded.question_state")
        mass = pointed(encoded.passage, asked, encoded.passage_mask)
        return Attended(
            passage=weighed(encoded.passage.to(mass.dtype), mass, encoded.passage_mask),
            question=None,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            token_mass=mass,
            maps={"attention": mass} if self.keep_maps else {},
        )


PART = AttentionSum
