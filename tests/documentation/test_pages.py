"""What pages say of the code is so: links, folders, identifiers, messages, and what is generated."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import yaml
from documented import DOCS, FENCED, PAGES, ROOT, name_of

from coattend import pipeline_registry, readers
from coattend.readers import registry
from coattend.reporting.documentation import COMMAND, pages, renewed
from coattend.reporting.measured import anchor

OF_READERS = sorted((DOCS / "readers").glob("*.md"))
NAMED = {file.stem for file in (Path(readers.__file__).parent / "named").glob("[!_]*.py")}
PARAMETERS = ROOT / "conf" / "base" / "parameters"


@cache
def anchors(page):
    text = FENCED.sub("", page.read_text())
    return {anchor(heading.strip()) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", page.read_text())):
        if target.startswith(("http://", "https://")):
            continue
        file, _, heading = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), target
        assert not heading or heading in anchors(there), target


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_results_lie_where_the_catalog_puts_them(page):
    files = sorted((ROOT / "conf/base/catalog").glob("*.yml"))
    entries = [
        entry for file in files for entry in yaml.safe_load(file.read_text()).values() if isinstance(entry, dict)
    ]
    places = [entry.get("filepath") or entry.get("path") for entry in entries]
    known = [place.partition("}/")[2].split("/") for place in filter(None, places)]
    for path in re.findall(r"`(?:data|data/\w+)/(0[2-8]_[^`\s]*)`", page.read_text().replace("<trial id>", "<trial>")):
        segments = [one for one in path.split("/") if one]
        assert any(agree(segments, place) for place in known), path


def agree(segments, place):
    """Whether a path and a pattern name the same place, as far as both go."""
    patterns = (re.sub(r"\\{\w+\\}", ".+", re.escape(one)) for one in place)
    return all(one.startswith("<") or re.fullmatch(p, one) for one, p in zip(segments, patterns, strict=False))


def test_the_index_names_every_page():
    linked = {(DOCS / link).resolve() for link in re.findall(r"\]\(([^)#\s]+)", (DOCS / "README.md").read_text())}
    assert set(PAGES) <= linked | {DOCS / "README.md"}


def of_page(page, kind):
    """What the generated parts of one kind are about."""
    return [name for names in re.findall(rf"generated: {kind} (.*?) -->", page.read_text()) for name in names.split()]


def test_every_pipeline_has_its_line():
    named = re.findall(r"^\| `([\w<>]+)` \|", (DOCS / "pipelines.md").read_text(), re.MULTILINE)
    others = {"study_<paper>_<table>", "results", "<benchmark>", "__default__"}
    assert len(set(named)) == len(named)
    assert set(named) == {*pipeline_registry.STAGES, *pipeline_registry.OF_TRIALS, *others}


def test_every_reader_is_on_one_page():
    assert sorted(name for page in OF_READERS for name in of_page(page, "readers")) == sorted(NAMED)


def test_every_option_is_on_one_page():
    parts = {f"{kind}/{name}" for kind in ("encoders", "interactions", "heads") for name in getattr(registry, kind)()}
    assert sorted(name for page in PAGES for name in of_page(page, "options")) == sorted(parts - {"interactions/none"})


def test_every_entry_is_measured_on_one_page():
    shown = [name for page in OF_READERS for name in of_page(page, "measured")]
    assert len(shown) == len(set(shown))
    assert {name for name in shown if registry.JOIN not in name} == NAMED | {
        file.stem for file in (PARAMETERS / "readers").glob("*.yml")
    }


@pytest.mark.parametrize("page", OF_READERS, ids=name_of)
def test_symbols_are_called_as_the_code_calls_them(page):
    table = page.read_text().partition("| symbol | identifier | what it is |\n")[2].partition("\n\n")[0]
    named = [name for line in table.splitlines() for name in re.findall(r"`(\w+)`", " ".join(line.split("|")[2:]))]
    assert named
    made = [(name, head) for name in of_page(page, "readers") for head in readers.heads_of(name)]
    code = "\n".join(file.read_text() for one in made for file in readers.sources(*one))
    assert [name for name in named if not re.search(rf"\b_?{name}\b", code)] == []


@pytest.mark.parametrize("page", list(pages(ROOT)), ids=name_of)
def test_generated_parts_are_those_of_today(page):
    assert renewed(page.read_text(), ROOT) == page.read_text(), f"renew it with `{COMMAND}`"


def test_every_benchmark_has_its_part():
    page = DOCS / "benchmarks.md"
    files = sorted(file.stem for file in (PARAMETERS / "benchmarks").glob("*.yml"))
    assert sorted(of_page(page, "benchmark")) == files
    for name in files:
        part = page.read_text().partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert f"generated: benchmark {name} -->" in part


@cache
def said():
    """What the code can say, with … for what differs, one text after the other."""
    texts = set()
    for file in (ROOT / "src/coattend").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.JoinedStr):
                texts.add("".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
    return "\n".join(texts)


def explained():
    rows = re.findall(r"^\| `(.*?)` \|", (DOCS / "troubleshooting.md").read_text(), re.MULTILINE)
    return [row.replace("'…'", "…") for row in rows]


def test_every_message_that_is_explained_exists():
    assert [message for message in explained() if message not in said()] == []


def test_no_message_is_explained_twice():
    assert len(explained()) == len(set(explained())) > 70
