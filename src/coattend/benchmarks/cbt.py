"""Children's Book Test: 20 numbered sentences, then ``21 query with XXXXX<TAB>answer<TAB><TAB>c1|...|c10``.

Source: Hill et al. 2016, "The Goldilocks Principle".
"""

import re
from collections.abc import Iterator, Sequence

from coattend.benchmarks.checks import Flaw, label_of, need_options, need_text, need_words
from coattend.benchmarks.files import CURE, Readable, decode
from coattend.benchmarks.records import PassageRecord, QuestionRecord, Rejected
from coattend.errors import CoattendError
from coattend.text.identity import text_id
from coattend.text.occurrences import occurrences

SENTENCES = 20
SPLITS = {"train": "train", "dev": "valid", "test": "test"}
"""What its files call the splits."""
_NUMBERED = re.compile(r"(\d{1,9})(?: (.*))?", re.DOTALL)
_SUBSET = re.compile(r"_(NE|CN|P|V)_")


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejected]:
    """Read a file line by line; see `coattend.benchmarks.formats.Read`.

    Ids are hashes of content. The subset (NE, CN, P, V) is in the file's name. The gap ``XXXXX`` becomes ``_``; other
    underscores of a query, which mark italics in the books, are dropped.
    """
    match = _SUBSET.search(path.name)
    subset = match and match.group(1)
    for first, lines in _blocks(path):
        try:
            yield _passage(lines, subset, path.name, max_characters)
        except Flaw as flaw:
            yield Rejected(path.name, f"lines {first} to {first + len(lines) - 1}", str(flaw))


def written(sentences: Sequence[str], query: str, answer: str, candidates: Sequence[str]) -> str:
    """A question in this format.

    Args:
        sentences: `SENTENCES` of them.
        query: A sentence with the gap ``XXXXX``.
        answer: The word that fills it.
        candidates: The words to choose from.
    """
    lines = [f"{number} {sentence}\n" for number, sentence in enumerate(sentences, 1)]
    return "".join([*lines, f"{SENTENCES + 1} {query}\t{answer}\t\t{'|'.join(candidates)}\n\n"])


def _passage(lines: list[str], subset: str | None, file: str, max_characters: int) -> PassageRecord:
    numbered = [_NUMBERED.fullmatch(line) for line in lines]
    numbers = [int(match.group(1)) if match else None for match in numbered]
    if numbers != list(range(1, SENTENCES + 2)):
        raise Flaw(f"has {len(lines)} lines, not {SENTENCES} sentences and a query numbered from 1 to {SENTENCES + 1}")
    *sentences, last = [match.group(2) or "" for match in numbered]
    text = need_words(need_text("\n".join(sentences), "the passage", max_characters=max_characters), "the passage")
    question = _question(last, text, subset, max_characters)
    return PassageRecord(text_id(text), text, None, file, (question,))


def _question(line: str, text: str, subset: str | None, max_characters: int) -> QuestionRecord:
    fields = line.split("\t")
    if len(fields) != 4:
        raise Flaw(f"the query's line has {len(fields)} fields instead of query, answer, nothing and candidates")
    query, answer, _, candidates = fields
    if query.count("XXXXX") != 1:
        raise Flaw(f"the query has {query.count('XXXXX')} gaps XXXXX instead of one")
    question = need_text(query.replace("_", "").replace("XXXXX", "_"), "the query", max_characters=max_characters)
    options = need_options(candidates.split("|") if candidates else [], max_characters=max_characters)
    label = label_of(answer, options)
    if not occurrences(text, options)[label]:
        raise Flaw(f"the answer {answer!r} is not in the passage")
    question_id = "-".join(filter(None, (subset, text_id("\n".join((text, line))))))
    return QuestionRecord(question_id, subset, "word", question, options=options, label=label)


def _blocks(path: Readable) -> Iterator[tuple[int, list[str]]]:
    """The lines of each question, with the number of the first in the file."""
    block: list[str] = []
    first = 0
    for number, line in _lines(path):
        if not first and not _NUMBERED.fullmatch(line):
            problem = "begins with a line without a number, so it is no text of the Children's Book Test"
            raise CoattendError(problem, where=f"{path}, line {number}", cure=CURE)
        if block and (not line or line.startswith("1 ")):
            yield first, block
            block = []
        if line:
            first = first if block else number
            block.append(line)
    if block:
        yield first, block
    if not first:
        raise CoattendError("is empty", where=str(path), cure=CURE)


def _lines(path: Readable) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; empty ones only after a line that is not."""
    offset, started = 0, False
    try:
        with path.open("rb") as file:
            for number, content in enumerate(file, 1):
                line = decode(content, path, line=number, offset=offset).rstrip("\r\n")
                offset += len(content)
                started = started or bool(line.strip())
                if started:
                    yield number, line if line.strip() else ""
    except OSError as error:
        raise CoattendError(f"cannot be read ({error.strerror})", where=str(path), cure="Check the path") from error
