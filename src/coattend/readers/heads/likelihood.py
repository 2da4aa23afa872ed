"""Likelihood: options scored by their log probability under a language model."""

from collections.abc import Sequence

from coattend.readers.heads.configs import LikelihoodConfig


class Likelihood:
    """Scores each option o of a question q by s(o) = log P(o | passage, q), normalised as its options say."""

    Config = LikelihoodConfig

    def __init__(self, config: LikelihoodConfig) -> None:
        self.config = config

    def scores(
        self,
        log_probabilities: Sequence[float],
        *,
        characters: Sequence[int],
        tokens: Sequence[int],
        prior: Sequence[float] = (),
    ) -> tuple[float, ...]:
        """Return the score of each option [C].

        Args:
            log_probabilities: log P(o | passage, q) [C], the sum over an option's tokens.
            characters: Characters of each option [C].
            tokens: Tokens of each option [C].
            prior: log P(o | q), without the passage [C]; needed if ``normalise`` is ``prior``.
        """
        match self.config.normalise:
            case "characters":
                return tuple(value / count for value, count in zip(log_probabilities, characters, strict=True))
            case "tokens":
                return tuple(value / count for value, count in zip(log_probabilities, tokens, strict=True))
            case "prior":
                return tuple(value - before for value, before in zip(log_probabilities, prior, strict=True))
        return tuple(log_probabilities)


PART = Likelihood
