"""The sample's passages in the native formats of real benchmarks, piece by piece.

Each writer takes chance, the split, the numbers of the passages in it, and the share of passages in which something
changes; it yields the text of one file.
"""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from coattend.benchmarks import stories

PER_ARTICLE = 20
"""Stories in an article of the SQuAD files."""


def dream(rng: Random, split: str, passages: range, changes: float) -> Iterator[str]:
    """Dialogues as DREAM's JSON."""
    for number in passages:
        turns, choices = stories.dialogue(rng, changes=changes)
        asked = [{"question": c.question, "choice": c.options, "answer": c.options[c.label]} for c in choices]
        yield ("[\n" if number == passages[0] else ",\n") + json.dumps([turns, asked, f"dialogue-{split}-{number}"])
    yield "\n]\n"


def squad(rng: Random, split: str, passages: range, changes: float) -> Iterator[str]:
    """Stories as SQuAD 2.0's JSON."""
    yield '{"version": "v2.0", "data": ['
    for start in range(0, len(passages), PER_ARTICLE):
        some = passages[start : start + PER_ARTICLE]
        paragraphs = [_paragraph(rng, f"story-{split}-{number}", split, changes) for number in some]
        article = {"title": f"{split}-{some[0]}", "paragraphs": paragraphs}
        yield (",\n" if start else "\n") + json.dumps(article)
    yield "\n]}\n"


def _paragraph(rng: Random, name: str, split: str, changes: float) -> dict[str, Any]:
    text, spans = stories.story(rng, changes=changes)
    asked = []
    for number, span in enumerate(spans, 1):
        # As in SQuAD, training questions have one answer each and the others several.
        kept = span.answers[:1] if split == "train" else span.answers
        answers = [{"text": answer, "answer_start": start} for answer, start in kept]
        asked.append(
            {"question": span.question, "id": f"{name}-{number}", "answers": answers, "is_impossible": not answers}
        )
    return {"context": text, "qas": asked}


def cbt(subset: str, rng: Random, split: str, passages: range, changes: float) -> Iterator[str]:
    """Passages with a gap as the Children's Book Test's text; nothing changes in them."""
    for _ in passages:
        cloze = stories.cloze(rng, subset)
        lines = [f"{number} {_spaced(sentence)}" for number, sentence in enumerate(cloze.sentences, 1)]
        lines.append(f"21 {_spaced(cloze.query)}\t{cloze.answer}\t\t{'|'.join(cloze.candidates)}")
        yield "\n".join(lines) + "\n\n"


def _spaced(sentence: str) -> str:
    """Punctuation set off by spaces, as the Children's Book Test has it."""
    return sentence.removesuffix(".").replace(",", " ,").replace("'s", " 's") + " ."
