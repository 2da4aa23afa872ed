"""What pages name exists: result files, symbols, error messages, source files, tests and imports."""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import yaml
from documented import DOCS, PAGES, ROOT, blocks, name_of

from coattend import readers

OF_READERS = sorted((DOCS / "readers").glob("*.md"))
MIN_MESSAGES = 20
FOLDERS = ("src", "tests", "docs", "conf", "perf", "notebooks")


@cache
def catalog_paths():
    """Files and folders of the catalog below the folder of results, each as its parts."""
    files = sorted((ROOT / "conf/base").glob("catalog*.yml"))
    entries = [
        entry for file in files for entry in yaml.safe_load(file.read_text()).values() if isinstance(entry, dict)
    ]
    paths = [entry.get("filepath") or entry.get("path") for entry in entries]
    return [path.partition("}/")[2].split("/") for path in filter(None, paths)]


def agree(parts, pattern):
    """Compare a path with a pattern of the catalog, as far as both go."""
    expressions = (re.sub(r"\\{\w+\\}", ".+", re.escape(part)) for part in pattern)
    pairs = zip(parts, expressions, strict=False)
    return all(part.startswith("<") or re.fullmatch(expression, part) for part, expression in pairs)


def test_results_lie_where_the_catalog_puts_them():
    lost = []
    for page in PAGES:
        text = page.read_text().replace("<trial id>", "<trial>")
        for path in re.findall(r"`(?:data|data/\w+)/(0[2-8]_[^`\s]*)`", text):
            parts = [part for part in path.split("/") if part]
            if not any(agree(parts, pattern) for pattern in catalog_paths()):
                lost.append(f"{name_of(page)}: {path}")
    assert lost == []


def test_symbols_are_called_as_the_code_calls_them(subtests):
    for page in OF_READERS:
        with subtests.test(page=name_of(page)):
            text = page.read_text()
            table = text.partition("| symbol | identifier | what it is |\n")[2].partition("\n\n")[0]
            identifiers = re.findall(r"`(\w+)`", " ".join(line.split("|", 2)[2] for line in table.splitlines()))
            assert identifiers
            names = " ".join(re.findall(r"generated: readers (.*?) -->", text)).split()
            pairs = [(name, head) for name in names for head in readers.heads_of(name)]
            code = "\n".join(file.read_text() for pair in pairs for file in readers.sources(*pair))
            assert [name for name in identifiers if not re.search(rf"\b_?{name}\b", code)] == []


@cache
def texts_of_the_code():
    """Every text of the code, with … for what differs, a line for each."""
    texts = set()
    for file in (ROOT / "src/coattend").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.JoinedStr):
                texts.add("".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
    return "\n".join(texts)


def documented_messages():
    rows = re.findall(r"^\| `(.*?)` \|", (DOCS / "troubleshooting.md").read_text(), re.MULTILINE)
    return [row.replace("'…'", "…") for row in rows]


def test_every_documented_message_exists():
    assert [message for message in documented_messages() if message not in texts_of_the_code()] == []


def test_no_message_is_documented_twice():
    messages = documented_messages()
    assert len(messages) == len(set(messages)) > MIN_MESSAGES


@cache
def files_of_the_project():
    return {
        f"/{file.relative_to(ROOT)}": file
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*.*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def files_that_end_with(path):
    return [file for name, file in files_of_the_project().items() if name.endswith(f"/{path}")]


def test_source_files_and_tests_exist():
    # Files that a reader of the page is to write are the first comment of a block or lie in a user's folders.
    written = {block.path for language in ("python", "yaml") for block in blocks(language, *PAGES) if block.path}
    missing = []
    for page in PAGES:
        for path, test in re.findall(r"`([\w./-]*\w\.py)(?:::(\w+))?`", page.read_text()):
            files = files_that_end_with(path.removeprefix("./"))
            if path.startswith("src/") and Path(path).name == "look_once.py":
                continue
            if path not in written and not any(not test or f"def {test}(" in file.read_text() for file in files):
                missing.append(f"{name_of(page)}: {path}::{test}")
    assert missing == []


def test_examples_import_what_exists():
    for block in blocks("python", *PAGES):
        for node in ast.walk(ast.parse(block.text)):
            if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "coattend":
                module = import_module(node.module)
                for alias in node.names:
                    assert hasattr(module, alias.name) or import_module(f"{node.module}.{alias.name}"), block
