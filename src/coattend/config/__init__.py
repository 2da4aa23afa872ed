"""Typed parameters of benchmarks, text profiles, encoders, readers, studies and commands.

Every block of the YAML files has a pydantic model that refuses unknown fields with the nearest known one. Nothing here
imports torch.
"""

from coattend.config.base import Parameters
from coattend.config.benchmark import (
    BenchmarkParameters,
    BookParameters,
    DownloadParameters,
    SourceParameters,
    TaggingParameters,
    Task,
    TokenizerParameters,
)
from coattend.config.commands import (
    LOCAL,
    AttentionParameters,
    CompareParameters,
    DemoParameters,
    EngineParameters,
    Limits,
    PredictionParameters,
    ShareParameters,
    TrackingParameters,
)
from coattend.config.reader import EncoderParameters, ReaderParameters, training_of
from coattend.config.study import PaperParameters, SearchParameters, StudyParameters, StudySettings, ValuesParameters
from coattend.config.training import RerankingParameters, TrainingParameters

__all__ = [
    "LOCAL",
    "AttentionParameters",
    "BenchmarkParameters",
    "BookParameters",
    "CompareParameters",
    "DemoParameters",
    "DownloadParameters",
    "EncoderParameters",
    "EngineParameters",
    "Limits",
    "PaperParameters",
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
    "Task",
    "TokenizerParameters",
    "TrackingParameters",
    "TrainingParameters",
    "ValuesParameters",
    "training_of",
]
