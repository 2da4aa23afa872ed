"""The parameters of benchmarks, text profiles, encoders, readers, studies, engines and pages, typed and explained.

Unknown keys are refused with the nearest known one. Nothing here imports torch.
"""

from coattend.parameters.attention import AttentionParameters
from coattend.parameters.benchmark import (
    BenchmarkParameters,
    BookParameters,
    DownloadParameters,
    SourceParameters,
    Task,
)
from coattend.parameters.compare import CompareParameters
from coattend.parameters.demo import DemoParameters
from coattend.parameters.engine import LOCAL, EngineParameters
from coattend.parameters.limits import Limits
from coattend.parameters.prediction import PredictionParameters
from coattend.parameters.reader import EncoderParameters, ReaderParameters, training_of
from coattend.parameters.search import SearchParameters, ValuesParameters
from coattend.parameters.share import ShareParameters
from coattend.parameters.strict import Parameters
from coattend.parameters.study import PaperParameters, StudyParameters, StudySettings
from coattend.parameters.text import TaggingParameters, TokenizerParameters
from coattend.parameters.tracking import TrackingParameters
from coattend.parameters.training import RerankingParameters, TrainingParameters

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
