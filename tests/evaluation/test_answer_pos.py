"""The part of speech of right answers: where they stand in what was tagged, and which of their words counts."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

from coattend.evaluation import breakdowns
from coattend.evaluation.answer_pos import parts_of_speech
from coattend.parameters import BenchmarkParameters
from coattend.tables import QUESTIONS, TAGS
from coattend.text.identity import text_id
from coattend.text.tagset import tagset

NAMES = tagset("penn").names
TAGGED = {
    "ann": "NNP", "saw": "VBD", "the": "DT", "red": "JJ", "fox": "NN", "in": "IN", "1066": "CD", "she": "PRP",
    "slept": "VBD", "quickly": "RB", ".": "ERR", ",": "ERR", "yes": "UH",
}  # fmt: skip
PASSAGE = "Ann saw the red fox in 1066 . Yes ."


def tags_of(*texts, **changed):
    rows = []
    for text in texts:
        words = list(re.finditer(r"\w+|[^\w\s]", text))
        known = TAGGED | changed
        rows.append(
            {
                "text_id": text_id(text),
                "words": [word.group() for word in words],
                "tags": [NAMES.index(known.get(word.group().lower(), "ERR")) for word in words],
                "starts": [word.start() for word in words],
                "ends": [word.end() for word in words],
            }
        )
    return pads.dataset(pa.Table.from_pylist(rows, TAGS))


def asked(task, question="Who?", **columns):
    row = {"question_id": "q", "passage_id": "p", "split": "dev", "task": task, "question": question}
    return pa.Table.from_pylist([row | {"answerable": True} | columns], QUESTIONS)


def benchmark(**how):
    source = {"format": "dream", "folder": "x", "files": {}}
    return BenchmarkParameters(name="mine", title="Mine", tasks=("options",), sources=(source,), **how)


def part(questions, tags, **how):
    (found,) = parts_of_speech(questions, {"p": PASSAGE}, tags, NAMES, benchmark=benchmark(**how))
    return found


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Ann", "proper noun"),
        ("the red fox", "adjective"),
        ("fox in 1066", "noun"),
        ("in 1066", "number"),
        ("saw the", "verb"),
        ("the", "other"),
        ("Yes", "other"),
        ("ed fo", "adjective"),
    ],
)
def test_a_span_is_what_its_first_word_is_that_is_no_article_or_the_like(answer, expected):
    answers = [{"text": answer, "start": PASSAGE.index(answer)}, {"text": "Ann", "start": 0}]
    assert part(asked("span", answers=answers), tags_of(PASSAGE)) == expected


def test_that_there_is_no_answer_is_a_group_of_its_own():
    assert part(asked("span", answers=[], answerable=False), tags_of(PASSAGE)) == "no answer"


def test_an_option_is_tagged_alone_and_in_a_blank_with_its_question():
    options = {"options": ["Ann", "slept quickly"], "label": 1}
    assert part(asked("options", "What did she do?", **options), tags_of("Ann", "slept quickly")) == "verb"
    # Alone it would be a verb.
    cloze, alone = "In 1066 she _ .", tags_of("slept quickly")
    filled = tags_of("In 1066 she slept quickly .", slept="NN")
    both = pads.dataset(pa.concat_tables([alone.to_table(), filled.to_table()]))
    assert part(asked("options", cloze, **options), both, fill_blanks=True) == "noun"
    assert part(asked("options", cloze, **options), both, fill_blanks=False) == "verb"


def test_a_word_is_tagged_in_the_blank_or_where_the_passage_first_holds_it():
    word = asked("word", "Ann saw a _ .", options=["1066", "fox"], label=1)
    assert part(word, tags_of(PASSAGE)) == "noun"
    assert part(word, tags_of("Ann saw a fox .", fox="VB"), words_as_options=True) == "verb"
    missing = asked("word", "Ann saw a _ .", options=["red", "re"], label=1)
    assert part(missing, tags_of(PASSAGE)) == "other"


def test_a_text_that_was_never_tagged_is_other():
    assert part(asked("options", options=["Ann"], label=0), tags_of("Bob")) == "other"


def test_groups_stand_in_one_order_and_hold_every_question_once():
    parts = ["number", "other", "noun", "noun", "no answer", "proper noun"]
    questions = pa.table({breakdowns.POS: parts})
    groups = breakdowns.by_answer_pos(questions, {})
    assert list(groups) == ["noun", "proper noun", "number", "other", "no answer"]
    assert (np.sum(list(groups.values()), 0) == 1).all()
