"""DREAM: a JSON list of ``[turns, [{question, choice, answer}], id]``; the answer is the text of a choice.

Source: Sun et al. 2019, "DREAM: A Challenge Dataset and Models for Dialogue-Based Reading Comprehension".
"""

from collections.abc import Iterator
from typing import Any

from coattend.benchmarks.checks import Flaw, label_of, name_of, need, need_options, need_text, need_words
from coattend.benchmarks.files import CURE, Readable, read_json
from coattend.benchmarks.records import PassageRecord, QuestionRecord, Rejected
from coattend.errors import CoattendError


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejected]:
    """Read a file of dialogues; see `coattend.benchmarks.formats.Read`.

    A question's id is its dialogue's id, a hyphen, and its number from 1, as in DREAM's annotations.
    """
    dialogues = read_json(path)
    if not isinstance(dialogues, list) or not dialogues:
        held = name_of(dialogues) if dialogues else "nothing"
        problem = f"holds {held} instead of a list of dialogues [turns, questions, id]"
        raise CoattendError(problem, where=str(path), cure=CURE)
    for number, dialogue in enumerate(dialogues, 1):
        yield from _read_dialogue(dialogue, path.name, number, max_characters)


def _read_dialogue(dialogue: Any, file: str, number: int, max_characters: int) -> Iterator[PassageRecord | Rejected]:
    place = f"dialogue number {number}"
    try:
        if len(need(dialogue, list, "the dialogue")) != 3:
            raise Flaw(f"has {len(dialogue)} parts instead of turns, questions and id")
        turns, asked, dialogue_id = dialogue
        place = need_text(dialogue_id, "the id", max_characters=max_characters)
        text = _text(turns, max_characters)
        need(asked, list, "the list of questions")
    except Flaw as flaw:
        yield Rejected(file, place, str(flaw))
        return
    questions = []
    for index, question in enumerate(asked, 1):
        try:
            questions.append(_question(question, f"{dialogue_id}-{index}", max_characters))
        except Flaw as flaw:
            yield Rejected(file, f"{dialogue_id}-{index}", str(flaw))
    yield PassageRecord(dialogue_id, text, tuple(turns), file, tuple(questions))


def _text(turns: Any, max_characters: int) -> str:
    for number, turn in enumerate(need(turns, list, "the list of turns"), 1):
        need(turn, str, f"turn {number}")
    # "M:" alone names a speaker who says nothing.
    need_words("".join(turn.split(":", 1)[-1] for turn in turns), "the dialogue")
    return need_text("\n".join(turns), "the dialogue", max_characters=max_characters)


def _question(question: Any, question_id: str, max_characters: int) -> QuestionRecord:
    fields = need(question, dict, "the question")
    text = need_text(fields.get("question"), "the question", max_characters=max_characters)
    options = need_options(fields.get("choice"), max_characters=max_characters)
    label = label_of(need(fields.get("answer"), str, "the answer"), options)
    return QuestionRecord(question_id, None, "options", text, options=options, label=label)
