"""Typed parameters of benchmarks, text profiles, encoders, readers, studies and commands: a pydantic model for every
block of the YAML files, which refuses unknown fields with the nearest known one. Nothing here imports torch."""

from coattend.config.base import Parameters
from coattend.config.benchmark import (
    BenchmarkParameters,
    BookParameters,
    FieldParameters,
    SourceParameters,
    TaggingParameters,
    TokenizerParameters,
)
from coattend.config.commands import (
    LOCAL,
    AttentionParameters,
    BatchInvarianceParameters,
    CompareParameters,
    DemoParameters,
    EngineParameters,
    ExportParameters,
    Limits,
    PredictionParameters,
    ShareParameters,
    TrackingParameters,
)
from coattend.config.reader import EncoderParameters, ReaderParameters, training_of
from coattend.config.study import SearchParameters, StudyParameters, StudySettings, ValuesParameters
from coattend.config.training import DistillationParameters, LoraParameters, RerankingParameters, TrainingParameters

__all__ = [
    "LOCAL",
    "AttentionParameters",
    "BatchInvarianceParameters",
    "BenchmarkParameters",
    "BookParameters",
    "CompareParameters",
    "DemoParameters",
    "DistillationParameters",
    "EncoderParameters",
    "EngineParameters",
    "ExportParameters",
    "FieldParameters",
    "Limits",
    "LoraParameters",
    "Parameters",
    "PredictionParameters",
    "ReaderParameters",
    "RerankingParameters",
    "SearchParameters",
    "ShareParameters",
    "SourceParameters",
    "StudyParameters",
    "StudySettings",
    "TaggingParameters",
    "TokenizerParameters",
    "TrackingParameters",
    "TrainingParameters",
    "ValuesParameters",
    "training_of",
]
