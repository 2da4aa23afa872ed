"""Entry point by which MLflow loads a logged reader: code, not a pickled object.

Every logged reader carries a copy of this file. The package does the rest, and reads weights and JSON alone.
"""

import mlflow

from coattend.serving.reader_model import ReaderModel

mlflow.models.set_model(ReaderModel())
