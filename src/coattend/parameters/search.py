"""How the training of a study's variants is tuned: which values, and how many configurations of them."""

from math import inf, prod

from pydantic import Field, FiniteFloat, model_validator

from coattend.parameters.strict import Parameters

WHOLE = ("accumulate", "patience", "tokens_per_batch")
"""Fields of training whose ranges hold whole numbers."""

SEARCHED = ("clip", "epochs", "learning_rate", "warmup", "weight_decay", *WHOLE)
"""Fields of training that may be searched: how a reader learns, never what it reads nor what it is judged by."""


class ValuesParameters(Parameters):
    """The values that a field of training may take."""

    low: FiniteFloat | None = Field(None, description="The smallest one.")
    high: FiniteFloat | None = Field(None, description="The largest one.")
    log: bool = Field(False, description="Whether ratios count and not differences, as for learning rates.")
    choices: tuple[FiniteFloat | None, ...] | None = Field(
        None, min_length=1, description="The values one by one, in the place of low and high."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> "ValuesParameters":
        if self.choices is not None:
            if self.log or (self.low, self.high) != (None, None):
                raise ValueError("has choices, and so neither low nor high nor log")
            return self
        if self.low is None or self.high is None:
            raise ValueError("needs low and high, or choices")
        if self.low >= self.high:
            raise ValueError(f"low must be less than high: {self.low:g} is not less than {self.high:g}")
        if self.log and self.low <= 0:
            raise ValueError(f"a range with log must begin above 0: {self.low:g} does not")
        return self

    def count(self, *, whole: bool) -> float:
        """How many values there are."""
        if self.choices is not None:
            return len(set(self.choices))
        return self.high - self.low + 1 if whole else inf


class SearchParameters(Parameters):
    """The search for each variant's training, the same for all of them."""

    trials: int = Field(ge=2, description="Configurations tried for each variant, the configured one among them.")
    seed: int = Field(0, ge=0, lt=2**32, description="Of the sampler, which spreads the others over the space.")
    space: dict[str, ValuesParameters] = Field(min_length=1, description="Fields of training and their values.")

    def count(self) -> float:
        """How many configurations the space holds."""
        return prod(values.count(whole=field in WHOLE) for field, values in self.space.items())
