"""Question types that annotators gave: lines of dialogue id, number of the question from 1, and letters, set by tabs.

Source: DREAM's ``annotation`` folder; two annotators, and a question may bear several letters.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from coattend.benchmarks.files import decode, read_bytes
from coattend.errors import CoattendError

TYPES = {"m": "matching", "s": "summary", "l": "logic", "a": "arithmetic", "c": "commonsense"}


def types_of(files: Iterable[Path]) -> dict[str, tuple[str, ...]]:
    """The types of questions by question id: each type with the name of the file that gives it, up to ``_``.

    Args:
        files: The annotators' files, ``annotator1_dev.txt`` ...

    Raises:
        CoattendError: If a line is of another form.
    """
    types: dict[str, tuple[str, ...]] = {}
    for file in files:
        annotator = file.stem.partition("_")[0]
        for question, letters in _lines(file):
            types[question] = (*types.get(question, ()), *(f"{TYPES[one]}, {annotator}" for one in letters))
    return types


def _lines(file: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(decode(read_bytes(file), file).splitlines(), 1):
        if not line.strip() or (number == 1 and line.startswith("dialogueID")):
            continue
        fields = [field.strip() for field in line.split("\t")]
        letters = "".join(fields[2:]).replace(" ", "").replace(",", "")
        if len(fields) < 3 or not fields[1].isdecimal() or not letters or set(letters) - set(TYPES):
            problem = f"is not a dialogue's id, a question's number and letters out of {''.join(TYPES)}"
            raise CoattendError(problem, where=f"{file}, line {number}", cure="Fetch the file again")
        yield f"{fields[0]}-{fields[1]}", "".join(dict.fromkeys(letters))
