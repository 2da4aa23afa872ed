"""Memory-mapped tables hold the same as tables in memory, and memory does not grow with them."""

import math
import pickle
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.batches.collator import Collator
from coattend.batches.examples import Example, Layout, _example, build_examples, digest, hold_out
from coattend.batches.memory_mapped import (
    BUFFER_BYTES,
    MappedFile,
    PassagesByQuestion,
    PassageTexts,
    Records,
    RowIndex,
    external_sort,
    release_pages,
    rows_of,
)
from coattend.batches.tokens import Tokens
from coattend.batches.word_tokens import WordTokens
from coattend.text.cloze import domains_of
from coattend.text.hashing import text_id


@given(names=st.lists(st.text("ab", max_size=3), max_size=40), queried=st.text("abc", max_size=3))
def test_rows_are_those_of_a_dictionary(names, queried):
    expected = {name: row for row, name in enumerate(names)}
    rows = RowIndex(pa.chunked_array([names[:7], names[7:]], pa.string()))
    assert rows == expected
    assert list(rows.values()) == sorted(expected.values())
    assert rows.get(queried) == expected.get(queried)
    assert rows_of(rows, [*names, queried]) == rows_of(expected, [*names, queried])


@dataclass(frozen=True)
class Entry:
    name: str
    offsets: tuple[tuple[int, int], ...]
    label: int | None


@pytest.mark.parametrize("count", [0, 1, 3_000, 40_000])
def test_records_are_those_of_a_list(count):
    entries = [Entry(f"name {number}", ((number, -1),) * (number % 3), number % 5 or None) for number in range(count)]
    records = Records.write(Entry, iter(entries))
    assert list(records) == entries
    assert len(records) == count
    assert records[-3:] == entries[-3:] and records[1::1000] == entries[1::1000]
    assert list(pickle.loads(pickle.dumps(records))) == entries
    for index in (count, -count - 1):
        with pytest.raises(IndexError):
            records[index]


@pytest.mark.parametrize("size", [0, 5, BUFFER_BYTES, BUFFER_BYTES + 5])
def test_a_file_holds_what_was_written(size):
    numbers = np.arange(size, dtype=np.int32)
    file = MappedFile()
    for part in np.array_split(numbers, 7):
        file.write(part)
    read = file.array(np.int32)
    release_pages()
    assert np.array_equal(read, numbers)


@pytest.mark.parametrize("count", [0, 5, 300_000])
def test_values_are_put_in_order(count):
    numbers = np.random.default_rng(0).integers(0, 2**64, count, np.uint64)
    numbers[: count // 2] >>= np.uint64(3)  # Not evenly spread.
    values = numbers.astype(">u8").view("S8")
    assert np.array_equal(external_sort(np.array_split(values, 9), "S8"), np.sort(values))


@pytest.fixture(scope="module")
def in_memory(sample) -> tuple[Tokens, WordTokens]:
    """Subwords and words as whole tables in memory."""

    def flat(table: pa.Table, column: str) -> np.ndarray:
        return table.column(column).combine_chunks().flatten().to_numpy(zero_copy_only=False)

    def common(table: pa.Table, column: str) -> dict[str, object]:
        lengths = [len(row) for row in table.column(column).to_pylist()]
        rows = {name: row for row, name in enumerate(table.column("text_id").to_pylist())}
        offsets = {name: flat(table, name) for name in ("starts", "ends")}
        return {"rows": rows, "offsets": np.cumsum([0, *lengths]), "tagger": "", "tokenizer": "", **offsets}

    stored, tags = sample.stored_tokens.to_table(), sample.tags.to_table()
    words = tags.column("words").combine_chunks().flatten().dictionary_encode()
    return (
        Tokens(
            **common(stored, "input_ids"),
            input_ids=flat(stored, "input_ids"),
            tag_ids=flat(stored, "tag_ids"),
            word_index=flat(stored, "word_index"),
        ),
        WordTokens(
            **common(tags, "words"),
            input_ids=words.indices.to_numpy(),
            tag_ids=flat(tags, "tags"),
            lexicon=tuple(words.dictionary.to_pylist()),
        ),
    )


def test_tokens_are_those_of_whole_tables(sample, in_memory):
    for mapped, loaded in zip((sample.subwords, sample.words), in_memory, strict=True):
        assert list(mapped.rows.items()) == list(loaded.rows.items())
        for name in ("offsets", "input_ids", "tag_ids", "starts", "ends", "word_index"):
            stored, expected = getattr(mapped, name), getattr(loaded, name)
            assert stored.dtype == expected.dtype and np.array_equal(stored, expected), name
    assert sample.words.lexicon == in_memory[1].lexicon


def test_ids_are_counted_in_pieces_and_each_row_once(sample, monkeypatch):
    monkeypatch.setattr("coattend.batches.tokens.ROWS", 2)
    tokens = sample.subwords
    ids = np.concatenate([tokens.input_ids[tokens.slice(row)] for row in (0, 3, 8)])
    assert tokens.id_counts([8, 0, 3, 8]).tolist() == np.bincount(ids).tolist()
    assert not len(tokens.id_counts([]))


@pytest.mark.parametrize(("task", "unit"), [("options", 0), ("span", 0), ("span", 1), ("word", 1)])
def test_examples_and_batches_are_those_of_tables_in_memory(sample, in_memory, task, unit):
    questions, loaded = sample.rows(task), in_memory[unit]
    read = sample.read(("subwords", "words")[unit], task)
    layout = Layout(max_length=96, special_tokens=read.layout.count, stride=16, fill_blanks=True)
    passages = sample.passage_of(questions)
    built = []
    for row in questions.to_pylist():
        sequences = [tuple(map(loaded.row, texts)) for texts in domains_of(row, layout)]
        built.append(_example(row, loaded.row(passages[row["question_id"]]), sequences, loaded, layout))
    expected = [example for example in built if isinstance(example, Example)]
    examples, unreadable = build_examples(questions, sample.passages, read.tokens, layout)
    assert list(examples) == expected
    assert unreadable == [example for example in built if not isinstance(example, Example)]
    assert digest(examples, read.tokens) == digest(expected, loaded)
    mapped_collator, collator = (Collator(tokens, read.layout, task) for tokens in (read.tokens, loaded))
    for start in range(0, len(expected), 16):
        batch, same = mapped_collator(examples[start : start + 16]), collator(expected[start : start + 16])
        assert batch.keys() == same.keys()
        assert all((batch[name] == same[name]).all() for name in same)


def test_passages_are_found_by_their_ids_and_by_their_questions(sample):
    questions = sample.rows("span")
    rows = sample.passages.to_table().to_pylist()
    assert PassageTexts(sample.passages) == {row["passage_id"]: row["text"] for row in rows}
    assert PassagesByQuestion(questions, sample.passages) == sample.passage_of(questions)


def _held_out_groups(groups: list[str], share: float) -> set[str]:
    """Groups in the order of their hashes, each that fits; else the smallest."""
    sizes, limit = Counter(groups), math.ceil(share * len(groups))
    drawn: set[str] = set()
    for group in sorted(sizes, key=text_id):
        if sizes[group] + sum(sizes[name] for name in drawn) <= limit:
            drawn.add(group)
    return drawn or {min(sorted(sizes, key=text_id), key=sizes.__getitem__)}


@given(groups=st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=40), share=st.sampled_from([0, 0.05, 0.3, 1]))
def test_those_held_out_are_those_of_a_sorted_list(groups, share):
    held_out_groups = _held_out_groups(groups, share)
    with pytest.MonkeyPatch.context() as patch:
        # Groups begin and end in any piece of the sorted hashes.
        patch.setattr("coattend.batches.examples.ROWS", 3)
        split = hold_out(pa.table({"group": groups}), share)
    for table, is_held_out in zip(split, (False, True), strict=True):
        assert table["group"].to_pylist() == [group for group in groups if (group in held_out_groups) == is_held_out]


def test_a_group_of_half_the_questions_leaves_the_share_to_others():
    questions = pa.table({"group": ["long chapter"] * 50 + [f"short {number // 2}" for number in range(50)]})
    train, held_out = hold_out(questions, 0.1)
    assert (train.num_rows, held_out.num_rows) == (90, 10)


LOAD = """
import sys
from pathlib import Path
import pyarrow.dataset as pads
from coattend.config import TrainingParameters
from coattend.readers.encoders.word_embeddings import PAD
from coattend.text.tokenizer import SpecialLayout
from coattend.batches.sampler import LengthBuckets
from coattend.batches.collator import Collator
from coattend.batches.dataset import QuestionSource
from coattend.batches.tokens import Tokens

tables = {name: pads.dataset(Path(sys.argv[1]) / f"{name}.parquet") for name in ("questions", "passages", "tokens")}
tokens = Tokens.from_table(tables["tokens"])
source = QuestionSource("sample", tables["questions"], tables["passages"], tokens, "options", 3)
train, _ = source.training(TrainingParameters())
collator = Collator(tokens, SpecialLayout((1,), (2,), (2,), 0, 1, PAD), "options")
buckets = LengthBuckets.from_examples(train.examples, collator.sequence_length, tokens_per_batch=4096)
for number, batch in enumerate(buckets):
    collator([train.examples[row] for row in batch])
    if number == 20:
        break
status = Path("/proc/self/status").read_text()
print(next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")))
"""


def _write(folder: Path, count: int) -> Path:
    """Tables of as many passages with two questions each, like those that the stages write."""
    import pyarrow.parquet as pq

    passages = [f"{number} " + "She left the broom where she had found the kite. " * 8 for number in range(count)]
    options = ["Paul has it.", "Henry has it.", "Grace has it."]
    questions = [
        {
            "question_id": f"{number}-{label}",
            "passage_id": f"p{number}",
            "group": f"g{number}",
            "split": "train",
            "subset": None,
            "task": "options",
            "question": f"What does the {label} of {number} have?",
            "options": options,
            "label": label,
            "answers": None,
            "answerable": True,
        }
        for number in range(count)
        for label in (0, 1)
    ]
    texts = [*passages, *options, *(row["question"] for row in questions)]
    lengths = [80 if number < count else 7 for number in range(len(texts))]
    offsets = pa.array(np.cumsum([0, *lengths]), pa.int32())
    numbers = np.arange(sum(lengths)) % 1000
    dtypes = {"input_ids": pa.int32(), "tag_ids": pa.int8(), "starts": pa.int32(), "ends": pa.int32()}
    flat = {name: pa.ListArray.from_arrays(offsets, pa.array(numbers % 100, dtype)) for name, dtype in dtypes.items()}
    folder.mkdir()
    answers = pa.list_(pa.struct([("text", pa.string()), ("start", pa.int32())]))
    question_table = pa.Table.from_pylist(questions)
    for name, dtype in (("subset", pa.string()), ("answers", answers)):
        index = question_table.schema.get_field_index(name)
        question_table = question_table.set_column(index, name, question_table[name].cast(dtype))
    tables = {
        "questions": question_table,
        "passages": pa.table({"passage_id": [f"p{number}" for number in range(count)], "text": passages}),
        "tokens": pa.table({"text_id": [text_id(text) for text in texts]} | flat),
    }
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=4_096)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
def test_memory_is_flat_as_data_grows(tmp_path):
    peaks = []
    for count in (2_000, 20_000):
        folder = _write(tmp_path / f"{count}", count)
        run = subprocess.run([sys.executable, "-c", LOAD, folder], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        peaks.append(int(run.stdout))
    # The first is smaller than what is read at once; objects for every question would be 8 KB a passage.
    assert peaks[1] < 1.2 * peaks[0], f"KiB for 2,000 and for 20,000 passages: {peaks}"
