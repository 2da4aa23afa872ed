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
from coattend.settings import CONFIG_LOADER_ARGS, ProjectConfigLoader

PLACE = re.compile(r"(.+\.yml):(\d+)")


@pytest.fixture(params=["small", pytest.param("paper", marks=pytest.mark.slow)])
def loader(request):
    yield ProjectConfigLoader("conf", env=request.param, **CONFIG_LOADER_ARGS)
    source.enter("conf", "test")


def check(settings, benchmark, reader):
    """Compare settings with what a run trains, and each source with the line that it names."""
    benchmark, reader = BenchmarkParameters.model_validate(benchmark), ReaderParameters.model_validate(reader)
    training = training_of(benchmark, reader, recurrent=readers.encoder_of(reader.reader) == "recurrent")
    values = {setting.field.removeprefix("training."): setting.value for setting in settings}
    # Where a variant starts from, a run looks up.
    assert training.model_dump(mode="json", exclude={"start_from"}).items() <= values.items()
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
        ((_, settings),) = explained(f"{benchmark}.{reader}", loader)
        check(settings, parameters["benchmarks"][benchmark], parameters["readers"][reader])


def test_every_variant_of_a_study_is_explained(loader, monkeypatch):
    parameters = loader["parameters"]
    monkeypatch.setattr(type(loader), "__getitem__", lambda self, key: parameters)
    monkeypatch.setattr(explain.Lines, "of", cache(explain.Lines.of))
    for study in studies.study_names():
        content = parameters["studies"][study]
        for title, settings in explained(f"study_{study}", loader):
            variant, _, benchmark = title.partition(".")[2].partition(" on ")
            check(settings, content["benchmarks"][benchmark], content["variants"][variant])


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
