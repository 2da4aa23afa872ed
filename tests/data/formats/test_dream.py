import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.data.formats import dream
from coattend.data.formats.base import PassageRecord, QuestionRecord, Rejection

ASKED = {"question": "Where is the lamp?", "choice": ["In the hall.", "Here.", "There."], "answer": "Here."}


@pytest.fixture
def read(tmp_path):
    def write_and_read(dialogues, max_characters=1000):
        (tmp_path / "train.json").write_text(json.dumps(dialogues))
        return list(dream.read(tmp_path / "train.json", max_characters=max_characters))

    return write_and_read


def dialogue(questions=(ASKED,), turns=("M: The lamp is here.", "W: I see it."), name="4-7"):
    return [list(turns), list(questions), name]


def test_a_dialogue(read):
    (passage,) = read([dialogue([ASKED, ASKED | {"answer": "There."}])])
    assert passage.passage_id == "4-7"
    assert passage.text == "M: The lamp is here.\nW: I see it."
    assert passage.turns == ("M: The lamp is here.", "W: I see it.")
    assert passage.source == "train.json"
    first, second = passage.questions
    assert first == QuestionRecord(
        "4-7-1", None, "options", "Where is the lamp?", options=("In the hall.", "Here.", "There."), label=1
    )
    assert (second.question_id, second.label) == ("4-7-2", 2)


def test_the_first_of_equal_options_is_the_answer(read):
    (passage,) = read([dialogue([ASKED | {"choice": ["There.", "Here.", "Here."]}])])
    assert passage.questions[0].label == 1


BAD_QUESTIONS = [
    ({"answer": "Elsewhere."}, "'Elsewhere.' is not among the options"),
    ({"answer": 1}, "the answer is a number"),
    ({"answer": None}, "the answer is missing"),
    ({"question": " \n"}, "the question is empty"),
    ({"question": "Why? " * 300}, "1,500 characters, more than max_characters"),
    ({"question": "\ud800?"}, "surrogate"),
    ({"choice": []}, "has no options"),
    ({"choice": None}, "the list of options is missing"),
    ({"choice": ["Here."]}, "one option only"),
    ({"choice": ["Here.", ""]}, "option 2 is empty"),
    ({"choice": ["Here.", ["There."]]}, "option 2 is a list"),
    ({"choice": ["Here.", "\udfff"]}, "surrogate"),
]


def test_a_bad_question_is_listed_and_the_rest_goes_on(subtests, read):
    for change, reason in BAD_QUESTIONS:
        with subtests.test(reason=reason):
            rejected, passage, next_passage = read([dialogue([ASKED | change, ASKED]), dialogue(name="8")])
            assert isinstance(rejected, Rejection)
            assert (rejected.file, rejected.record) == ("train.json", "4-7-1")
            assert reason in rejected.reason
            assert [question.question_id for question in passage.questions] == ["4-7-2"]
            assert next_passage.passage_id == "8"


BAD_DIALOGUES = [
    (None, "dialogue number 2", "the dialogue is missing"),
    ([["M: Hello."], []], "dialogue number 2", "has 2 parts"),
    (dialogue(name=12), "dialogue number 2", "the id is a number"),
    (dialogue(name="\ud800"), "dialogue number 2", "surrogate"),
    (dialogue(turns=[]), "4-7", "no words"),
    (dialogue(turns=["M:", "W: ...", "?!"]), "4-7", "no words"),
    (dialogue(turns=["M: Hello.", None]), "4-7", "turn 2 is missing"),
    (dialogue(turns=["M: \udc00 is half."]), "4-7", "surrogate"),
    (dialogue(turns=["M: Hello."] * 200), "4-7", "more than max_characters"),
    ([["M: Hello."], {"question": "Who?"}, "4-7"], "4-7", "the list of questions is an object"),
    ([["M: Hello."], ["Who?"], "4-7"], "4-7-1", "the question is a text"),
]


def test_a_bad_dialogue_is_listed_and_the_rest_goes_on(subtests, read):
    for bad, record, reason in BAD_DIALOGUES:
        with subtests.test(record=record, reason=reason):
            records = read([dialogue(name="1"), bad, dialogue(name="3")])
            (rejected,) = [entry for entry in records if isinstance(entry, Rejection)]
            assert rejected.record == record
            assert reason in rejected.reason
            assert {"1", "3"} <= {entry.passage_id for entry in records if isinstance(entry, PassageRecord)}


def test_a_text_of_a_million_characters_is_listed(read):
    rejected, passage = read([dialogue(turns=["M: " + "ho " * 333_333], name="1"), dialogue()], max_characters=100_000)
    assert (rejected.record, passage.passage_id) == ("1", "4-7")
    assert "1,000,002 characters" in rejected.reason


@given(st.lists(st.text(), max_size=3), st.text(), st.lists(st.text(), max_size=4), st.text())
def test_any_text_is_read_or_listed(tmp_path_factory, turns, question, options, name):
    path = tmp_path_factory.mktemp("dream") / "train.json"
    row = {"question": question, "choice": options, "answer": options[0] if options else ""}
    path.write_text(json.dumps([[turns, [row], name]]))
    records = list(dream.read(path, max_characters=1000))
    assert records
    for record in records:
        if isinstance(record, PassageRecord):
            assert record.turns == tuple(turns)
            assert record.text == "\n".join(turns)
            for question_record in record.questions:
                assert (question_record.question, question_record.options) == (question, tuple(options))


def test_raw_control_characters_are_kept(tmp_path):
    (tmp_path / "train.json").write_text(json.dumps([dialogue(turns=["M: a\x00\tlamp\x85 😀"])]).replace("\\t", "\t"))
    (passage,) = dream.read(tmp_path / "train.json", max_characters=1000)
    assert passage.text == "M: a\x00\tlamp\x85 😀"


@pytest.mark.parametrize(("name", "dialogues", "questions"), [("train", 3869, 6116), ("dev", 1288, 2040)])
def test_the_published_counts(raw, name, dialogues, questions):
    records = list(dream.read(raw / "dream" / f"{name}.json", max_characters=100_000))
    assert all(isinstance(record, PassageRecord) for record in records)
    assert len(records) == dialogues
    assert sum(len(record.questions) for record in records) == questions
