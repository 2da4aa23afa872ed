"""Any questions by paths: every form of file and of answer, what is rejected, and a path that is wrong."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from coattend.config import FieldParameters
from coattend.data.formats import dream, fields, squad
from coattend.data.formats.base import PassageRecord, Rejection
from coattend.errors import CoattendError

PASSAGE = "The lamp 😀 is in the hall, and the old lamp is in the attic."
CHOICE = {"text": PASSAGE, "ask": "Where?", "choices": {"text": ["in the hall", "at sea"], "key": ["A", "B"]}}
PATHS = {"passage": "text", "question": "ask", "options": "choices.text[]"}


def write(folder, name, content):
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def lines(folder, *rows):
    return write(folder, "train.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def read(path, max_characters=1000, **paths):
    parameters = FieldParameters.model_validate(paths)
    return list(fields.read(path, max_characters=max_characters, fields=parameters))


def asked(records):
    return [question for record in records for question in record.questions]


ANSWERS = [
    *(("index", 1, 1), ("index", "0", 0), ("number", 2, 1), ("number", "1", 0)),
    *(("letter", "B", 1), ("letter", " a ", 0), ("text", "at sea", 1), ("key", "B", 1), ("index", [1, 1], 1)),
    *(("index", 2, "index of none of its 2 options"), ("number", 0, "number of none"), ("index", True, "'True'")),
    *(
        ("letter", "C", "letter of none"),
        ("letter", "AB", "letter of none"),
        ("index", "x", "'x' instead of a whole"),
    ),
    *(("text", "at home", "not among the options"), ("key", "C", "none of the keys A, B"), ("text", 1, "a number")),
    *(
        ("index", None, "the answer is missing"),
        ("index", [0, 1], "has 2 right options"),
        ("index", [], "has no right"),
    ),
]


def test_an_answer_names_an_option(subtests, tmp_path):
    for answer_is, answer, label in ANSWERS:
        with subtests.test(answer_is=answer_is, answer=answer):
            keys = {"option_keys": "choices.key"} if answer_is == "key" else {}
            rows = lines(tmp_path, CHOICE | {"gold": answer})
            (record,) = read(rows, **PATHS, **keys, answer="gold", answer_is=answer_is)
            if isinstance(label, int):
                assert asked([record])[0].label == label
            else:
                assert label in record.reason
                assert record.record == "line 1"


SEVERAL = {"id": "q1", "text": PASSAGE, "ask": "Where is a lamp?"}
SEVERAL |= {"choices": ["hall", "sea", "attic", "boat"], "marks": [1, 0, "true", False], "letters": ["C", "a"]}


@pytest.mark.parametrize(("answer", "answer_is"), [("marks", "flags"), ("letters", "letter")])
def test_a_question_is_asked_for_each_of_its_right_options(tmp_path, answer, answer_is):
    paths = {"passage": "text", "question": "ask", "options": "choices", "answer": answer, "answer_is": answer_is}
    usual = SEVERAL | {"id": "q2", "marks": [0, 1, 0, 0], "letters": "B"}
    rows = lines(tmp_path, SEVERAL, usual)
    questions = asked(read(rows, **paths, id="id", several="each"))
    assert [(question.question_id, question.options, question.label) for question in questions] == [
        ("q1-1", ("hall", "sea", "boat"), 0),
        ("q1-3", ("sea", "attic", "boat"), 1),
        ("q2", tuple(SEVERAL["choices"]), 1),
    ]
    # Without ids of their own, the options tell the questions apart.
    assert len({question.question_id for question in asked(read(rows, **paths, several="each"))}) == 3
    # Not said what to do with several, they are left out, and the reason says it.
    rejected, record = read(rows, **paths, id="id")
    assert "has 2 right options instead of one; `several: each`" in rejected.reason
    assert [question.question_id for question in record.questions] == ["q2"]


@pytest.mark.parametrize(
    ("marks", "reason"),
    [
        ([1, 1, 1, 1], "has no wrong option"),
        ([0, 0, 0, 0], "has no right options"),
        ([1, 0, 1], "has 3 flags of 4 options"),
        ([1, 0, 2, 0], "'2' is neither yes nor no"),
    ],
)
def test_several_right_options_that_ask_nothing_are_left_out(tmp_path, marks, reason):
    paths = {"passage": "text", "question": "ask", "options": "choices", "answer": "marks", "answer_is": "flags"}
    (rejected,) = read(lines(tmp_path, SEVERAL | {"marks": marks}), **paths, several="each")
    assert reason in rejected.reason


@pytest.mark.parametrize(("answer", "label"), [(True, 0), (False, 1), ("No", 1), ("yes", 0), (1, 0), ("perhaps", None)])
def test_yes_and_no_need_no_options(tmp_path, answer, label):
    rows = lines(tmp_path, CHOICE | {"gold": answer})
    (record,) = read(rows, passage="text", question="ask", answer="gold", answer_is="yes_no")
    if label is None:
        assert "'perhaps' is neither yes nor no" in record.reason
    else:
        (question,) = record.questions
        assert (question.options, question.label) == (("yes", "no"), label)


COLUMNS = {"passage": "text", "question": "ask", "options": ["a", "b", "c"], "answer": "gold", "answer_is": "number"}
CELLS = [["text", "ask", "a", "b", "c", "gold"], [PASSAGE, 'Say "where"?', "hall", "sea", "", "2"]]


def test_csv_tsv_and_parquet_hold_the_same(tmp_path):
    with (tmp_path / "train.csv").open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows(CELLS)
    tsv = write(tmp_path, "train.tsv", "\r\n".join("\t".join(row) for row in CELLS))
    pq.write_table(pa.Table.from_pylist([dict(zip(*CELLS, strict=True))]), tmp_path / "train.parquet")
    numbered = {"passage": "[0]", "question": "[1]", "options": ["[2]", "[3]", "[4]"], "answer": "[5]"}
    bare = write(tmp_path, "bare.tsv", "\t".join(CELLS[1]))
    results = [asked(read(tmp_path / name, **COLUMNS)) for name in ("train.csv", "train.parquet")]
    results += [asked(read(tsv, **COLUMNS)), asked(read(bare, **numbered, header=False, answer_is="number"))]
    (question,) = results[0]
    assert (question.question, question.options, question.label) == ('Say "where"?', ("hall", "sea"), 1)
    assert results == [results[0]] * 4


def test_nested_json_is_what_the_format_of_its_own_reads(tmp_path):
    articles = [
        {"title": name, "paragraphs": [{"context": f"{name} {PASSAGE}", "qas": questions}]}
        for name, questions in {
            "Anna": [
                {"id": "q1", "question": "Where?", "answers": [{"text": "hall", "answer_start": 26}] * 2},
                {"id": "q2", "question": "Who?", "answers": [], "is_impossible": True},
            ],
            "Ben": [{"id": "q3", "question": "Which?", "answers": [{"text": "old", "answer_start": 35}]}],
        }.items()
    ]
    path = write(tmp_path, "train.json", json.dumps({"data": articles}))
    spans = {"answer": "answers[].text", "start": "answers[].answer_start", "answer_is": "span"}
    nested = {"questions": "data[].paragraphs[].qas[]", "passage": "context", "question": "question", "id": "id"}
    records = read(path, **nested, **spans)
    expected = list(squad.read(path, max_characters=1000))
    assert asked(records) == asked(expected)
    assert [record.text for record in records] == [record.text for record in expected]
    assert [record.location for record in records] == ["record 1", "record 2"]
    # Without offsets, an answer is found if it occurs once.
    assert asked(read(path, **nested, answer="answers[].text", answer_is="span")) == asked(expected)


TALK = [["M: Hello.", "W: Yes?"], [{"question": "Who?", "choice": ["M.", "W."], "answer": "W."}] * 2, "4-7"]
DREAM = {"questions": "[][1][]", "passage": "[0]", "turns": True, "question": "question", "options": "choice"}


def test_lists_are_read_by_position_and_the_id_around_questions_is_numbered(tmp_path):
    path = write(tmp_path, "train.json", json.dumps([TALK, [["M: Bye."], [], "4-8"]]))
    (record,) = read(path, **DREAM, answer="answer", answer_is="text", id="[2]")
    expected, _ = dream.read(path, max_characters=1000)
    assert record.questions == expected.questions
    assert (record.text, record.turns) == (expected.text, expected.turns)


def test_the_passages_own_characters_are_the_answer(tmp_path):
    row = {"context": PASSAGE, "qas": [{"qid": "q", "ask": "Where?", "found": [{"spans": [[4, 7], [35, 42]]}] * 2}]}
    row["qas"] += [{"qid": "r", "ask": "Who?", "found": [{"spans": [[4, 900]]}]}]
    paths = {"questions": "qas[]", "passage": "context", "question": "ask", "id": "qid", "answer_is": "span"}
    ends = {"start": "found[].spans[][0]", "end": "found[].spans[][1]"}
    rejected, record = read(lines(tmp_path, {"header": {"split": "train"}}, row), **paths, **ends, skip="header")
    assert record.questions[0].answers == (("lamp", 4), ("old lamp", 35))
    assert (rejected.record, "from 4 to 900 is not inside" in rejected.reason) == ("line 2, question 2", True)


def test_a_question_is_its_own_passage_and_a_mark_becomes_a_blank(tmp_path):
    row = {"ask": "The lamp is in the ##.", "choices": ["hall", "sea"], "gold": 0, "hard": 1}
    paths = {"question": "ask", "options": "choices", "answer": "gold", "answer_is": "index"}
    (record,) = read(lines(tmp_path, row), **paths, blank="##", subset="hard")
    assert record.text == record.questions[0].question == "The lamp is in the _."
    assert record.questions[0].subset == "1"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"passage": "txt"}, "has no 'txt'. Did you mean 'text'?"),
        ({"options": "choices.texts[]"}, "'texts' of the path 'choices.texts[]'. Did you mean 'text'?"),
        ({"options": "choice.text[]"}, "'choice' of the path 'choice.text[]'. Did you mean 'choices'?"),
        ({"id": "ident"}, "has no 'ident'. Known: "),
        ({"questions": "choice[]"}, "has no 'choice' of the path 'choice[]'. Did you mean 'choices'?"),
    ],
)
def test_a_path_that_no_question_has_gets_the_nearest_key(tmp_path, change, problem):
    path = lines(tmp_path, *[CHOICE | {"gold": 0}] * 3)
    with pytest.raises(CoattendError) as raised:
        read(path, **PATHS | {"answer": "gold", "answer_is": "index"} | change)
    assert f"{path}, line 1: " in str(raised.value)
    assert problem in str(raised.value)


def test_a_file_that_lacks_a_path_is_not_read_to_its_end(tmp_path):
    path = lines(tmp_path, *[CHOICE | {"gold": 0}] * 300)
    rejected = []
    parameters = FieldParameters(**PATHS, answer="god", answer_is="index")
    with pytest.raises(CoattendError, match="Did you mean 'gold'"):
        rejected.extend(fields.read(path, max_characters=1000, fields=parameters))
    assert len(rejected) < 150


UNUSABLE = [
    ({"text": None}, "the passage is missing"),
    ({"text": ["a", 1]}, "the passage is a number instead of a text"),
    ({"text": "..."}, "the passage has no words"),
    ({"text": "x" * 1001}, "more than max_characters"),
    ({"ask": " "}, "the question is empty"),
    ({"ask": "\ud800"}, "surrogate"),
    ({"choices": {"text": "in the hall"}}, "leads to a text instead of a list"),
    ({"choices": {}}, "has no 'text' of the path 'choices.text[]'"),
    ({"choices": []}, "'text' of the path 'choices.text[]' is looked up in a list"),
    ({"choices": {"text": ["one"]}}, "has one option only"),
]


def test_what_cannot_be_used_is_left_out_and_said(subtests, tmp_path):
    for change, reason in UNUSABLE:
        with subtests.test(reason=reason):
            row = CHOICE | {"gold": 0}
            path = write(
                tmp_path, "train.jsonl", f"{json.dumps(row)}\n\n{json.dumps(row | change)}\n{json.dumps(row)}\n"
            )
            records = read(path, **PATHS, answer="gold", answer_is="index")
            (rejected,) = [record for record in records if isinstance(record, Rejection)]
            assert (rejected.file, rejected.record) == ("train.jsonl", "line 3")
            assert reason in rejected.reason
            assert len(records) == 3


MISMATCHES = [
    ({"answer_is": "index"}, "needs options"),
    ({"answer_is": "yes_no", "options": "choices"}, "has no options"),
    ({"answer_is": "key", "options": "choices"}, "option_keys need each other"),
    ({"answer_is": "span", "end": "end"}, "end needs start"),
    ({"answer_is": "span", "passage": None}, "needs a passage"),
    ({"answer_is": "index", "options": "choices[", "start": "start"}, "pattern"),
    ({"answer_is": "yes_no", "several": "each"}, "several right options are impossible"),
    ({"answer_is": "yes_no", "start": "start"}, "belong to answer_is: span"),
    ({"answer_is": "yes_no", "awnser": "gold"}, "awnser"),
]


def test_paths_that_do_not_fit_together_are_refused(subtests):
    for paths, problem in MISMATCHES:
        with subtests.test(problem=problem), pytest.raises(ValidationError, match=problem):
            FieldParameters.model_validate({"passage": "text", "question": "ask", "answer": "gold"} | paths)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["text", "ask", "choices", "gold"]), inner),
    )
)
def test_any_json_is_read_or_refused(tmp_path_factory, value):
    path = write(tmp_path_factory.mktemp("fields"), "train.json", json.dumps(value))
    try:
        records = read(path, **PATHS, answer="gold", answer_is="index")
    except CoattendError:
        return
    assert all(isinstance(record, PassageRecord | Rejection) for record in records)
