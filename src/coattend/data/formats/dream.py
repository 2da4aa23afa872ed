"""DREAM: a JSON list of ``[turns, [{question, choice, answer}], id]``; the answer is the text of a choice.

Annotated question types are tab-separated lines of dialogue id, question number from 1, and letters.

Source: Sun et al. 2019, "DREAM: A Challenge Dataset and Models for Dialogue-Based Reading Comprehension".
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from coattend.data.formats.base import InvalidRecord, PassageRecord, QuestionRecord, Rejection
from coattend.data.formats.checks import (
    json_type_name,
    label_of_answer,
    require,
    require_options,
    require_text,
    require_words,
)
from coattend.data.formats.reading import REFETCH, Readable, decode, read_bytes, read_json
from coattend.errors import CoattendError

QUESTION_TYPES = {"m": "matching", "s": "summary", "l": "logic", "a": "arithmetic", "c": "commonsense"}
"""Letters of the ``annotation`` folder; a question may bear several."""


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejection]:
    """Read a file of dialogues; see `coattend.data.formats.base.FormatReader`.

    A question's id is its dialogue's id, a hyphen, and its number from 1, as in DREAM's annotations.
    """
    dialogues = read_json(path)
    if not isinstance(dialogues, list) or not dialogues:
        content = json_type_name(dialogues) if dialogues else "nothing"
        problem = f"holds {content} instead of a list of dialogues [turns, questions, id]"
        raise CoattendError(problem, where=str(path), cure=REFETCH)
    for number, dialogue in enumerate(dialogues, 1):
        yield from _read_dialogue(dialogue, path.name, number, max_characters)


def read_annotations(files: Iterable[Path]) -> dict[str, tuple[str, ...]]:
    """Map question ids to annotated types, each with its annotator: ``logic, annotator1`` of ``annotator1_dev.txt``."""
    types: dict[str, tuple[str, ...]] = {}
    for file in files:
        annotator = file.stem.partition("_")[0]
        for question_id, letters in _annotated_lines(file):
            annotations = (f"{QUESTION_TYPES[letter]}, {annotator}" for letter in letters)
            types[question_id] = (*types.get(question_id, ()), *annotations)
    return types


def _read_dialogue(
    dialogue: object, file: str, number: int, max_characters: int
) -> Iterator[PassageRecord | Rejection]:
    location = f"dialogue number {number}"
    try:
        parts = require(dialogue, list, "the dialogue")
        if len(parts) != 3:
            raise InvalidRecord(f"has {len(parts)} parts instead of turns, questions and id")
        turns, raw_questions, raw_id = parts
        dialogue_id = location = require_text(raw_id, "the id", max_characters=max_characters)
        text = _join_turns(turns, max_characters)
        require(raw_questions, list, "the list of questions")
    except InvalidRecord as error:
        yield Rejection(file, location, str(error))
        return
    questions = []
    for index, raw_question in enumerate(raw_questions, 1):
        question_id = f"{dialogue_id}-{index}"
        try:
            questions.append(_question(raw_question, question_id, max_characters))
        except InvalidRecord as error:
            yield Rejection(file, question_id, str(error))
    yield PassageRecord(dialogue_id, text, tuple(turns), file, tuple(questions))


def _join_turns(turns: object, max_characters: int) -> str:
    texts = [
        require(turn, str, f"turn {number}") for number, turn in enumerate(require(turns, list, "the list of turns"), 1)
    ]
    # "M:" alone names a speaker who says nothing.
    require_words("".join(text.split(":", 1)[-1] for text in texts), "the dialogue")
    return require_text("\n".join(texts), "the dialogue", max_characters=max_characters)


def _question(raw: object, question_id: str, max_characters: int) -> QuestionRecord:
    fields = require(raw, dict, "the question")
    text = require_text(fields.get("question"), "the question", max_characters=max_characters)
    options = require_options(fields.get("choice"), max_characters=max_characters)
    label = label_of_answer(require(fields.get("answer"), str, "the answer"), options)
    return QuestionRecord(question_id, None, "options", text, options=options, label=label)


def _annotated_lines(file: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(decode(read_bytes(file), file).splitlines(), 1):
        if not line.strip() or (number == 1 and line.startswith("dialogueID")):
            continue
        fields = [field.strip() for field in line.split("\t")]
        letters = "".join(fields[2:]).replace(" ", "").replace(",", "")
        if len(fields) < 3 or not fields[1].isdecimal() or not letters or set(letters) - set(QUESTION_TYPES):
            problem = f"is not a dialogue's id, a question's number and letters out of {''.join(QUESTION_TYPES)}"
            raise CoattendError(problem, where=f"{file}, line {number}", cure="Fetch the file again")
        yield f"{fields[0]}-{fields[1]}", "".join(dict.fromkeys(letters))
