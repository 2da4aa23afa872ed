"""CNN's and the Daily Mail's question files, on small ones made by hand in the published form."""

import pytest

from coattend.data.formats import cnn
from coattend.data.formats.base import Rejection
from coattend.errors import CoattendError

URL = "http://web.archive.org/web/2015id_/http://edition.cnn.com/2015/a/index.html"
CONTEXT = "@entity4 ( @entity7 ) a lamp was found in @entity11 by @entity4 on sunday ."
QUERY = "a lamp was found in @placeholder , @entity4 says"
ENTITIES = "@entity4:Ann\n@entity7:CNN\n@entity11:Rome"


def write(path, *, context=CONTEXT, query=QUERY, answer="@entity11", entities=ENTITIES, parts=5):
    path.write_text("\n\n".join([URL, context, query, answer, entities][:parts]) + "\n")
    return path


@pytest.fixture
def file(tmp_path):
    return tmp_path / "0a1b.question"


def test_a_question(file):
    (passage,) = cnn.read(write(file), max_characters=1000)
    (question,) = passage.questions
    assert (passage.passage_id, passage.text, question.question_id) == ("0a1b", CONTEXT, "0a1b")
    assert (question.task, question.question) == ("word", QUERY)
    assert passage.group_keys == (URL,)
    assert question.options == ("@entity4", "@entity7", "@entity11")
    assert question.options[question.label] == "@entity11"


def test_entities_can_be_numbered_by_their_first_occurrence(file):
    (passage,) = cnn.read(write(file), max_characters=1000, entities="relabelled")
    (question,) = passage.questions
    assert passage.text == "@entity0 ( @entity1 ) a lamp was found in @entity2 by @entity0 on sunday ."
    assert question.question == "a lamp was found in @placeholder , @entity0 says"
    assert question.options[question.label] == "@entity2"


UNUSABLE = [
    ({"query": "a lamp was found"}, "0 gaps @placeholder"),
    ({"query": "@placeholder and @placeholder"}, "2 gaps @placeholder"),
    ({"answer": "@entity9"}, "the answer '@entity9' is not among the options"),
    ({"context": "@entity4 found a lamp ."}, "the answer '@entity11' is not in the context"),
    ({"entities": "@entity11:Rome"}, "has one option only"),
    ({"entities": "Rome\nAnn"}, "the entity 'Rome' is not written @entity and a number"),
    ({"context": "x " * 600}, "more than max_characters"),
]


def test_what_cannot_be_used_is_left_out_and_said(subtests, file):
    for change, reason in UNUSABLE:
        with subtests.test(reason=reason):
            (rejected,) = cnn.read(write(file, **change), max_characters=1000)
            assert isinstance(rejected, Rejection)
            assert rejected.file == "0a1b.question"
            assert reason in rejected.reason


@pytest.mark.parametrize("parts", [1, 2, 3, 4])
def test_a_file_that_was_cut_off(file, parts):
    with pytest.raises(CoattendError, match=f"has {parts} parts instead of"):
        list(cnn.read(write(file, parts=parts), max_characters=1000))
