"""A paper's table as a study: read from YAML, validated, and expanded into variants. Imports no torch."""

from coattend.studies.spec import (
    PREFIX,
    forget_studies,
    load_study,
    read_studies,
    study_groups,
    study_names,
    study_parameters,
    wired_study,
)
from coattend.studies.study import Study

__all__ = [
    "PREFIX",
    "Study",
    "forget_studies",
    "load_study",
    "read_studies",
    "study_groups",
    "study_names",
    "study_parameters",
    "wired_study",
]
