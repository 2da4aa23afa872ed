"""A language model as it is, which answers questions as its trial did."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from coattend.config import EncoderParameters
from coattend.errors import CoattendError
from coattend.evaluation.calibration import probabilities
from coattend.inference.option_scorer import Example, OptionScorer
from coattend.readers.prompts import Prompt
from coattend.serving.queries import InvalidQuery, Query
from coattend.trials.run_spec import AskedModel, RunSpec
from coattend.trials.trial import encoder_digest


@dataclass(frozen=True)
class PromptedModel:
    """A language model with the examples that it is shown before each question."""

    spec: RunSpec
    scorer: OptionScorer
    examples: Sequence[Example]

    @classmethod
    def load(cls, spec: RunSpec, *, device: str) -> "PromptedModel":
        """Load a model from where its trial had it.

        Raises:
            CoattendError: If it is not there, or its files are others.
        """
        asked = cast(AskedModel, spec.language_model)
        where = f"language model {spec.encoder!r} of trial {spec.trial_id}"
        cure = (
            "Put its files there again (a relative path begins where the command runs; a name is fetched from the "
            "Hugging Face Hub). To ask another model, name that in the reader's `model`, and score it"
        )
        try:
            digest = encoder_digest(EncoderParameters(source=spec.encoder))
        except CoattendError as error:
            raise CoattendError(error.problem, where=where, cure=cure) from None
        if digest != asked.digest:
            raise CoattendError("has other files than those that were scored", where=where, cure=cure)
        training = spec.training.model_copy(update={"device": device})
        task: Literal["options", "word"] = "word" if spec.task == "word" else "options"
        scorer = OptionScorer(spec.options | {"model": spec.encoder}, training, task, spec.fill_blanks)
        scorer.model  # noqa: B018  # What is wrong with it is told now, not at the first question.
        return cls(spec, scorer, [(Prompt(context, options), label) for context, options, label in asked.examples])

    @property
    def on_gpu(self) -> bool:
        """True if it answers on a GPU."""
        return bool(self.scorer.model.model.device.type == "cuda")

    def probabilities(self, query: Query) -> list[float]:
        """Compute the probability of each option [C], normalised over these alone.

        Raises:
            InvalidQuery: If its prompt is too long, or cannot be written.
        """
        inquiry = self.scorer.inquire(query.passage, query.question, query.options or ())
        scores, rejected = self.scorer.score([{"": inquiry}], self.examples)
        if rejected:
            raise InvalidQuery(rejected[""], cure="Ask it in fewer words, or with fewer options")
        shares: list[float] = probabilities(scores[""], self.spec.head).tolist()
        return shares
