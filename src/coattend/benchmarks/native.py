"""The sample's passages in the native formats of real benchmarks, piece by piece.

Each writer takes chance, the split, the numbers of a file's passages in it, and the share of passages in which
something changes; it yields the text of that file.
"""

import csv
import io
import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from coattend.benchmarks import stories
from coattend.benchmarks.cbt import written

PER_ARTICLE = 20
"""Stories in an article of the SQuAD files."""


def dream(rng: Random, split: str, passages: range, changes: float) -> Iterator[str]:
    """Dialogues as DREAM's JSON."""
    for number in passages:
        turns, choices = stories.dialogue(rng, changes=changes)
        asked = [{"question": c.question, "choice": c.options, "answer": c.options[c.label]} for c in choices]
        yield ("[\n" if number == passages[0] else ",\n") + json.dumps([turns, asked, f"dialogue-{split}-{number}"])
    yield "\n]\n"


def race(rng: Random, split: str, passages: range, changes: float) -> Iterator[str]:
    """An article as RACE's JSON, which has a file for each."""
    (number,) = passages
    text, choices = stories.exam(rng, changes=changes)
    level = "middle" if number % 3 else "high"
    exam = {
        "answers": ["ABCD"[choice.label] for choice in choices],
        "options": [choice.options for choice in choices],
        "questions": [choice.question for choice in choices],
        "article": text,
        "id": f"{level}-{split}-{number}.txt",
    }
    yield json.dumps(exam)


def recam(rng: Random, split: str, passages: range, changes: float) -> Iterator[str]:
    """Articles with a summary as ReCAM's JSON Lines."""
    for _ in passages:
        article, choice = stories.summary(rng, changes=changes)
        options = {f"option_{number}": option for number, option in enumerate(choice.options)}
        yield json.dumps({"article": article, "question": choice.question, **options, "label": choice.label}) + "\n"


def squad(version: str, rng: Random, split: str, passages: range, changes: float) -> Iterator[str]:
    """Stories as SQuAD's JSON; in version 1.1 without the question that the story does not answer."""
    yield f'{{"version": "{version}", "data": ['
    for start in range(0, len(passages), PER_ARTICLE):
        some = passages[start : start + PER_ARTICLE]
        paragraphs = [
            _paragraph(rng, f"{_STORY[version]}-{split}-{number}", version, split, changes) for number in some
        ]
        article = {"title": f"{split}-{some[0]}", "paragraphs": paragraphs}
        yield (",\n" if start else "\n") + json.dumps(article)
    yield "\n]}\n"


_STORY = {"1.1": "tale", "v2.0": "story"}


def _paragraph(rng: Random, name: str, version: str, split: str, changes: float) -> dict[str, Any]:
    text, spans = stories.story(rng, changes=changes)
    asked: list[dict[str, Any]] = []
    for number, span in enumerate(spans, 1):
        # As in SQuAD, training questions have one answer each and the others several.
        kept = span.answers[:1] if split == "train" else span.answers
        answers = [{"text": answer, "answer_start": start} for answer, start in kept]
        question = {"question": span.question, "id": f"{name}-{number}", "answers": answers}
        if version == "v2.0":
            asked.append(question | {"is_impossible": not answers})
        elif answers:
            asked.append(question)
    return {"context": text, "qas": asked}


def custom(kind: str, rng: Random, split: str, passages: range, changes: float) -> Iterator[str | bytes]:
    """Articles as rows of an own benchmark, ``csv``, ``jsonl`` or ``parquet``; two to four options a question."""
    rows = [row for number in passages for row in _rows(rng, f"{kind}-{split}-{number}", changes)]
    if kind == "jsonl":
        yield from (json.dumps(row) + "\n" for row in rows)
        return
    if kind == "parquet":
        content = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), content)
        yield content.getvalue()
        return
    names = ["id", "passage", "question", *(f"option_{number}" for number in range(1, 5)), "label"]
    with io.StringIO(newline="") as text:
        table = csv.writer(text)
        table.writerow(names)
        for row in rows:
            options = row["options"] + [""] * (4 - len(row["options"]))
            table.writerow([row["id"], row["passage"], row["question"], *options, row["label"]])
        yield text.getvalue()


def _rows(rng: Random, name: str, changes: float) -> Iterator[dict[str, Any]]:
    text, choices = stories.exam(rng, changes=changes)
    for number, choice in enumerate(choices, 1):
        right = choice.options[choice.label]
        wrong = [option for option in choice.options if option != right][: rng.randint(1, 3)]
        options = rng.sample([right, *wrong], 1 + len(wrong))
        row = {"id": f"{name}-{number}", "passage": text, "question": choice.question, "options": options}
        yield row | {"label": options.index(right)}


def cnn(rng: Random, split: str, passages: range, changes: float) -> Iterator[str]:
    """A passage with a missing name as CNN's text, which has a file for each; names are anonymised."""
    (number,) = passages
    cloze = stories.cloze(rng, "NE")
    entities = {
        name: f"@entity{place}" for place, name in enumerate(rng.sample(cloze.candidates, len(cloze.candidates)))
    }
    context, query = (
        re.sub(r"[A-Z]\w+", lambda match: entities.get(match.group(), match.group()), text)
        for text in (" ".join(map(_spaced, cloze.sentences)), _spaced(cloze.query).replace("XXXXX", "@placeholder"))
    )
    listed = "\n".join(f"{entity}:{name}" for name, entity in entities.items())
    parts = (f"https://example.org/{split}/{number}", context, query, entities[cloze.answer], listed)
    yield "\n\n".join(parts) + "\n"


def cbt(subset: str, rng: Random, split: str, passages: range, changes: float) -> Iterator[str]:
    """Passages with a gap as the Children's Book Test's text; nothing changes in them."""
    for _ in passages:
        cloze = stories.cloze(rng, subset)
        yield written([*map(_spaced, cloze.sentences)], _spaced(cloze.query), cloze.answer, cloze.candidates)


def _spaced(sentence: str) -> str:
    """Punctuation set off by spaces, as the Children's Book Test has it."""
    return sentence.removesuffix(".").replace(",", " ,").replace("'s", " 's") + " ."
