"""Pipelines in forks of a warm interpreter: twenty kills would otherwise cost twenty starts.

Run as a script it serves; `Warm` starts it and asks it. A fork reports each file that it is about to write, rename or
remove, and the interpreter it came from kills it at the one that it was told. What the fork writes until the signal
reaches it is anybody's guess, as with any kill.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PRELOADED = (
    "kedro.runner",
    "coattend.tracking.hooks",
    "coattend.training.fit",
    "coattend.answering.answerer",
    "coattend.reporting.html_page",
    "mlflow.store.tracking.sqlalchemy_store",
    "nltk",
    "plotly.graph_objects",
)
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir")


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        code: Its exit status; of a killed one minus the signal.
        files: How often it was about to change a file.
        said: What it printed.
    """

    code: int
    files: int
    said: str


class Warm:
    """The interpreter, as whoever asks it sees it.

    Args:
        project: The folder that commands run in.
        log: Where their output goes.
    """

    def __init__(self, project: Path, log: Path) -> None:
        self.project, self._log = project, log
        environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "1000"}
        self._server = subprocess.Popen(
            [sys.executable, __file__, str(log)],
            cwd=project,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        pipelines: str,
        namespaces: str = "",
        *,
        kill_at: int | None = None,
        largest_file: int | None = None,
        **params: Any,
    ) -> Ended:
        """Run pipelines in the test environment.

        Args:
            pipelines: Which, with commas between.
            namespaces: Which parts of them.
            kill_at: Before which change of a file it is killed.
            largest_file: Bytes that a file may have; the kernel refuses to write more.
            params: As behind ``--params``.
        """
        asked = {"pipelines": pipelines, "namespaces": namespaces, "params": params}
        asked |= {"kill_at": kill_at, "largest_file": largest_file}
        self._server.stdin.write(json.dumps(asked) + "\n")
        self._server.stdin.flush()
        return Ended(**json.loads(self._server.stdout.readline()), said=self._log.read_text(errors="replace"))

    def close(self) -> None:
        """End it."""
        self._server.stdin.close()
        self._server.wait(timeout=60)
        self._server.stdout.close()


def serve(log: Path) -> None:
    """Run what is asked for on standard input, a line a command."""
    from kedro.framework.project import pipelines
    from kedro.framework.startup import bootstrap_project

    bootstrap_project(Path.cwd())
    len(pipelines)  # They are registered when they are first asked for.
    for name in PRELOADED:
        __import__(name)
    for line in sys.stdin:
        asked = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            run(asked, log, writing)
        os.close(writing)
        files = 0
        while os.read(reading, 1):
            files += 1
            if files == asked["kill_at"]:
                os.kill(child, signal.SIGKILL)
        os.close(reading)
        _, status, usage = os.wait4(child, 0)
        code = os.waitstatus_to_exitcode(status)
        print(f"{usage.ru_utime:.2f} {usage.ru_stime:.2f}", file=sys.stderr)
        print(json.dumps({"code": code, "files": files}), flush=True)


def run(asked: dict[str, Any], log: Path, reports: int) -> None:
    """Run pipelines in this process as the command line does, and end it."""
    from click import ClickException
    from kedro.framework.project import settings

    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    project = os.getcwd()

    def report(event: str, given: tuple[Any, ...]) -> None:
        writes = event == "open" and bool(given[2] & (os.O_WRONLY | os.O_RDWR))
        if (writes or event in CHANGES) and str(given[0]).startswith(project):
            os.write(reports, b".")

    sys.addaudithook(report)
    if asked["largest_file"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["largest_file"],) * 2)
    code = 1
    try:
        options = {"project_path": project, "env": "test", "runtime_params": asked["params"]}
        with settings.SESSION_CLASS.create(**options) as session:
            session.run(pipeline_names=asked["pipelines"].split(","), namespaces=asked["namespaces"].split())
        code = 0
    except ClickException as error:
        error.show()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
