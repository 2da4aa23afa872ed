"""The website: links, equations and public names hold it up, and its pages ask no other host for anything."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from docs._tools.site import format_math, on_page_markdown, slug
from documented import ROOT

with_mkdocs = pytest.mark.skipif(
    importlib.util.find_spec("material") is None, reason="mkdocs is not installed: `make docs` installs it"
)


class PageOf:
    """A page of mkdocs as far as the hook looks at it."""

    def __init__(self, source):
        self.file = type("File", (), {"src_uri": source})


@pytest.mark.parametrize(
    ("source", "markdown", "expected"),
    [
        ("readers/a.md", "[C](../../CONTRIBUTING.md#code)", "[C](../contributing.md#code)"),
        ("a.md", "[C](../README.md), [B](b.md#x)", "[C](README.md), [B](b.md#x)"),
        ("contributing.md", "[S](docs/readers/a.md#s) [L](LICENSE)", "[S](readers/a.md#s) L"),
        ("a.md", "[M](https://example.org/m) [conf](../conf/base/a.yml)", "[M](https://example.org/m) conf"),
        ("a.md", "```md\n[C](../README.md)\n```\n", "```md\n[C](../README.md)\n```\n"),
    ],
)
def test_links_out_of_the_folder_lead_to_pages_or_nowhere(source, markdown, expected):
    assert on_page_markdown(markdown, page=PageOf(source)) == expected


def test_headings_have_the_anchors_of_github():
    assert slug("DCN+, table 2: what", "-") == "dcn-table-2-what"


def test_an_equation_is_mathml_or_refused():
    pytest.importorskip("latex2mathml")
    mathml = format_math(r"\begin{aligned} a &= \arg\max_t b \\ c &= d \end{aligned}")
    assert mathml.count("<mtr>") == 2 and "&=" not in mathml
    with pytest.raises(ValueError, match=r"cannot have \\nosuch"):
        format_math(r"a + \nosuch b")


def build(project, site):
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=project,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(project), str(project / "src")])},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    completed = build(ROOT, folder)
    assert completed.returncode == 0, completed.stderr
    return folder


LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data", "link": "href"}
"""Elements that a browser loads without being asked, with the attribute that says from where."""

LINKS = ("prev", "next", "canonical", "author", "license")
"""Relations of `link` that say where one can go from a page, and what it is."""


class Resources(HTMLParser):
    """The addresses that a page loads."""

    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        if tag in LOADED and named.get("rel") not in LINKS:
            self.addresses.append(named.get(LOADED[tag]) or "")
        self.addresses += re.findall(r"url\(([^)]*)\)", named.get("style") or "")


@pytest.mark.slow
@with_mkdocs
def test_pages_load_nothing_from_other_hosts(site):
    remote = re.compile(r"^['\"]?(https?:)?//")
    for page in site.rglob("*.html"):
        resources = Resources()
        resources.feed(page.read_text())
        assert resources.addresses
        assert not [address for address in resources.addresses if remote.match(address)], page
    for style in site.rglob("*.css"):
        loaded = re.findall(r"(?:url\(|@import\s+)([^);]+)", style.read_text())
        assert not [address for address in loaded if remote.match(address)], style
    for script in site.glob("assets/javascripts/*.js"):
        # Where scripts are loaded from at run time: the theme's names its hosts in whole.
        assert not re.findall(r"https?://(?:unpkg|cdn|fonts|esm)[\w./@-]*", script.read_text()), script


@pytest.mark.slow
@with_mkdocs
def test_a_browser_draws_diagrams_and_finds_words_without_a_server(site, dumped):
    page = dumped((site / "concepts.html").as_uri())
    assert page.count('<div class="mermaid"') > 3
    assert '<pre class="mermaid">' not in page
    assert (site / "search" / "search_index.js").is_file()


@pytest.mark.slow
@with_mkdocs
@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("docs/faq.md", "[a](nowhere.md)", "nowhere.md"),
        ("docs/faq.md", "[a](concepts.md#nowhere)", "#nowhere"),
        ("src/coattend/errors.py", "def undocumented(): ...", "coattend.errors.undocumented has no docstring"),
    ],
)
def test_what_is_broken_ends_the_build(tmp_path, file, text, message):
    for name in ("mkdocs.yml", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("docs", "src"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    with (tmp_path / file).open("a") as changed:
        changed.write(f"\n\n{text}\n")
    completed = build(tmp_path, tmp_path / "site")
    assert completed.returncode != 0
    assert message in completed.stderr
