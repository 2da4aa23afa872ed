"""The page on which a person asks a trained reader."""

from collections.abc import Mapping
from html import escape
from typing import Any

from coattend.answering.recipe import Recipe
from coattend.parameters import Limits
from coattend.reporting import style
from coattend.reporting.html_page import document
from coattend.serving.page_script import SCRIPT

HEADERS = {"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}

STYLE = """
form { display: grid; gap: 0.35rem; max-width: 46rem; }
label { color: var(--quiet); font-size: 0.92rem; margin-top: 0.75rem; }
textarea, input, button {
  font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: 0.3rem;
  padding: 0.5rem 0.6rem; width: 100%;
}
textarea { resize: vertical; }
button { width: auto; justify-self: start; margin-top: 1rem; padding: 0.5rem 1.5rem; cursor: pointer; }
#result { margin-top: 2.5rem; max-width: 46rem; }
#answer { font-size: 1.35rem; overflow-wrap: anywhere; }
#problem { color: var(--warm); overflow-wrap: anywhere; }
.quiet { color: var(--quiet); }
.read { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.9; max-width: none; }
mark {
  color: inherit; border-radius: 0.2rem; padding: 0.12em 0;
  background: color-mix(in srgb, var(--accent) var(--share), transparent);
}
.chosen { font-weight: 650; text-decoration: underline; text-underline-offset: 0.3em; }
.bar { display: block; height: 0.3rem; border-radius: 0.15rem; background: var(--accent); min-width: 1px; }
tbody th { white-space: normal; overflow-wrap: anywhere; }
:root { --warm: #c25400; }
@media (prefers-color-scheme: dark) { :root { --warm: #f0a030; } }
"""


def render(recipe: Recipe, example: Mapping[str, Any], limits: Limits) -> str:
    """The page of one reader.

    Args:
        recipe: How it is asked.
        example: What stands in the form at first.
        limits: What may be asked.
    """
    named = f"{recipe.name}, trained on {recipe.title} (trial {recipe.trial_id})"
    licence = f"Licence of its data: {recipe.licences}" if recipe.licences else ""
    body = [
        f'<p class="quiet">{escape(named)}. {escape(licence)}</p>',
        '<form id="form">',
        *_field("passage", "Passage", example["passage"], rows=8, most=limits.passage),
        *_field("question", _asked(recipe), example["question"], rows=2, most=limits.question),
    ]
    if recipe.task != "span":
        options = "\n".join(example["options"])
        most = limits.options * (limits.option + 1)
        body += _field("options", _chosen(recipe), options, rows=5, most=most)
    body += [
        '<button type="submit">Answer</button>\n</form>',
        '<section id="result" aria-live="polite" hidden><h2>Answer</h2><p id="problem"></p><p id="answer"></p>',
        '<div id="choices"></div><p id="nothing" class="quiet"></p>',
        '<h2>What was looked at</h2><p id="evidence" class="read"></p><p id="told" class="quiet"></p></section>',
        "<noscript>This page needs JavaScript.</noscript>",
    ]
    return document("Ask a reader", body, style=style.STYLE + STYLE, scripts=[SCRIPT], connects=True)


def _field(name: str, label: str, text: str, *, rows: int, most: int) -> list[str]:
    # A line end right behind the tag is no part of the text.
    return [
        f'<label for="{name}">{escape(label)}</label>',
        f'<textarea id="{name}" rows="{rows}" maxlength="{most}" spellcheck="false">\n{escape(text)}</textarea>',
    ]


def _asked(recipe: Recipe) -> str:
    return "Question, with _ where a word is missing" if recipe.task == "word" else "Question"


def _chosen(recipe: Recipe) -> str:
    return "Options, one a line" if recipe.needs_options else "Words to choose from, one a line, or none"
