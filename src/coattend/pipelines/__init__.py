"""The pipelines: thin nodes over tables and parameters."""

import warnings

# Kedro warns of dots in the names of datasets that are not in their node's namespace. A reader's node reads tables of
# its benchmark, one that is scored on another benchmark the model of that one, a study's node those of all.
warnings.filterwarnings("ignore", message="One or more dataset names contain")
