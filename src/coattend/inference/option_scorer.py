"""Score the options of questions by their likelihood under a language model, in evaluation as in serving."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from coattend.config import TrainingParameters
from coattend.parallel.progress import track_progress
from coattend.readers.encoders.language_model import LanguageModel
from coattend.readers.encoders.prompt_tree import EncodedPrompt
from coattend.readers.heads.configs import LikelihoodConfig
from coattend.readers.heads.likelihood import Likelihood
from coattend.readers.prompts import Inquiry, Prompt, write_examples, write_prompt
from coattend.text.cloze import blank_to_fill
from coattend.trials.device import device_and_precision, inference_batch_tokens

Example = tuple[Prompt, int]
"""The prompt of a training question, and the number of its right option."""


class EncodedQuestion(NamedTuple):
    """What is scored of a question: its prompt's tokens, and those without the passage for a prior."""

    question_id: str
    characters: tuple[int, ...]
    encoded: EncodedPrompt
    prior: EncodedPrompt | None


@dataclass(frozen=True)
class OptionScorer:
    """Scores options by a language model, which is loaded at the first use.

    Attributes:
        options: The options of `option_likelihood`, complete.
        training: The parameters of which lengths, device, precision and the parts that are read count.
        task: ``word`` where candidates are read like options.
        fill_blanks: True if an option fills the question's blank, False if it follows it.
    """

    options: Mapping[str, Any]
    training: TrainingParameters
    task: Literal["options", "word"]
    fill_blanks: bool

    @cached_property
    def likelihood(self) -> Likelihood:
        """The head, which scores options."""
        return Likelihood(LikelihoodConfig(**{name: self.options[name] for name in LikelihoodConfig.model_fields}))

    @cached_property
    def model(self) -> LanguageModel:
        """The language model."""
        device, bf16 = device_and_precision(self.training)
        return LanguageModel.load(self.options["model"], device=device, bf16=bf16)

    def inquire(self, passage: str, question: str, options: Sequence[str]) -> Inquiry:
        """Prepare a question for a prompt; a blank is filled where the benchmark's other readers fill it."""
        blank = blank_to_fill(self.task, question, fill_blanks=self.fill_blanks)
        return Inquiry(None if self.training.reads == "no_passage" else passage, question, tuple(options), blank)

    def write(self, inquiry: Inquiry) -> Prompt:
        """Write the prompt of a question."""
        return write_prompt(inquiry, self.options["answer_by"])

    def score(
        self, groups: Sequence[Mapping[str, Inquiry]], examples: Sequence[Example], title: str | None = None
    ) -> tuple[dict[str, tuple[float, ...]], dict[str, str]]:
        """Score the options of each question by its id; beside them, the reasons why some cannot be read.

        Args:
            groups: Questions about one passage each.
            examples: What stands before each question.
            title: Of the progress; None: it is not shown.
        """
        rejected: dict[str, str] = {}
        encoded_groups = [
            [
                question
                for question_id, inquiry in group.items()
                if (question := self._encode_question(question_id, inquiry, examples, rejected)) is not None
            ]
            for group in groups
        ]
        questions = [question for group in encoded_groups for question in group]
        prompts = [[question.encoded for question in group] for group in encoded_groups if group]
        values = self._log_probabilities(prompts, title and f"{title}, questions asked")
        priors: list[list[float]] = [[]] * len(questions)
        if self.likelihood.config.normalise == "prior":
            without = [[question.prior for question in group if question.prior] for group in encoded_groups if group]
            priors = self._log_probabilities(without, title and f"{title}, without passages")
        scores = {
            question.question_id: self.likelihood.scores(
                value,
                characters=question.characters,
                tokens=[len(tokens) for tokens in question.encoded.continuations],
                prior=prior,
            )
            for question, value, prior in zip(questions, values, priors, strict=True)
        }
        return scores, rejected

    def _log_probabilities(self, groups: Sequence[Sequence[EncodedPrompt]], title: str | None) -> list[list[float]]:
        budget = inference_batch_tokens(self.training, transformer=True)
        count = sum(map(len, groups))
        computed = self.model.log_probabilities(groups, tokens_per_batch=budget)
        by_number = dict(track_progress(computed, count, title) if title else computed)
        return [by_number[number] for number in range(count)]

    def _encode_question(
        self, question_id: str, inquiry: Inquiry, examples: Sequence[Example], rejected: dict[str, str]
    ) -> EncodedQuestion | None:
        """Encode a question, cutting its passage where it is too long; None, and a reason, if it cannot be read."""
        limit = min(self.training.max_length, self.model.max_length or self.training.max_length)
        try:
            prompt, encoded = self._encode(inquiry, examples)
            # A word that is cut in two may have more tokens than before.
            while encoded.length > limit:
                passage = inquiry.passage
                passage = None if passage is None else self.model.cut(passage, encoded.length - limit)
                if passage is None:
                    raise ValueError(f"leaves no room for a passage in {limit} tokens")
                inquiry = replace(inquiry, passage=passage)
                prompt, encoded = self._encode(inquiry, examples)
            if not all(encoded.continuations):
                raise ValueError("has an option without tokens")
            prior = None
            if self.likelihood.config.normalise == "prior":
                _, prior = self._encode(replace(inquiry, passage=None), examples)
        except ValueError as error:
            rejected[question_id] = f"its prompt {error}"
            return None
        return EncodedQuestion(question_id, prompt.characters, encoded, prior)

    def _encode(self, inquiry: Inquiry, examples: Sequence[Example]) -> tuple[Prompt, EncodedPrompt]:
        prompt, chat = self.write(inquiry), bool(self.options["chat_template"])
        prompt = self.model.as_chat(examples, prompt) if chat else prompt.behind(write_examples(examples))
        (encoded,) = self.model.encode([prompt], chat=chat)
        return prompt, encoded
