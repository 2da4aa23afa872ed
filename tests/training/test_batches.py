"""Batches from stored tables, against the tokenizer of transformers as an independent second way."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from transformers import AutoTokenizer

from coattend.parameters import TokenizerParameters, TrainingParameters
from coattend.readers.encoders.transformer import encoder_folder
from coattend.text.subwords import load_tokenizer, special_layout
from coattend.training.collation import Collator
from coattend.training.data import Source
from coattend.training.examples import build_examples, hold_out, token_span
from coattend.training.tokens import Tokens


@pytest.fixture
def stored(kedro_run, project) -> Path:
    kedro_run("ingestion,tagging,tokenization", "sample")
    return project / "data" / "test"


@pytest.fixture
def tables(stored):
    names = ("questions", "passages")
    found = {name: pads.dataset(stored / f"02_intermediate/sample/{name}.parquet") for name in names}
    tokens = pads.dataset(stored / "05_model_input/sample/nltk_penn/minilm/tokens", format="parquet")
    return found | {"tokens": Tokens.from_table(tokens)}


@pytest.fixture(scope="module")
def layout():
    return special_layout(load_tokenizer(TokenizerParameters()))


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(encoder_folder("embedded"))


def rows(tables, task):
    return tables["questions"].to_table().filter(pc.field("task").cast(pa.string()) == task)


@pytest.mark.parametrize("max_length", [256, 48])
def test_sequences_are_those_of_the_whole_tokenizer(tables, layout, tokenizer, max_length):
    questions = rows(tables, "options").slice(0, 12)
    examples, unreadable = build_examples(
        questions, tables["passages"], tables["tokens"], max_length=max_length, special_tokens=layout.count
    )
    assert not unreadable
    batch = Collator(tables["tokens"], layout, "options")(examples)
    texts = dict(zip(*tables["passages"].to_table(columns=["passage_id", "text"]).to_pydict().values(), strict=True))
    row = 0
    for question in questions.to_pylist():
        for option in question["options"]:
            whole = tokenizer(texts[question["passage_id"]], f"{question['question']} {option}")
            length = int(batch["attention_mask"][row].sum())
            if len(whole["input_ids"]) <= max_length:
                assert batch["input_ids"][row, :length].tolist() == whole["input_ids"]
                assert batch["token_type_ids"][row, :length].tolist() == whole["token_type_ids"]
            else:  # The passage is cut, and to the same length for all options; the question never is.
                assert length <= max_length
                tail = whole["token_type_ids"].count(1)
                assert batch["input_ids"][row, length - tail : length].tolist() == whole["input_ids"][-tail:]
            assert int(batch["passage_mask"][row].sum() + batch["question_mask"][row].sum()) == length
            row += 1
    assert row == len(batch["input_ids"])


def test_every_real_token_lies_in_one_domain(tables, layout):
    examples, _ = build_examples(
        rows(tables, "options"), tables["passages"], tables["tokens"], max_length=256, special_tokens=layout.count
    )
    batch = Collator(tables["tokens"], layout, "options")(examples[:20])
    for row in range(len(batch["input_ids"])):
        passage = np.flatnonzero(batch["passage_mask"][row])
        question = batch["question_index"][row][batch["question_mask"][row]].numpy()
        assert sorted([*passage, *question]) == list(range(int(batch["attention_mask"][row].sum())))


def test_gold_spans_lead_back_to_the_answer(tables, layout):
    questions = rows(tables, "span")
    examples, _ = build_examples(
        questions, tables["passages"], tables["tokens"], max_length=256, special_tokens=layout.count
    )
    batch = Collator(tables["tokens"], layout, "span")(examples)
    texts = dict(zip(*tables["passages"].to_table(columns=["passage_id", "text"]).to_pydict().values(), strict=True))
    for row, (question, example) in enumerate(zip(questions.to_pylist(), examples, strict=True)):
        span = token_span(example, tables["tokens"])
        if not question["answerable"]:
            assert span is None
            assert int(batch["start"][row]) == int(batch["end"][row]) == 0
            continue
        where = tables["tokens"].slice(example.passage)
        starts, ends = tables["tokens"].starts[where], tables["tokens"].ends[where]
        found = texts[question["passage_id"]][starts[span[0]] : ends[span[1]]]
        assert found == question["answers"][0]["text"]
        assert int(batch["start"][row]) == span[0] + 1


def test_a_question_that_leaves_no_room_is_named(tables, layout):
    examples, unreadable = build_examples(
        rows(tables, "options"), tables["passages"], tables["tokens"], max_length=16, special_tokens=layout.count
    )
    assert unreadable
    assert "leave no room for a passage in 16" in unreadable[0].reason
    assert len(examples) + len(unreadable) == rows(tables, "options").num_rows


def test_equal_passages_stay_on_one_side(tables):
    questions = rows(tables, "options").filter(pc.field("split").cast(pa.string()) == "train")
    train, held_out = hold_out(questions, tables["passages"], 0.2)
    assert train.num_rows + held_out.num_rows == questions.num_rows
    texts = dict(zip(*tables["passages"].to_table(columns=["passage_id", "text"]).to_pydict().values(), strict=True))
    sides = [{texts[name] for name in one.column("passage_id").to_pylist()} for one in (train, held_out)]
    assert held_out.num_rows
    assert not sides[0] & sides[1]
    shuffled = questions.take(pa.array(np.random.default_rng(0).permutation(questions.num_rows)))
    again = hold_out(shuffled, tables["passages"], 0.2)[1]
    assert set(again.column("question_id").to_pylist()) == set(held_out.column("question_id").to_pylist())


def test_fewer_questions_are_the_same_few_in_any_order(tables, layout):
    source = Source(tables["questions"], tables["passages"], tables["tokens"], "options", layout.count)
    few = source.training(TrainingParameters(max_questions=10))[0]
    more = source.training(TrainingParameters(max_questions=20))[0]
    ids = [{example.question_id for example in one.examples} for one in (few, more)]
    assert len(ids[0]) == 10
    assert ids[0] < ids[1]


def test_an_answer_that_is_cut_off_with_its_passage_teaches_nothing(tables, layout):
    source = Source(tables["questions"], tables["passages"], tables["tokens"], "span", layout.count)
    whole, _ = source.training(TrainingParameters(max_length=256))
    cut, held_out = source.training(TrainingParameters(max_length=48))
    assert not whole.unreadable
    assert len(cut.unreadable) + len(cut.examples) == len(whole.examples)
    assert {one.reason for one in cut.unreadable} == {"its answer lies in the part of the passage that is cut off"}
    assert all(token_span(example, tables["tokens"]) for example in cut.examples if example.spans)
    assert not held_out.unreadable


@pytest.mark.parametrize(("selection", "split"), [("held_out", "train"), ("dev", "dev")])
def test_what_checkpoints_are_chosen_by(tables, layout, selection, split):
    source = Source(tables["questions"], tables["passages"], tables["tokens"], "options", layout.count)
    train, choosing = source.training(TrainingParameters(selection=selection))
    assert set(choosing.questions.column("split").to_pylist()) == {split}
    of_train = rows(tables, "options").filter(pc.field("split").cast(pa.string()) == "train").num_rows
    assert train.questions.num_rows + (choosing.questions.num_rows if split == "train" else 0) == of_train
