"""Batches from stored tables, against the tokenizer of transformers as an independent second way."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from coattend.batches.collator import Collator
from coattend.batches.dataset import QuestionSource, training_questions
from coattend.batches.examples import Layout, answer_in_windows, build_examples, hold_out, token_span
from coattend.batches.tokens import Tokens
from coattend.config import TokenizerParameters, TrainingParameters
from coattend.errors import CoattendError
from coattend.readers.encoders.pretrained import encoder_folder
from coattend.text.tokenizer import load_tokenizer, special_layout


@pytest.fixture(scope="module")
def tables(sample_tables):
    names = ("questions", "passages")
    datasets = {name: pads.dataset(sample_tables / f"02_intermediate/sample/{name}.parquet") for name in names}
    tokens = pads.dataset(sample_tables / "05_model_input/sample/nltk_penn/minilm/tokens", format="parquet")
    return datasets | {"tokens": Tokens.from_table(tokens)}


@pytest.fixture(scope="module")
def layout():
    return special_layout(load_tokenizer(TokenizerParameters()))


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(encoder_folder("embedded"))


def rows(tables, task):
    return tables["questions"].to_table().filter(pc.field("task").cast(pa.string()) == task)


def build(questions, tables, layout, max_length, **options):
    sized = Layout(max_length=max_length, special_tokens=layout.count, fill_blanks=True, **options)
    return build_examples(questions, tables["passages"], tables["tokens"], sized)


@pytest.mark.parametrize("max_length", [256, 48])
def test_sequences_are_those_of_the_whole_tokenizer(tables, layout, tokenizer, max_length):
    questions = rows(tables, "options").slice(0, 12)
    examples, unreadable = build(questions, tables, layout, max_length)
    assert not unreadable
    batch = Collator(tables["tokens"], layout, "options")(examples)
    texts = dict(zip(*tables["passages"].to_table(columns=["passage_id", "text"]).to_pydict().values(), strict=True))
    row = 0
    for question in questions.to_pylist():
        for option in question["options"]:
            encoding = tokenizer(texts[question["passage_id"]], f"{question['question']} {option}")
            length = int(batch["attention_mask"][row].sum())
            if len(encoding["input_ids"]) <= max_length:
                assert batch["input_ids"][row, :length].tolist() == encoding["input_ids"]
                assert batch["token_type_ids"][row, :length].tolist() == encoding["token_type_ids"]
            else:  # The passage is cut, and to the same length for all options; the question never is.
                assert length <= max_length
                tail = encoding["token_type_ids"].count(1)
                assert batch["input_ids"][row, length - tail : length].tolist() == encoding["input_ids"][-tail:]
            assert int(batch["passage_mask"][row].sum() + batch["question_mask"][row].sum()) == length
            row += 1
    assert row == len(batch["input_ids"])


def test_every_real_token_lies_in_one_domain(tables, layout):
    examples, _ = build(rows(tables, "options"), tables, layout, 256)
    batch = Collator(tables["tokens"], layout, "options")(examples[:20])
    for row in range(len(batch["input_ids"])):
        passage = np.flatnonzero(batch["passage_mask"][row])
        question = batch["question_index"][row][batch["question_mask"][row]].numpy()
        assert sorted([*passage, *question]) == list(range(int(batch["attention_mask"][row].sum())))


def test_gold_spans_lead_back_to_the_answer(tables, layout):
    questions = rows(tables, "span")
    examples, _ = build(questions, tables, layout, 256)
    batch = Collator(tables["tokens"], layout, "span")(examples)
    texts = dict(zip(*tables["passages"].to_table(columns=["passage_id", "text"]).to_pydict().values(), strict=True))
    for row, (question, example) in enumerate(zip(questions.to_pylist(), examples, strict=True)):
        (window,) = example.windows
        span = token_span(example, window, tables["tokens"])
        if not question["answerable"]:
            assert span is None
            assert int(batch["start"][row]) == int(batch["end"][row]) == 0
            continue
        where = tables["tokens"].slice(example.passage)
        starts, ends = tables["tokens"].starts[where], tables["tokens"].ends[where]
        text = texts[question["passage_id"]][starts[span[0]] : ends[span[1]]]
        assert text == question["answers"][0]["text"]
        assert int(batch["start"][row]) == span[0] + 1


def test_a_question_that_leaves_no_room_is_named(tables, layout):
    examples, unreadable = build(rows(tables, "options"), tables, layout, 16)
    assert unreadable
    assert "leave no room for a passage in 16" in unreadable[0].reason
    assert len(examples) + len(unreadable) == rows(tables, "options").num_rows


def test_equal_passages_stay_on_one_side(tables):
    questions = rows(tables, "options").filter(pc.field("split").cast(pa.string()) == "train")
    train, held_out = hold_out(questions, 0.2)
    assert train.num_rows + held_out.num_rows == questions.num_rows
    texts = dict(zip(*tables["passages"].to_table(columns=["passage_id", "text"]).to_pydict().values(), strict=True))
    sides = [{texts[name] for name in table.column("passage_id").to_pylist()} for table in (train, held_out)]
    assert held_out.num_rows
    assert not sides[0] & sides[1]
    shuffled = questions.take(pa.array(np.random.default_rng(0).permutation(questions.num_rows)))
    again = hold_out(shuffled, 0.2)[1]
    assert set(again.column("question_id").to_pylist()) == set(held_out.column("question_id").to_pylist())


def test_fewer_questions_are_the_same_few_in_any_order(tables, layout):
    source = QuestionSource(
        "sample", tables["questions"], tables["passages"], tables["tokens"], "options", layout.count, fill_blanks=True
    )
    ten = source.training(TrainingParameters(max_questions=10))[0]
    twenty = source.training(TrainingParameters(max_questions=20))[0]
    ids = [{example.question_id for example in questions.examples} for questions in (ten, twenty)]
    assert len(ids[0]) == 10
    assert ids[0] < ids[1]
    held_out = source.training(TrainingParameters(max_questions=10, held_out=0.9))[1]
    assert len(held_out.examples) == 10, "no more choose the checkpoint than are trained on"


@given(
    length=st.integers(1, 400),
    question=st.integers(1, 40),
    max_length=st.integers(50, 200),
    stride=st.integers(0, 200),
    counts=st.sampled_from(["overlap", "advance"]),
)
def test_windows_cover_the_passage_and_overlap(length, question, max_length, stride, counts):
    layout = Layout(max_length=max_length, special_tokens=3, stride=stride, stride_counts=counts)
    windows = layout.windows(length, question)
    room = max_length - 3 - question
    assert {position for start, count in windows for position in range(start, start + count)} == set(range(length))
    assert all(count <= room for _, count in windows)
    assert [start for start, _ in windows] == sorted({start for start, _ in windows})
    assert len(windows) == 1 or length > room
    for (first, count), (second, _) in pairwise(windows):
        assert count == room
        if counts == "overlap" and stride <= room // 2:
            assert first + count - second == stride
        if counts == "advance" and room - room // 2 <= stride <= room:
            assert second - first == stride


def test_windows_hold_every_short_answer_and_batches_show_it(tables, layout):
    questions = rows(tables, "span")
    examples, _ = build(questions, tables, layout, 48, stride=12)
    assert any(len(example.windows) > 1 for example in examples)
    batch = Collator(tables["tokens"], layout, "span")(examples)
    texts = dict(zip(*tables["passages"].to_table(columns=["passage_id", "text"]).to_pydict().values(), strict=True))
    row = answer_count = 0
    for question, example in zip(questions.to_pylist(), examples, strict=True):
        where = tables["tokens"].slice(example.passage)
        for first, count in example.windows:
            assert batch["input_ids"][row, 1 : count + 1].tolist() == (
                tables["tokens"].input_ids[where][first : first + count].tolist()
            )
            assert int(batch["answer_mask"][row].sum()) == count
            start, end = int(batch["start"][row]), int(batch["end"][row])
            if start:
                starts, ends = tables["tokens"].starts[where], tables["tokens"].ends[where]
                text = texts[question["passage_id"]][starts[first + start - 1] : ends[first + end - 1]]
                assert text == question["answers"][0]["text"]
                answer_count += 1
            row += 1
        assert answer_in_windows(example, tables["tokens"]) == question["answerable"]
    assert row == len(batch["input_ids"])
    assert answer_count >= sum(question["answerable"] for question in questions.to_pylist())


@pytest.mark.parametrize("stride", [0, 7, 12])
def test_windows_are_those_of_the_stock_tokenizer(tables, layout, tokenizer, stride):
    """Its overflowing tokens, whose stride counts the tokens that two windows share."""
    questions = rows(tables, "span").slice(0, 30)
    examples, _ = build(questions, tables, layout, 48, stride=stride)
    batch = Collator(tables["tokens"], layout, "span")(examples)
    texts = dict(zip(*tables["passages"].to_table(columns=["passage_id", "text"]).to_pydict().values(), strict=True))
    encoding = tokenizer(
        [texts[name] for name in questions.column("passage_id").to_pylist()],
        questions.column("question").to_pylist(),
        max_length=48,
        stride=stride,
        truncation="only_first",
        return_overflowing_tokens=True,
    )
    ours = zip(batch["input_ids"].tolist(), batch["attention_mask"].sum(1).tolist(), strict=True)
    assert [ids[:length] for ids, length in ours] == encoding["input_ids"]
    assert len(encoding["input_ids"]) > len(examples)


def test_an_answer_that_no_window_holds_teaches_nothing(tables, layout):
    source = QuestionSource("sample", tables["questions"], tables["passages"], tables["tokens"], "span", layout.count)
    uncut, _ = source.training(TrainingParameters(max_length=256))
    cut, _ = source.training(TrainingParameters(max_length=24, stride=0))
    assert not uncut.unreadable
    assert "what is read of the passage does not hold its answer" in {problem.reason for problem in cut.unreadable}
    assert len(cut.unreadable) + len(cut.examples) == len(uncut.examples)
    assert all(answer_in_windows(example, tables["tokens"]) for example in cut.examples if example.spans)


@pytest.mark.parametrize(
    ("kept", "cure"),
    [((), r"Add passages"), (("options",), r"of the task options: set benchmarks.sample.tasks to \[opt")],
)
def test_a_task_without_questions_is_refused_with_what_there_is(tables, layout, kept, cure):
    questions = rows(tables, "options").slice(0, None if kept else 0)
    source = QuestionSource(
        "sample", pads.dataset(questions), tables["passages"], tables["tokens"], "word", layout.count
    )
    with pytest.raises(CoattendError, match=rf"benchmark sample: has no questions of the task 'word'.*{cure}"):
        source.training(TrainingParameters())


@pytest.mark.parametrize(("selection", "split"), [("held_out", "train"), ("dev", "dev")])
def test_what_checkpoints_are_chosen_by(tables, layout, selection, split):
    source = QuestionSource(
        "sample", tables["questions"], tables["passages"], tables["tokens"], "options", layout.count, fill_blanks=True
    )
    train, choosing = source.training(TrainingParameters(selection=selection))
    assert set(choosing.questions.column("split").to_pylist()) == {split}
    of_train = rows(tables, "options").filter(pc.field("split").cast(pa.string()) == "train").num_rows
    assert train.questions.num_rows + (choosing.questions.num_rows if split == "train" else 0) == of_train


def test_training_on_subsets(tables, layout):
    source = QuestionSource(
        "sample",
        *(tables[name] for name in ("questions", "passages", "tokens")),
        "options",
        layout.count,
        fill_blanks=True,
    )
    for selection in ("dialogues", ("dialogues", "rows"), ()):
        train, held_out = source.training(TrainingParameters(train_on={"sample": selection} if selection else {}))
        subsets = {
            name for part in (train, held_out) for name in part.questions.column("subset").cast(pa.string()).to_pylist()
        }
        expected = (
            {"dialogues", "rows", "summaries", "middle", "high"}
            if not selection
            else {selection}
            if selection == "dialogues"
            else set(selection)
        )
        assert subsets == expected


@pytest.mark.parametrize(
    ("train_on", "message"),
    [
        ({"sample": "dialogue"}, "no subset 'dialogue'. Did you mean 'dialogues'"),
        ({"dream": "all"}, "'dream' is not a benchmark that this reader is registered to train on"),
    ],
)
def test_a_subset_that_is_not_there(tables, layout, train_on, message):
    source = QuestionSource(
        "sample", *(tables[name] for name in ("questions", "passages", "tokens")), "options", layout.count
    )
    with pytest.raises(CoattendError, match=message):
        training_questions((source,), TrainingParameters(train_on=train_on))


def test_questions_about_one_passage_share_it(tables, layout):
    questions = rows(tables, "options")
    examples, _ = build(questions, tables, layout, 256, question_multiple=64)
    collator = Collator(tables["tokens"], layout, "options", apart=True)
    for indices in collator.buckets(examples, tokens_per_batch=512, shuffle=False):
        batch = collator([examples[index] for index in indices])
        passages = {examples[index].passage for index in indices}
        assert sorted(set(batch["passage_of"].tolist())) == list(range(len(passages)))
        for number in range(len(passages)):
            shared = batch["passage_of"] == number
            domain = batch["input_ids"][shared, : batch["passage_mask"].shape[1]] * batch["passage_mask"][shared]
            assert (domain == domain[0]).all()
    assert "passage_of" not in Collator(tables["tokens"], layout, "options")(examples[:2])
    renamed = Collator(tables["tokens"], layout, "options", permutation=lambda example: np.negative, apart=True)
    assert len(set(renamed(examples[:3])["passage_of"].tolist())) == 3


@given(st.integers(1, 700), st.integers(1, 300), st.integers(80, 400))
def test_questions_of_like_length_leave_a_passage_the_same_window(passage, question, max_length):
    rounded = Layout(max_length=max_length, special_tokens=3, question_multiple=64)
    exact = Layout(max_length=max_length, special_tokens=3)
    (first, size), *_ = rounded.windows(passage, question) or [(0, 0)]
    assert first == 0
    assert size + question + 3 <= max_length or not size
    longest = -(-question // 64) * 64
    if longest < max_length - 3:
        assert rounded.windows(passage, question) == exact.windows(passage, longest)
    else:
        assert rounded.windows(passage, question) == exact.windows(passage, question)
