"""``python -m coattend.serving``: the application that shows a trained reader, as ``make demo`` starts it."""

import errno
import socket
from pathlib import Path

import click

from coattend.config import DemoParameters
from coattend.config.parameters import check_parameters
from coattend.errors import CoattendError


@click.command()
@click.option("--model", help="As prediction.model; by default the reader that was logged last.")
@click.option("--env", help="Environment of the project's configuration.")
@click.option("--host", help="Where to listen; by default this machine alone.")
@click.option("--port", type=int, help="The port; by default 8000.")
def main(model: str | None, env: str | None, host: str | None, port: int | None) -> None:
    """Show a trained reader."""
    from kedro.framework.session import KedroSession
    from kedro.framework.startup import bootstrap_project

    folder = Path.cwd()
    bootstrap_project(folder)
    session = KedroSession.create(project_path=folder, env=env)
    with session:
        context = session.load_context()
        address = {name: value for name, value in {"host": host, "port": port}.items() if value is not None}
        parameters = context.params["demo"] | address
        check_parameters(parameters, DemoParameters, block="demo")
        trials, store = (context.catalog.load(name) for name in ("trials", "mlflow_store"))
    serve(model, trials, store, DemoParameters.model_validate(parameters))


def serve(model: str | None, trials: Path, store: str, demo: DemoParameters) -> None:
    """Load a reader and answer until interrupted."""
    import uvicorn

    from coattend.serving.demo import application
    from coattend.serving.model_lookup import logged_models, resolve_model
    from coattend.serving.predictor import Predictor

    check_port(demo.host, demo.port, "make demo")
    models = logged_models(store) if model is None else []
    name = model or (f"models:/{models[0].model_id}" if models else None)
    answerer = Predictor.load(resolve_model(name, trials, store, where="--model"), limits=demo.limits)
    click.echo(f"{answerer.spec.about}: http://{demo.host}:{demo.port}")
    uvicorn.run(application(answerer, demo), host=demo.host, port=demo.port, access_log=False)


def check_port(host: str, port: int, command: str) -> None:
    """Refuse an address that is taken, or none of this machine; ``command`` starts the application, and takes another
    PORT."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
    except OSError as error:
        cure = "Take a host of this machine, such as 127.0.0.1, and a port above 1023"
        if error.errno == errno.EADDRINUSE:
            cure = f"Take another: {command} PORT={port % 65535 + 1}, or end what listens there"
        raise CoattendError(f"cannot be listened at ({error.strerror})", where=f"{host}:{port}", cure=cure) from None


if __name__ == "__main__":
    main()
