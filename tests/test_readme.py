"""Examples of the README work as printed; its commands and links are tested with those of all pages."""

import re
from pathlib import Path

import yaml

from coattend import readers
from coattend.config import ReaderParameters
from coattend.config.entries import complete_reader
from coattend.data.formats import custom
from coattend.readers.zoo import ZOO

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = ("docs/readers.md", "docs/guides/configuration.md", "docs/tutorials/compare_readers.md")
"""Pages that show entries."""


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_csv_that_it_shows_can_be_read(tmp_path):
    (tmp_path / "train.csv").write_text(blocks("csv")[0])
    passages = list(custom.read(tmp_path / "train.csv", max_characters=1000))
    assert len({passage.passage_id for passage in passages}) == 2
    right = [question.options[question.label] for passage in passages for question in passage.questions]
    assert right == ["In the hall.", "A bicycle."]


def test_every_reader_has_its_line():
    table = README.partition("## Readers\n\n")[2].partition("\n\n")[0]
    listed = [line.split("|")[2] for line in table.splitlines()]
    assert sorted(ZOO) == sorted(re.findall(r"`(\w+)`", "".join(listed)))


def test_it_has_what_a_newcomer_looks_for_in_order():
    start, *sections = README.split("\n## ")
    assert "docs/images/pipeline.png" in start
    titles = [section.partition("\n")[0] for section in sections]
    expected = ["Two commands", "Train on DREAM", "Results", "Readers", "Your own data", "Your own reader", "Cite"]
    assert [title for title in titles if title in (*expected, "License")] == [*expected, "License"]
    by_title = dict(zip(titles, sections, strict=True))
    assert "docs/images/results_page.png" in by_title["Two commands"]
    assert len(re.findall(r"^\|---", by_title["Results"], re.MULTILINE)) == 1
    for title, file in {"Cite": "CITATION.cff", "License": "LICENSE"}.items():
        assert f"({file})" in by_title[title]


def test_it_is_read_in_minutes():
    """Beyond that a page of the documentation has its place."""
    assert len(README.split()) < 1300


def entries():
    """Readers of the YAML blocks, of the page of readers and of the parameter files, by name."""
    for block in [
        *(text for page in PAGES for text in re.findall(r"```yaml\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)),
        *(file.read_text() for file in (ROOT / "conf/base").glob("parameters_training.yml")),
    ]:
        _, mark, of_readers = block.partition("readers:\n")
        yield from (yaml.safe_load(mark + of_readers) or {}).get("readers", {}).items()


def test_readers_with_entries_of_their_own_can_be_built():
    built = {name: ReaderParameters.model_validate(complete_reader(name, entry)) for name, entry in entries()}
    assert {"duma_roberta", "poi_net_word", "mine"} <= set(built)
    for entry in built.values():
        assert readers.resolve(entry.reader, head=entry.head, **entry.options)
