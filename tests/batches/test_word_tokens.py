"""Words in the place of subwords, from the tagging stage's tables, against counting word by word."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

from coattend.batches.collator import Collator
from coattend.batches.examples import Example, token_span
from coattend.batches.word_tokens import BOUNDARY, ONLY_WORDS, PAD, UNKNOWN, WITH_BOUNDARY, LexiconTokenizer, WordTokens
from coattend.config import (
    BenchmarkParameters,
    EncoderParameters,
    ReaderParameters,
    TaggingParameters,
    TokenizerParameters,
)
from coattend.readers.encoders.word_embeddings import SPECIAL
from coattend.schemas import TAGS
from coattend.trials.build import build_collator, build_reader
from coattend.trials.experiment import BenchmarkTables, Experiment, ReaderSetup


def tokens_of(texts, tags=None):
    """The words of texts that have spaces around each."""
    rows = []
    for name, text in texts.items():
        words = text.split()
        starts = [sum(len(word) + 1 for word in words[:index]) for index in range(len(words))]
        spans = {"starts": starts, "ends": [start + len(word) for start, word in zip(starts, words, strict=True)]}
        rows.append({"text_id": name, "words": words, "tags": tags or [3] * len(words), **spans})
    return WordTokens.from_tags(pads.dataset(pa.Table.from_pylist(rows, schema=TAGS)))


def test_words_stand_where_the_text_has_them(sample):
    words = sample.words
    stored = {row["text_id"]: row for row in sample.tags.to_table().to_pylist()}
    assert words.rows.keys() == stored.keys() == sample.texts.keys()
    for name, text in sample.texts.items():
        where = words.slice(words.row(text))
        starts, ends = words.starts[where].tolist(), words.ends[where].tolist()
        spelt = [words.lexicon[word] for word in words.input_ids[where]]
        assert spelt == [text[start:end] for start, end in zip(starts, ends, strict=True)]
        assert "".join(spelt) == "".join(text.split())
        assert words.tag_ids[where].tolist() == stored[name]["tags"]
        assert words.length(words.row(text)) == len(stored[name]["words"])
    assert len(set(words.lexicon)) == len(words.lexicon)


def test_the_digest_of_texts_is_theirs_whatever_else_the_table_holds(sample):
    table = sample.tags.to_table()
    last_texts = WordTokens.from_tags(pads.dataset(table.slice(table.num_rows - 5)))
    backwards = pc.sort_indices(table, [("text_id", "descending")])
    names = list(last_texts.rows)
    all_texts = [sample.words, WordTokens.from_tags(pads.dataset(table.take(backwards)))]
    ids = {tuple(tokens.input_ids[tokens.slice(tokens.rows[names[0]])]) for tokens in (last_texts, *all_texts)}
    assert len(ids) > 1, "a word has the same place in every lexicon: the test shows nothing"
    digests = {tokens.digest([tokens.rows[name] for name in names]) for tokens in (last_texts, *all_texts)}
    assert len(digests) == 1
    assert last_texts.digest(range(5)) != last_texts.digest(reversed(range(5)))


def test_another_word_or_tag_is_another_digest():
    digests = [
        tokens_of(texts, tags).digest(range(2))
        for texts, tags in (
            ({"1": "a bc", "2": "d e"}, None),
            ({"1": "ab c", "2": "d e"}, None),
            ({"1": "a bc", "2": "d f"}, None),
            ({"1": "a bc", "2": "d e"}, [3, 4]),
            ({"1": "A bc", "2": "d e"}, None),
        )
    ]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("size", [7, 10_000])
def test_the_vocabulary_counts_each_text_of_the_examples_once(sample, lowercase, size):
    read = sample.read("words", "span")
    examples, _ = sample.build(sample.rows("span", "train"), read)
    questions = sample.rows("span", "train").to_pylist()
    passages = sample.passage_of(sample.rows("span", "train"))
    texts = {passages[row["question_id"]] for row in questions} | {row["question"] for row in questions}
    assert len(texts) < 2 * len(questions), "no passage is asked about twice: the test shows nothing"
    spelt = {name: row["words"] for row in sample.tags.to_table().to_pylist() for name in [row["text_id"]]}
    counts = Counter()
    for name, text in sample.texts.items():
        if text in texts:
            counts.update(word.lower() if lowercase else word for word in spelt[name])
    expected = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    assert any(word != word.lower() for word in expected) == (not lowercase)
    assert sample.words.vocabulary(examples, size=size, lowercase=lowercase) == tuple(expected[:size])
    other_words = {word.lower() if lowercase else word for words in spelt.values() for word in words} - set(expected)
    assert other_words, "other texts have no words of their own: the test shows nothing"


def test_equally_frequent_words_stand_in_alphabetical_order():
    tokens = tokens_of({"1": "b a b c", "2": "c ?"})
    example = Example("q", 0, ((1,), (1,)), (2, 2), ((0, 4), (0, 4)), None, ())
    assert tokens.vocabulary([example, example], size=9, lowercase=True) == ("b", "c", "?", "a")


def test_a_word_that_the_vocabulary_lacks_is_unknown():
    tokens = tokens_of({"1": "The cat saw the dog"})
    assert tokens.lookup(["the", "dog"], lowercase=True).tolist() == [3, UNKNOWN, UNKNOWN, 3, 4]
    assert tokens.lookup(["the", "dog"], lowercase=False).tolist() == [UNKNOWN, UNKNOWN, UNKNOWN, 3, 4]
    assert tokens.lookup([], lowercase=True).tolist() == [UNKNOWN] * 5


@pytest.mark.parametrize("task", ["span", "word", "options"])
def test_a_batch_has_a_readers_own_ids_and_a_boundary_for_spans_alone(sample, task):
    read = sample.read("words", task)
    questions = sample.rows(task, "dev").slice(0, 5)
    examples, _ = sample.build(questions, read)
    vocabulary = sample.words.vocabulary(examples[:1], size=30, lowercase=True)
    lookup = sample.words.lookup(vocabulary, lowercase=True)
    batch = Collator(sample.words, read.layout, task, lookup=lookup)(examples)
    spelling = [*SPECIAL, *vocabulary]
    row = 0
    for example in examples:
        passage = _spelt(sample.words, example.passage, vocabulary)
        for texts in example.sequences:
            question = [word for text in texts for word in _spelt(sample.words, text, vocabulary)]
            expected = [*(["<boundary>"] if task == "span" else []), *passage, *question]
            length = int(batch["attention_mask"][row].sum())
            assert [spelling[number] for number in batch["input_ids"][row]][:length] == expected
            assert set(batch["input_ids"][row, length:].tolist()) <= {PAD}
            assert int(batch["passage_mask"][row].sum()) == len(expected) - len(question)
            question_index = batch["question_index"][row][batch["question_mask"][row]].tolist()
            assert question_index == list(range(len(expected) - len(question), length))
            row += 1
    assert row == len(batch["input_ids"])
    assert "<unknown>" in [spelling[number] for number in batch["input_ids"].flatten()]


def _spelt(words, row, vocabulary):
    spelt = [words.lexicon[word].lower() for word in words.input_ids[words.slice(row)]]
    return [word if word in vocabulary else "<unknown>" for word in spelt]


def test_the_boundary_stands_for_no_answer(sample):
    read = sample.read("words", "span")
    questions = sample.rows("span", "dev")
    examples, _ = sample.build(questions, read)
    batch = Collator(sample.words, read.layout, "span")(examples)
    passages = sample.passage_of(questions)
    assert not batch["answer_mask"][:, 0].any()
    assert (batch["input_ids"][:, 0] == BOUNDARY).all()
    for row, (question, example) in enumerate(zip(questions.to_pylist(), examples, strict=True)):
        first, last = int(batch["start"][row]), int(batch["end"][row])
        if not question["answerable"]:
            assert (first, last) == (0, 0)
            continue
        where = sample.words.slice(example.passage)
        starts, ends = sample.words.starts[where], sample.words.ends[where]
        text = passages[question["question_id"]][starts[first - 1] : ends[last - 1]]
        assert text == question["answers"][0]["text"]
        assert token_span(example, example.windows[0], sample.words) == (first - 1, last - 1)
    assert {question["answerable"] for question in questions.to_pylist()} == {True, False}


def test_special_tokens_of_words_are_a_boundary_or_none():
    assert (ONLY_WORDS.count, WITH_BOUNDARY.count) == (0, 1)
    assert {ONLY_WORDS.pad_id, WITH_BOUNDARY.pad_id} == {SPECIAL.index("<pad>")} == {PAD}
    assert WITH_BOUNDARY.prefix == (SPECIAL.index("<boundary>"),)
    assert SPECIAL.index("<unknown>") == UNKNOWN


def test_a_lexicon_gives_words_the_places_that_they_have_in_the_tables(sample):
    tokenizer = LexiconTokenizer(sample.words.lexicon)
    texts = [row["question"] for row in sample.rows("word").to_pylist()]
    ids, spans = tokenizer.encode(texts, [False] * len(texts))
    for index, text in enumerate(texts):
        lexicon_slice, where = slice(*spans.offsets[index : index + 2]), sample.words.slice(sample.words.row(text))
        for ours, stored in ((ids, "input_ids"), (spans.starts, "starts"), (spans.ends, "ends")):
            assert np.array_equal(ours[lexicon_slice], getattr(sample.words, stored)[where])
    absent, _ = tokenizer.encode(["An okapi ."], [False])
    assert absent.tolist()[1] == -1


@pytest.mark.parametrize(("head", "reads"), [("word", ONLY_WORDS), ("span", WITH_BOUNDARY), ("options", ONLY_WORDS)])
def test_a_plan_builds_its_reader_from_the_words_of_what_it_is_trained_on(sample, head, reads):
    benchmark = BenchmarkParameters(
        name="sample",
        title="Sample",
        tasks=("options", "span", "word"),
        sources=[{"format": "dream", "folder": "sample", "files": {}}],
        fill_blanks=True,
        training={"max_length": 128},
        recurrent={"max_length": 96, "epochs": 7},
    )
    options = {"vectors": "random", "vector_width": 4, "hidden": 3}
    entry = {"reader": "recurrent+attention_over_attention", "head": head, "training": {"epochs": 9}}

    def experiment_of(most_words):
        reader = ReaderParameters(name="aoa", **entry, **options, most_words=most_words)
        return Experiment.from_config(
            BenchmarkTables(sample.questions, sample.passages, sample.stored_tokens, sample.tags, benchmark),
            ReaderSetup(reader, EncoderParameters(), TokenizerParameters(), TaggingParameters()),
        )

    experiment = experiment_of(40)
    assert experiment.layout == reads
    assert (experiment.training.max_length, experiment.training.epochs) == (96, 9)
    train, held_out = experiment.source.training(experiment.training)
    built = build_reader(experiment, train)
    of_train = sample.words.vocabulary(train.examples, size=40, lowercase=True)
    assert built.encoder.words == of_train
    # null: no word is left out.
    every = sample.words.vocabulary(train.examples, size=None, lowercase=True)
    assert build_reader(experiment_of(None), train).encoder.words == every and every[:40] == of_train
    assert len(every) == len(sample.words.vocabulary(train.examples, size=10**6, lowercase=True)) > 40
    everything = [*train.examples, *held_out.examples, *experiment.source.evaluation(experiment.training).examples]
    assert of_train != sample.words.vocabulary(everything, size=40, lowercase=True)
    batch = build_collator(experiment, built, train)(train.examples[:3])
    assert int(batch["input_ids"].max()) < len(SPECIAL) + 40
