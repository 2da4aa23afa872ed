import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.data.formats import squad
from coattend.data.formats.base import PassageRecord, Rejection

CONTEXT = "The lamp 😀 is in the hall, and the old lamp is in the attic."
LAMP = {"text": "lamp", "answer_start": 4}
HALL = {"text": "the hall", "answer_start": 17}


def squad_question(**change):
    return {"id": "q1", "question": "Where is the lamp?", "answers": [HALL]} | change


@pytest.fixture
def read(tmp_path):
    def write_and_read(paragraphs, max_characters=1000):
        (tmp_path / "train.json").write_text(json.dumps({"data": [{"title": "Lamps", "paragraphs": paragraphs}]}))
        return list(squad.read(tmp_path / "train.json", max_characters=max_characters))

    return write_and_read


def paragraph(*questions, context=CONTEXT):
    return {"context": context, "qas": list(questions)}


def test_a_paragraph(read):
    first = squad_question(answers=[HALL, {"text": "in the hall", "answer_start": 14}, HALL])
    second = squad_question(id="q2", answers=[], is_impossible=True, plausible_answers=[LAMP])
    (passage,) = read([paragraph(first, second)])
    assert (passage.text, passage.turns, passage.source) == (CONTEXT, None, "train.json")
    answered, impossible = passage.questions
    assert answered.task == "span"
    assert answered.answers == (("the hall", 17), ("in the hall", 14), ("the hall", 17))
    assert answered.answerable
    assert (impossible.answers, impossible.answerable) == ((), False)
    assert answered.options is answered.label is None


def test_ids_come_from_title_and_text(read, tmp_path):
    first, again, changed, third = read([paragraph(), paragraph(), paragraph(context="Another lamp."), paragraph()])
    assert first.passage_id != changed.passage_id
    assert [again.passage_id, third.passage_id] == [f"{first.passage_id}-2", f"{first.passage_id}-3"]
    (tmp_path / "other.json").write_text(json.dumps({"data": [{"title": "Chairs", "paragraphs": [paragraph()]}]}))
    (elsewhere,) = squad.read(tmp_path / "other.json", max_characters=1000)
    assert elsewhere.passage_id != first.passage_id


WRONG_OFFSETS = [0, 19, -3, 10_000, None, "17", True]


def test_a_wrong_offset_is_mended_where_the_answer_stands_once(subtests, read):
    for start in WRONG_OFFSETS:
        with subtests.test(start=start):
            (passage,) = read([paragraph(squad_question(answers=[HALL | {"answer_start": start}]))])
            assert passage.questions[0].answers == (("the hall", 17),)


BAD_QUESTIONS = [
    ({"answers": [LAMP | {"answer_start": 5}]}, "several times"),
    ({"answers": [HALL, {"text": "the garden", "answer_start": 4}]}, "not in the passage"),
    ({"answers": [{"text": "", "answer_start": 0}]}, "an answer is empty"),
    ({"answers": ["the hall"]}, "an answer is a text"),
    ({"answers": [{"answer_start": 4}]}, "an answer's text is missing"),
    ({"answers": []}, "has no answers and is not marked"),
    ({"is_impossible": True}, "has answers"),
    ({"is_impossible": "no"}, "is_impossible is a text"),
    ({"question": "  "}, "the question is empty"),
    ({"question": None}, "the question is missing"),
    ({"question": "\ud83d"}, "surrogate"),
]


def test_a_bad_question_is_listed_and_the_rest_goes_on(subtests, read):
    for change, reason in BAD_QUESTIONS:
        with subtests.test(reason=reason):
            rejected, passage = read([paragraph(squad_question(**change), squad_question(id="q2"))])
            assert isinstance(rejected, Rejection)
            assert (rejected.file, rejected.record) == ("train.json", "q1")
            assert reason in rejected.reason
            assert [question.question_id for question in passage.questions] == ["q2"]


BAD_PARAGRAPHS = [
    (None, "article 1, paragraph 1", "the paragraph is missing"),
    (paragraph(context=" "), "article 1, paragraph 1", "the context is empty"),
    (paragraph(context="?!"), "article 1, paragraph 1", "no words"),
    (paragraph(context="x" * 2000), "article 1, paragraph 1", "more than max_characters"),
    ({"context": CONTEXT}, "article 1, paragraph 1", "the list of questions is missing"),
    (paragraph("Who?"), "article 1, paragraph 1, question 1", "the question is a text"),
    (paragraph(squad_question(id=None)), "article 1, paragraph 1, question 1", "the id is missing"),
]


def test_a_bad_paragraph_is_listed_and_the_rest_goes_on(subtests, read):
    for bad, record, reason in BAD_PARAGRAPHS:
        with subtests.test(record=record, reason=reason):
            records = read([bad, paragraph(squad_question())])
            (rejected,) = [entry for entry in records if isinstance(entry, Rejection)]
            assert rejected.record == record
            assert reason in rejected.reason
            assert isinstance(records[-1], PassageRecord)


@pytest.mark.parametrize("article", [None, {"title": 3, "paragraphs": []}, {"title": "Lamps"}])
def test_a_bad_article_is_listed_and_the_rest_goes_on(tmp_path, article):
    good = {"title": "Lamps", "paragraphs": [paragraph(squad_question())]}
    (tmp_path / "train.json").write_text(json.dumps({"data": [article, good]}))
    rejected, passage = squad.read(tmp_path / "train.json", max_characters=1000)
    assert rejected.record == "article 1"
    assert passage.questions


@given(st.text(min_size=1), st.data())
def test_offsets_count_code_points(tmp_path_factory, context, data):
    start = data.draw(st.integers(0, len(context) - 1))
    answer = context[start : data.draw(st.integers(start + 1, len(context)))]
    path = tmp_path_factory.mktemp("squad") / "train.json"
    question = squad_question(answers=[{"text": answer, "answer_start": start}])
    path.write_text(json.dumps({"data": [{"title": "", "paragraphs": [paragraph(question, context=context)]}]}))
    for record in squad.read(path, max_characters=1000):
        if isinstance(record, PassageRecord) and record.questions:
            ((text, offset),) = record.questions[0].answers
            assert record.text[offset : offset + len(text)] == text == answer
            assert offset == start


@pytest.mark.parametrize(
    ("name", "questions", "impossible"),
    [("train-v1.1-part", 11877, 0), ("dev-v2.0-a", 4029, 2137), ("train-v2.0-part", 4719, 348)],
)
def test_the_published_counts(raw, name, questions, impossible):
    path = raw / "squad" / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"COATTEND_RAW has no squad/{name}.json")
    records = list(squad.read(path, max_characters=100_000))
    assert all(isinstance(record, PassageRecord) for record in records)
    asked_here = [question for record in records for question in record.questions]
    assert len(asked_here) == questions
    assert sum(not question.answerable for question in asked_here) == impossible
