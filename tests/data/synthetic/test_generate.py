import hashlib
import json
from random import Random

import pytest

from coattend.data.formats import format_reader
from coattend.data.formats.base import PassageRecord
from coattend.data.synthetic import documents
from coattend.data.synthetic.generate import is_current, parse_settings, write_sample
from coattend.errors import CoattendError

SMALL = {
    "dialogues": {"train": 30, "dev": 8},
    "stories": {"train": 25, "dev": 5},
    "clozes": {"train": 3, "dev": 2},
    "tales": {"train": 4, "dev": 2},
    "exams": {"train": 2, "dev": 1},
    "summaries": {"train": 7, "dev": 3},
    "news": {"train": 2, "dev": 1},
    "rows": {"train": 3, "dev": 2},
}


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("*/*")}


def write(folder, **changes):
    return write_sample(folder, parse_settings(SMALL | changes))


def test_real_readers_read_every_file_whole(tmp_path):
    write(tmp_path)
    counts = {}
    for path in sorted(tmp_path.glob("*/*")):
        records = list(
            format_reader(path.parent.name, {})(path, max_characters=1000 if path.suffix == ".json" else 3000)
        )
        assert all(isinstance(record, PassageRecord) for record in records)
        questions = [question for record in records for question in record.questions]
        name = f"{path.parent.name}/{path.name}" if path.parent.name in ("recam", "custom") else path.name
        counts[name] = len({record.passage_id for record in records}), len(questions)
        assert len({question.question_id for question in questions}) == len(questions)
    assert counts == {
        "cbtest_CN_train-0000.txt": (3, 3),
        "cbtest_CN_valid-0000.txt": (2, 2),
        "cbtest_NE_train-0000.txt": (3, 3),
        "cbtest_NE_valid-0000.txt": (2, 2),
        "train-0000.json": (30, 60),
        "dev-0000.json": (8, 16),
        "train-v2.0-0000.json": (25, 75),
        "dev-v2.0-0000.json": (5, 15),
        "train-v1.1-0000.json": (4, 8),
        "dev-v1.1-0000.json": (2, 4),
        "train-0000.txt": (1, 3),
        "train-0001.txt": (1, 3),
        "dev-0000.txt": (1, 3),
        "train-0000.question": (1, 1),
        "train-0001.question": (1, 1),
        "dev-0000.question": (1, 1),
        "recam/train-0000.jsonl": (7, 7),
        "recam/dev-0000.jsonl": (3, 3),
        "custom/train-0000.csv": (3, 9),
        "custom/dev-0000.csv": (2, 6),
        "custom/train-0000.jsonl": (3, 9),
        "custom/train-0000.parquet": (3, 9),
        "custom/dev-0000.parquet": (2, 6),
        "custom/dev-0000.jsonl": (2, 6),
    }


def test_the_same_seed_writes_the_same_everywhere(tmp_path):
    first, second = write(tmp_path / "one"), write(tmp_path / "other")
    assert first == second
    assert contents(tmp_path / "one") == contents(tmp_path / "other")
    assert write(tmp_path / "third", seed=1)["files"] != first["files"]


def test_the_summary_says_what_lies_there(tmp_path):
    summary = write(tmp_path)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents(tmp_path).items()}
    assert summary["files"] == digests
    assert json.loads(json.dumps(summary)) == summary


def test_a_larger_sample_begins_with_the_smaller_one(tmp_path):
    write(tmp_path / "small", per_file=20)
    write(tmp_path / "large", per_file=20, dialogues={"train": 50, "dev": 8})
    small, large = contents(tmp_path / "small"), contents(tmp_path / "large")
    assert small["dream/train-0000.json"] == large["dream/train-0000.json"]
    beginning = json.loads(small["dream/train-0001.json"])
    assert json.loads(large["dream/train-0001.json"])[: len(beginning)] == beginning
    names = {name for name in large if name.startswith("dream/train")}
    assert names == {f"dream/train-{number:04d}.json" for number in range(3)}


def test_files_are_written_again_only_if_something_changed(tmp_path):
    settings = parse_settings(SMALL)
    summary = write_sample(tmp_path, settings)
    assert is_current(tmp_path, settings, summary)
    assert not is_current(tmp_path, settings, None)
    assert not is_current(tmp_path, parse_settings(SMALL | {"seed": 1}), summary)
    assert not is_current(tmp_path, settings, summary | {"generator": "another"})
    (tmp_path / "dream" / "train-9999.json").write_text("[]")
    assert not is_current(tmp_path, settings, summary)
    assert write_sample(tmp_path, settings) == summary
    assert is_current(tmp_path, settings, summary)
    (tmp_path / "dream" / "train-0000.json").write_text("[]")
    assert not is_current(tmp_path, settings, summary)
    (tmp_path / "dream" / "train-0000.json").unlink()
    assert not is_current(tmp_path, settings, summary)


def test_a_smaller_sample_leaves_nothing_of_the_larger_one(tmp_path):
    write(tmp_path, per_file=5)
    summary = write(tmp_path, per_file=5000, clozes={"train": 0, "dev": 0})
    assert set(contents(tmp_path)) == set(summary["files"])
    assert not any(name.startswith("cbt") for name in summary["files"])


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"dialogue": {}}, "generator.dialogue"),
        ({"dialogues": {"train": -1, "dev": 1}}, "generator.dialogues.train"),
        ({"changes": 2}, "generator.changes"),
        ({"per_file": 0}, "generator.per_file"),
    ],
)
def test_a_wrong_setting_is_refused(settings, where):
    with pytest.raises(CoattendError, match=where):
        parse_settings(SMALL | settings)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "dream").write_text("a file in the way")
    with pytest.raises(CoattendError, match="cannot be written"):
        write(tmp_path)


def test_articles_ask_about_what_they_tell():
    """The right option of a gap makes a sentence of which the article says the same in the same or other words."""
    rng = Random(0)
    sizes = set()
    for _ in range(300):
        exam, choices = documents.exam(rng, changes=0.2)
        summary, gap = documents.summary(rng, changes=0.2)
        assert [len(choice.options) for choice in (*choices, gap)] == [4, 4, 4, 5]
        assert choices[-1].question.count("_") == 1 and gap.question.count("@placeholder") == 1
        for article, choice in ((exam, choices[-1]), (summary, gap)):
            assert choice.options[choice.label] in article
            assert len(set(choice.options)) == len(choice.options)
            sizes.add(sum(option in article for option in choice.options))
    assert len(sizes) > 3


def test_names_in_the_news_are_anonymised(tmp_path):
    write(tmp_path)
    for path in (tmp_path / "cnn").iterdir():
        _, context, query, answer, listed = path.read_text().strip().split("\n\n")
        entities = dict(line.split(":") for line in listed.splitlines())
        assert len(entities) == 10 and answer in entities and answer in context
        assert not any(name in context + query for name in entities.values())


def test_stories_answer_two_questions_and_not_the_third():
    rng = Random(0)
    for _ in range(500):
        text, spans = documents.story(rng, changes=0.2)
        assert [bool(span.answers) for span in spans] == [True, True, False]
        for span in spans:
            for answer, start in span.answers:
                assert text[start : start + len(answer)] == answer
        assert len({span.question for span in spans}) == 3


def test_passages_are_short_and_many_different():
    rng = Random(0)
    texts = ["\n".join(documents.dialogue(rng, changes=0.2)[0]) for _ in range(1000)]
    lengths = [len(text.split()) for text in texts]
    assert 30 < sum(lengths) / len(lengths) < 60
    assert len(set(texts)) == 1000
    assert len({word for text in texts for word in text.split()}) > 500
