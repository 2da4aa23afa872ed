"""Word groups and candidates of a batch, against reading them off the texts character by character."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

from coattend.batches.cloze import ABSENT, NONE, ClozeArrays
from coattend.batches.collator import Collator
from coattend.batches.dataset import QuestionSource
from coattend.batches.tokens import Tokens
from coattend.batches.word_tokens import ONLY_WORDS
from coattend.config import TrainingParameters
from coattend.schemas import PASSAGES, QUESTIONS
from coattend.text.hashing import text_id

UNKNOWN = 1
SPLITS = ("train", "dev")


@pytest.fixture(params=["subwords", "words"])
def read(request, sample):
    return sample.read(request.param, "word")


def collator(read, passages):
    return Collator(read.tokens, read.layout, "word", cloze=ClozeArrays(read.tokens, passages, unknown=UNKNOWN))


def by_hand(passage, example, tokens):
    """For each token in sight the number of its word, and for each word the tokens in sight of its first place."""
    words, owner = list(dict.fromkeys(passage.split())), {}
    position = 0
    for occurrence, word in enumerate(passage.split()):
        position = passage.index(word, position)
        owner |= dict.fromkeys(range(position, position + len(word)), (occurrence, word))
        position += len(word)
    where = tokens.slice(example.passage)
    first, count = example.windows[0]
    groups, first_places = [], {}
    for token in range(where.start + first, where.start + first + count):
        occurrence, word = owner[int(tokens.starts[token])]
        groups.append(words.index(word))
        first_occurrence, ids = first_places.setdefault(word, (occurrence, []))
        if first_occurrence == occurrence:
            ids.append(int(tokens.input_ids[token]))
    return words, groups, {word: ids for word, (_, ids) in first_places.items()}


@pytest.mark.parametrize("max_length", [256, 90, 40])
def test_a_batch_says_which_words_and_candidates_its_tokens_are(sample, read, max_length):
    questions = sample.rows("word")
    examples, unreadable = sample.build(questions, read, max_length)
    assert not unreadable
    passages = sample.passage_of(questions)
    batch = {name: array.numpy() for name, array in collator(read, passages)(examples).items()}
    before = len(read.layout.prefix)
    absent = 0
    for row, (question, example) in enumerate(zip(questions.to_pylist(), examples, strict=True)):
        words, groups, first_places = by_hand(passages[question["question_id"]], example, read.tokens)
        in_sight = slice(before, before + len(groups))
        assert batch["word_groups"][row, in_sight].tolist() == groups
        assert (batch["word_groups"][row] >= 0).sum() == len(groups)
        assert batch["passage_mask"][row, in_sight].all()
        candidates = [words.index(option) if option in first_places else ABSENT for option in question["options"]]
        assert batch["candidates"][row].tolist() == candidates
        ids = [[number for number in padded if number != ABSENT] for padded in batch["candidate_ids"][row].tolist()]
        assert ids == [first_places.get(option, [UNKNOWN]) for option in question["options"]]
        assert batch["label"][row] == question["label"]
        absent += candidates.count(ABSENT)
    assert bool(absent) == (max_length < 256)


def test_the_blank_is_where_the_question_has_it(sample, read):
    questions = sample.rows("word")
    examples, _ = sample.build(questions, read)
    batch = collator(read, sample.passage_of(questions))(examples)
    blanks = set()
    for row, (question, example) in enumerate(zip(questions.to_pylist(), examples, strict=True)):
        text, (domain,) = question["question"], example.sequences[0]
        blank = "@placeholder" if "@placeholder" in text else "_"
        where = read.tokens.slice(domain)
        characters = range(text.index(blank), text.index(blank) + len(blank))
        starts, ends = read.tokens.starts[where], read.tokens.ends[where]
        expected = [
            index
            for index, (start, end) in enumerate(zip(starts, ends, strict=True))
            if set(range(start, end)) & set(characters)
        ]
        assert np.flatnonzero(batch["blank_mask"][row]).tolist() == expected
        assert "".join(text[starts[index] : ends[index]] for index in expected) == blank
        blanks.add(blank)
    assert blanks == {"_", "@placeholder"}


def test_a_question_without_a_blank_has_none(sample, read):
    questions = sample.rows("word").slice(0, 2)
    plain = questions.set_column(
        questions.schema.get_field_index("question"), "question", [[sample.rows("span").to_pylist()[0]["question"]] * 2]
    )
    examples, _ = sample.build(plain, read)
    assert not collator(read, sample.passage_of(questions))(examples)["blank_mask"].any()


def test_a_candidate_that_the_passage_does_not_hold(sample, read):
    """It stays a candidate, unlike the places that fill up shorter lists."""
    questions = sample.rows("word").slice(0, 2)
    first, second = sample.build(questions, read)[0]
    changed = replace(first, candidates=(first.candidates[0], "okapi", first.candidates[1]), label=0)
    batch = collator(read, sample.passage_of(questions))([changed, second])
    numbers = batch["candidates"][0].tolist()
    assert numbers[1] == ABSENT
    assert min(numbers[0], numbers[2]) >= 0
    assert numbers[3:] == [NONE] * (len(second.candidates) - 3)
    ids = batch["candidate_ids"]
    assert ids[0, 1].tolist()[:2] == [UNKNOWN, ABSENT][: ids.shape[2]]
    assert (ids[0, 3:] == ABSENT).all()
    assert batch["label"].tolist() == [0, second.label]


def test_without_labels_there_are_none(sample, read):
    questions = sample.rows("word").slice(0, 2)
    examples = [replace(example, label=None) for example in sample.build(questions, read)[0]]
    assert "label" not in collator(read, sample.passage_of(questions))(examples)


def test_the_words_of_a_passage_are_its_own_in_the_order_of_their_numbers(sample, read):
    questions = sample.rows("word")
    examples, _ = sample.build(questions, read)
    passages = sample.passage_of(questions)
    batch = collator(read, passages)
    for example in examples:
        assert batch.words(example) == list(dict.fromkeys(passages[example.question_id].split()))


@pytest.mark.parametrize("max_length", [40, 57, 90, 120])
def test_a_question_whose_answer_is_out_of_sight_teaches_nothing(sample, read, max_length):
    """It is left out of training with its reason, and is scored all the same: as wrong, not as missing."""
    source = QuestionSource("sample", sample.questions, sample.passages, read.tokens, "word", read.layout.count)
    options = {"held_out": 0.2, "max_length": max_length}
    train, held_out = source.training(TrainingParameters(**options))
    everything, _ = source.training(TrainingParameters(**options | {"max_length": 512}))
    assert not everything.unreadable
    left_out = {problem.question_id: problem.reason for problem in train.unreadable}
    assert set(left_out.values()) <= {"what is read of the passage does not hold its answer"}
    assert len(train.examples) + len(left_out) == len(everything.examples)
    examples, _ = sample.build(everything.questions, read, max_length)
    batch = collator(read, everything.texts)(examples)
    right = batch["candidates"].gather(1, batch["label"].unsqueeze(1)).squeeze(1).tolist()
    out_of_sight = {example.question_id for example, number in zip(examples, right, strict=True) if number == ABSENT}
    assert left_out.keys() == out_of_sight
    if max_length == 40:
        assert out_of_sight
    evaluated = source.evaluation(TrainingParameters(**options))
    assert len(evaluated.examples) == sample.rows("word", "dev").num_rows
    assert len(held_out.examples) == held_out.questions.num_rows


@pytest.mark.parametrize(
    ("tokens_in_sight", "words"), [(1, {"Kateri"}), (2, {"Kateri"}), (3, {"Kateri"}), (4, {"Kateri", "Kate"})]
)
def test_a_word_that_is_cut_is_in_sight_and_its_first_letters_are_no_word(tokens_in_sight, words):
    """Training leaves out exactly the answers that a batch does not show. The subwords are Kate ##ri and Kate."""
    passage, length = "Kateri and Kate", 16 - tokens_in_sight  # The question takes what the passage shall not have.
    question = "_" + " x" * (length - 1)
    starts = np.array([0, 4, 7, 11, *range(0, 2 * length, 2)])
    ends = np.array([4, 6, 10, 15, *range(1, 2 * length, 2)])
    rows = {text_id(passage): 0, text_id(question): 1}
    tags = np.zeros(len(starts), np.int8)
    tokens = Tokens(rows, np.array([0, 4, 4 + length]), np.arange(len(starts)), tags, starts, ends, "", "")
    question_rows = [{"options": ["Kate", "Kateri"], "label": label, "question_id": str(label)} for label in (0, 1)]
    shared = {"passage_id": "p", "question": question, "task": "word", "answerable": True}
    questions = pa.Table.from_pylist(
        [row | shared | {"split": split} for row in question_rows for split in SPLITS], QUESTIONS
    )
    passages = pa.Table.from_pylist([{"passage_id": "p", "text": passage, "source": ""}], PASSAGES)
    source = QuestionSource("mine", pads.dataset(questions), pads.dataset(passages), tokens, "word", 0)
    train, dev = source.training(TrainingParameters(selection="dev", max_length=16))
    batch = Collator(tokens, ONLY_WORDS, "word", cloze=ClozeArrays(tokens, dev.texts, unknown=UNKNOWN))(dev.examples)
    right = batch["candidates"].gather(1, batch["label"].unsqueeze(1)).squeeze(1).tolist()
    visible = {
        example.candidates[example.label] for example, word in zip(dev.examples, right, strict=True) if word != ABSENT
    }
    assert visible == words
    assert {example.candidates[example.label] for example in train.examples} == words
