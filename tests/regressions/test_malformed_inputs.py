"""Malformed inputs drawn by hypothesis: every boundary reads them or refuses them, in bounded time and memory."""

import csv
import io
import json
import re
import signal
import tarfile
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from boundary import FILE_BOUNDARIES, READER_BOUNDARIES, boundary_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coattend.trials.device import PeakMemory

EXAMPLES = {"study": 10} | dict.fromkeys(READER_BOUNDARIES, 4)
"""Examples of the default suite where each is expensive: a pipeline is built, or a reader answers."""
SECONDS = 20
"""Processor time of one input: more is a hang."""
MEMORY_MIB = 256
"""What one input may add to the process's peak."""

# Archives may hold a name twice on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")

# --- Text, JSON, CSV and archives built from scratch

NASTY_JSON = (
    *("null", "true", "-1", "0", "1.0", "NaN", "-Infinity", "1e999", "9223372036854775808", "32768", "9" * 5000),
    *("[]", "{}", '""', '" "', '"\\ud800"', '"a \\udfff b"', '"\\u0000"', '"a\\u0000b"', '"\\u202e\\ufeff\\u00a0"'),
    *('"' + "a" * 5000 + '"', '"e\\u0301\\u2126 \\ud83d\\ude00"', '"@entity1 @placeholder XXXXX _ _"'),
    *("[" * 50 + "]" * 50, "[" * 2000 + "]" * 2000, '{"a": 1, "a": 2}', '["a", null]', '[1, "a"]'),
    *('{"text": "a", "start": -1}', '[{"text": "", "start": 0}]', '{"__class__": "os.system"}'),
)
NASTY_YAML = (
    *("null", "true", "-1", "NaN", "2020-13-45", "2001-12-14t21:59:43.10-99:00", "190:20:30", "0b", ".inf"),
    *(
        "0o777777777777777777777777",
        "!!python/object/apply:os.system ['true']",
        "!!binary 'no base64'",
        "!!binary YQ==",
    ),
    *("!!timestamp a", "!!int a", "!!set {a, b}", "!!omap [a: 1]", "&a [*a]", "&a {b: *a}", "*nobody", "{? [a] : b}"),
    *("{? {a: b} : c}", "[" * 3000, "|", "'", "../../etc/passwd", "a.b/c", "a b", "transformer+nothing", "x" * 3000),
    *('"\\ud800"', '"\\0"', "9" * 5000),
)
NASTY_BYTES = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc3\x28", b"\xe2\x80\xa8", b"\r", b"\n\n", b"\t"),
    *(b'"', b'""', b",", b"{", b"[" * 300, b"|", b"XXXXX", b"@placeholder", b"@entity" + b"9" * 5000, b"21 ", b"1 "),
    *(b"9" * 5000, b"option_" + b"9" * 5000, b"-0.0", b"a" * 70_000, "\u0663".encode(), "😀".encode()),
)
KEYS = ("id", "passage", "question", "options", "option_1", "label", "answer", "answers", "article", "data", "inputs")

texts = st.text(st.characters(exclude_categories=()), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | texts, values, max_size=4),
    max_leaves=12,
)
json_documents = json_values.map(lambda value: json.dumps(value).encode())
json_lines = st.lists(json_documents, max_size=4).map(b"\n".join)


@st.composite
def csv_documents(draw):
    """Rows with more or fewer cells than the header, quoted as they should be or not at all."""
    header = draw(st.lists(st.sampled_from(KEYS) | texts, min_size=1, max_size=6))
    rows = [header, *draw(st.lists(st.lists(texts, max_size=7), max_size=4))]
    with io.StringIO(newline="") as file:
        if draw(st.booleans()):
            csv.writer(file).writerows(rows)
        else:
            file.writelines(",".join(row) + "\n" for row in rows)
        return file.getvalue().encode(errors="surrogatepass")


member_names = st.sampled_from(("a.json", "../a", "/a", "a/../../b", "a//b", ".", "", "C:\\a", "ä" * 90)) | st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=20
)


@st.composite
def zip_archives(draw):
    content = io.BytesIO()
    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    with zipfile.ZipFile(content, "w") as archive:
        for name in draw(st.lists(member_names, max_size=4)):
            entry = zipfile.ZipInfo(name or "/")
            entry.external_attr = draw(st.sampled_from((0, 0o120777, 0o040755, 0o020666))) << 16
            archive.writestr(entry, draw(st.binary(max_size=50)), draw(st.sampled_from(methods)))
    return content.getvalue()


@st.composite
def tar_archives(draw):
    content = io.BytesIO()
    types = (
        tarfile.REGTYPE,
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.DIRTYPE,
        tarfile.GNUTYPE_SPARSE,
    )
    tar_format = draw(st.sampled_from((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)))
    with tarfile.open(fileobj=content, mode="w", format=tar_format) as archive:
        for name in draw(st.lists(member_names.filter(lambda name: len(name.encode()) < 90), max_size=4)):
            entry, data = tarfile.TarInfo(name), draw(st.binary(max_size=50))
            entry.type, entry.linkname, entry.size = draw(st.sampled_from(types)), "../../etc/passwd", len(data)
            archive.addfile(entry, io.BytesIO(data))
    return content.getvalue()


GENERATED = {
    ".json": json_documents,
    ".txt": json_documents,
    ".jsonl": json_lines,
    ".csv": csv_documents(),
    ".zip": zip_archives(),
    ".tar.gz": tar_archives(),
    ".yml": json_documents,
}
"""Documents by the end of a file's name. JSON is YAML, too."""

# --- Changes to a valid input


def cut_or_repeat(draw, content):
    start, end = sorted((draw(st.integers(0, len(content))), draw(st.integers(0, len(content)))))
    changed = (content[:start], content[:start] + content[end:], content[:end] + content[start:])
    return draw(st.sampled_from(changed))


def overwrite(draw, content):
    """Flip a bit, or put a limit of an integer field or a nasty piece over some bytes."""
    start = draw(st.integers(0, len(content)))
    width = draw(st.sampled_from((1, 2, 4, 8)))
    limits = (0, 1, 127, 128, 255, 2**15, 2**31 - 1, 2**31, 2**63 - 1, 2**64 - 1)
    number = (draw(st.sampled_from(limits)) % 2 ** (8 * width)).to_bytes(width, "little")
    flipped = bytes(byte ^ 1 << draw(st.integers(0, 7)) for byte in content[start : start + 1])
    piece = draw(st.sampled_from((number, flipped, *NASTY_BYTES)))
    return content[:start] + piece + content[start + draw(st.sampled_from((0, 1, len(piece)))) :]


def move_line(draw, content):
    lines = content.splitlines(keepends=True) or [b""]
    line = lines.pop(draw(st.integers(0, len(lines) - 1)))
    for _ in range(draw(st.integers(0, 2))):
        lines.insert(draw(st.integers(0, len(lines))), line)
    return b"".join(lines)


def encode_differently(draw, content):
    encoding = draw(st.sampled_from(("utf-16", "utf-32", "latin-1", "utf-7", "cp1252")))
    return content.decode("utf-8", errors="replace").encode(encoding, errors="replace")


def change_json(draw, content):
    """Remove a value of a JSON text or of one of its lines, name it twice, or put a nasty one in its stead."""
    for text in (content.decode(errors="replace"), *content.decode(errors="replace").splitlines()):
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            continue
        slots = list(slots_of(document))
        if slots:
            holder, key = draw(st.sampled_from(slots))
            nasty, value = draw(st.sampled_from(NASTY_JSON)), json.dumps(holder[key])
            change = draw(st.sampled_from(("remove", "repeat", "replace", "replace")))
            if change == "remove":
                del holder[key]
            else:
                holder[key] = "\0slot"
            repeated = f"{value}, {nasty}" if isinstance(holder, list) else f"{value}, {json.dumps(key)}: {nasty}"
            changed = json.dumps(document).replace('"\\u0000slot"', repeated if change == "repeat" else nasty)
            return content.replace(text.encode(), changed.encode(), 1)
    return content


def slots_of(value):
    """The holders and keys of all values inside of a JSON value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield value, key
        yield from slots_of(inner)


YAML_VALUE = re.compile(rb"(?<=: )[^\n{\[&|>]+$|(?<=[\[,] )[^\n,\]]+|(?<=- )[^\n]+$|^ *[\w.]+(?=:)", re.MULTILINE)


def change_yaml(draw, content):
    """Put something nasty, or another value of the text, in the stead of a value or a key."""
    matches = list(YAML_VALUE.finditer(content))
    if not matches:
        return content
    match = draw(st.sampled_from(matches))
    value = draw(st.sampled_from([text.encode() for text in NASTY_YAML] + [match.group().strip() for match in matches]))
    indent = match.group()[: len(match.group()) - len(match.group().lstrip())]
    return content[: match.start()] + indent + value + content[match.end() :]


CHANGES = (cut_or_repeat, overwrite, move_line, encode_differently, change_json, change_json, change_yaml)


@st.composite
def changed_samples(draw, samples):
    content = draw(st.sampled_from(samples))
    for change in draw(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=4)):
        content = change(draw, content)
    return content


# --- The tests


@contextmanager
def bounded():
    """Fail on an input that takes too much processor time or memory."""

    def interrupt(*_):
        raise AssertionError(f"more than {SECONDS} seconds of computing")

    memory = PeakMemory("cpu")
    before = memory.mib
    handler = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
    growth = memory.mib - before
    assert growth <= MEMORY_MIB, f"{growth:.0f} MiB for one input"


def check_malformed_inputs(name, examples):
    boundary = boundary_of(name)
    with tempfile.TemporaryDirectory() as folder:
        # What is loaded once must not count as the first input's.
        for sample in boundary.samples:
            boundary.accepts(sample, Path(folder))
        inputs = changed_samples(boundary.samples)
        if boundary.suffix in GENERATED:
            inputs |= GENERATED[boundary.suffix]

        @settings(
            max_examples=examples,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(inputs)
        def check(content):
            with bounded():
                boundary.accepts(content, Path(folder))

        check()


@pytest.mark.parametrize("name", [*FILE_BOUNDARIES, *READER_BOUNDARIES])
def test_malformed_inputs_are_read_or_refused(name):
    check_malformed_inputs(name, EXAMPLES.get(name, 30))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FILE_BOUNDARIES, *READER_BOUNDARIES])
def test_many_malformed_inputs_are_read_or_refused(name):
    check_malformed_inputs(name, 20 * EXAMPLES.get(name, 30))
