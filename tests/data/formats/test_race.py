"""RACE, from its own files and from Parquet."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coattend.data.archives import members
from coattend.data.formats import race
from coattend.data.formats.base import Rejection
from coattend.errors import CoattendError

ARTICLE = {
    "id": "high19.txt",
    "article": "The lamp is in the hall.",
    "questions": ["Where is the lamp?", "The lamp is in _ ."],
    "options": [["Hall", "Attic", "Garden", "Here"], ["a hall", "an attic", "a garden", "the sea"]],
    "answers": ["A", "D"],
}


@pytest.fixture
def read(tmp_path):
    def write_and_read(**change):
        (tmp_path / "19.txt").write_text(json.dumps(ARTICLE | change))
        return list(race.read(tmp_path / "19.txt", max_characters=1000))

    return write_and_read


def test_an_article(read):
    (passage,) = read()
    assert (passage.passage_id, passage.text, passage.source) == ("high19.txt", ARTICLE["article"], "19.txt")
    first, second = passage.questions
    assert (first.question_id, second.question_id) == ("high19.txt-1", "high19.txt-2")
    assert (first.label, second.label) == (0, 3)
    assert first.subset == second.subset == "high"
    assert (first.question_types, second.question_types) == ((), ("cloze",))
    assert first.options == ("Hall", "Attic", "Garden", "Here")


UNUSABLE = [
    ({"answers": ["E", "D"]}, "high19.txt-1", "'E' is not a letter from A to D"),
    ({"answers": ["a", "D"]}, "high19.txt-1", "'a' is not a letter"),
    ({"answers": ["", "D"]}, "high19.txt-1", "is not a letter"),
    ({"answers": [1, "D"]}, "high19.txt-1", "the answer is a number instead of a text"),
    ({"options": [ARTICLE["options"][0][:3], ARTICLE["options"][1]]}, "high19.txt-1", "3 options instead of 4"),
    ({"options": [["a", "b", "c", " "], ARTICLE["options"][1]]}, "high19.txt-1", "option 4 is empty"),
    ({"answers": ["A"]}, "high19.txt", "2 questions, 2 options, 1 answers"),
    ({"article": "... !"}, "high19.txt", "the article has no words"),
    ({"article": "x" * 1001}, "high19.txt", "more than max_characters"),
    ({"id": 7}, "7", "the id is a number"),
]


def test_what_cannot_be_used_is_left_out_and_said(subtests, read):
    for change, record, reason in UNUSABLE:
        with subtests.test(reason=reason):
            rejected = [rejection for rejection in read(**change) if isinstance(rejection, Rejection)]
            assert [rejection.record for rejection in rejected] == [record]
            assert reason in rejected[0].reason


def rows(**change):
    table_rows = []
    for name in ("high19.txt", "middle7.txt"):
        for question, options, answer in zip(*(ARTICLE[k] for k in ("questions", "options", "answers")), strict=True):
            row = {"example_id": name, "article": ARTICLE["article"], "question": question, "options": options}
            table_rows.append(row | {"answer": answer} | change)
    return table_rows


def test_parquet_gives_the_same_records_as_the_files(read, tmp_path):
    pq.write_table(pa.Table.from_pylist(rows()), tmp_path / "train.parquet")
    records = list(race.read_parquet(tmp_path / "train.parquet", max_characters=1000))
    questions = [question for passage in records for question in passage.questions]
    (passage,) = read()
    assert tuple(questions[:2]) == passage.questions
    assert [question.question_id for question in questions[2:]] == ["middle7.txt-1", "middle7.txt-2"]
    assert {question.subset for question in questions[2:]} == {"middle"}


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (pa.Table.from_pylist(rows()).drop_columns(["answer"]), "has no column 'answer'"),
        (pa.Table.from_pylist(rows(options="a, b, c, d")), "'options' is string instead of a list of texts"),
        (pa.Table.from_pylist(rows(answer=1)), "'answer' is int64 instead of text"),
        (pa.Table.from_pylist(rows()).slice(0, 0), "has no rows"),
    ],
)
def test_parquet_of_another_shape(tmp_path, table, problem):
    pq.write_table(table, tmp_path / "train.parquet")
    with pytest.raises(CoattendError, match=problem):
        list(race.read_parquet(tmp_path / "train.parquet", max_characters=1000))


@pytest.mark.parametrize("content", [b"", b"PAR1 no Parquet", b'{"a": 1}'])
def test_parquet_that_is_none(tmp_path, content):
    (tmp_path / "train.parquet").write_bytes(content)
    with pytest.raises(CoattendError, match="is not a whole Parquet file"):
        list(race.read_parquet(tmp_path / "train.parquet", max_characters=1000))


def test_published_dev_articles_are_read_whole(raw):
    path = raw / "race" / "RACE.tar.gz"
    if not path.is_file():
        pytest.skip("there is no RACE.tar.gz")
    passages = questions = cloze = 0
    for member in members(path):
        if member.path.match("dev/*/*.txt"):
            (passage,) = race.read(member, max_characters=100_000)
            passages += 1
            questions += len(passage.questions)
            cloze += sum(question.question_types == ("cloze",) for question in passage.questions)
    assert (passages, questions) == (1389, 4887)
    assert 0.4 < cloze / questions < 0.6
