"""Hooks of mkdocs for the website: pages of the project's root, equations, diagrams, and the public names."""

import html
import posixpath
import re
from pathlib import Path
from typing import Any

from docs._tools.public_api import missing_names, undocumented_names
from docs._tools.results_tables import anchor

ROOT_PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security_policy.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "README.md",
}
"""Files of the project's folder to their pages; the documentation's own start stands for the README."""

FENCED = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[(?P<text>[^\[\]]*)\]\((?P<target>[^)\s#]+)(?P<heading>#[^)\s]*)?\)")
OTHER_HOST = re.compile(r"https://unpkg\.com/[\w./@-]+")
"""Addresses from which the theme's script loads what a page or an old browser lacks: mermaid, ResizeObserver."""


def slug(text: str, separator: str) -> str:
    """Make the anchor of a heading, as GitHub does."""
    return anchor(text)


def format_math(source: str, *_: Any, **__: Any) -> str:
    """Write an equation as MathML, which browsers draw without a script.

    Raises:
        ValueError: If a command of LaTeX is not known.
    """
    from latex2mathml.converter import convert

    # What the converter does not know, by what it does.
    latex = source.replace(r"\arg", r"\operatorname{arg}").replace("{aligned}", "{align*}")
    mathml: str = convert(latex, display="block")
    if unknown := re.findall(r"\\\w+", mathml):
        raise ValueError(f"equations of pages cannot have {unknown[0]}: {source.strip()}")
    return f'<div class="equation">{mathml}</div>'


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that lie in the project's folder."""
    from mkdocs.structure.files import File

    project = Path(config["config_file_path"]).parent
    for name, page in ROOT_PAGES.items():
        if name != page:
            text = (project / name).read_text(encoding="utf-8")
            files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to files of the project's folder lead to their pages."""
    source = page.file.src_uri
    # Where the file lies in the project: links are relative to that.
    roots = {target: name for name, target in ROOT_PAGES.items() if name != target}
    folder = posixpath.dirname(roots.get(source, f"docs/{source}"))
    parts = FENCED.split(markdown)
    return "".join(
        part if part.startswith("```") else LINK.sub(lambda link: _in_site(link, folder, source), part)
        for part in parts
    )


def on_post_build(config: Any, **_: Any) -> None:
    """Take the addresses of other hosts out of the theme's script, and look for every public name.

    Raises:
        mkdocs.exceptions.PluginError: If a public name has no docstring or is on no page.
    """
    from mkdocs.exceptions import PluginError

    site = Path(config["site_dir"])
    for script in site.glob("assets/javascripts/bundle.*.js"):
        text = script.read_text(encoding="utf-8")
        script.write_text(OTHER_HOST.sub("about:blank", text), encoding="utf-8")
    pages = "".join(page.read_text(encoding="utf-8") for page in site.glob("reference/*.html"))
    problems = [f"{name} has no docstring" for name in undocumented_names()]
    problems += [f"{name} is on no page of the reference" for name in missing_names(html.unescape(pages))]
    if problems:
        raise PluginError("; ".join(problems))


def _in_site(link: re.Match[str], folder: str, source: str) -> str:
    """Rewrite a link; one to a file that has no page keeps its words alone."""
    text, target, heading = link["text"], link["target"], link["heading"] or ""
    if "://" in target or target.startswith("mailto:"):
        return link.group()
    path = posixpath.normpath(posixpath.join(folder, target))
    if path in ROOT_PAGES:
        page = ROOT_PAGES[path]
    elif path.startswith("docs/") and folder.partition("/")[0] != "docs":
        page = path.removeprefix("docs/")
    elif path.startswith("docs/"):
        return link.group()
    else:
        return text
    return f"[{text}]({posixpath.relpath(page, posixpath.dirname(source) or '.')}{heading})"
