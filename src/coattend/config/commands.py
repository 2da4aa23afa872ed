"""Parameters of the commands beside training: prediction, comparison, attention pages, sharing, exports, the demo,
tracking, and where work is spread."""

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from coattend.config.base import Parameters, TrialId

MERGE = (
    "Whether adapters (training.lora) are merged into the encoder's weights, so that neither the encoder's files nor "
    "peft are needed to load it; it is then as large as without adapters."
)


class EngineParameters(Parameters):
    """The engine that spreads shards and trials. Results do not depend on it, and it is part of no key or trial id."""

    kind: Literal["local", "dask"] = Field("local", description="local: this machine's processes; dask: a cluster.")
    address: str | None = Field(
        None,
        pattern=r"^(tcp|tls|ucx|wss?)://\S+:\d+$",
        description="Dask's scheduler, such as tcp://10.0.0.1:8786; null: a cluster of processes of this machine.",
    )

    @model_validator(mode="after")
    def _address_is_dasks(self) -> "EngineParameters":
        if self.kind == "local" and self.address is not None:
            raise ValueError("address is that of a Dask scheduler, and needs kind: dask")
        return self


LOCAL = EngineParameters()
"""The processes of this machine."""


class Limits(Parameters):
    """The largest question that a trained reader answers; larger ones are refused, with what is too large."""

    passage: int = Field(100_000, ge=1, description="Characters of a passage.")
    question: int = Field(5_000, ge=1, description="Characters of a question.")
    option: int = Field(5_000, ge=1, description="Characters of an option.")
    options: int = Field(100, ge=2, description="Options of a question.")


class PredictionParameters(Parameters):
    """A trained reader and a file of questions for it."""

    model: TrialId | None = Field(
        None,
        description="A trial (<benchmark>.<entry>/<seed>, or how its id begins), an MLflow model "
        "(models:/<name>@<alias>, runs:/<run>/model), a run's id, or a folder of one of them.",
    )
    input: str | None = Field(None, description="A .jsonl, .csv or .parquet file with the columns of own benchmarks.")
    name: str | None = Field(
        None, pattern=r"^[\w.-]+$", description="Folder of the answers; null: that of the input's name."
    )
    rows_per_shard: int = Field(200, ge=1, description="Questions that are answered before their answers are written.")
    workers: int | None = Field(None, ge=1, description="Processes that answer shards; null: one a core, on a GPU one.")
    limits: Limits = Field(Limits(), description="The largest question that is answered.")


class CompareParameters(Parameters):
    """Two trials to compare, and the benchmark to compare them on."""

    left: TrialId | None = Field(
        None,
        description="A finished trial: <benchmark>.<entry>/<seed>, or how its id begins; <trial>/<answers> where it "
        "answered more than once.",
    )
    right: TrialId | None = Field(None, description="The other one, likewise.")
    benchmark: str | None = Field(None, description="Whose questions; null: those that both were trained on.")
    most_listed: int = Field(20_000, ge=1, description="Questions on the page; where one alone was correct, first.")


class AttentionParameters(Parameters):
    """The readers and questions of the attention page."""

    left: TrialId | None = Field(
        None, description="A finished trial: <benchmark>.<entry>/<seed>, or how its id begins."
    )
    right: TrialId | None = Field(None, description="The trial beside it; null: there is none.")
    questions: int = Field(
        20, ge=1, le=1000, description="So many questions; of two readers those first where their answers differ."
    )
    ids: str | None = Field(None, description="Ids of questions with + between them; null: as `questions` says.")
    split: str = Field("dev", description="Where the questions are taken from, unless ids say which.")
    occlusion: bool | None = Field(
        None,
        description="Whether each word of the passage is hidden in turn, each a pass over the reader; null: on the "
        "pages of studies alone.",
    )
    tagging: str | None = Field(
        None, description="Tagging profile that the trials read; null: the one that their record says."
    )

    @field_validator("ids", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        # YAML and `--params` read an id of digits as a number.
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class BatchInvarianceParameters(Parameters):
    """The trials that are asked their questions one at a time and in full batches."""

    trials: TrialId | None = Field(
        None,
        description="Ids of finished trials, or how they begin, with + between them; null: of each entry of the "
        "benchmark the first seed.",
    )
    benchmark: str = Field("sample", description="The benchmark whose entries are asked where no trials are named.")
    questions: int = Field(500, ge=1, description="So many questions of each trial, if there are as many.")


class ShareParameters(Parameters):
    """A trained reader to share, and its place on the Hugging Face Hub."""

    model: TrialId | None = Field(None, description="A trained reader, named as prediction.model is.")
    to: str = Field(
        "",
        pattern=r"^([\w.-]+/[\w.-]+)?$",
        description="Its name on the Hugging Face Hub, <user>/<name>; empty: its folder is written, and nothing sent.",
    )
    private: bool = Field(True, description="Whether a repository that is made for it is seen by its owner alone.")
    merge: bool = Field(False, description=MERGE)


class ExportParameters(Parameters):
    """How a benchmark becomes a task of lm-evaluation-harness, and its readers' scores records of EuroEval."""

    split: str | None = Field(
        None, description="Split that the task scores; null: test, or dev where no answers of test are known."
    )
    answer_by: Literal["text", "letter"] = Field(
        "text", description="text: an option is scored by its words; letter: options are listed, and letters scored."
    )
    examples: int = Field(
        1000, ge=0, description="Training questions of each subset that the harness may draw examples from."
    )
    publisher: str = Field(
        "coattend", pattern=r"^[\w.-]+$", description="What a record calls a reader: <publisher>/<its entry>."
    )


class DemoParameters(Parameters):
    """Address and limits of the demo, the application that shows a trained reader."""

    host: str = Field("127.0.0.1", description="Where it listens; 0.0.0.0: for other machines, too.")
    port: int = Field(8000, ge=0, le=65535, description="The port.")
    most_bytes: int = Field(1_000_000, ge=1, description="Bytes of a request; a larger one is answered with 413.")
    seconds: float = Field(20.0, gt=0, description="Time for an answer; what takes longer is answered with 408.")
    most_at_once: int = Field(16, ge=1, description="Requests that may wait; one more is answered with 429.")
    limits: Limits = Field(
        Limits(passage=20_000, question=1_000, option=1_000, options=20),
        description="The largest question; a larger one is answered with 400.",
    )


class TrackingParameters(Parameters):
    """The parts of a run that MLflow keeps besides numbers."""

    models: bool = Field(
        True, description="Whether evaluation logs each trained reader as a model; it takes the size of its weights."
    )
    merge: bool = Field(False, description=MERGE)
