"""ReCAM (SemEval-2021 task 4): JSON Lines of ``{article, question, option_0 .. option_4, label}``.

The question holds one ``@placeholder``; published test files have no labels. Source: Zheng et al. 2021.
"""

from collections.abc import Iterator
from typing import Any

from coattend.benchmarks.checks import Flaw, need, need_text, need_words
from coattend.benchmarks.files import Readable, json_lines
from coattend.benchmarks.records import PassageRecord, QuestionRecord, Rejected
from coattend.text.identity import text_id

OPTIONS = 5
GAP = "@placeholder"


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejected]:
    """Read a file line by line; see `coattend.benchmarks.formats.Read`.

    Ids are hashes of content, as the files have none. A question's id covers its options: the trial file of task 3 asks
    some questions twice, with other options.
    """
    for number, content in json_lines(path):
        try:
            yield _passage(content, path.name, max_characters)
        except Flaw as flaw:
            yield Rejected(path.name, f"line {number}", str(flaw))


def _passage(content: Any, file: str, max_characters: int) -> PassageRecord:
    fields = need(content, dict, "the line")
    article = need_text(fields.get("article"), "the article", max_characters=max_characters)
    need_words(article, "the article")
    text = need_text(fields.get("question"), "the question", max_characters=max_characters)
    if text.count(GAP) != 1:
        raise Flaw(f"the question has {text.count(GAP)} gaps {GAP} instead of one")
    names = [f"option_{number}" for number in range(OPTIONS)]
    options = tuple(need_text(fields.get(name), name, max_characters=max_characters) for name in names)
    label = need(fields["label"], int, "the label") if "label" in fields else None
    if label is not None and not 0 <= label < OPTIONS:
        raise Flaw(f"the label {label} is not a number from 0 to {OPTIONS - 1}")
    question_id = text_id("\n".join((article, text, *options)))
    question = QuestionRecord(question_id, None, "options", text, options=options, label=label)
    return PassageRecord(text_id(article), article, None, file, (question,))
