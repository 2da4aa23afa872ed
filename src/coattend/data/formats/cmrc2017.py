"""CMRC 2017, cloze: documents with a query in a ``.doc_query`` file, and words in the ``.answer`` file beside it.

A document is lines ``1 ||| words``, and its query the next line, ``<qid_0> ||| query with XXXXX``; a line of answers is
``<qid_0> ||| word``. Words are set apart by spaces. There are no candidates: every word of the document with a letter
or a digit is one.

Source: Cui et al. 2018, "Dataset for the First Evaluation on Chinese Machine Reading Comprehension".
"""

import re
from collections.abc import Iterator

from coattend.data.formats.base import InvalidRecord, PassageRecord, QuestionRecord, Rejection
from coattend.data.formats.checks import label_of_answer, require_options, require_passage, require_text
from coattend.data.formats.reading import REFETCH, Readable, file_beside, read_lines
from coattend.errors import CoattendError
from coattend.text.hashing import text_id

ANSWERS = ".answer"
GAP = "XXXXX"
_LINE = re.compile(r"(\d{1,9}|<qid_\d{1,9}>) \|\|\| ?(.*)", re.DOTALL)


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejection]:
    """Read a file of documents; see `coattend.data.formats.base.FormatReader`. A file of answers is read with its
    documents.

    A question's id is that of the file, behind the file's name, as every file begins with ``<qid_0>``. The gap
    ``XXXXX`` becomes ``_`` in the query; in the document, which has the query's sentence too, it stays.
    """
    if path.name.endswith(ANSWERS):
        return
    answers = _answers(file_beside(path, ANSWERS))
    sentences: list[str] = []
    for number, line in _lines(path):
        name, text = _split(line, f"{path}, line {number}")
        if name.isdecimal():
            sentences.append(text)
            continue
        try:
            yield _passage(path.name, name, sentences, text, answers.get(name, ""), number, max_characters)
        except InvalidRecord as error:
            yield Rejection(path.name, f"line {number}", str(error))
        sentences = []


def _answers(path: Readable) -> dict[str, str]:
    """Return the answer of each question by its name."""
    answers: dict[str, str] = {}
    for number, line in _lines(path):
        name, answer = _split(line, where := f"{path}, line {number}")
        if name in answers:
            raise CoattendError(f"answers {name} again", where=where, cure=REFETCH)
        answers[name] = answer
    return answers


def _passage(
    file: str, name: str, sentences: list[str], query: str, answer: str, line: int, max_characters: int
) -> PassageRecord:
    text = require_passage("\n".join(sentences), "the document", max_characters=max_characters)
    if query.split().count(GAP) != 1:
        raise InvalidRecord(f"the query has {query.split().count(GAP)} gaps {GAP} instead of one")
    answer = require_text(answer, "the answer", max_characters=max_characters)
    words = [word for word in text.split() if word != GAP and any(character.isalnum() for character in word)]
    options = require_options(list(dict.fromkeys(words)), max_characters=max_characters)
    label = label_of_answer(answer, options)
    question = require_text(query.replace(GAP, "_"), "the query", max_characters=max_characters)
    question_id = f"{file.partition('.doc_query')[0]}-{name.strip('<>')}"
    record = QuestionRecord(question_id, None, "word", question, options=options, label=label)
    return PassageRecord(text_id(text), text, None, file, (record,), location=f"line {line}")


def _lines(path: Readable) -> Iterator[tuple[int, str]]:
    return ((number, line.strip()) for number, line in read_lines(path) if line.strip())


def _split(line: str, where: str) -> tuple[str, str]:
    match = _LINE.fullmatch(line)
    if match is None:
        problem = "is not a number or <qid_N>, then ||| and a text"
        raise CoattendError(problem, where=where, cure=REFETCH)
    return match.group(1), match.group(2).strip()
