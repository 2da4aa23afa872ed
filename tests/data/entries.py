"""Benchmarks made for a test."""

import json
from pathlib import Path
from typing import Any

from coattend.config import BenchmarkParameters, SourceParameters


def benchmark(*sources: SourceParameters, **fields: Any) -> BenchmarkParameters:
    """A benchmark of DREAM files, or of other sources."""
    return BenchmarkParameters(
        **{"name": "lamps", "title": "Lamps", "tasks": ("options",), "published_at": "https://lamps.example"}
        | {"sources": sources or (source(),)}
        | fields
    )


def source(**fields: Any) -> SourceParameters:
    """A folder of DREAM files."""
    files = {"train": ["train*.json"], "dev": ["dev*.json"]}
    return SourceParameters(**{"format": "dream", "folder": "lamps", "files": files} | fields)


def dialogue(name: str = "1", *, text: str = "The lamp is here.", questions: int = 1, answer: str = "Here.") -> list:
    """A dialogue as DREAM's files have it."""
    question = {"question": "Where is the lamp?", "choice": ["There.", "Here."], "answer": answer}
    return [[f"M: {text}", "W: I see."], [question] * questions, name]


def write(folder: Path, name: str, *dialogues: Any) -> None:
    """Write a DREAM file below the raw folder."""
    path = folder / "lamps" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(list(dialogues)))
