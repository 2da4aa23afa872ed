"""What is mapped is what would be held in memory, and memory does not grow with it."""

import math
import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.text.identity import text_id
from coattend.training.collation import Collator
from coattend.training.examples import Example, _example, build_examples, digest, hold_out
from coattend.training.layout import Layout
from coattend.training.mapped import SMALL, MappedFile, in_order, let_go
from coattend.training.passages import PassageOf, Passages
from coattend.training.records import Records
from coattend.training.rows import Rows
from coattend.training.tokens import Tokens
from coattend.training.words import WordTokens


@given(names=st.lists(st.text("ab", max_size=3), max_size=40), asked=st.text("abc", max_size=3))
def test_rows_are_those_of_a_dictionary(names, asked):
    known = {name: row for row, name in enumerate(names)}
    rows = Rows(pa.chunked_array([names[:7], names[7:]], pa.string()))
    assert rows == known
    assert list(rows.values()) == sorted(known.values())
    assert rows.get(asked) == known.get(asked)


@dataclass(frozen=True)
class Thing:
    name: str
    places: tuple[tuple[int, int], ...]
    label: int | None


@pytest.mark.parametrize("count", [0, 1, 3_000, 40_000])
def test_records_are_those_of_a_list(count):
    things = [Thing(f"name {number}", ((number, -1),) * (number % 3), number % 5 or None) for number in range(count)]
    records = Records.of(Thing, iter(things))
    assert list(records) == things
    assert len(records) == count
    assert records[-3:] == things[-3:] and records[1::1000] == things[1::1000]
    assert list(pickle.loads(pickle.dumps(records))) == things
    for place in (count, -count - 1):
        with pytest.raises(IndexError):
            records[place]


@pytest.mark.parametrize("size", [0, 5, SMALL, SMALL + 5])
def test_a_file_holds_what_was_written(size):
    numbers = np.arange(size, dtype=np.int32)
    file = MappedFile()
    for part in np.array_split(numbers, 7):
        file.write(part)
    read = file.array(np.int32)
    let_go()
    assert np.array_equal(read, numbers)


@pytest.mark.parametrize("count", [0, 5, 300_000])
def test_values_are_put_in_order(count):
    numbers = np.random.default_rng(0).integers(0, 2**64, count, np.uint64)
    numbers[: count // 2] >>= np.uint64(3)  # Not evenly spread.
    parts = np.array_split(numbers, 9)
    assert np.array_equal(in_order(parts, np.uint64, lambda some: some >> np.uint64(58)), np.sort(numbers))


@pytest.fixture(scope="module")
def in_memory(sample) -> tuple[Tokens, WordTokens]:
    """Subwords and words as whole tables in memory."""

    def flat(table: pa.Table, column: str) -> np.ndarray:
        return table.column(column).combine_chunks().flatten().to_numpy(zero_copy_only=False)

    def common(table: pa.Table, column: str) -> dict[str, object]:
        lengths = [len(row) for row in table.column(column).to_pylist()]
        rows = {name: row for row, name in enumerate(table.column("text_id").to_pylist())}
        places = {name: flat(table, name) for name in ("starts", "ends")}
        return {"rows": rows, "offsets": np.cumsum([0, *lengths]), "tagger": "", "tokenizer": "", **places}

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
    for mapped, whole in zip((sample.subwords, sample.words), in_memory, strict=True):
        assert list(mapped.rows.items()) == list(whole.rows.items())
        for name in ("offsets", "input_ids", "tag_ids", "starts", "ends", "word_index"):
            one, other = getattr(mapped, name), getattr(whole, name)
            assert one.dtype == other.dtype and np.array_equal(one, other), name
    assert sample.words.lexicon == in_memory[1].lexicon


@pytest.mark.parametrize(("task", "kind"), [("options", 0), ("span", 0), ("span", 1), ("word", 1)])
def test_examples_and_batches_are_those_of_tables_in_memory(sample, in_memory, task, kind):
    questions, whole = sample.rows(task), in_memory[kind]
    read = sample.read(("subwords", "words")[kind], task)
    layout = Layout(max_length=96, special_tokens=read.layout.count, stride=16, fill_blanks=True)
    passages = sample.passage_of(questions)
    rows = [(row, whole.row(passages[row["question_id"]])) for row in questions.to_pylist()]
    made = [_example(row, passage, whole, layout) for row, passage in rows]
    expected = [one for one in made if isinstance(one, Example)]
    examples, unreadable = build_examples(questions, sample.passages, read.tokens, layout)
    assert list(examples) == expected
    assert unreadable == [one for one in made if not isinstance(one, Example)]
    assert digest(examples, read.tokens) == digest(expected, whole)
    one, other = (Collator(tokens, read.layout, task) for tokens in (read.tokens, whole))
    for start in range(0, len(expected), 16):
        batch, same = one(examples[start : start + 16]), other(expected[start : start + 16])
        assert batch.keys() == same.keys()
        assert all((batch[name] == same[name]).all() for name in same)


def test_passages_are_found_by_their_ids_and_by_their_questions(sample):
    questions = sample.rows("span")
    rows = sample.passages.to_table().to_pylist()
    assert Passages(sample.passages) == {row["passage_id"]: row["text"] for row in rows}
    assert PassageOf(questions, sample.passages) == sample.passage_of(questions)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 1.0])
def test_those_held_out_are_those_of_a_sorted_list(sample, share):
    questions = sample.rows("options")
    ids = [text_id(text) for text in sample.passage_of(questions).values()]
    distinct = sorted(set(ids))
    chosen = set(distinct[: max(1, math.ceil(share * len(distinct)))])
    split = hold_out(questions, sample.passages, share)
    for table, held in zip(split, (False, True), strict=True):
        assert table.to_pylist() == [
            row for row, name in zip(questions.to_pylist(), ids, strict=True) if (name in chosen) == held
        ]


LOAD = """
import sys
from pathlib import Path
import pyarrow.dataset as pads
from coattend.parameters import TrainingParameters
from coattend.readers.encoders.words import PAD
from coattend.text.subwords import SpecialLayout
from coattend.training.batching import LengthBuckets
from coattend.training.collation import Collator
from coattend.training.data import Source
from coattend.training.tokens import Tokens

tables = {name: pads.dataset(Path(sys.argv[1]) / f"{name}.parquet") for name in ("questions", "passages", "tokens")}
tokens = Tokens.from_table(tables["tokens"])
source = Source("sample", tables["questions"], tables["passages"], tokens, "options", 3)
train, _ = source.training(TrainingParameters())
collator = Collator(tokens, SpecialLayout((1,), (2,), (2,), 0, 1, PAD), "options")
buckets = LengthBuckets.of(train.examples, collator.sequence_length, tokens_per_batch=4096)
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
            "question_id": f"{number}-{which}",
            "passage_id": f"p{number}",
            "split": "train",
            "subset": None,
            "task": "options",
            "question": f"What does the {which} of {number} have?",
            "options": options,
            "label": which,
            "answers": None,
            "answerable": True,
        }
        for number in range(count)
        for which in (0, 1)
    ]
    texts = [*passages, *options, *(row["question"] for row in questions)]
    lengths = [80 if number < count else 7 for number in range(len(texts))]
    offsets = pa.array(np.cumsum([0, *lengths]), pa.int32())
    numbers = np.arange(sum(lengths)) % 1000
    kinds = {"input_ids": pa.int32(), "tag_ids": pa.int8(), "starts": pa.int32(), "ends": pa.int32()}
    flat = {name: pa.ListArray.from_arrays(offsets, pa.array(numbers % 100, kind)) for name, kind in kinds.items()}
    folder.mkdir()
    answers = pa.list_(pa.struct([("text", pa.string()), ("start", pa.int32())]))
    asked = pa.Table.from_pylist(questions)
    for name, kind in (("subset", pa.string()), ("answers", answers)):
        place = asked.schema.get_field_index(name)
        asked = asked.set_column(place, name, asked[name].cast(kind))
    tables = {
        "questions": asked,
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
