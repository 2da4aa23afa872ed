"""Functions in forks of a warm interpreter: twenty kills would otherwise cost twenty starts.

Run as a script it serves; `Warm` starts it and asks it. A fork reports each file that it is about to write, rename or
remove, and the interpreter that it came from kills it at the one that was asked for. What the fork does until the
signal reaches it is anybody's guess, as with any kill.
"""

import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir")


@dataclass(frozen=True)
class ForkResult:
    """Exit of a fork.

    Attributes:
        code: Exit status; of a killed process minus the signal.
        files: Number of times that it was about to change a file.
        output: Text that it printed.
    """

    code: int
    files: int
    output: str


class Warm:
    """A forked interpreter with its modules imported, as its caller sees it.

    Args:
        folder: Working folder of the functions.
        module: Module that has them; its imports are run once.
        prefix: Words before the interpreter's command.
        environment: What is added to its environment.
    """

    def __init__(self, folder: Path, module: str, prefix: Sequence[str] = (), **environment: str) -> None:
        self.folder, self._log = folder, folder / "said.log"
        self._server = subprocess.Popen(
            [*prefix, sys.executable, __file__, module, str(self._log)],
            cwd=folder,
            env=os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "1000"} | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def call(
        self, function: str, *arguments: Any, kill_at: int = 0, largest_file: int = resource.RLIM_INFINITY
    ) -> ForkResult:
        """Call a function.

        Args:
            function: Its name in the module.
            arguments: Its arguments, as JSON holds them.
            kill_at: Number of the change of a file before which it is killed; 0: never.
            largest_file: Bytes that a file may have; the kernel refuses to write more.
        """
        self._server.stdin.write(json.dumps([function, arguments, kill_at, largest_file]) + "\n")
        self._server.stdin.flush()
        code, files = json.loads(self._server.stdout.readline())
        return ForkResult(code, files, self._log.read_text(errors="replace"))

    def __enter__(self) -> "Warm":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stdin.close()
        self._server.wait(timeout=60)
        self._server.stdout.close()


def serve(module: str, log: Path) -> None:
    """Call what is asked for on standard input, a line a call."""
    # Answers have a pipe of their own: a library may print a warning while it is imported.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    functions = importlib.import_module(module)
    for line in sys.stdin:
        function, arguments, kill_at, largest_file = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            call(getattr(functions, function), arguments, log, writing, largest_file)
        os.close(writing)
        files = 0
        while os.read(reading, 1):
            files += 1
            if files == kill_at:
                os.kill(child, signal.SIGKILL)
        os.close(reading)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps([code, files]), file=answers, flush=True)


def call(function: Callable[..., None], arguments: list[Any], log: Path, reports: int, largest_file: int) -> None:
    """Call a function in this process, tell of its errors as the command line does, and end the process."""
    from click import ClickException

    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    folder = str(log.parent)

    def report(event: str, details: tuple[Any, ...]) -> None:
        writes = event == "open" and bool(details[2] & (os.O_WRONLY | os.O_RDWR))
        if (writes or event in CHANGES) and str(details[0]).startswith(folder):
            os.write(reports, b".")

    sys.addaudithook(report)
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
        try:
            function(*arguments)
        finally:  # What it says of it goes to a file, too.
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
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
    sys.path.insert(0, str(Path(__file__).parent))
    serve(sys.argv[1], Path(sys.argv[2]))
