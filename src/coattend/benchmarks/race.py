"""RACE: one JSON object a file, ``{answers, options, questions, article, id}``; answers are letters from A to D.

Source: Lai et al. 2017, "RACE: Large-scale ReAding Comprehension Dataset From Examinations".
"""

from collections.abc import Iterator
from typing import Any

from coattend.benchmarks.checks import Flaw, named, need, need_options, need_text, need_words
from coattend.benchmarks.files import CURE, Readable, read_json
from coattend.benchmarks.records import PassageRecord, QuestionRecord, Rejected
from coattend.errors import CoattendError
from coattend.text.questions import is_cloze

OPTIONS = 4
LEVELS = ("middle", "high")


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejected]:
    """Read the file of one article; see `coattend.benchmarks.formats.Read`.

    A passage's id is the article's, ``high1.txt``; its questions count from 1: ``high1.txt-1``. The subset, middle or
    high, is what the id begins with. Questions with a blank ``_`` have the type *cloze*.
    """
    content = read_json(path)
    if not isinstance(content, dict) or "article" not in content:
        problem = "holds no object with article, questions, options, answers and id"
        raise CoattendError(problem, where=str(path), cure=CURE)
    try:
        yield from article(content, path.name, max_characters)
    except Flaw as flaw:
        name = content.get("id")
        yield Rejected(path.name, named(name) if name else "the article", str(flaw))


def article(content: dict[str, Any], file: str, max_characters: int) -> Iterator[PassageRecord | Rejected]:
    """An article as a record, after the questions that are left out.

    Raises:
        Flaw: If the article as a whole cannot be used.
    """
    name = need_text(content.get("id"), "the id", max_characters=max_characters)
    text = need_words(need_text(content["article"], "the article", max_characters=max_characters), "the article")
    columns = {key: need(content.get(key), list, f"the list of {key}") for key in ("questions", "options", "answers")}
    counts = {key: len(values) for key, values in columns.items()}
    if len(set(counts.values())) > 1:
        raise Flaw("has " + ", ".join(f"{count} {key}" for key, count in counts.items()))
    subset = level_of(name)
    questions = []
    for number, (asked, options, answer) in enumerate(zip(*columns.values(), strict=True), 1):
        question_id = f"{name}-{number}"
        try:
            questions.append(question(question_id, subset, asked, options, answer, max_characters))
        except Flaw as flaw:
            yield Rejected(file, question_id, str(flaw))
    yield PassageRecord(name, text, None, file, tuple(questions))


def level_of(name: str) -> str | None:
    """The subset that an article's id begins with."""
    return next((level for level in LEVELS if name.startswith(level)), None)


def question(
    question_id: str, subset: str | None, asked: Any, options: Any, answer: Any, max_characters: int
) -> QuestionRecord:
    """One question.

    Raises:
        Flaw: If it cannot be used.
    """
    text = need_text(asked, "the question", max_characters=max_characters)
    chosen = need_options(options, count=OPTIONS, max_characters=max_characters)
    letter = need(answer, str, "the answer")
    if letter not in tuple("ABCD"):
        raise Flaw(f"the answer {letter[:60]!r} is not a letter from A to D")
    types = ("cloze",) if is_cloze(text) else ()
    return QuestionRecord(
        question_id, subset, "options", text, options=chosen, label=ord(letter) - ord("A"), question_types=types
    )
