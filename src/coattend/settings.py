"""Project settings: how Kedro loads configuration and runs a session. Hooks come through their entry point."""

from coattend.config_loader import ConfigLoader
from coattend.session import Session

CONFIG_LOADER_CLASS = ConfigLoader
CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    "merge_strategy": {"parameters": "soft", "globals": "soft"},
}
SESSION_CLASS = Session
