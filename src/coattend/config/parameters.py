"""The model of all parameters, and the first mistake in them as one line."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import UnionType
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coattend.config.benchmark import BenchmarkParameters, TaggingParameters, TokenizerParameters
from coattend.config.commands import (
    AttentionParameters,
    BatchInvarianceParameters,
    CompareParameters,
    DemoParameters,
    EngineParameters,
    ExportParameters,
    PredictionParameters,
    ShareParameters,
    TrackingParameters,
)
from coattend.config.reader import EncoderParameters, ReaderParameters
from coattend.config.study import StudySettings
from coattend.errors import CoattendError, did_you_mean, message_of

UNKNOWN_FIELD = "extra_forbidden"
"""Pydantic's type of the error that a field has no such name."""


class ProjectParameters(BaseModel):
    """The blocks of a project's parameters, but for studies and ``run``, which are checked where they are read."""

    model_config = ConfigDict(extra="ignore")

    attention: AttentionParameters = Field(AttentionParameters(), description="What the attention page shows.")
    batch_invariance: BatchInvarianceParameters = Field(
        BatchInvarianceParameters(), description="Trials whose batches are varied."
    )
    benchmarks: dict[str, BenchmarkParameters] = Field({}, description="Benchmarks by name.")
    compare: CompareParameters = Field(CompareParameters(), description="Trials to compare.")
    demo: DemoParameters = Field(DemoParameters(), description="The demo's address and limits.")
    encoders: dict[str, EncoderParameters] = Field({}, description="Encoders by name.")
    engine: EngineParameters = Field(EngineParameters(), description="Where work is spread.")
    export: ExportParameters = Field(ExportParameters(), description="How results and benchmarks leave.")
    prediction: PredictionParameters = Field(PredictionParameters(), description="A reader and its questions.")
    readers: dict[str, ReaderParameters] = Field({}, description="Readers by name.")
    share: ShareParameters = Field(ShareParameters(), description="A reader to share.")
    study: StudySettings = Field(StudySettings(), description="Settings of all studies.")
    taggings: dict[str, TaggingParameters] = Field({}, description="Tagging profiles by name.")
    tokenizers: dict[str, TokenizerParameters] = Field({}, description="Tokenizer profiles by name.")
    tracking: TrackingParameters = Field(TrackingParameters(), description="What MLflow keeps.")


BLOCKS = (*ProjectParameters.model_fields, "run", "studies")
"""Blocks that parameter files may have."""
NAMED = ("benchmarks", "encoders", "readers", "studies", "taggings", "tokenizers")
"""Blocks of entries by name."""


def check_parameters(
    content: Any,
    model: type[BaseModel] = ProjectParameters,
    *,
    block: str = "",
    locate: Callable[[Sequence[str]], str] = ".".join,
) -> None:
    """Raise CoattendError for the first mistake in parameters, with the nearest name if there is no such parameter.
    ``block`` is their place among all parameters, such as ``studies.duma_table7.about``, and ``locate`` tells where a
    path among these was written."""
    try:
        model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        path = [str(key) for key in first["loc"]]
        where = locate([block, *path] if block else path)
        if first["type"] != UNKNOWN_FIELD:
            raise CoattendError(message_of(first), where=where) from None
        cure = did_you_mean(path[-1], field_names(model, path[:-1]))
        raise CoattendError("there is no such parameter", where=where, cure=cure) from None


def nearest_parameter(name: str, parameters: Mapping[str, Any]) -> str:
    """The cure for an unknown name at the top of all parameters: a benchmark's field most likely lacks the benchmark's
    name, an entry its block, and other names are misspelt."""
    if name in BenchmarkParameters.model_fields:
        return f"Say whose: benchmarks.<name>.{name}"
    blocks = {block: parameters.get(block) for block in NAMED}
    places = [
        f"{block}.{name}" for block, entries in blocks.items() if isinstance(entries, Mapping) and name in entries
    ]
    if places:
        return f"It is an entry of a block: {' or '.join(places)}"
    return did_you_mean(name, list(BLOCKS))


def field_names(model: Any, path: Iterable[str | int]) -> list[str]:
    """Names of the fields at a path of a model, through optional models and mappings and tuples of models."""
    for key in path:
        if get_origin(model) is dict:
            model = get_args(model)[1]
        elif get_origin(model) is tuple:
            model = get_args(model)[0]
        else:
            field = model.model_fields.get(key) if _is_model(model) else None
            model = field.annotation if field else None
        if get_origin(model) is UnionType:
            model = get_args(model)[0]
    return list(model.model_fields) if _is_model(model) else []


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
