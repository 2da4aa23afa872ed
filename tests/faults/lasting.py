"""Digests of the files that a disturbed run must end with, apart from times and names of machines."""

import hashlib
import json
import re


def digests(folder):
    """Every file that a stage has written under its final name, but for what tells the time or the machine."""
    file_digests = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.name.startswith("."):
            file_digests[str(file.relative_to(folder))] = hashlib.sha256(_lasting(file)).hexdigest()
    return file_digests


MINUTE = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d")
"""When a page was drawn, as the list of all pages tells it."""


def _lasting(file):
    if file.name == "index.html":
        return MINUTE.sub(b"", file.read_bytes())
    if file.suffix != ".json":
        return file.read_bytes()
    return json.dumps(_without_costs(json.loads(file.read_text())), sort_keys=True).encode()


COSTS = ("seconds", "processor_seconds", "questions_per_second", "peak_memory_mib")


def _without_costs(value):
    if isinstance(value, dict):
        return {key: _without_costs(element) for key, element in value.items() if key not in COSTS}
    return [_without_costs(element) for element in value] if isinstance(value, list) else value
