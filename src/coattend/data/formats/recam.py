"""ReCAM (SemEval-2021 task 4): JSON Lines of ``{article, question, option_0 .. option_4, label}``.

The question holds one ``@placeholder``; published test files have no labels. Source: Zheng et al. 2021.
"""

from collections.abc import Iterator

from coattend.data.formats.base import InvalidRecord, PassageRecord, QuestionRecord, Rejection
from coattend.data.formats.checks import require, require_passage, require_text
from coattend.data.formats.reading import Readable, read_json_lines
from coattend.text.hashing import text_id

OPTIONS = 5
GAP = "@placeholder"


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejection]:
    """Read a file line by line; see `coattend.data.formats.base.FormatReader`.

    Ids are hashes of content, as the files have none. A question's id covers its options: the trial file of task 3
    repeats some questions with other options.
    """
    for number, content in read_json_lines(path):
        try:
            yield _passage(content, path.name, max_characters)
        except InvalidRecord as error:
            yield Rejection(path.name, f"line {number}", str(error))


def _passage(content: object, file: str, max_characters: int) -> PassageRecord:
    fields = require(content, dict, "the line")
    article = require_passage(fields.get("article"), "the article", max_characters=max_characters)
    text = require_text(fields.get("question"), "the question", max_characters=max_characters)
    if text.count(GAP) != 1:
        raise InvalidRecord(f"the question has {text.count(GAP)} gaps {GAP} instead of one")
    keys = [f"option_{number}" for number in range(OPTIONS)]
    options = tuple(require_text(fields.get(key), key, max_characters=max_characters) for key in keys)
    label = require(fields["label"], int, "the label") if "label" in fields else None
    if label is not None and not 0 <= label < OPTIONS:
        raise InvalidRecord(f"the label {label} is not a number from 0 to {OPTIONS - 1}")
    question_id = text_id("\n".join((article, text, *options)))
    question = QuestionRecord(question_id, None, "options", text, options=options, label=label)
    return PassageRecord(text_id(article), article, None, file, (question,))
