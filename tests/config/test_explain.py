"""Where the parameters of readers and variants come from."""

import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from coattend import readers, studies
from coattend.cli import explained
from coattend.config import BenchmarkParameters, ReaderParameters, entries, explain, source, training_of
from coattend.config.explain import table
from coattend.errors import CoattendError
from coattend.settings import CONFIG_LOADER_ARGS, ProjectConfigLoader

PLACE = re.compile(r"(.+\.yml):(\d+)")


@pytest.fixture(params=["small", pytest.param("paper", marks=pytest.mark.slow)])
def loader(request):
    yield ProjectConfigLoader("conf", env=request.param, **CONFIG_LOADER_ARGS)
    source.enter("conf", "test")


def check(settings, benchmark, reader):
    """Compare settings with what a run trains, and each source with the line that it names."""
    training = resolved(benchmark, reader)
    values = {setting.field.removeprefix("training."): setting.value for setting in settings}
    # Where a variant starts from, a run looks up.
    assert training.model_dump(mode="json", exclude={"start_from"}).items() <= values.items()
    check_sources(settings)


def check_asked(settings, benchmark, reader):
    """Compare settings with what a run asks questions by: how the reader learned is none of them."""
    values = {field: setting.value for setting in settings if (field := setting.field).startswith("training.")}
    training = resolved(benchmark, reader).model_dump(mode="json")
    assert values == {field: training[field.removeprefix("training.")] for field in values}
    assert "training.max_length" in values and not {"training.epochs", "training.learning_rate"} & values.keys()
    check_sources(settings)


def resolved(benchmark, reader):
    """The training parameters of a reader on a benchmark, from their entries."""
    benchmark, reader = BenchmarkParameters.model_validate(benchmark), ReaderParameters.model_validate(reader)
    return training_of(benchmark, reader, recurrent=readers.encoder_of(reader.reader) == "recurrent")


def check_sources(settings):
    """Compare each source with the line that it names."""
    for setting in settings:
        if (place := PLACE.fullmatch(setting.source)) is None:
            # A default: what the model has where nothing is said.
            assert setting.source.startswith("default of "), setting
            assert not setting.overrides
            continue
        line = lines(place[1])[int(place[2]) - 1]
        field = setting.field.rpartition(".")[2]
        if "protocol: frozen" in line and field == "frozen":
            continue
        if isinstance(setting.value, dict) and line.strip() == f"{field}:":
            continue  # Its values are the lines below.
        text = re.search(rf"\b{field}: ([^#]*?)(?:, \w+: |[ }}]*(?:#|$))", line)
        assert text, (setting, line)
        if not set("*[{") & set(text[1]):
            assert yaml.safe_load(text[1].rstrip(" }")) == setting.value, (setting, line)


@cache
def lines(file):
    return Path(file).read_text(encoding="utf-8").splitlines()


def pairs(*, every):
    """Each benchmark with each of its readers, or with the readers that no benchmark before it has, and one more."""
    seen = set()
    for benchmark in entries.benchmark_names():
        first, *others = entries.readers_of(benchmark)
        yield from (
            (benchmark, reader) for reader in (first, *others) if every or reader not in seen or reader == first
        )
        seen.update((first, *others))


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_reader_is_explained_by_the_lines_that_a_run_resolves(loader, monkeypatch, every):
    parameters = loader["parameters"]
    monkeypatch.setattr(type(loader), "__getitem__", lambda self, key: parameters)
    monkeypatch.setattr(explain.Lines, "of", cache(explain.Lines.of))
    for benchmark, reader in pairs(every=every):
        (title, settings), *asked = explained(f"{benchmark}.{reader}", loader)
        home = parameters["benchmarks"][benchmark].get("trained_on") or benchmark
        assert title == f"{home}.{reader}"
        check(settings, parameters["benchmarks"][home], parameters["readers"][reader])
        assert [title for title, _ in asked] == [
            f"{benchmark}.{reader}, which asks the trials of {home}.{reader}" for _ in range(home != benchmark)
        ]
        for _, settings in asked:
            check_asked(settings, parameters["benchmarks"][benchmark], parameters["readers"][reader])


def test_every_variant_of_a_study_is_explained(loader, monkeypatch):
    parameters = loader["parameters"]
    monkeypatch.setattr(type(loader), "__getitem__", lambda self, key: parameters)
    monkeypatch.setattr(explain.Lines, "of", cache(explain.Lines.of))
    for study in studies.study_names():
        content = parameters["studies"][study]
        for title, settings in explained(f"study_{study}", loader):
            variant, _, place = title.partition(".")[2].partition(" on ")
            benchmark, _, home = place.partition(", trained on ")
            entry = content["variants"][variant]
            assert ReaderParameters.model_validate(dict(entry)).trained_on(benchmark) == (home or benchmark)
            compare = check_asked if home else check
            compare(settings, content["benchmarks"][benchmark], entry)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dream.poi_net", r"^poi_net\.tagging on dream: no tagging profile is called 'nltk_pen'\. .*'nltk_penn'\?"),
        ("dream", r"^dream: names no reader\. Add a dot and one of its readers: .*plain"),
        ("study.duma_table77", r"no study is called 'duma_table77'"),
        ("study.duma_table7.sumation", r"no variant is called 'sumation'\. Did you mean 'summation'\?"),
    ],
)
def test_what_cannot_be_explained_is_told(name, message):
    misspelt = {"readers": {"poi_net": {"tagging": "nltk_pen"}}}
    loader = ProjectConfigLoader("conf", env="small", runtime_params=misspelt, **CONFIG_LOADER_ARGS)
    with pytest.raises(CoattendError, match=message):
        list(explained(name, loader))
    (_, by_namespace), (_, by_pipeline) = (
        next(explained(f"{study}duma_table7.summation", loader)) for study in ("study.", "study_")
    )
    assert by_namespace == by_pipeline
    source.enter("conf", "test")


def test_an_override_is_told_with_the_lines_that_it_overrides():
    loader = ProjectConfigLoader(
        "conf",
        env="small",
        runtime_params={"benchmarks": {"dream": {"training": {"epochs": 3}}}},
        **CONFIG_LOADER_ARGS,
    )
    try:
        ((_, settings),) = explained("dream.duma", loader)
    finally:
        source.enter("conf", "test")
    epochs = next(setting for setting in settings if setting.field == "training.epochs")
    assert (epochs.value, epochs.source) == (3, "--params")
    assert [PLACE.fullmatch(origin.source)[1].split("/")[1] for origin in epochs.overrides] == ["small", "base"]
    written = next(line for line in table(settings) if line.startswith("training.epochs"))
    small, base = (f"{origin.value} ({origin.source})" for origin in epochs.overrides)
    assert written.split(maxsplit=3)[1:] == ["3.0", "--params", f"{small}, {base}"]
