"""The pages, read back: complete, self-contained, and safe from what users gave."""

from html.parser import HTMLParser

import pytest

from coattend.pipelines.reporting.nodes import compare
from coattend.reporting.notes import ENCODER_NOTE

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Collects elements, visible text and table rows; fails where tags do not close."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.text, self.rows = [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" in self.open or "style" in self.open:
            return
        self.text.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    def count(self, tag):
        return sum(name == tag for name, _ in self.elements)


@pytest.fixture(scope="session")
def page(compared):
    return Page(compared[2])


@pytest.fixture(scope="session")
def markdown(compared):
    return compared[1]


def test_every_tag_closes_and_the_language_is_named(page):
    assert page.open == []
    assert ("html", {"lang": "en"}) in page.elements


def test_it_loads_nothing(page):
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert not {"src", "href", "srcset", "style", "onload", "onclick"} & set(attributes), (tag, attributes)
    policy = next(a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy


def test_plotly_is_there_once_and_each_figure_has_its_data(page, compared):
    assert compared[2].count("* plotly.js v") == 1
    assert page.count("figure") == 5
    data = [a for tag, a in page.elements if tag == "script" and a.get("type") == "application/json"]
    assert len(data) == 5


def test_it_is_for_phones_and_for_the_dark(page, compared):
    assert any("width=device-width" in a.get("content", "") for _, a in page.elements)
    assert "prefers-color-scheme: dark" in compared[2]


def test_what_users_gave_is_text(page, compared):
    assert page.count("script") == 4 + 5  # Printing, sorting, plotly.js and drawing; five figures.
    assert page.count("b") == 0
    assert "alert(1)</script> | <b>*x*</b>" in "".join(page.text)
    assert "</script><script>alert" not in compared[2]


def test_scores_stand_in_the_table(page, compared):
    metric = compared[0]["readers"]["poi_net"]["metrics"]["splits"]["dev"]["all"]["accuracy"]
    row = next(row for row in page.rows if row[0] == "poi_net")
    assert row[1].startswith(f"{metric['mean']:.1f}[{metric['low']:.1f}, {metric['high']:.1f}]")
    assert "2 seeds" in row[1]


def test_parts_name_how_many_questions_they_have(markdown):
    """Of 60 questions for spans every fourth has no answer."""
    header = next(line for line in markdown.splitlines() if "F1 where there is an answer" in line)
    assert "F1 where there is an answer (dev; 45 questions)" in header
    assert "F1 where there is none (dev; 15 questions)" in header


@pytest.mark.parametrize(
    "said",
    [
        "not run",
        "Not run: duma",
        "Failed in every trial: broken",
        "broken, seed 0, failed:",
        "Ingestion rejected 3 records",
        "guessing scores 25.0 %",
        "22,713,985",
        "2.0 GiB",
        "90 s",
        "turns",
        "perceptron",
        "There are warnings",
        "Warning, poi_net, seeds 0, 1; plain, seeds 0, 1; plain_span, seed 0",
        "the training loss ended at 1.39, and guessing has 1.39",
        "40.0 % of the tokens have no tag but ERR",
        "AURC",
    ],
)
def test_both_pages_say(page, markdown, said):
    assert said in "".join(page.text)
    assert said in markdown


def test_span_results_name_what_the_encoder_has_seen(page, markdown, inputs, benchmark_parameters):
    assert ENCODER_NOTE in "".join(page.text)
    assert ENCODER_NOTE in markdown
    options_only = {key: value for key, value in inputs.items() if "span" not in key}
    assert ENCODER_NOTE not in compare(benchmark_parameters, **options_only)[1]


def test_a_page_says_where_not_all_questions_are_asked(markdown, inputs, benchmark_parameters):
    said = "12.5 % of the questions to score are asked"
    assert said not in markdown
    assert said in compare(benchmark_parameters.model_copy(update={"scored": 0.125}), **inputs)[1]


def test_markdown_tables_are_whole(markdown):
    blocks = [block for block in markdown.split("\n\n") if block.startswith("|")]
    assert len(blocks) >= 5
    for block in blocks:
        widths = {line.replace("\\|", "").count("|") for line in block.splitlines()}
        assert len(widths) == 1
    assert "<script" not in markdown
    assert "<b>" not in markdown


def test_a_page_of_nothing_says_so(inputs, benchmark_parameters):
    nothing = {key: None if key.endswith((".metrics", ".predictions")) else value for key, value in inputs.items()}
    results, markdown, html, chart = compare(benchmark_parameters, **nothing)
    assert {entry["status"] for entry in results["readers"].values()} == {"not run"}
    assert "No reader has been scored yet." in markdown
    assert Page(html).open == []
    assert not chart.data


def test_the_same_inputs_give_the_same_page(compared, inputs, benchmark_parameters):
    assert compare(benchmark_parameters, **inputs)[:3] == compared[:3]
