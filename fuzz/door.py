"""A door: a place where somebody's bytes come in, and what has to hold behind it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from coattend.errors import CoattendError

CORPUS = Path(__file__).with_name("corpus")


@dataclass(frozen=True)
class Door:
    """A place where bytes come in.

    Attributes:
        name: Its name.
        whole: Small inputs that it takes.
        open: Takes an input that lies in a file, and checks what it came to. A `CoattendError` is how it says no.
        suffix: What the file's name ends in.
        torch: Whether a reader answers behind it: no limit on addresses is set then.
    """

    name: str
    whole: tuple[bytes, ...]
    open: Callable[[Path], None]
    suffix: str
    torch: bool = False

    def takes(self, content: bytes, folder: Path) -> bool:
        """Whether it takes an input; it may refuse it with a message.

        Args:
            content: The input.
            folder: Where it may lie as a file.

        Raises:
            AssertionError: If what it came to cannot be.
            Exception: Whatever else gets out of the door is a mistake behind it.
        """
        file = folder / f"given{self.suffix}"
        file.write_bytes(content)
        try:
            self.open(file)
        except CoattendError as error:
            # It is told on a terminal and written into tables.
            str(error).encode()
            assert error.problem, "a message without a problem"
            return False
        return True

    def broken_once(self) -> list[Path]:
        """Inputs that once broke it, or that are known to break others."""
        return sorted(path for path in (CORPUS / self.name).glob("*") if path.is_file())
