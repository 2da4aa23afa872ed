import json
from pathlib import Path

import pyarrow as pa
import pytest
from entries import benchmark, dialogue, source, write

from coattend.data import text_store
from coattend.data.ingest import read_benchmark
from coattend.data.raw_files import raw_files
from coattend.errors import CoattendError


@pytest.fixture
def read(tmp_path):
    def write_and_read(*, entry=None, **files):
        for name, dialogues in ({"dev": [dialogue("d")]} | files).items():
            write(tmp_path, f"{name}.json", *dialogues)
        entry = entry or benchmark()
        tables = read_benchmark(entry, raw_files(entry, tmp_path))
        return [
            pa.concat_tables(table).to_pylist() if table.rows else []
            for table in (tables.passages, tables.questions, tables.rejected)
        ]

    return write_and_read


def rejected(rows):
    return [(row["file"], row["record"], row["reason"]) for row in rows]


def test_passages_and_questions(read):
    passages, questions, bad = read(train=[dialogue("1", questions=2)])
    assert [row["passage_id"] for row in passages] == ["1", "d"]
    assert passages[0]["text"] == "M: The lamp is here.\nW: I see."
    assert passages[0]["turns"] == ["M: The lamp is here.", "W: I see."]
    assert passages[0]["source"] == "train.json"
    assert [(row["question_id"], row["passage_id"], row["split"]) for row in questions] == [
        ("1-1", "1", "train"),
        ("1-2", "1", "train"),
        ("d-1", "d", "dev"),
    ]
    assert (questions[0]["options"], questions[0]["label"], questions[0]["subset"]) == (["There.", "Here."], 1, None)
    assert bad == []


def test_a_source_names_the_subset(read):
    _, questions, _ = read(entry=benchmark(source(subset="hall")), train=[dialogue()])
    assert {row["subset"] for row in questions} == {"hall"}


def test_a_repeated_dialogue_is_one_passage_and_its_questions_are_listed(read):
    passages, questions, bad = read(train=[dialogue("1"), dialogue("1", questions=2)])
    assert [row["passage_id"] for row in passages] == ["1", "d"]
    assert [row["question_id"] for row in questions] == ["1-1", "1-2", "d-1"]
    assert rejected(bad) == [("train.json", "1-1", "a question with this id, or these texts, came before")]


def test_a_training_question_that_is_asked_in_dev_gives_way_and_dev_keeps_it(read):
    train = [dialogue("d", questions=2), dialogue("t", text="The sofa is here.")]
    passages, questions, bad = read(entry=benchmark(drop_asked=True), train=train)
    assert [(row["question_id"], row["split"]) for row in questions] == [("t-1", "train"), ("d-1", "dev")]
    asked = "another split asks the same about the same passage"
    assert rejected(bad) == [("train.json", f"d-{number}", asked) for number in (1, 2)]
    assert [row["passage_id"] for row in passages] == ["d", "t"]


def test_a_share_of_what_is_scored_is_asked_and_nothing_is_taken_from_train(read):
    files = {name: [dialogue(name, questions=200)] for name in ("train", "dev")}
    _, all_questions, _ = read(**files)
    passages, questions, bad = read(entry=benchmark(scored=0.25), **files)
    by_split = {split: [row for row in questions if row["split"] == split] for split in ("train", "dev")}
    assert by_split["train"] == [row for row in all_questions if row["split"] == "train"]
    assert all(row in all_questions for row in by_split["dev"])
    assert 30 <= len(by_split["dev"]) <= 70
    assert ([row["passage_id"] for row in passages], bad) == (["train", "dev"], [])


def test_without_train_whole_groups_of_dev_become_train(read):
    # Two dialogues each share a text, and so a group.
    texts = [f"The lamp number {number // 2} is in the hall, and nobody saw it there." for number in range(60)]
    dialogues = [dialogue(str(number), text=text, questions=2) for number, text in enumerate(texts)]
    only_dev = source(files={"dev": ["dev*.json"]})
    _, undivided, _ = read(entry=benchmark(only_dev), dev=dialogues)
    _, questions, bad = read(entry=benchmark(only_dev, train_from_dev=0.8), dev=dialogues)
    assert [{**row, "split": "dev"} for row in questions] == undivided
    by_group: dict = {}
    for row in questions:
        by_group.setdefault(row["group"], set()).add(row["split"])
    assert [len(splits) for splits in by_group.values()] == [1] * 30
    assert sum(row["split"] == "train" for row in questions) == 0.8 * len(questions)
    # The texts decide, and not the order of the records.
    _, backwards, _ = read(entry=benchmark(only_dev, train_from_dev=0.8), dev=dialogues[::-1])
    assert {row["question_id"]: row["split"] for row in backwards} == {
        row["question_id"]: row["split"] for row in questions
    }
    assert not bad


def test_dev_stays_whole_where_there_is_train(read):
    _, questions, _ = read(entry=benchmark(train_from_dev=0.8), train=[dialogue("t")], dev=[dialogue("d", questions=9)])
    assert [row["question_id"] for row in questions if row["split"] == "train"] == ["t-1"]


def test_ids_are_unique_across_files(read):
    _, questions, bad = read(**{"train-a": [dialogue("1")], "train-b": [dialogue("1"), dialogue("2")]})
    assert [row["question_id"] for row in questions] == ["1-1", "2-1", "d-1"]
    assert [row["file"] for row in bad] == ["train-b.json"]


def test_an_id_with_another_text_is_left_out_with_its_questions(read):
    passages, questions, bad = read(train=[dialogue("1"), dialogue("1", text="No lamp.", questions=2)])
    assert [row["text"] for row in passages if row["passage_id"] == "1"] == ["M: The lamp is here.\nW: I see."]
    assert [row["question_id"] for row in questions] == ["1-1", "d-1"]
    assert [row["record"] for row in bad] == ["1", "1-1", "1-2"]


def test_bad_records_are_listed_with_their_reasons(read):
    _, questions, bad = read(train=[dialogue("1", answer="Nowhere."), None, dialogue("3")])
    assert [row["question_id"] for row in questions] == ["3-1", "d-1"]
    assert rejected(bad) == [
        ("train.json", "1-1", "the answer 'Nowhere.' is not among the options"),
        ("train.json", "dialogue number 2", "the dialogue is missing"),
    ]


@pytest.mark.parametrize("only", [dialogue(answer="Nowhere."), None, dialogue(questions=0), dialogue("d")])
def test_a_split_without_a_usable_question_is_an_error(read, only):
    files = {"train": [dialogue("d")], "dev": [only]}
    with pytest.raises(CoattendError, match="no question of the split 'dev' can be used") as caught:
        read(**files)
    assert "dev.json" in str(caught.value)


def test_an_unknown_format(read):
    with pytest.raises(CoattendError, match="Did you mean 'dream'"):
        read(entry=benchmark(source(format="draem")), train=[dialogue()])


def test_spans_and_clozes_fit_the_same_table(tmp_path):
    folder = tmp_path / "lamps"
    folder.mkdir()
    answers = [{"text": "here", "answer_start": 12}]
    rows = [
        {"id": "q1", "question": "Where?", "answers": answers},
        {"id": "q2", "question": "When?", "answers": [], "is_impossible": True},
    ]
    paragraphs = [{"context": "The lamp is here.", "qas": rows}]
    (folder / "train.json").write_text(json.dumps({"data": [{"title": "Lamps", "paragraphs": paragraphs}]}))
    lines = [f"{number} The lamp is here ." for number in range(1, 21)]
    (folder / "cbtest_CN_train.txt").write_text("\n".join([*lines, "21 The XXXXX is here .\tlamp\t\tcat|lamp"]))
    entry = benchmark(
        source(format="squad", files={"train": ["train.json"]}), source(format="cbt", files={"train": ["cbtest*"]})
    )
    tables = read_benchmark(entry, raw_files(entry, tmp_path))
    rows = pa.concat_tables(tables.questions).to_pylist()
    assert [row["task"] for row in rows] == ["span", "span", "word"]
    assert [row["answers"] for row in rows] == [[{"text": "here", "start": 12}], [], None]
    assert [row["answerable"] for row in rows] == [True, False, True]
    assert [row["subset"] for row in rows] == [None, None, "CN"]


def test_batches_are_bounded_by_rows_and_characters(read, tmp_path, monkeypatch):
    monkeypatch.setattr(text_store, "BATCH_ROWS", 7)
    monkeypatch.setattr(text_store, "BATCH_CHARACTERS", 100)
    dialogues = [dialogue(str(number), text="lamp " * (number % 30 + 1)) for number in range(100)]
    write(tmp_path, "train.json", *dialogues, dialogues[50])
    write(tmp_path, "dev.json", dialogue("d"))
    tables = read_benchmark(benchmark(), raw_files(benchmark(), tmp_path))
    batches = list(tables.passages)
    assert max(map(len, batches)) <= 7
    assert max(sum(map(len, batch.column("text").to_pylist())) for batch in batches) < 300
    assert sum(map(len, batches)) == sum(map(len, tables.passages)) == tables.passages.rows - 1


def test_the_real_dream(raw: Path):
    files = {"train": ["train.json"], "dev": ["dev.json"]}
    entry = benchmark(source(folder="dream", files=files))
    tables = read_benchmark(entry, raw_files(entry, raw))
    assert [sum(map(len, table)) for table in (tables.passages, tables.questions, tables.rejected)] == [5157, 8156, 0]
