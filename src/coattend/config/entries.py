"""Benchmarks, readers and profiles of the base environment, which pipelines are built from.

They are read as plain YAML: Kedro's own loader resolves them for a run, and cannot be made before there is one without
taking over the globals of its process.
"""

from functools import cache
from typing import Any, NamedTuple

from pydantic import ValidationError

from coattend import readers
from coattend.config.benchmark import BenchmarkParameters
from coattend.config.reader import EncoderParameters, ReaderParameters
from coattend.config.source import BASE, MODEL, WIRING_FIELDS, current, parameter_files
from coattend.config.yaml import Lines, TextFile, load_yaml
from coattend.errors import CoattendError, did_you_mean, message_of
from coattend.readers.registry import JOIN

Entry = dict[str, Any]


BLOCKS = frozenset(("benchmarks", "encoders", "readers", "taggings"))
"""Blocks of parameters whose entries decide which pipelines there are."""
FIELDS = frozenset(ReaderParameters.model_fields)
SHAPE = "Write `name: { field: value }`, or each field in a line of its own, indented deeper than the name"


class _Block(NamedTuple):
    """A block of parameters, such as readers: its entries, and the file of each."""

    entries: dict[str, Entry]
    files: dict[str, TextFile]


class TextProfiles(NamedTuple):
    """The tagging profile, the encoder and the tokenizer profile that decide which tables of texts a reader reads; with
    ``reads_words`` it reads the tagging stage's words, and subwords at most besides."""

    tagging: str
    encoder: str
    tokenizer: str
    reads_words: bool


def benchmark_names() -> list[str]:
    """Names of all benchmarks: the entries of ``benchmarks``."""
    return sorted(_entries("benchmarks"))


def benchmark_entry(name: str) -> Entry:
    """Look up a benchmark's parameters as its file has them, or raise CoattendError."""
    entries = _entries("benchmarks")
    if name not in entries:
        raise CoattendError(f"no benchmark is called {name!r}", cure=did_you_mean(name, list(entries)))
    return entries[name] or {}


def benchmark(name: str) -> BenchmarkParameters:
    """Look up a benchmark; raise CoattendError if there is none of that name, or its file is wrong."""
    return _benchmark(current().location, name)


@cache
def _benchmark(location: str, name: str) -> BenchmarkParameters:
    try:
        return BenchmarkParameters.model_validate({**benchmark_entry(name), "name": name})
    except ValidationError as error:
        first = error.errors()[0]
        where = f"{_blocks(location)['benchmarks'].files[name]}, {'.'.join(map(str, first['loc']))}"
        raise CoattendError(message_of(first), where=where, cure="The fields are in coattend/config") from None


def reader_names() -> list[str]:
    """Names of all readers: the registry's, and the entries of ``readers``."""
    return sorted({*readers.names(), *_entries("readers")})


def reader_entry(name: str) -> Entry:
    """Look up a reader's parameters, with the wiring of the current environment; a reader that is called by its parts,
    such as ``transformer+coattention``, needs no entry."""
    source = current()
    entries, wiring = _blocks(source.location)["readers"].entries, source.readers.get(name, {})
    if name not in entries:
        check_reader(name)
    if "encoder" in wiring:
        encoder_entry(wiring["encoder"], where=f"readers.{name}.encoder of the environment")
    if "tagging" in wiring:
        check_tagging(wiring["tagging"], where=f"readers.{name}.tagging of the environment")
    return complete_reader(name, entries.get(name)) | wiring


def readers_of(benchmark_name: str) -> list[str]:
    """Names of the readers of a benchmark that have a head for one of its tasks: those that the benchmark names, or
    else all but entries that leave it out."""
    parameters = benchmark(benchmark_name)
    chosen = parameters.readers
    names = []
    for name in reader_names() if chosen is None else sorted(set(chosen)):
        entry = reader_entry(name)
        benchmarks = entry.get("benchmarks")
        if (chosen is not None or benchmarks is None or benchmark_name in benchmarks) and readers.fits(
            entry["reader"], parameters.answerable, entry.get("head")
        ):
            # A language model is not at hand unless its name is.
            names += [name] if is_trained(entry) or entry.get(MODEL) else []
    return names


def is_trained(entry: Entry) -> bool:
    """Tell from a reader's entry whether it is trained; one that is not is a language model as it is."""
    return readers.is_trained(entry["reader"])


def missing_model(name: str) -> CoattendError:
    """The error of a reader's entry that is a language model and does not say which."""
    example = f"readers: {{ {name}: {{ {MODEL}: Qwen/Qwen3-0.6B }} }}"
    return CoattendError(
        "names no language model, and none comes with this package",
        where=f"readers.{name}.{MODEL}",
        cure=f"Name a folder or a decoder-only model of Hugging Face in a parameter file, such as `{example}`, "
        f"or with --params readers.{name}.{MODEL}=<folder>",
    )


def baseline_reader(benchmark_name: str) -> str:
    """Name a reader of a benchmark for hints: the baseline of all papers with a head for it, else the first."""
    return min(readers_of(benchmark_name), key=lambda name: (not name.startswith("plain"), name))


def check_reader(name: str) -> None:
    """Raise CoattendError for the name of a reader that is neither registered nor made of parts that are."""
    if name in _entries("readers") or name in readers.names():
        return
    if JOIN not in name:
        raise CoattendError(f"there is no reader {name!r}", cure=did_you_mean(name, reader_names()))
    readers.heads_of(name)


def complete_reader(name: str, entry: Entry | None) -> Entry:
    """Add the names that a reader's entry may leave out."""
    return {"name": name, "reader": name} | (entry or {})


def tagging_names() -> list[str]:
    """Names of all tagging profiles."""
    return sorted(_entries("taggings"))


def check_tagging(name: Any, *, where: str) -> None:
    """Raise CoattendError if there is no tagging profile of a name, which an environment gives ``where``."""
    if name not in tagging_names():
        cure = f"A new one belongs in {current().location}/{BASE}. {did_you_mean(str(name), tagging_names())}"
        raise CoattendError(f"no tagging profile is called {name!r}", where=where, cure=cure)


def encoder_entry(name: str, *, where: str | None = None) -> Entry:
    """Look up an encoder's parameters; an error says ``where`` it is named, else the base environment."""
    encoders = _entries("encoders")
    if name not in encoders:
        where = where or f"encoders in {current().location}/{BASE}"
        cure = f"A new one belongs in {current().location}/{BASE}. {did_you_mean(str(name), list(encoders))}"
        raise CoattendError(f"no encoder is called {name!r}", where=where, cure=cure)
    return encoders[name]


def text_profiles(entry: Entry, benchmark_name: str) -> TextProfiles:
    """The profiles of a reader's entry on a benchmark: what the entry leaves out is the benchmark's, or the default."""
    changes = current().benchmarks.get(benchmark_name, {})
    if changes.get("encoder") is not None:
        encoder_entry(changes["encoder"], where=f"benchmarks.{benchmark_name}.encoder of the environment")
    if changes.get("tagging") is not None:
        check_tagging(changes["tagging"], where=f"benchmarks.{benchmark_name}.tagging of the environment")
    if entry.get("tagging") is not None:
        check_tagging(entry["tagging"], where=f"{entry['name']}.tagging on {benchmark_name}")
    of_benchmark = benchmark_entry(benchmark_name) | changes
    encoder, tagging = (
        entry.get(field) or of_benchmark.get(field) or ReaderParameters.model_fields[field].default
        for field in WIRING_FIELDS
    )
    return TextProfiles(
        tagging=tagging,
        encoder=encoder,
        tokenizer=encoder_entry(encoder).get("tokenizer", EncoderParameters.model_fields["tokenizer"].default),
        reads_words=readers.encoder_of(entry["reader"]) == "recurrent",
    )


def forget() -> None:
    """Read the files anew at their next use: they have changed."""
    for cached in (_benchmark, _blocks):
        cached.cache_clear()


def declared_entry(block: str, name: str) -> Entry:
    """The entry of a block as the base environment has it, empty where it has none."""
    return _entries(block).get(name) or {}


def _entries(block: str) -> dict[str, Entry]:
    return _blocks(current().location)[block].entries


@cache
def _blocks(location: str) -> dict[str, _Block]:
    """Gather the entries of each block from all parameter files of the base environment."""
    blocks = {name: _Block({}, {}) for name in BLOCKS}
    for file in parameter_files(location, BASE):
        content = load_yaml(file) or {}
        for name in BLOCKS & content.keys() if isinstance(content, dict) else ():
            entries, files = blocks[name]
            block = content[name] or {}
            check_block(file, name, block)
            for entry in block.keys() & entries.keys():
                cure = f"Name one of them anew: the other is in {files[entry]}"
                raise CoattendError(f"{entry!r} is there twice", where=f"{file}, {name}", cure=cure)
            entries.update(block)
            files.update(dict.fromkeys(block, file))
    if not blocks["encoders"].entries:
        raise CoattendError("declares no encoders", where=f"{location}/{BASE}", cure="Name a folder with --conf-source")
    _check_readers(blocks)
    _check_benchmarks(blocks)
    return blocks


def _check_readers(blocks: dict[str, _Block]) -> None:
    """Check what readers' entries name, with their files: studies would take such a mistake for one of theirs."""
    for name, file in blocks["readers"].files.items():
        entry = blocks["readers"].entries[name] or {}
        reader = str(entry.get("reader", name))
        try:
            if reader not in readers.names():
                readers.heads_of(reader)
        except CoattendError as error:
            cure = error.cure
            if name in FIELDS and "reader" not in entry:
                cure = f"Indent it deeper than its entry: {name!r} is a field, no name of a reader"
            raise CoattendError(error.problem, where=_where(file, "readers", name, "reader"), cure=cure) from None
        _check_profiles(blocks, "readers", name)


def _check_benchmarks(blocks: dict[str, _Block]) -> None:
    """Check the names of the readers that have nodes on a benchmark, and of its profiles."""
    known = sorted({*readers.names(), *blocks["readers"].entries})
    for name, file in blocks["benchmarks"].files.items():
        for reader in (blocks["benchmarks"].entries[name] or {}).get("readers") or ():
            if reader not in known and JOIN not in str(reader):
                where, cure = _where(file, "benchmarks", name, "readers"), did_you_mean(str(reader), known)
                raise CoattendError(f"there is no reader {reader!r}", where=where, cure=cure)
        _check_profiles(blocks, "benchmarks", name)


def _check_profiles(blocks: dict[str, _Block], block: str, name: str) -> None:
    """Check that the profiles exist that an entry of a block names."""
    entry = blocks[block].entries[name] or {}
    for field in WIRING_FIELDS:
        known = blocks[f"{field}s"].entries
        if entry.get(field) is not None and entry[field] not in known:
            where = _where(blocks[block].files[name], block, name, field)
            cure = did_you_mean(str(entry[field]), list(known))
            raise CoattendError(f"there is no {field} {entry[field]!r}", where=where, cure=cure)


def check_block(file: TextFile, name: str, block: object) -> None:
    """Check that a block of a parameter file is a mapping of names to entries."""
    if not isinstance(block, dict):
        raise CoattendError("must be a mapping of names to entries", where=_where(file, name), cure=SHAPE)
    for entry, fields in block.items():
        if not isinstance(fields, dict | None):
            raise CoattendError("must be a mapping of fields to values", where=_where(file, name, entry), cure=SHAPE)


def _where(file: TextFile, *path: str) -> str:
    return Lines.of(file).where(path)
