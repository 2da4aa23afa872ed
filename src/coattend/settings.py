"""Project settings: how Kedro loads configuration. Hooks are entry points (see `coattend.config.project.project_hook`),
and commands are in `coattend.cli`."""

from typing import Any

from coattend import studies
from coattend.config.loader import ConfigLoader
from coattend.config.source import BESIDE, listed


class ProjectConfigLoader(ConfigLoader):
    """Kedro's configuration with every benchmark, reader and study in it."""

    def complete(self, parameters: dict[str, Any]) -> None:
        """Add the parameters of every study."""
        super().complete(parameters)
        changes = parameters.get("studies") or {}
        self.check_names("study", ("studies",), changes, studies.study_names())
        models = listed((parameters.get("study") or {}).get(BESIDE))
        parameters["studies"] = studies.study_parameters(
            changes, parameters["readers"], parameters.get("benchmarks") or {}, models
        )


CONFIG_LOADER_CLASS = ProjectConfigLoader
CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    "merge_strategy": {"parameters": "soft", "globals": "soft"},
}
