"""Parameters of a study, a paper's table or figure: variants of a reader, benchmarks, seeds, the search for
hyper-parameters, and the numbers that the paper printed."""

import re
from collections.abc import Mapping
from math import inf, prod
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, FiniteFloat, field_validator, model_validator

from coattend.config.base import Parameters
from coattend.config.source import listed
from coattend.config.training import Seeds

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
        """The number of values."""
        if self.choices is not None:
            return len(set(self.choices))
        # A range of whole numbers includes both ends; one of real numbers has no end of values.
        return self.high - self.low + 1 if whole and self.high is not None and self.low is not None else inf


class SearchParameters(Parameters):
    """The search for each variant's training, the same for all of them."""

    trials: int = Field(ge=2, description="Configurations tried for each variant, the configured one among them.")
    seed: int = Field(0, ge=0, lt=2**32, description="Of the sampler, which spreads the others over the space.")
    space: dict[str, ValuesParameters] = Field(min_length=1, description="Fields of training and their values.")

    def count(self) -> float:
        """The number of configurations in the space."""
        return prod(values.count(whole=field in WHOLE) for field, values in self.space.items())


Shown = Literal[
    "attention",
    "average",
    "boundary_pos",
    "by_annotation",
    "by_answer_frequency",
    "by_answer_length",
    "by_answer_pos",
    "by_document_length",
    "by_question_length",
    "by_question_type",
    "by_subset",
    "curve",
    "ensemble",
    "lines",
    "parameters",
    "peak_memory",
    "predictions",
    "reranking",
    "seconds_per_epoch",
    "time_to_score",
    "training_score",
    "trivial_baselines",
]
QUANTITIES = {
    "parameters_millions": "Parameters, millions",
    "minutes_per_epoch": "Minutes for an epoch",
    "peak_memory_gb": "Peak memory, GB",
    "training_score": "Score on training questions",
    "average": "Mean of splits",
    "average_gain": "Gain in the mean of splits",
    "boundary_pos": "Boundary words",
    "boundary_pos_wrong": "Boundary words with a wrong part of speech",
    "corrected_pos_percent": "Corrected parts of speech, %",
    "corrected_answers_percent": "Corrected answers, %",
    "reranked": "Accuracy, ranked again",
}
"""What papers print besides scores, of a variant or of a variant on a benchmark: name in study files to title."""

Numbers = dict[str, Any]
"""Benchmark to split, or split/subset, to a score or to scores by the metric's name; or a quantity of the variant."""


def _of_mappings(entry: dict[str, Any]) -> dict[str, Any]:
    """A reader's entry, whose training is looked into before the reader is known."""
    training = entry.get("training", {})
    if not isinstance(training, dict):
        raise ValueError("training must be a mapping of fields to values")
    if not isinstance(training.get("train_on", {}), dict):
        raise ValueError("train_on must be a mapping of benchmarks to subsets")
    return entry


Entry = Annotated[dict[str, Any], AfterValidator(_of_mappings)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_+-]+$")]
"""A name of files, folders and datasets: no dots, no slashes, no blanks."""

Names = Annotated[tuple[str, ...], BeforeValidator(lambda names: (names,) if isinstance(names, str) else names)]
"""One name or several, such as the lines of a figure."""


class PaperParameters(Parameters):
    """The paper that the studies of a file reproduce."""

    title: str = Field(description="Full title.")
    authors: tuple[str, ...] = Field(min_length=1, description="As printed.")
    year: int = Field(ge=1950, le=2100, description="Of publication.")
    venue: str = Field(description="Where it was published.")
    key: str = Field(pattern="^[a-z0-9]+$", description="Its key in CITATION.bib.")


class VariantParameters(Parameters):
    """One row of a study: what differs from its base reader."""

    title: str = Field(description="What the row is called.")
    change: Entry = Field(
        {}, description="Differences from the base: an entry as in `readers`; with another `reader`, "
        "the base's options do not count, and its training does."
    )  # fmt: skip
    benchmarks: tuple[str, ...] | None = Field(None, description="Where it is run; null: on all of the study's.")
    against: str | None = Field(None, description="The variant that it is compared with; null: the study's baseline.")
    repeats: str | None = Field(
        None,
        description="The variant that this one repeats over an encoder of its own. It is run where the study's base "
        "names an encoder too, as with --env paper; elsewhere its printed numbers stand beside the one it repeats.",
    )
    series: Names = Field((), description="The lines of the study's figure that it is a point of.")
    at: float | Literal["questions"] | None = Field(
        None, description="Where on its axis; questions: at as many as its trials were trained on."
    )


class PrintedParameters(Parameters):
    """Numbers that the paper printed for variants of the study."""

    encoder: str = Field(description="The encoder that they were measured with.")
    ensemble: bool = Field(False, description="Whether they are those of an ensemble of a variant's trials.")
    numbers: dict[str, Numbers] = Field(description="Variant to numbers.")


class CitedParameters(Parameters):
    """A system that the paper only quotes: shown, never compared."""

    name: str = Field(description="Its name.")
    encoder: str | None = Field(None, description="Its encoder.")
    mark: str | None = Field(None, description="The mark that the paper gives it.")
    source: str | None = Field(None, description="Where the paper has it from.")
    numbers: Numbers = Field(description="What is printed for it.")


class ExampleParameters(Parameters):
    """A question whose answers are shown for every variant."""

    benchmark: str = Field(description="Whose question it is.")
    question: str = Field(description="Its id, or its text.")
    printed: dict[str, str | int | float] = Field({}, description="Variant to the answer that the paper prints for it.")


class StudyParameters(Parameters):
    """A table or a figure, reproduced."""

    name: str = Field(
        "", description="File and entry, such as duma_table7, or the entry alone if it is named as its file; filled in."
    )
    title: str = Field(description="What it asks, in a few words.")
    source: str = Field(description="Paper, and table or figure.")
    benchmarks: tuple[str, ...] = Field(min_length=1, description="What its variants are trained and scored on.")
    protocol: Literal["finetuned", "frozen"] = Field(
        "finetuned", description="frozen: encoder outputs are kept, and interaction and head alone are trained."
    )
    seeds: Seeds = Field((0, 1, 2), description="One trial a seed, for every variant.")
    search: SearchParameters | None = Field(
        None, description="How every variant's training is tuned first; null: it is trained as configured."
    )
    training: dict[str, dict[str, Any]] = Field(
        {},
        description="Benchmark to differences from its block `training`, for all variants alike; its blocks "
        "`recurrent` and `frozen` count more, and so does a variant's own training.",
    )
    options: dict[str, Any] = Field(
        {}, description="Options that every variant's reader has, whatever is said of it: sizes for small machines."
    )
    base: Entry = Field(description="A reader's entry that variants differ from.")
    baseline: str = Field(description="The variant that the others are compared with.")
    variants: dict[Name, VariantParameters] = Field(min_length=1, description="The rows.")
    beside: Names = Field(
        (),
        description="Language models as they are that become rows, each as `<entry>:<folder or Hugging Face name>`, "
        "such as option_likelihood:Qwen/Qwen3-0.6B.",
    )
    metric: Literal["accuracy", "exact", "f1"] | None = Field(
        None, description="What variants are judged by where a benchmark is scored by it; null: the task's own."
    )
    asks: dict[str, tuple[str, ...]] = Field(
        {},
        description="Benchmark to the subsets that it asks about, each a question of its own; else all of it, or the "
        "one subset that all variants were trained on.",
    )
    thresholds: dict[str, Annotated[float, Field(gt=0, le=100)]] = Field(
        {},
        description="Benchmark to the held-out score, in percent, whose time is measured; written down before it is.",
    )
    shows: tuple[Shown, ...] = Field((), description="What is shown beside the table of scores.")
    axis: str | None = Field(None, description="What points of lines stand at, in the plural, such as turns.")
    examples: tuple[ExampleParameters, ...] = Field((), description="Questions that are always shown.")
    printed: tuple[PrintedParameters, ...] = Field((), description="The paper's numbers.")
    cited: tuple[CitedParameters, ...] = Field((), description="Systems that the paper only quotes.")
    notes: tuple[str, ...] = Field((), description="What a reader of the table should know.")
    budget_hours: float | None = Field(None, gt=0, description="Drop variants, named, until it costs no more.")

    @model_validator(mode="before")
    @classmethod
    def _add_language_models(cls, values: Any) -> Any:
        """Make a variant of each model of ``beside``, unless it is one already."""
        if not isinstance(values, Mapping) or not isinstance(values.get("variants"), Mapping):
            return values
        variants: dict[str, Any] = dict(values["variants"])
        for row in listed(values.get("beside")):
            entry, colon, model = str(row).partition(":")
            if not (entry and colon and model):
                raise ValueError(f"beside: {row!r} is not <entry>:<model>, such as option_likelihood:Qwen/Qwen3-0.6B")
            # A name of files cannot have the characters of a path; its end tells models apart.
            name = re.sub(r"[^A-Za-z0-9_+-]", "_", f"{entry}_{model.rstrip('/').rpartition('/')[2]}")
            new = {"title": f"{model}, {entry}", "change": {"reader": entry, "model": model}}
            known = variants.setdefault(name, new)
            change = known.get("change") if isinstance(known, Mapping) else None
            if not isinstance(change, Mapping) or change.get("model") != model:
                raise ValueError(
                    f"beside: two variants would be called {name}. Give the folder of {model} another name"
                )
        return {**values, "variants": variants}

    @field_validator("base")
    @classmethod
    def _has_a_reader(cls, base: Entry) -> Entry:
        if "reader" not in base:
            raise ValueError("must name a reader, as in base: { reader: plain }")
        return base

    @property
    def trials(self) -> int:
        """The number of trials of a variant on a benchmark; the best of a search is that of the first seed."""
        return len(self.seeds) + (self.search.trials - 1 if self.search is not None else 0)

    def benchmarks_of(self, variant: str) -> tuple[str, ...]:
        """The benchmarks that a variant is run on."""
        return self.variants[variant].benchmarks or self.benchmarks

    def starts_from(self, variant: str) -> str | None:
        """The variant whose trials those of another variant start from."""
        start: str | None = self.variants[variant].change.get("training", {}).get("start_from")
        return start

    def learns_from(self, variant: str) -> str | None:
        """The variant whose trials teach those of another variant."""
        distillation = self.variants[variant].change.get("training", {}).get("distillation")
        teacher = distillation.get("teacher") if isinstance(distillation, Mapping) else None
        return teacher if isinstance(teacher, str) else None  # Another value is reported as such.

    def needed_by(self, variant: str) -> list[str]:
        """The variants whose trials those of another variant start or learn from."""
        return list(filter(None, (self.starts_from(variant), self.learns_from(variant))))

    def without_repeats(self) -> "StudyParameters":
        """The study without the variants that repeat others, beside which the numbers printed for them stand then."""
        repeated = {name: variant.repeats for name, variant in self.variants.items() if variant.repeats}
        variants = {name: variant for name, variant in self.variants.items() if name not in repeated}
        printed = tuple(
            block.model_copy(
                update={"numbers": {repeated.get(name, name): numbers for name, numbers in block.numbers.items()}}
            )
            for block in self.printed
        )
        return self.model_copy(update={"variants": variants, "printed": printed})

    def with_example(self, benchmark: str, question: str | None) -> "StudyParameters":
        """The study with one more question whose answers are shown; the same one without a question."""
        if question is None:
            return self
        examples = (*self.examples, ExampleParameters(benchmark=benchmark, question=question))
        return self.model_copy(
            update={"examples": examples, "shows": tuple(dict.fromkeys((*self.shows, "predictions")))}
        )

    def baseline_of(self, variant: str) -> str:
        """The variant that one is compared with."""
        return self.variants[variant].against or self.baseline


class StudySettings(Parameters):
    """Settings of all studies."""

    seeds: Seeds | None = Field(None, description="In the place of each study's own.")
    processes: int | None = Field(None, ge=1, description="Trials at once; null: one a core, and one on a GPU.")
    budget_hours: float | None = Field(None, gt=0, description="For studies that have none of their own.")
    beside: Names = Field(
        (),
        description="Language models that become rows of every study of options or words, as in a study's own field.",
    )
    commit: str | None = Field(
        None,
        pattern=r"^[0-9a-f]{7,40}(-dirty)?$",
        description="Commit of the code, for the records of trials that do not say theirs, as earlier ones.",
    )
    question: str | None = Field(None, description="One more question whose answers are shown: its id, or its text.")
