"""Links lead somewhere, every part of the product has its place on a page, and generated parts are up to date."""

import re
from collections import Counter
from functools import cache

import yaml
from docs._tools import recorded_pages
from docs._tools.generated_parts import COMMAND, pages, renewed
from docs._tools.parameter_reference import models
from docs._tools.results_tables import anchor
from docs._tools.site import ROOT_PAGES
from documented import DOCS, FENCED, PAGES, ROOT, name_of

from coattend import pipeline_registry, studies
from coattend.readers import registry
from coattend.readers.encoders.configs import UNTRAINED as ENCODERS
from coattend.readers.heads.configs import UNTRAINED as HEADS
from coattend.readers.zoo import ZOO
from coattend.schemas import SCHEMAS

OF_READERS = sorted((DOCS / "readers").glob("*.md"))
NAMED = set(ZOO)
PARAMETERS = ROOT / "conf" / "base" / "parameters"


@cache
def anchors(page):
    text = FENCED.sub("", page.read_text())
    return {anchor(heading.strip()) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def test_every_link_leads_somewhere():
    broken = []
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", page.read_text())):
            file, _, heading = link.partition("#")
            target = (page.parent / file).resolve() if file else page
            is_web = link.startswith(("http://", "https://"))
            if not is_web and not (target.exists() and (not heading or heading in anchors(target))):
                broken.append(f"{name_of(page)}: {link}")
    assert broken == []


def linked_from(page, text):
    """Files that a part of a page links to."""
    return {(page.parent / link).resolve() for link in re.findall(r"\]\(([^)#\s]+)", text)}


def linked(page):
    return linked_from(page, page.read_text())


def test_the_indices_name_every_page():
    indices = (DOCS / "README.md", DOCS / "results" / "README.md")
    named = {page for index in indices for page in linked(index)}
    assert set(PAGES) <= named | {ROOT / "README.md", *indices}


def menu(entries):
    for entry in entries:
        for target in entry.values() if isinstance(entry, dict) else [entry]:
            yield from menu(target) if isinstance(target, list) else [target]


def test_the_menu_of_the_website_has_every_page_once():
    # Functions that the file names are known to mkdocs alone.
    text = re.sub(r"!!python/name:\S+", "", (ROOT / "mkdocs.yml").read_text())
    pages_of_docs = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")]
    of_the_root = [page for name, page in ROOT_PAGES.items() if name != page]
    assert sorted(menu(yaml.safe_load(text)["nav"])) == sorted(pages_of_docs + of_the_root)


def generated_names(page, part):
    """The names behind a kind of generated part."""
    return [name for names in re.findall(rf"generated: {part} (.*?) -->", page.read_text()) for name in names.split()]


def sentences(page):
    """The longer sentences and cells that are written by hand; pages of readers may have departures in common."""
    text = re.sub(r"<!-- (?:generated|from).*?<!-- end -->", "", FENCED.sub("", page.read_text()), flags=re.DOTALL)
    words = (part.split() for part in re.split(r"(?<=[.:;])\s+|\||\n\n|\n- ", text))
    return {" ".join(part).lower() for part in words if len(part) >= 8}


def test_no_sentence_stands_on_three_pages():
    # Pages that are written from records explain their tables alike.
    recorded = [page for page, _ in recorded_pages.pages(DOCS / "results")]
    by_hand = [page for page in PAGES if page not in (*OF_READERS, *recorded)]
    counts = Counter(sentence for page in by_hand for sentence in sentences(page))
    assert [sentence for sentence, count in counts.items() if count > 2] == []


def test_every_pipeline_has_its_line():
    names = re.findall(r"^\| `([\w<>]+)` \|", (DOCS / "reference" / "pipelines.md").read_text(), re.MULTILINE)
    patterns = {"study_<name>", *pipeline_registry.COLLECTIONS, "<benchmark>", "__default__"}
    assert len(set(names)) == len(names)
    assert set(names) == {*pipeline_registry.STAGES, *pipeline_registry.TRIAL_PIPELINES, *patterns}


def test_every_reader_is_on_one_page():
    assert sorted(name for page in OF_READERS for name in generated_names(page, "readers")) == sorted(NAMED)


def test_every_option_is_on_one_page():
    parts = {f"{part}/{name}" for part in ("encoders", "interactions", "heads") for name in getattr(registry, part)()}
    parts |= {*(f"encoders/{name}" for name in ENCODERS), *(f"heads/{name}" for name in HEADS)}
    documented = [name for page in PAGES for name in generated_names(page, "options")]
    assert sorted(documented) == sorted(parts - {"interactions/none"})


def test_every_entry_is_measured_on_one_page():
    measured = [name for page in OF_READERS for name in generated_names(page, "measured")]
    assert len(measured) == len(set(measured))
    assert {name for name in measured if registry.JOIN not in name} == NAMED | set(
        yaml.safe_load((PARAMETERS.parent / "parameters_training.yml").read_text())["readers"]
    )


def test_generated_parts_are_those_of_today(subtests):
    for page in pages(ROOT):
        with subtests.test(page=name_of(page)):
            assert renewed(page.read_text(), ROOT) == page.read_text(), f"renew it with `{COMMAND}`"


def test_pages_of_results_are_those_of_their_records(subtests):
    for page, text in recorded_pages.pages(DOCS / "results"):
        with subtests.test(page=name_of(page)):
            assert page.read_text() == text, f"renew it with `{COMMAND}`"


INTERVALS = re.compile(r"([-+]?\d+\.\d)(?: x)? \[([-+]?\d+\.\d), ([-+]?\d+\.\d)\]")


def numbers(text):
    """Of each number with an interval its value, least and greatest."""
    return {tuple(map(float, found)) for found in INTERVALS.findall(text)}


def test_each_interval_of_a_summary_stands_on_a_page_that_it_comes_from():
    summary = DOCS / "results" / "README.md"
    first = ROOT / "README.md"
    rows = [
        (summary, row, linked_from(summary, row))
        for row in summary.read_text().partition("\n## Scores\n")[0].split("\n")
    ]
    rows += [(first, row, [summary]) for row in first.read_text().split("\n") if row.startswith("|")]
    seen, strange = 0, []
    for page, row, sources in rows:
        there = set().union(*(numbers(source.read_text()) for source in sources))
        # A difference may be told from its other side.
        there |= {(-value, -greatest, -least) for value, least, greatest in there}
        strange += [f"{name_of(page)}: {found}" for found in sorted(numbers(row) - there)]
        seen += len(numbers(row))
    assert seen > 40
    assert strange == []


def test_every_benchmark_has_its_part():
    page = DOCS / "benchmarks.md"
    files = sorted(file.stem for file in (PARAMETERS / "benchmarks").glob("*.yml"))
    assert sorted(generated_names(page, "benchmark")) == files
    for name in files:
        part = page.read_text().partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert f"generated: benchmark {name} -->" in part


def test_every_model_of_parameters_has_its_table():
    assert sorted(generated_names(DOCS / "reference" / "parameters.md", "parameters")) == sorted(models())


def test_every_table_has_its_columns():
    assert sorted(generated_names(DOCS / "reference" / "tables.md", "columns")) == sorted(SCHEMAS)


def test_every_paper_has_its_table_of_studies():
    papers = [file.stem for file in (ROOT / "conf" / "base" / "studies").glob("*.yml")]
    assert sorted(generated_names(DOCS / "reference" / "studies.md", "studies")) == sorted(papers)


def test_every_study_is_listed_once_in_the_results_as_run_or_not_run():
    listed = (DOCS / "results" / "README.md").read_text().partition("\n## What was run\n")[2].partition("\n#")[0]
    _, _, *rows = [line.strip("|").split("|") for line in listed.splitlines() if line.startswith("|")]
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row[0])]
    assert sorted(names) == studies.study_names()
    for _, run_on in rows:
        assert run_on.strip() == "not run" or re.search(r"[\d,]+ (training|trial) questions.* of dev", run_on), run_on
