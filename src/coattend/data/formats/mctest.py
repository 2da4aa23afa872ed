r"""MCTest: a story a line of a ``.tsv`` file, with four questions; their letters are a line of the ``.ans`` file.

A line has the id, notes of the author, the story, and four times a question and its four options, between tabs. A line
end of the story is written ``\newline``; a question begins with ``one:`` or ``multiple:``, as one or several sentences
of the story are needed.

Source: Richardson et al. 2013, "MCTest: A Challenge Dataset for the Open-Domain Machine Comprehension of Text".
"""

from collections.abc import Iterator

from coattend.data.formats.base import InvalidRecord, PassageRecord, QuestionRecord, Rejection
from coattend.data.formats.checks import printable, require_options, require_passage, require_text
from coattend.data.formats.reading import Readable, file_beside, read_lines
from coattend.errors import CoattendError

ANSWERS = ".ans"
LETTERS = "ABCD"
QUESTIONS = 4
TYPES = ("one", "multiple")
_CELLS = 3 + QUESTIONS * (1 + len(LETTERS))


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejection]:
    """Read a file of stories; see `coattend.data.formats.base.FormatReader`.

    A file of answers yields nothing by itself: it is read with its stories. A question's id is its story's with its
    number from 1, and its type is ``one`` or ``multiple``.
    """
    if path.name.endswith(ANSWERS):
        return
    answers = [line.split() for _, line in read_lines(file_beside(path, ANSWERS)) if line.strip()]
    stories = [(number, line) for number, line in read_lines(path) if line.strip()]
    if len(answers) != len(stories):
        problem = f"has {len(stories)} stories, and its {ANSWERS} file {len(answers)} lines"
        raise CoattendError(problem, where=str(path), cure="Fetch both files again")
    for (number, line), letters in zip(stories, answers, strict=True):
        yield from _read_story(line.rstrip("\r\n").split("\t"), letters, path.name, number, max_characters)


def _read_story(
    cells: list[str], letters: list[str], file: str, line: int, max_characters: int
) -> Iterator[PassageRecord | Rejection]:
    location = f"line {line}"
    try:
        if len(cells) != _CELLS or len(letters) != QUESTIONS:
            reason = f"has {len(cells)} cells and {len(letters)} answers instead of {_CELLS} and {QUESTIONS}"
            raise InvalidRecord(reason)
        name = require_text(cells[0], "the id", max_characters=max_characters)
        story = require_passage(cells[2].replace("\\newline", "\n"), "the story", max_characters=max_characters)
    except InvalidRecord as error:
        yield Rejection(file, location, str(error))
        return
    questions = []
    width = 1 + len(LETTERS)
    for number, letter in enumerate(letters, 1):
        question, *options = cells[3 + (number - 1) * width :][:width]
        try:
            questions.append(_question(f"{name}-{number}", question, options, letter, max_characters))
        except InvalidRecord as error:
            yield Rejection(file, f"{name}-{number}", str(error))
    yield PassageRecord(name, story, None, file, tuple(questions), location=location)


def _question(name: str, question: str, options: list[str], letter: str, max_characters: int) -> QuestionRecord:
    kind, colon, text = question.partition(":")
    if not colon or kind not in TYPES:
        raise InvalidRecord(f"the question {printable(question)!r} begins with neither 'one:' nor 'multiple:'")
    text = require_text(text.strip(), "the question", max_characters=max_characters)
    choices = require_options(options, max_characters=max_characters)
    if len(letter) != 1 or letter not in LETTERS:
        raise InvalidRecord(f"the answer {printable(letter)!r} is not a letter from A to D")
    label = LETTERS.index(letter)
    return QuestionRecord(name, None, "options", text, options=choices, label=label, question_types=(kind,))
