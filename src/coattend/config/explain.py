"""The resolved parameters of a reader on a benchmark, each with the file and line that it comes from."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from coattend import readers
from coattend.config.benchmark import BenchmarkParameters
from coattend.config.project import project_folder
from coattend.config.reader import EncoderParameters, Layer, ReaderParameters, training_layers, training_of
from coattend.config.source import BASE, LOCAL, WIRING_FIELDS, parameter_files
from coattend.config.yaml import Lines, TextFile

QUESTION_FIELDS = ("fill_blanks", "words_as_options", "drop_asked", "scored", "max_characters")
"""Fields of a benchmark that decide which questions a reader is asked, and in which form."""
ASKED_FIELDS = (
    *("tokens_per_batch", "max_length", "stride", "stride_counts", "over_windows", "max_answer_length"),
    *("precision", "device", "tag_noise", "tag_noise_kind", "tag_noise_in", "reads"),
)
"""Fields of training that say how questions are asked; the others say how a reader learns."""
VALUES = ("protocol", "seeds")
"""Fields of studies that decide on fields of training."""


class Origin(NamedTuple):
    """A value of a field, and the place that says so: file and line, or ``--params``."""

    value: Any
    source: str


class Setting(NamedTuple):
    """A resolved field: its value, where it comes from, and what it overrides, the last first."""

    field: str
    value: Any
    source: str
    overrides: tuple[Origin, ...]


class Sources:
    """The parameter files of a run in the order in which Kedro merges them, and ``--params`` behind them. Of a study
    its file comes first, with the study's full name and the name of its entry there."""

    def __init__(
        self,
        location: str,
        environment: str | None,
        runtime_params: Mapping[str, Any],
        study: tuple[TextFile, str, str] | None = None,
    ) -> None:
        self._runtime_params = runtime_params
        self._files: list[tuple[Lines, dict[tuple[str, ...], tuple[str, ...]]]] = []
        if study is not None:
            file, name, entry = study
            self._files.append((Lines.of(file), {("studies", name): ("studies", entry)}))
        for folder in (BASE, environment or LOCAL):
            self._files += [(Lines.of(file), {}) for file in parameter_files(location, folder)]

    def of(self, path: Sequence[str]) -> list[Origin]:
        """The values of a parameter in all places that have it; the last one counts."""
        origins = []
        for lines, renamed in self._files:
            inside = (*renamed.get(tuple(path[:2]), tuple(path[:2])), *path[2:])
            line = lines.line_of(inside)
            if line is not None:
                origins.append(Origin(_value_at(lines.content, inside), f"{_relative(lines.file)}:{line}"))
        value = _value_at(self._runtime_params, path)
        return origins if value is None else [*origins, Origin(value, "--params")]


def explain(
    parameters: Mapping[str, Any],
    benchmark: Mapping[str, Any],
    reader: Mapping[str, Any],
    sources: Sources,
    *,
    study: tuple[str, Sequence[Layer], Sequence[Layer]] | None = None,
    asked_only: bool = False,
) -> list[Setting]:
    """Resolve a reader on a benchmark as a run does, with the origin of each value. In a study the entries are the
    study's and its variant's, and ``study`` is its name with the layers that the variant's entry and training merge.
    ``asked_only`` leaves out how the reader learns, which another benchmark says."""
    about = BenchmarkParameters.model_validate(benchmark)
    entry = ReaderParameters.model_validate(reader).on(about)
    recurrent = readers.encoder_of(entry.reader) == "recurrent"
    head = readers.head_for(entry.reader, about.answerable, entry.head)
    encoder = EncoderParameters.model_validate(parameters["encoders"][entry.encoder])
    training = training_of(about, entry, recurrent=recurrent)
    options = readers.resolve(entry.reader, head=head, **entry.options)
    entry_layers: Sequence[Layer] = [Layer(f"readers.{entry.name}", reader)]
    reader_layers: Sequence[Layer] | None = None
    if study is not None:
        _, entry_layers, reader_layers = study
    training_blocks: list[Layer] = []
    for layer in training_layers(about, entry, recurrent=recurrent):
        training_blocks.append(layer)
        if study is not None and layer.block == f"benchmarks.{about.name}.training":
            training_blocks.append(Layer(f"studies.{study[0]}.training.{about.name}", layer.values))
        if reader_layers is not None and layer.block == f"readers.{entry.name}.training":
            training_blocks[-1:] = reader_layers

    def settings(prefix: str, values: Mapping[str, Any], layers: Iterable[Layer], default: str) -> list[Setting]:
        return [_setting(prefix, field, value, layers, sources, default) for field, value in values.items()]

    wiring = {"reader": entry.reader, "encoder": entry.encoder, "tagging": entry.tagging, "head": head}
    # Fields of the benchmark and the encoder come from one block each.
    benchmark_layer = Layer(f"benchmarks.{about.name}", benchmark)
    profiles = {field: benchmark[field] for field in WIRING_FIELDS if benchmark.get(field) is not None}
    wiring_layers = [Layer(f"benchmarks.{about.name}", profiles), *entry_layers]
    encoder_layer = Layer(f"encoders.{entry.encoder}", parameters["encoders"][entry.encoder])
    questions = {field: getattr(about, field) for field in QUESTION_FIELDS}
    trained = training.model_dump(mode="json", include={*ASKED_FIELDS} if asked_only else None)
    return [
        *settings("", wiring, wiring_layers, "default of ReaderParameters"),
        *settings("", options, entry_layers, f"default of {entry.reader}"),
        *settings("encoder.", encoder.model_dump(), [encoder_layer], "default of EncoderParameters"),
        *settings("benchmark.", questions, [benchmark_layer], "default of BenchmarkParameters"),
        *settings("training.", trained, training_blocks, "default of TrainingParameters"),
    ]


def table(settings: Sequence[Setting]) -> list[str]:
    """Lines of a table: field, value, source, and the values that it overrides."""
    rows = [("field", "value", "source", "overrides")]
    for setting in settings:
        overrides = ", ".join(f"{_written(origin.value)} ({origin.source})" for origin in setting.overrides)
        rows.append((setting.field, _written(setting.value), setting.source, overrides))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return ["  ".join((*map(str.ljust, row[:3], widths), row[3])).rstrip() for row in rows]


def _setting(prefix: str, field: str, value: Any, layers: Iterable[Layer], sources: Sources, default: str) -> Setting:
    """A field with its origins in all layers that have it; the last origin is that of its value."""
    origins: list[Origin] = []
    for block, values in layers:
        if field in values or field in values.get("options", {}):
            path = block.split(".")
            # A study's seeds and protocol are a value, and no block with fields.
            places = [[*path, field], [*path, "options", field]] + ([path] if path[-1] in VALUES else [])
            origins += next((origins_of for place in places if (origins_of := sources.of(place))), [])
    *overridden, last = origins or [Origin(value, default)]
    return Setting(f"{prefix}{field}", value, last.source, tuple(reversed(overridden)))


def _value_at(content: Any, path: Sequence[str]) -> Any:
    for key in path:
        content = content.get(key) if isinstance(content, Mapping) else None
    return content


def _relative(file: TextFile) -> str:
    path = Path(str(file))
    return str(path.relative_to(project_folder()) if path.is_relative_to(project_folder()) else file)


def _written(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
