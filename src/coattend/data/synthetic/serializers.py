"""The sample's passages in the native formats of real benchmarks.

Each writer takes a source of randomness, the split, the numbers of a file's passages in it, and the share of passages
in which a fact changes; it yields the content of that file in parts.
"""

import csv
import io
import json
import re
from collections.abc import Iterator
from random import Random
from typing import TypedDict

import pyarrow as pa
import pyarrow.parquet as pq

from coattend.data.formats.cbt import format_cloze
from coattend.data.synthetic import documents

STORIES_PER_ARTICLE = 20
"""Stories in an article of the SQuAD files."""
STORY_IDS = {"1.1": "tale", "v2.0": "story"}
MAX_OPTIONS = 4


class CustomRow(TypedDict):
    """A row of the custom format."""

    id: str
    passage: str
    question: str
    options: list[str]
    label: int


def dream(rng: Random, split: str, passages: range, changes: float) -> Iterator[str]:
    """Write dialogues as DREAM's JSON."""
    for number in passages:
        turns, choices = documents.dialogue(rng, changes=changes)
        questions = [{"question": c.question, "choice": c.options, "answer": c.options[c.label]} for c in choices]
        yield ("[\n" if number == passages[0] else ",\n") + json.dumps([turns, questions, f"dialogue-{split}-{number}"])
    yield "\n]\n"


def race(rng: Random, split: str, passages: range, changes: float) -> Iterator[str]:
    """Write an article as RACE's JSON, which has a file for each."""
    (number,) = passages
    text, choices = documents.exam(rng, changes=changes)
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
    """Write articles with a summary as ReCAM's JSON Lines."""
    for _ in passages:
        article, choice = documents.summary(rng, changes=changes)
        options = {f"option_{number}": option for number, option in enumerate(choice.options)}
        yield json.dumps({"article": article, "question": choice.question, **options, "label": choice.label}) + "\n"


def squad(version: str, rng: Random, split: str, passages: range, changes: float) -> Iterator[str]:
    """Write stories as SQuAD's JSON; in version 1.1 without the question that the story does not answer."""
    yield f'{{"version": "{version}", "data": ['
    for start in range(0, len(passages), STORIES_PER_ARTICLE):
        numbers = passages[start : start + STORIES_PER_ARTICLE]
        paragraphs = [_squad_paragraph(rng, version, split, number, changes) for number in numbers]
        article = {"title": f"{split}-{numbers[0]}", "paragraphs": paragraphs}
        yield (",\n" if start else "\n") + json.dumps(article)
    yield "\n]}\n"


def _squad_paragraph(rng: Random, version: str, split: str, number: int, changes: float) -> dict[str, object]:
    text, spans = documents.story(rng, changes=changes)
    questions: list[dict[str, object]] = []
    for index, span in enumerate(spans, 1):
        # As in SQuAD, training questions have one answer each, and those of other splits several.
        gold = span.answers[:1] if split == "train" else span.answers
        answers = [{"text": answer, "answer_start": start} for answer, start in gold]
        question_id = f"{STORY_IDS[version]}-{split}-{number}-{index}"
        question: dict[str, object] = {"question": span.question, "id": question_id, "answers": answers}
        if version == "v2.0":
            questions.append(question | {"is_impossible": not answers})
        elif answers:
            questions.append(question)
    return {"context": text, "qas": questions}


def custom(suffix: str, rng: Random, split: str, passages: range, changes: float) -> Iterator[str | bytes]:
    """Write articles as rows of the custom format, ``csv``, ``jsonl`` or ``parquet``; two to four options each."""
    rows = [row for number in passages for row in _custom_rows(rng, f"{suffix}-{split}-{number}", changes)]
    if suffix == "jsonl":
        yield from (json.dumps(row) + "\n" for row in rows)
    elif suffix == "parquet":
        content = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), content)
        yield content.getvalue()
    else:
        with io.StringIO(newline="") as text:
            writer = csv.writer(text)
            option_columns = [f"option_{number}" for number in range(1, MAX_OPTIONS + 1)]
            writer.writerow(["id", "passage", "question", *option_columns, "label"])
            for row in rows:
                options = row["options"] + [""] * (MAX_OPTIONS - len(row["options"]))
                writer.writerow([row["id"], row["passage"], row["question"], *options, row["label"]])
            yield text.getvalue()


def _custom_rows(rng: Random, passage_id: str, changes: float) -> Iterator[CustomRow]:
    text, choices = documents.exam(rng, changes=changes)
    for number, choice in enumerate(choices, 1):
        answer = choice.options[choice.label]
        wrong = [option for option in choice.options if option != answer][: rng.randint(1, 3)]
        options = rng.sample([answer, *wrong], 1 + len(wrong))
        yield {
            "id": f"{passage_id}-{number}",
            "passage": text,
            "question": choice.question,
            "options": options,
            "label": options.index(answer),
        }


def cnn(rng: Random, split: str, passages: range, changes: float) -> Iterator[str]:
    """Write a passage with a missing name as CNN's text, which has a file for each; names are anonymised."""
    (number,) = passages
    cloze = documents.cloze(rng, "NE")
    shuffled = rng.sample(cloze.candidates, len(cloze.candidates))
    entities = {name: f"@entity{index}" for index, name in enumerate(shuffled)}
    context, query = (
        re.sub(r"[A-Z]\w+", lambda match: entities.get(match.group(), match.group()), text)
        for text in (" ".join(map(_spaced, cloze.sentences)), _spaced(cloze.query).replace("XXXXX", "@placeholder"))
    )
    entity_lines = "\n".join(f"{entity}:{name}" for name, entity in entities.items())
    parts = (f"https://example.org/{split}/{number}", context, query, entities[cloze.answer], entity_lines)
    yield "\n\n".join(parts) + "\n"


def cbt(subset: str, rng: Random, split: str, passages: range, changes: float) -> Iterator[str]:
    """Write passages with a gap as the Children's Book Test's text; nothing changes in them."""
    for _ in passages:
        cloze = documents.cloze(rng, subset)
        yield format_cloze([*map(_spaced, cloze.sentences)], _spaced(cloze.query), cloze.answer, cloze.candidates)


def _spaced(sentence: str) -> str:
    """Separate punctuation by spaces, as the Children's Book Test has it."""
    return sentence.removesuffix(".").replace(",", " ,").replace("'s", " 's") + " ."
