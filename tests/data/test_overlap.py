"""Groups of passages that overlap, beside slow ones that compare every two passages."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from entries import benchmark, source
from hypothesis import given, settings
from hypothesis import strategies as st

from coattend.batches.examples import hold_out
from coattend.data import overlap
from coattend.data.formats import cbt
from coattend.data.formats.base import PassageRecord
from coattend.data.ingest import read_benchmark
from coattend.data.overlap import GRAM, RUN, PassageGroups, fingerprints
from coattend.data.raw_files import raw_files
from coattend.text.hashing import normalize

SHORT = 6
"""Characters of a run in tests whose texts shall be short."""


def numbers(records: Sequence[PassageRecord]) -> list[int]:
    groups = PassageGroups()
    for record in records:
        groups.add(record)
    return groups.numbers().tolist()


def passage(text: str, keys: tuple[str, ...] | None = None) -> PassageRecord:
    return PassageRecord(text, text, None, "file", (), group_keys=keys)


def partition(names: Sequence[object]) -> set[frozenset[int]]:
    """The sets of indices with equal names."""
    return {frozenset(index for index, name in enumerate(names) if name == same) for same in set(names)}


def connected(count: int, is_joined: Callable[[int, int], bool]) -> set[frozenset[int]]:
    """Slow groups: what a chain of joined pairs connects."""
    names = list(range(count))
    for first, second in combinations(range(count), 2):
        if is_joined(first, second):
            names = [names[first] if name == names[second] else name for name in names]
    return partition(names)


def have_in_common(first: str, second: str, length: int) -> bool:
    """Compare every run of characters of two texts."""
    return any(first[start : start + length] in second for start in range(len(first) - length + 1))


def finer(groups: set[frozenset[int]], coarser: set[frozenset[int]]) -> bool:
    return all(any(group <= other for other in coarser) for group in groups)


@settings(max_examples=60)
@given(st.lists(st.text("abc ", max_size=16), max_size=8), st.randoms(use_true_random=False))
def test_passages_with_an_equal_run_of_characters_are_of_one_group(texts, random):
    # Winnowing promises both ends: runs of RUN characters join, without GRAM nothing does.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlap, "GRAM", 4)
        patch.setattr(overlap, "_WINDOW", SHORT - 4 + 1)
        actual = numbers([passage(text) for text in texts])
        order = random.sample(range(len(texts)), len(texts))
        shuffled = numbers([passage(texts[index]) for index in order])
    words = [normalize(text) for text in texts]

    def slow(length: int) -> set[frozenset[int]]:
        return connected(len(words), lambda i, j: words[i] == words[j] or have_in_common(words[i], words[j], length))

    assert finer(slow(SHORT), partition(actual))
    assert finer(partition(actual), slow(4))
    assert shuffled == [actual[index] for index in order], "a group's name comes from its texts, not from their order"


@given(st.integers(0, 400), st.integers(0, 400), st.integers(0, 10**9))
def test_a_run_has_a_fingerprint_wherever_it_stands(before, after, seed):
    run = (f"{seed:09d}" * 30)[:RUN]
    first, second = "a" * before + run + "b" * after, "c" * after + run + "d" * before
    assert set(fingerprints(first).tolist()) & set(fingerprints(second).tolist())
    shorter = "c" * after + run[: GRAM - 1] + "e" * before
    assert not set(fingerprints(first).tolist()) & set(fingerprints(shorter).tolist())


@settings(max_examples=60)
@given(st.lists(st.text("xy", min_size=1, max_size=30), min_size=3, max_size=30), st.data())
def test_windows_are_of_one_group_if_they_share_a_run_of_sentences(book, data):
    starts = data.draw(st.lists(st.integers(0, len(book) - 1), max_size=8))
    windows = [book[start : start + data.draw(st.integers(1, 8))] for start in starts]

    def share_a_run(i: int, j: int) -> bool:
        first, second = windows[i], windows[j]
        runs = [first[start:end] for start in range(len(first)) for end in range(start + 1, len(first) + 1)]
        in_second = [run for run in runs if any(second[k : k + len(run)] == run for k in range(len(second)))]
        return first == second or any(sum(map(len, run)) >= cbt.RUN_CHARACTERS for run in in_second)

    records = [passage("\n".join(window), tuple(cbt.sentence_runs(window))) for window in windows]
    assert partition(numbers(records)) == connected(len(windows), share_a_run)


def test_keys_on_disk_are_those_in_memory(monkeypatch):
    records = [passage(f"text {index}", (f"key {index // 3}", f"key {index // 7}")) for index in range(200)]
    in_memory = numbers(records)
    monkeypatch.setattr(overlap, "_BUFFER_KEYS", 11)
    assert numbers(records) == in_memory
    assert partition(in_memory) == connected(200, lambda i, j: i // 3 in (j // 3, j // 7) or i // 7 in (j // 3, j // 7))


def test_a_copy_with_other_punctuation_and_an_extract_are_of_one_group():
    story = "".join(f"On day {day} she walked to the lake, and saw {day * 7} ships. " for day in range(40))
    other = "".join(f"In year {year} the king had {year * 3} horses, all of them white. " for year in range(40))
    changed = story.replace(", and", " -- and").replace("day 7", "DAY 7")
    same, copy, extract, apart = numbers([passage(text) for text in (story, changed, "He said: " + story[900:], other)])
    assert same == copy == extract != apart


# A chapter whose sentences are long enough to know them by, but for one that every chapter has.
GENERIC = "`` Yes , '' he said ."


def chapter(name: str, sentences: int = 60) -> list[str]:
    return [
        GENERIC if number % 9 == 4 else f"In part {number} of {name} Ann found a lamp and an old book ."
        for number in range(sentences)
    ]


def windows(sentences: Sequence[str], step: int) -> Iterator[str]:
    """Questions in the Children's Book Test's format, from windows over a chapter."""
    for start in range(0, len(sentences) - cbt.SENTENCES, step):
        *context, query = sentences[start : start + cbt.SENTENCES + 1]
        if "lamp" in query:
            yield cbt.format_cloze(context, query.replace("lamp", "XXXXX"), "lamp", ["book", "lamp"])


def write_chapters(folder: Path, chapters: dict[str, Sequence[Sequence[str]]], step: int = 5) -> None:
    folder.mkdir(exist_ok=True)
    for name, texts in chapters.items():
        (folder / f"cbtest_NE_{name}.txt").write_text("".join(block for text in texts for block in windows(text, step)))


def cbt_entry(train: str, dev: str, folder: str = "cbt", **fields: object):
    files = {"train": [train], "dev": [dev]}
    return benchmark(source(format="cbt", folder=folder, files=files, **fields), tasks=("word",))


def test_windows_over_a_chapter_are_one_group_and_a_generic_sentence_joins_no_chapters(tmp_path):
    # The chapter of both splits has other windows in each.
    chapters = {
        "train": [chapter("Rome"), chapter("Oslo"), chapter("Bern")],
        "valid": [chapter("Rome")[2:], chapter("Wien")],
    }
    write_chapters(tmp_path / "cbt", chapters)
    entry = cbt_entry("cbtest_NE_train.txt", "cbtest_NE_valid.txt")
    tables = read_benchmark(entry, raw_files(entry, tmp_path))
    rows = pa.concat_tables(tables.passages).to_pylist()
    city_of = {row["passage_id"]: next(c for c in ("Rome", "Oslo", "Bern", "Wien") if c in row["text"]) for row in rows}
    questions = pa.concat_tables(tables.questions).to_pylist()
    assert len(questions) > 20
    groups = {city_of[row["passage_id"]]: row["group"] for row in questions}
    assert all(row["group"] == groups[city_of[row["passage_id"]]] for row in questions)
    assert len(set(groups.values())) == 4
    assert (tables.groups, tables.crossing) == ({"dev": 2, "train": 3}, 1)


def test_the_sentence_of_the_gap_joins_its_window_to_those_that_tell_it(tmp_path):
    # The second window begins with the sentence that the first asks about, and shares no other.
    parts = range(2 * cbt.SENTENCES + 1)
    sentences = [f"In part {number} of Rome Ann found a lamp and an old book ." for number in parts]
    write_chapters(tmp_path / "cbt", {"train": [sentences], "valid": [chapter("Oslo")]}, step=cbt.SENTENCES)
    entry = cbt_entry("cbtest_NE_train.txt", "cbtest_NE_valid.txt")
    tables = read_benchmark(entry, raw_files(entry, tmp_path))
    assert tables.usable["train"] == 2
    assert tables.groups["train"] == 1


def test_two_questions_of_a_story_are_one_unit(tmp_path):
    (tmp_path / "news").mkdir()
    for name, url, context in (
        ("train-a", "http://news.example/1", "@entity0 met @entity1 ."),
        ("train-b", "http://news.example/1", "@entity1 met @entity0 ."),
        ("train-c", "http://news.example/2", "@entity0 saw @entity1 ."),
        ("dev-d", "http://news.example/3", "@entity0 left @entity1 ."),
    ):
        parts = (url, context, "@placeholder slept", "@entity0", "@entity0:Ann\n@entity1:Bob")
        (tmp_path / "news" / f"{name}.question").write_text("\n\n".join(parts))
    files = {split: [f"{split}-*.question"] for split in ("train", "dev")}
    entry = benchmark(source(format="cnn", folder="news", files=files), tasks=("word",))
    tables = read_benchmark(entry, raw_files(entry, tmp_path))
    groups = {row["question_id"]: row["group"] for row in pa.concat_tables(tables.questions).to_pylist()}
    assert groups["train-a"] == groups["train-b"]
    assert len(set(groups.values())) == tables.groups["train"] + tables.groups["dev"] == 3


def test_held_out_questions_of_the_real_cbt_share_no_run_of_sentences_with_those_trained_on(raw: Path):
    # Two books: enough to see that windows of a chapter stay together, and quick.
    entry = cbt_entry("CBTest/data/cbtest_NE_valid*.txt", "CBTest/data/cbtest_CN_valid*.txt", archives=["CBTest*.tgz"])
    tables = read_benchmark(entry, raw_files(entry, raw))
    texts = {row["passage_id"]: row["text"] for table in tables.passages for row in table.to_pylist()}
    questions = pa.concat_tables(tables.questions)
    questions = questions.filter(pc.equal(questions["split"].cast(pa.string()), "train"))
    assert 20 < len(set(questions["group"].to_pylist())) < 60
    train, held_out = hold_out(questions, 0.2)
    assert held_out.num_rows > 100
    runs = [
        {run for name in set(side["passage_id"].to_pylist()) for run in cbt.sentence_runs(texts[name].split("\n"))}
        for side in (train, held_out)
    ]
    assert not runs[0] & runs[1]
    # What the gap hides is the answer: it may stand in no passage that is trained on, but for a short generic sentence.
    told = {sentence for name in set(train["passage_id"].to_pylist()) for sentence in texts[name].split("\n")}
    answers = [row["question"].replace("_", row["options"][row["label"]]) for row in held_out.to_pylist()]
    assert sum(answer in told for answer in answers) < 0.02 * len(answers)
