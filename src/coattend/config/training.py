"""Parameters of training and of re-ranking."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from coattend.config.base import Parameters
from coattend.readers.heads.configs import OverWindows

Reads = Literal["all", "no_passage", "no_question", "options_only", "shuffled_passage"]
"""The parts of a question with options that a reader is given."""


def _each_once(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(seeds)) < len(seeds):
        twice = next(seed for seed in seeds if seeds.count(seed) > 1)
        raise ValueError(f"the seed {twice} is there twice")
    return seeds


def _listed(seeds: object) -> object:
    if isinstance(seeds, int):
        raise ValueError(f"must be a list: [0, 1, 2] are three seeds, [{seeds}] is the seed {seeds}")
    return seeds


Seed = Annotated[int, Field(ge=0, lt=2**32)]
"""NumPy takes no others."""
Seeds = Annotated[tuple[Seed, ...], Field(min_length=1), BeforeValidator(_listed), AfterValidator(_each_once)]


class LoraParameters(Parameters):
    """Low-rank adapters, which are trained in place of a pretrained encoder's own weights (LoRA)."""

    rank: int = Field(8, ge=1, description="Rank of the update of each matrix.")
    alpha: float = Field(16.0, gt=0, description="The update is multiplied by alpha / rank.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Dropout of what an adapter reads.")
    targets: tuple[str, ...] = Field(
        (),
        description="Names, or ends of names, of the encoder's linear layers that have an adapter, such as "
        "[query, value]; empty: all of them, but the pooler.",
    )


class DistillationParameters(Parameters):
    """Another reader's scores of options, or of first and last tokens of spans, from which a reader learns beside the
    right answers (Hinton et al., 2015)."""

    teacher: str = Field(
        description="Trial whose scores of the training questions are learned from; in a study a variant, whose trial "
        "of the same seed it is."
    )
    weight: float = Field(
        0.5, gt=0, le=1, description="Share of the loss that is the cross entropy with the teacher's probabilities."
    )


class TrainingParameters(Parameters):
    """The training of a reader on a benchmark."""

    seeds: Seeds = Field((0,), description="One trial is trained for each seed.")
    epochs: float = Field(2.0, gt=0, description="Passes over the training questions.")
    min_steps: int | None = Field(
        None, ge=1, description="Fewest steps: of few questions more epochs are trained; null: as many as they have."
    )
    learning_rate: float = Field(8e-5, gt=0, description="Peak rate of AdamW; without decay it is Adam.")
    warmup: float = Field(0.06, ge=0, lt=1, description="Share of all steps in which the rate rises linearly.")
    schedule: Literal["linear", "constant"] = Field(
        "linear", description="linear: behind its peak the rate falls to 0 at the last step; constant: it stays there."
    )
    weight_decay: float = Field(0.01, ge=0, description="AdamW's decay of all weights but biases and norms.")
    embedding_l2: float = Field(
        0.0,
        ge=0,
        description="Times the squares of word vectors that are trained, added up: part of what is minimised.",
    )
    clip: float = Field(1.0, gt=0, description="Largest norm of the gradient of a step's mean loss.")
    tokens_per_batch: int = Field(
        6144,
        ge=64,
        description="Padded tokens of a step's forward pass; without gradients a GPU may take four times as many.",
    )
    questions_per_batch: int | None = Field(
        None,
        ge=1,
        description="As most example scripts train: so many questions, by lot, share a batch, padded to the longest of "
        "them; null: questions of like length do, under tokens_per_batch.",
    )
    accumulate: int = Field(
        1, ge=1, description="Batches whose gradients are averaged before a step, each question counting alike."
    )
    max_length: int = Field(
        512, ge=16, description="Longest sequence in tokens; the passage is cut, never the question."
    )
    precision: Literal["auto", "bf16", "fp32"] = Field(
        "auto", description="auto: bf16 where the processor or GPU is faster in it."
    )
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto: a GPU if there is one.")
    processes: int = Field(
        1, ge=1, description="Processes that share every batch of one trial, each with a GPU where there are any."
    )
    evaluations: int = Field(5, ge=1, description="How often the held-out questions are scored during training.")
    patience: int | None = Field(None, ge=1, description="Stop after so many evaluations without gain; null: never.")
    held_out: float = Field(
        0.05, gt=0, lt=1, description="Share of training questions held out to choose checkpoints, by whole groups."
    )
    selection: Literal["held_out", "dev"] = Field(
        "held_out", description="Where checkpoints are chosen; dev is labelled."
    )
    stride: int = Field(
        128,
        ge=0,
        description="Tokens between the windows of a long passage, as stride_counts says; for spans, and for options "
        "with over_windows.",
    )
    stride_counts: Literal["overlap", "advance"] = Field(
        "overlap", description="What stride counts: tokens that two windows share, or tokens from start to start."
    )
    over_windows: OverWindows | None = Field(
        None,
        description="For options, read a long passage in windows; an option's score is the greatest over them, their "
        "mean, or the logarithm of their summed exponentials; null: read the first window alone.",
    )
    permute_entities: bool = Field(
        False, description="Whether anonymised entities (CNN) change names among themselves in every batch."
    )
    train_on: dict[str, str | tuple[str, ...]] = Field(
        {},
        description="Subsets to train on, by benchmark, such as {cbt: NE}; empty: the whole benchmark. Others than the "
        "one that is asked are for studies.",
    )
    frozen: bool = Field(
        False, description="Whether the encoder stays as it is: its outputs are computed once and kept."
    )
    lora: LoraParameters | None = Field(
        None,
        description="Adapters of the encoder, which are trained in place of its weights, with interaction and head; "
        "null: the encoder is trained whole.",
    )
    gradient_checkpointing: bool = Field(
        False,
        description="Whether what the encoder's layers compute inside is computed again for the gradient instead of "
        "kept: less memory, more time, the same numbers.",
    )
    optimizer: Literal["adamw", "adamw_8bit"] = Field(
        "adamw",
        description="adamw_8bit: its two averages of the gradient take a byte a weight each; needs bitsandbytes.",
    )
    start_from: str | None = Field(
        None,
        description="Trial whose weights it begins with; in a study a variant, whose trial of the same seed it is.",
    )
    distillation: DistillationParameters | None = Field(
        None, description="Learn from the scores of another reader, too; null: from the right answers alone."
    )
    tag_noise: float = Field(0.0, ge=0, le=1, description="Share of words that are given a tag by lot.")
    tag_noise_kind: Literal["wrong", "err"] = Field("wrong", description="wrong: another tag than its own; err: ERR.")
    tag_noise_in: tuple[Literal["train", "dev"], ...] = Field(
        ("train", "dev"), description="train: what it learns from and is chosen by; dev: what it is scored on."
    )
    reads: Reads = Field("all", description="What is read of questions with options, in training and when scored.")
    max_questions: int | None = Field(
        None, ge=1, description="Use so many training questions only, and no more held-out ones; null: all."
    )
    max_answer_length: int = Field(30, ge=1, description="Longest predicted span in tokens.")

    @field_validator("precision", mode="before")
    @classmethod
    def _in_range(cls, precision: object) -> object:
        if precision in ("fp16", "float16", "half"):
            raise ValueError(
                "float16 ends at 65,504, beyond which encoders such as DeBERTa overflow: set it to bf16, which has the "
                "range of float32, or to fp32"
            )
        return precision

    @field_validator("lora")
    @classmethod
    def _is_trained(cls, lora: LoraParameters | None, info: ValidationInfo) -> LoraParameters | None:
        if lora is not None and info.data.get("frozen"):
            raise ValueError("a frozen encoder has no adapters: set frozen: false, or lora: null")
        return lora


class RerankingParameters(Parameters):
    """The re-ranking of a cloze reader's best candidates with language models."""

    n_best: int = Field(5, ge=2, description="So many of a question's candidates are ranked again.")
    order: int = Field(3, ge=1, le=8, description="Words of the longest n-gram of the language models.")
    max_words: int = Field(3_000_000, ge=1, description="The language models learn from so many words at most.")
    classes: int = Field(500, ge=1, description="Classes into which the words of the training passages are divided.")
    class_passes: int = Field(3, ge=1, description="How often each word may change its class while these are learned.")
    epochs: int = Field(10, ge=1, description="Passes of MIRA over the questions that weights are tuned on.")
    aggressiveness: float = Field(0.01, gt=0, description="Largest step of MIRA, its C.")
