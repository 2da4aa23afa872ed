"""Children's Book Test: 20 numbered sentences, then ``21 query with XXXXX<TAB>answer<TAB><TAB>c1|...|c10``.

Source: Hill et al. 2016, "The Goldilocks Principle".
"""

import re
from collections.abc import Iterator, Sequence

from coattend.data.formats.base import InvalidRecord, PassageRecord, QuestionRecord, Rejection
from coattend.data.formats.checks import label_of_answer, require_options, require_passage, require_text
from coattend.data.formats.reading import REFETCH, Readable, read_lines
from coattend.errors import CoattendError
from coattend.text.cloze import candidate_positions
from coattend.text.hashing import text_id

SENTENCES = 20
SPLITS = {"train": "train", "dev": "valid", "test": "test"}
"""Split to its name in the published files."""

RUN_CHARACTERS = 50
"""Characters of a run of sentences that joins the windows that have it."""

_NUMBERED = re.compile(r"(\d{1,9})(?: (.*))?", re.DOTALL)
_SUBSET = re.compile(r"_(NE|CN|P|V)_")


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejection]:
    """Read a file line by line; see `coattend.data.formats.base.FormatReader`.

    Ids are hashes of content. The subset (NE, CN, P, V) is in the file's name. The gap ``XXXXX`` becomes ``_``; other
    underscores of a query, which mark italics in the books, are dropped.

    Passages are windows that slide over a chapter, so questions are grouped by the sentences that their windows share:
    the passage's and the query's, with its gap filled. Windows with a run of consecutive sentences in common that has
    `RUN_CHARACTERS` together are of one group, and so are those that other windows connect. A short sentence alone,
    such as "Yes, he said.", joins nothing: it stands in many chapters.
    """
    match = _SUBSET.search(path.name)
    subset = match and match.group(1)
    for first, lines in _blocks(path):
        try:
            yield _passage(lines, subset, path.name, max_characters)
        except InvalidRecord as error:
            yield Rejection(path.name, f"lines {first} to {first + len(lines) - 1}", str(error))


def format_cloze(sentences: Sequence[str], query: str, answer: str, candidates: Sequence[str]) -> str:
    """Write a question in this format: `SENTENCES` sentences, and a query with the gap ``XXXXX``."""
    lines = [f"{number} {sentence}\n" for number, sentence in enumerate(sentences, 1)]
    return "".join([*lines, f"{SENTENCES + 1} {query}\t{answer}\t\t{'|'.join(candidates)}\n\n"])


def sentence_runs(sentences: Sequence[str]) -> Iterator[str]:
    """Yield the shortest run of `RUN_CHARACTERS` from each sentence on; sequences share one if they share a longer."""
    end = characters = 0
    for start, sentence in enumerate(sentences):
        while characters < RUN_CHARACTERS and end < len(sentences):
            characters += len(sentences[end])
            end += 1
        if characters < RUN_CHARACTERS:
            return
        yield "\n".join(sentences[start:end])
        characters -= len(sentence)


def _passage(lines: list[str], subset: str | None, file: str, max_characters: int) -> PassageRecord:
    matches = [match for match in map(_NUMBERED.fullmatch, lines) if match]
    if len(matches) < len(lines) or [int(match.group(1)) for match in matches] != list(range(1, SENTENCES + 2)):
        expected = f"{SENTENCES} sentences and a query numbered from 1 to {SENTENCES + 1}"
        raise InvalidRecord(f"has {len(lines)} lines, not {expected}")
    *sentences, query_line = [match.group(2) or "" for match in matches]
    text = require_passage("\n".join(sentences), "the passage", max_characters=max_characters)
    question = _question(query_line, text, subset, max_characters)
    query, answer, *_ = query_line.split("\t")
    keys = tuple(sentence_runs([*sentences, query.replace("XXXXX", answer)]))
    return PassageRecord(text_id(text), text, None, file, (question,), group_keys=keys)


def _question(line: str, passage: str, subset: str | None, max_characters: int) -> QuestionRecord:
    fields = line.split("\t")
    if len(fields) != 4:
        expected = "query, answer, nothing and candidates"
        raise InvalidRecord(f"the query's line has {len(fields)} fields instead of {expected}")
    query, answer, _, candidates = fields
    if query.count("XXXXX") != 1:
        raise InvalidRecord(f"the query has {query.count('XXXXX')} gaps XXXXX instead of one")
    text = require_text(query.replace("_", "").replace("XXXXX", "_"), "the query", max_characters=max_characters)
    options = require_options(candidates.split("|") if candidates else [], max_characters=max_characters)
    label = label_of_answer(answer, options)
    # Readers choose among the words of the passage.
    if not candidate_positions(passage, options)[label]:
        raise InvalidRecord(f"the answer {answer!r} is not in the passage")
    question_id = "-".join(filter(None, (subset, text_id("\n".join((passage, line))))))
    return QuestionRecord(question_id, subset, "word", text, options=options, label=label)


def _blocks(path: Readable) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of each question, with the number of its first line in the file."""
    block: list[str] = []
    first = 0
    for number, text in read_lines(path):
        line = text.rstrip("\r\n")
        if not first and line.strip() and not _NUMBERED.fullmatch(line):
            problem = "begins with a line without a number, so it is no text of the Children's Book Test"
            raise CoattendError(problem, where=f"{path}, line {number}", cure=REFETCH)
        # An empty line ends a question, and so does the first sentence of the next.
        if block and (not line.strip() or line.startswith("1 ")):
            yield first, block
            block = []
        if line.strip():
            first = first if block else number
            block.append(line)
    if block:
        yield first, block
