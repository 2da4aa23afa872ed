"""A profile against counting by hand."""

import logging

import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.config import BenchmarkParameters
from coattend.data.profile.statistics import (
    BenchmarkRows,
    TextLengths,
    answer_statistics,
    count_statistics,
    duplicate_statistics,
    length_statistics,
    overview_statistics,
    tag_statistics,
)
from coattend.schemas import PASSAGES as SCHEMA
from coattend.schemas import QUESTIONS, TAGS, TOKENS
from coattend.text.hashing import text_id

PASSAGES = {
    "p1": {"passage_id": "p1", "text": "M: The lamp is here.\nW: No.", "turns": ["M: The lamp is here.", "W: No."]},
    "p2": {"passage_id": "p2", "text": "The sofa is red.", "turns": None},
    "p3": {"passage_id": "p3", "text": "the SOFA, is red", "turns": None},
}
ASKED = [("q1", "p1", "train", "high", 0), ("q2", "p2", "train", "middle", 1), ("q3", "p3", "dev", "high", 1)]
QUESTION = "Where is it?"
OPTIONS = ["The lamp", "is red."]


def question(name, passage, split, subset, label, **change):
    row = {"question_id": name, "passage_id": passage, "split": split, "subset": subset, "task": "options"}
    # The passages p2 and p3 are copies.
    row |= {"group": "g1" if passage == "p1" else "g2"}
    return row | {"question": QUESTION, "options": OPTIONS, "label": label, "answerable": True} | change


@pytest.fixture
def questions():
    return pa.Table.from_pylist([question(*row) for row in ASKED], schema=QUESTIONS)


@pytest.fixture
def benchmark():
    source = {"format": "dream", "folder": "x", "files": {}}
    published = {"train": {"questions": 2}, "train/high": {"questions": 5}, "overview": {"questions": 4}}
    return BenchmarkParameters(title="Lamps", tasks=["options"], sources=[source], published=published)


def stored(schema, **columns):
    texts = [*(row["text"] for row in PASSAGES.values()), QUESTION, *OPTIONS]
    rows = []
    for text in texts:
        words = text.replace(".", " .").split()
        row = {"text_id": text_id(text), "words": words, "tags": [number % 5 for number, _ in enumerate(words)]}
        row |= {name: [0] * len(words) for name in ("starts", "ends", "tag_ids", "word_index")}
        row |= {"input_ids": [7] * len(text)}
        rows.append({name: row[name] for name in schema.names})
    return pads.dataset(pa.Table.from_pylist(rows, schema=schema))


def material(questions, **options):
    extra = [{"passage_id": name, "text": text, "turns": None} for name, text in options.items()]
    rows = [{**row, "source": "file"} for row in (*PASSAGES.values(), *extra)]
    return BenchmarkRows.from_tables(questions, pa.Table.from_pylist(rows, schema=SCHEMA))


def stands_in(answer, passage):
    questions = pa.Table.from_pylist([question("q", "p", "dev", None, 0)], schema=QUESTIONS)
    return material(questions, p=passage).is_extractive({"passage_id": "p"}, answer)


def values_by_key(rows):
    return {(row.split, row.subset, row.name): row.value for row in rows}


def test_counts_beside_the_published(benchmark, questions, caplog):
    with caplog.at_level(logging.WARNING):
        statistics = list(count_statistics(benchmark, material(questions, **{"p4": "Nobody asks."}), 7))
    values = values_by_key(statistics)
    assert values["train", "all", "questions"] == 2
    assert values["train", "high", "questions"] == values["train", "high", "passages"] == 1
    assert values["dev", "all", "unanswerable"] == 0
    assert [values[split, "all", "groups"] for split in ("train", "dev", "all")] == [2, 1, 2]
    assert values["all", "all", "groups in several splits"] == 1
    assert values["all", "all", "rejected records"] == 7
    assert (values["all", "all", "passages"], values["all", "all", "passages without a question"]) == (4, 1)
    assert [record.getMessage() for record in caplog.records] == ["Lamps, train, high: 1 questions here, 5 published"]


def test_lengths_and_what_is_cut(benchmark, questions):
    texts = TextLengths.read(stored(TAGS), stored(TOKENS))
    values = values_by_key(length_statistics(benchmark, material(questions), texts, special_tokens=3))
    assert values["dev", "all", "words of a passage, longest"] == 4
    assert values["train", "all", "words of a passage, mean"] == pytest.approx((9 + 5) / 2)
    assert values["train", "all", "turns of a passage, longest"] == 2
    assert values["train", "all", "words of an answer, mean"] == 2.5
    sequence = 3 + len(PASSAGES["p3"]["text"]) + len(QUESTION) + len(OPTIONS[0])
    assert values["dev", "all", "tokens of a sequence, longest"] == sequence
    assert values["dev", "all", "sequences over 512 tokens, %"] == 0
    assert ("dev", "middle", "words of a passage, mean") not in values


def test_copies(questions):
    values = values_by_key(duplicate_statistics(material(questions)))
    assert values["train", "all", "passages that repeat another"] == 0
    assert values["dev", "all", "passages that are in train too"] == 1
    assert values["dev", "all", "questions that are in train too"] == 1
    assert values["dev", "all", "questions of groups that are in train too"] == 1
    again = [question(*row) for row in [*ASKED, ("q4", "p2", "train", "high", 0)]]
    again.append(question("q5", "p1", "train", "high", 0, options=["a", "a"]))
    values = values_by_key(duplicate_statistics(material(pa.Table.from_pylist(again, schema=QUESTIONS))))
    assert values["train", "all", "questions that repeat another"] == 2
    assert values["train", "all", "questions with equal options"] == 1


def test_labels_types_and_extractive_answers(questions):
    values = values_by_key(answer_statistics(material(questions)))
    assert values["train", "all", "option 1 is right, %"] == 50
    assert values["dev", "all", "option 2 is right, %"] == 100
    assert values["train", "all", "extractive, %"] == 100
    typed = pa.Table.from_pylist([question(*ASKED[0], question_types=["logic", "summary"])], schema=QUESTIONS)
    assert values_by_key(answer_statistics(material(typed)))["train", "all", "logic, % of questions"] == 100


STANDS = [
    ("the lamp", "Here is the Lamp.", True),
    ("lamp", "Here are lamps.", False),
    ("is here", "It is.\nHere we are.", True),
    ("lamp the", "the lamp", False),
    ("...", "the lamp", False),
    ("1,000", "some 1,000 lamps", True),
    ("here now", "here, now", True),
]


def test_what_stands_in_a_passage(subtests):
    for answer, passage, expected in STANDS:
        with subtests.test(answer=answer, passage=passage):
            assert stands_in(answer, passage) is expected


@given(
    words=st.lists(st.text("ab1.", min_size=1, max_size=4), min_size=1, max_size=12),
    cut=st.tuples(st.integers(0, 12), st.integers(0, 12)),
)
def test_any_run_of_words_stands_in_its_text(words, cut):
    first, last = min(cut), max(cut)
    piece = words[first:last]
    assert stands_in(" ".join(piece), " ".join(words)) is any(word.strip(".") for word in piece)


def test_the_overview_over_all_splits(benchmark, questions):
    texts = TextLengths.read(stored(TAGS), stored(TOKENS))
    rows = {row.name: row for row in overview_statistics(benchmark, material(questions), stored(TAGS), texts)}
    assert rows["source documents"].value == 3
    assert (rows["questions"].value, rows["questions"].published) == (3, 4)
    assert rows["extractive, %"].value + rows["abstractive, %"].value == 100
    assert rows["answers per question"].value == 2
    assert (rows["average turns of a dialogue"].value, rows["most turns of a dialogue"].value) == (2, 2)
    assert rows["average passage length"].value == pytest.approx((9 + 5 + 4) / 3)
    words = {word.lower() for table in stored(TAGS).to_table().to_pylist() for word in table["words"]}
    assert rows["vocabulary"].value == len(words)


def test_shares_of_tags():
    rows = list(tag_statistics(stored(TAGS), ("PAD", "SPE", "ERR", "NN", "VB")))
    assert sum(row.value for row in rows) == pytest.approx(100)
    assert [row.value for row in rows] == sorted((row.value for row in rows), reverse=True)
