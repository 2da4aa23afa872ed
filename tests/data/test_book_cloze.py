"""Books without what Project Gutenberg adds, and cloze questions made of them."""

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from coattend.data.book_cloze import clozes, paragraphs, read_book, split_books
from coattend.data.formats import cbt
from coattend.data.formats.base import PassageRecord
from coattend.errors import CoattendError
from coattend.text.hashing import file_digest
from coattend.text.textblob import TextblobTagger

NEW = """The Project Gutenberg EBook of A Book, by Somebody.

*** START OF THIS PROJECT GUTENBERG EBOOK A BOOK ***

Produced by Volunteers

     CHAPTER I          The Beginning

CHAPTER I.

[Illustration: A picture
that is told.]

It was a _very_ quiet
morning.

“Who’s there?” asked Anna.

*** END OF THIS PROJECT GUTENBERG EBOOK A BOOK ***

Nobody may read the licence aloud.
"""
OLD = """*Project Gutenberg Etext of A Book*

These rules are no part of it.

*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*

It was a quiet morning.

End of the Project Gutenberg Etext of A Book

Nor is this.
"""


def test_what_is_no_prose_is_left_out():
    assert paragraphs(NEW) == ["It was a very quiet morning.", '"Who\'s there?" asked Anna.']
    assert paragraphs(NEW.replace("\n", "\r\n")) == paragraphs(NEW)


def test_the_old_header():
    assert paragraphs(OLD) == ["It was a quiet morning."]


def test_a_text_that_project_gutenberg_did_not_touch():
    assert paragraphs("One day.\n\nTHE END.\n\nAnother day, and a long one!") == [
        "One day.",
        "Another day, and a long one!",
    ]


NAMES = ["Anna", "Bert", "Cara", "Dora"]
NOUNS = ["apple", "bridge", "candle", "dragon", "engine", "flower", "garden", "hammer", "island", "jacket", "kitten"]


def book(sentences: int = 40) -> list[list[tuple[str, str]]]:
    """Tagged sentences: `The apple is what Anna told Bert .`, each with other nouns and names."""
    rows = []
    for number in range(sentences):
        noun, first, second = NOUNS[number % 11], NAMES[number % 4], NAMES[(number + 1) % 4]
        words = f"The {noun} is what {first} told {second} .".split()
        rows.append(list(zip(words, ["DT", "NN", "VBZ", "WP", "NNP", "VBD", "NNP", "."], strict=True)))
    return rows


def read(pieces: list[str], candidates: str, tmp_path: Path) -> list[PassageRecord]:
    path = tmp_path / f"cbtest_{candidates}_train.txt"
    path.write_text("".join(pieces))
    return list(cbt.read(path, max_characters=100_000))


@pytest.mark.parametrize("candidates", ["NE", "CN"])
def test_questions_keep_the_rule(candidates, tmp_path):
    """Checked on what the reader of the Children's Book Test makes of them, against the sentences themselves."""
    pieces = list(clozes(book(), candidates, step=1, seed=0))
    records = read(pieces, candidates, tmp_path)
    assert len(records) == 20
    for record in records:
        (question,) = record.questions
        words = record.text.split()
        answer = question.options[question.label]
        assert question.subset == candidates
        assert len(set(question.options)) == 10 and list(question.options) == sorted(question.options)
        assert all(option in words for option in question.options)
        assert answer not in question.question.split() and question.question.split().count("_") == 1
        assert answer in (NAMES if candidates == "NE" else NOUNS)
        assert len(record.text.splitlines()) == 20
    names = [sum(option in NAMES for option in record.questions[0].options) for record in records]
    assert set(names) == ({4} if candidates == "NE" else {0})


def test_questions_depend_on_the_seed_and_nothing_else():
    draw = [list(clozes(book(60), "CN", step=1, seed=seed)) for seed in (0, 0, 1)]
    assert draw[0] == draw[1] != draw[2]


def test_with_a_step_of_21_no_sentence_is_used_twice():
    assert len(list(clozes(book(63), "NE", step=21, seed=0))) == 3
    assert len(list(clozes(book(62), "NE", step=21, seed=0))) == 2


def test_a_capital_at_the_start_of_a_sentence_makes_no_name():
    """Even behind a quotation mark, and whatever the tagger says."""
    tagged_passage = [("``", "``"), ("Rain", "NNP"), ("fell", "VBD"), ("upon", "IN"), ("them", "PRP"), (".", ".")]
    tagged_query = [("They", "PRP"), ("all", "DT"), ("loved", "VBD"), ("Rain", "NNP"), ("dearly", "RB"), (".", ".")]
    assert not list(clozes([*book(19), tagged_passage, tagged_query], "NE", step=1, seed=0))


@pytest.mark.parametrize("query", ["The apple of Anna is an apple .", "Anna told Anna about Anna .", "So Anna fell ."])
def test_a_word_that_the_query_gives_away_or_a_short_query_is_not_asked(query):
    tags = {"apple": "NN", "Anna": "NNP"}
    tagged_query = [(word, tags.get(word, "X")) for word in query.split()]
    candidates = "CN" if "apple" in query else "NE"
    assert not list(clozes([*book(20), tagged_query], candidates, step=1, seed=0))


def test_too_few_names_or_nouns():
    rare = [[(form, tag) for form, tag in words if form not in ("Cara", "Dora")] for words in book(21)]
    assert not list(clozes(rare, "NE", step=1, seed=0))
    assert not list(clozes([[pair for pair in words if pair[1] != "NN"] for words in book(21)], "CN", step=1, seed=0))


def test_of_many_names_nine_are_drawn(tmp_path):
    names = [f"{first}{rest}" for first in "ABCDEF" for rest in ("nna", "ert", "ora")]
    rows = []
    for number in range(40):
        words = f"The {NOUNS[number % 11]} is what {names[number % 18]} told {names[(number + 7) % 18]} .".split()
        rows.append(list(zip(words, ["DT", "NN", "VBZ", "WP", "NNP", "VBD", "NNP", "."], strict=True)))
    records = read(list(clozes(rows, "NE", step=1, seed=0)), "NE", tmp_path)
    drawn = [record.questions[0].options for record in records]
    assert len(drawn) == 20
    assert all(set(options) <= set(names) for options in drawn)
    assert len(set(drawn)) > 10


def hashed(paths):
    return {path: file_digest(path) for path in paths}


def test_one_book_is_left_to_train_on(tmp_path):
    paths = [tmp_path / f"{number}.txt" for number in range(3)]
    for path in paths:
        path.write_text(path.name)
    assert {name: len(files) for name, files in split_books(hashed(paths), dev=0.6, test=0.39).items()} == {
        "train": 1,
        "dev": 1,
        "test": 1,
    }


def test_books_are_split_by_their_content(tmp_path):
    paths = []
    for number in range(10):
        paths.append(tmp_path / f"{number}.txt")
        paths[-1].write_text(f"Book {number}.")
    split = split_books(hashed(paths), dev=0.2, test=0.1)
    assert {name: len(files) for name, files in split.items()} == {"train": 7, "dev": 2, "test": 1}
    assert sorted(path for files in split.values() for path in files) == paths
    assert split_books(hashed(paths[::-1]), dev=0.2, test=0.1) == split
    assert not split_books(hashed(paths), dev=0.01, test=0)["test"]


def test_a_book_that_is_not_text(tmp_path):
    path = tmp_path / "book.txt"
    path.write_bytes(b"It was \xe9t\xe9.")
    with pytest.raises(CoattendError, match="not UTF-8"):
        read_book(path, TextblobTagger())


@pytest.mark.slow
def test_the_stage_writes_questions_once(kedro_run, project, monkeypatch, tmp_path):
    """From three books to tables, without NLTK's data."""
    monkeypatch.setenv("COATTEND_RAW", str(tmp_path / "raw"))
    folder = tmp_path / "raw" / "books"
    folder.mkdir(parents=True)
    for number in range(3):
        story = "\n\n".join(
            f"Then the {NOUNS[(line + number) % 11]} of {NAMES[line % 4]} was what {NAMES[(line + 1) % 4]} gave to "
            f"{NAMES[(line + 2) % 4]}."
            for line in range(45)
        )
        (folder / f"{number}.txt").write_text(story)
    params = {"benchmarks": {"books": {"workers": 1}}, "taggings": {"nltk_penn": {"tagger": "textblob"}}}
    kedro_run("book_cloze", **params)
    written = sorted((project / "data" / "01_raw" / "books" / "clozes" / "cbt").glob("*.txt"))
    assert [path.name for path in written] == [
        f"cbtest_{k}_{s}.txt" for k in ("CN", "NE") for s in ("test", "train", "valid")
    ]
    times = [path.stat().st_mtime_ns for path in written]
    kedro_run("book_cloze,ingestion", "books", **params)
    assert [path.stat().st_mtime_ns for path in written] == times
    questions = project / "data" / "test" / "02_intermediate" / "books" / "questions.parquet"
    assert set(pq.read_table(questions).column("subset").cast("string").to_pylist()) == {"NE", "CN"}
    (folder / "2.txt").write_text(re.sub("gave", "threw", (folder / "2.txt").read_text()))
    kedro_run("book_cloze", **params)
    assert [path.stat().st_mtime_ns for path in written] != times


def test_too_few_books(kedro_run, monkeypatch, tmp_path):
    monkeypatch.setenv("COATTEND_RAW", str(tmp_path))
    with pytest.raises(CoattendError, match="needs 3 books or more, one a split, and finds 0"):
        kedro_run("book_cloze")
