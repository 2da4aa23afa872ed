"""The pipelines: thin nodes over tables and parameters."""

import warnings

_EXPECTED = (
    # Kedro warns of dots in the names of datasets that are not in their node's namespace. A reader's node reads tables
    # of its benchmark, one that is scored on another benchmark the model of that one, a study's node those of all.
    "One or more dataset names contain",
    # Nodes of a benchmark surround the table of all of them: kedro-viz cannot fold such namespaces, and warns.
    r"Namespace 'study\..*is interrupted by nodes",
    # Kedro warns at every command that previews of nodes are experimental.
    "The 'preview_fn' feature is experimental",
)
"""How Kedro's warnings begin that are about what is meant so."""


def ignore_expected_warnings() -> None:
    """Keep Kedro's warnings of what is meant so from the user. Whoever imports the pipelines may restore the filters of
    warnings, so this has to be asked for when nodes are made."""
    for message in _EXPECTED:
        warnings.filterwarnings("ignore", message=message)


ignore_expected_warnings()
