"""Inputs that once broke a boundary, replayed: each is read or refused. Small ones are files, large ones made here."""

from dataclasses import replace
from pathlib import Path

import pytest
from boundary import FILE_BOUNDARIES, READER_BOUNDARIES, boundary_of

from coattend.data import formats

FOLDER = Path(__file__).parent
DIGITS = b"9" * 5000

LARGE = {
    "custom_csv": {
        "digits-of-a-column": b"passage,question,option_" + DIGITS + b"\na,b,c\n",
        "digits-of-a-label": b"passage,question,option_1,option_2,label\na,b,c,d," + DIGITS + b"\n",
    },
    "custom_jsonl": {
        "more-options-than-a-label-can-number": b'{"passage": "a", "question": "b", "options": ['
        + b", ".join([b'"c"'] * 40_000)
        + b'], "label": 39999}',
    },
    "dream": {"many-keys": b"[{" + b"".join(b'"%d":1,' % number for number in range(3000)) + b'"0":2}]'},
    "recam": {"digits": b'{"article": "a", "label": ' + DIGITS + b"}"},
    "squad": {"nested-deeply": b'{"data": ' + b"[" * 100_000},
    "study": {"list-in-list": b"- " * 20_000 + b"a", "nested-deeply": b"a: " + b"[" * 50_000},
    **{
        name: {"digits": b'{"inputs": ' + DIGITS + b"}", "nested-deeply": b'{"inputs": ' + b"[" * 3000}
        for name in ("http_options", "http_span", "http_word")
    },
}


def regressions(boundary):
    """Every input that once broke a boundary, by its name."""
    files = {path.name: path.read_bytes() for path in sorted((FOLDER / boundary.name).glob("*"))}
    sample = boundary.samples[0]
    if boundary.name.startswith("cnn"):
        files["digits-of-an-entity"] = sample.replace(b"@entity3", b"@entity" + b"3" * 5000)
    if boundary.name == "study":
        files["seed-of-5000-digits"] = sample.replace(b"seeds: [0, 1]", b"seeds: [" + DIGITS + b"]")
    return files | LARGE.get(boundary.name, {})


def test_every_format_has_a_boundary():
    assert {name for name in formats.names() if name != "custom"} <= set(FILE_BOUNDARIES)
    assert {f"custom_{file_type}" for file_type in ("csv", "jsonl", "parquet")} <= set(FILE_BOUNDARIES)
    assert {path.name for path in FOLDER.iterdir() if path.is_dir() and path.name[0] != "_"} <= {
        *FILE_BOUNDARIES,
        *READER_BOUNDARIES,
    }


def test_valid_samples_are_accepted_and_regressions_are_read_or_refused(subtests, tmp_path):
    for name in (*FILE_BOUNDARIES, *READER_BOUNDARIES):
        with subtests.test(name=name):
            boundary = boundary_of(name)
            for sample in boundary.samples:
                assert boundary.accepts(sample, tmp_path)
            for title, content in regressions(boundary).items():
                try:
                    boundary.accepts(content, tmp_path)
                except Exception as error:
                    raise AssertionError(f"{name}/{title}") from error


def test_a_failing_reader_is_the_servers_fault(monkeypatch, tmp_path):
    """The check behind HTTP notices a 500, so that the inputs above can show one."""
    import reader_boundaries

    failing = replace(reader_boundaries.untrained_answerer("word"), processing=None)
    monkeypatch.setattr(reader_boundaries, "untrained_answerer", lambda task: failing)
    reader_boundaries.application_of.cache_clear()
    try:
        boundary = boundary_of("http_word")
        with pytest.raises(AssertionError, match="500"):
            boundary.accepts(boundary.samples[0], tmp_path)
    finally:
        reader_boundaries.application_of.cache_clear()
