"""``python -m coattend.tracking``: MLflow's interface on the project's runs, as ``make mlflow`` starts it."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from coattend.config.project import project_folder
from coattend.errors import CoattendError
from coattend.io.mlflow_store import TRIALS, client_of, interface_of, is_server, store_uri, view_address
from coattend.masking import masked_text
from coattend.serving.__main__ import check_port

MAX_LISTED = 10
"""Experiments whose addresses are printed."""


@click.command()
@click.option("--host", default="127.0.0.1", help="Where to listen; by default this machine alone.")
@click.option("--port", type=int, default=5000, help="The port; by default 5000.")
def main(host: str, port: int) -> None:
    """Print where the trials of each experiment are listed, best first, and show them until interrupted."""
    folder = project_folder()
    uri = store_uri(folder)
    address = interface_of(uri) if is_server(uri) else f"http://{host}:{port}"
    for name, page in experiment_pages(uri):
        click.echo(f"{name}: {address}/{page}")
    if is_server(uri):
        return
    check_port(host, port, "make mlflow")
    mlflow = str(Path(sys.executable).parent / "mlflow")
    options = ["--backend-store-uri", uri, "--host", host, "--port", str(port), "--workers", "1"]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # What ends this ends MLflow, too.
    with subprocess.Popen([mlflow, "ui", *options], cwd=folder) as interface:
        try:
            sys.exit(interface.wait())
        except KeyboardInterrupt:
            interface.terminate()


def experiment_pages(store: str) -> Iterator[tuple[str, str]]:
    """Yield the experiments of a store, the latest first, each with the address of its trials below the interface's.

    Raises:
        CoattendError: If nothing was tracked yet, or the store cannot be used.
    """
    client = client_of(store)
    experiments = [] if client is None else client.search_experiments(order_by=["last_update_time DESC"])
    tracked = [experiment for experiment in experiments if experiment.name != "Default"]
    if not tracked:
        where = masked_text(store)
        raise CoattendError("nothing was tracked yet", where=where, cure="Train a reader first, as `make run` does")
    for experiment in tracked[:MAX_LISTED]:
        yield experiment.name, view_address(experiment.experiment_id, TRIALS)


if __name__ == "__main__":
    main()
