"""Anonymised entities that change names, read back as text by the tokenizer itself."""

import re
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from coattend.batches.collator import Collator
from coattend.batches.entity_permutation import EntityNames, EntityPermutation
from coattend.batches.examples import Example
from coattend.batches.tokens import Tokens
from coattend.batches.word_tokens import ONLY_WORDS, LexiconTokenizer
from coattend.config import (
    BenchmarkParameters,
    EncoderParameters,
    ReaderParameters,
    TaggingParameters,
    TokenizerParameters,
)
from coattend.readers.encoders.word_embeddings import SPECIAL
from coattend.text.hashing import text_id
from coattend.text.tokenizer import load_tokenizer, special_layout
from coattend.trials.build import build_collator, build_reader, entity_permutation
from coattend.trials.experiment import BenchmarkTables, Experiment, ReaderSetup

TEXTS = [
    "@entity3 met @entity12 , and @entity3 's friend @entity0 saw entity3 and @entity1999 .",
    "@entity12 saw @placeholder",
    "@entity12",
    "Nobody met @entity 3 or user@entity .",
]
WORDS = ["", *sorted({word for text in TEXTS for word in re.findall(r"@|[\w']+|[.,]", text)})]
"""The first stands for padding."""


@pytest.fixture(scope="module")
def bpe(tmp_path_factory):
    """A byte-level tokenizer with leading spaces, trained on the spot: it writes @entity12 in several pieces."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    corpus = [f"@entity{number} said that @entity{number + 1} saw @entity{number}" for number in range(12)]
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=["<s>", "</s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(corpus * 20, trainer)
    pair = [("<s>", tokenizer.token_to_id("<s>")), ("</s>", tokenizer.token_to_id("</s>"))]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=pair
    )
    folder = tmp_path_factory.mktemp("bpe")
    tokenizer.save(str(folder / "tokenizer.json"))
    return load_tokenizer(TokenizerParameters(source=str(folder)))


@pytest.fixture(scope="module")
def minilm():
    return load_tokenizer(TokenizerParameters())


@pytest.fixture(scope="module")
def minilm_names(minilm):
    return EntityNames(minilm)


@pytest.fixture(params=["minilm", "bpe"])
def subwords(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["minilm", "bpe", "words"])
def tokenizer(request):
    if request.param == "words":
        return LexiconTokenizer(WORDS)
    return request.getfixturevalue(request.param)


def tokens_of(subwords, texts):
    ids, spans = subwords.encode(texts, [False] * len(texts))
    rows = {text_id(text): row for row, text in enumerate(texts)}
    none = np.zeros(len(ids), np.int8)
    return Tokens(rows, spans.offsets, ids, none, spans.starts, spans.ends, "", "")


def decode(tokenizer, ids):
    if isinstance(tokenizer, LexiconTokenizer):
        return "".join(WORDS[index] for index in ids)
    return tokenizer.tokenizer.decode(list(ids)).replace(" ", "")


def test_entities_are_found_where_the_text_has_them(subwords):
    names = EntityNames(subwords)
    tokens = tokens_of(subwords, TEXTS)
    for row, text in enumerate(TEXTS):
        where = tokens.slice(row)
        entities = [
            (int(tokens.starts[where][entity.first]), entity.number) for entity in names.find(tokens.input_ids[where])
        ]
        expected = [(match.start(), int(match.group(1))) for match in re.finditer(r"@entity(\d+)", text)]
        assert [(number, text[start:].lstrip().startswith(f"@entity{number}")) for start, number in entities] == [
            (number, True) for _, number in expected
        ]


def example(tokens, passage, domains):
    rows = [tuple(tokens.row(text) for text in texts) for texts in domains]
    lengths = tuple(sum(tokens.length(row) for row in texts) for texts in rows)
    windows = ((0, tokens.length(tokens.row(passage))),) * len(rows)
    return Example("q", tokens.row(passage), tuple(rows), lengths, windows, 0, ())


def test_a_batch_has_the_same_text_with_other_names(tokenizer):
    """All texts of a question get the same names, in every epoch others, and the same ones again if it is repeated."""
    passage, *options = TEXTS[0], TEXTS[1], TEXTS[1].replace("12", "0")
    tokens = tokens_of(tokenizer, [passage, *options])
    names = EntityNames(tokenizer)
    original = example(tokens, passage, [[option] for option in options])
    layout = ONLY_WORDS if isinstance(tokenizer, LexiconTokenizer) else special_layout(tokenizer)
    drawn = []
    for epoch in (*range(12), 3):
        permute = EntityPermutation(names, tokens, seed=1, epoch=partial(int, epoch))
        collator = Collator(tokens, layout, "options", permutation=permute)
        ids = collator([original])["input_ids"].numpy()
        plain = Collator(tokens, layout, "options")([original])["input_ids"].numpy()
        assert ids.shape == plain.shape
        for row, before in zip(ids, plain, strict=True):
            shape = re.sub(r"@entity\d+", "@entity", decode(tokenizer, row))
            assert shape == re.sub(r"@entity\d+", "@entity", decode(tokenizer, before))
        pairs = {
            pair
            for row, before in zip(ids, plain, strict=True)
            for pair in zip(
                re.findall(r"@entity(\d+)", decode(tokenizer, before)),
                re.findall(r"@entity(\d+)", decode(tokenizer, row)),
                strict=True,
            )
        }
        assert len(pairs) == len({old for old, _ in pairs}) == len({new for _, new in pairs})
        assert {old for old, _ in pairs} == {new for _, new in pairs}
        drawn.append(tuple(sorted(pairs)))
    assert drawn[3] == drawn[-1]
    assert len(set(drawn)) > 1


def test_a_number_that_is_not_known_is_left_alone(subwords):
    names = EntityNames(subwords)
    for text in ("@entity2500 met @entity1", "@entity123456"):
        ids, _ = subwords.encode([text], [False])
        assert {entity.number for entity in names.find(ids)} <= {1}


@settings(deadline=None, max_examples=60)
@given(
    words=st.lists(st.sampled_from(["@entity1", "@entity2", "@entity30", "the", ",", "entity", "@", "2"]), max_size=12)
)
def test_renaming_there_and_back(minilm, minilm_names, words):
    names = minilm_names
    ids, _ = minilm.encode([" ".join(words)], [False])
    renamed = names.rename(ids, {1: 2, 2: 30, 30: 1})
    back = names.rename(renamed, {2: 1, 30: 2, 1: 30})
    assert np.array_equal(back, ids)
    swapped = {"@entity1": "@entity2", "@entity2": "@entity30", "@entity30": "@entity1"}
    expected, _ = minilm.encode([" ".join(swapped.get(word, word) for word in words)], [False])
    assert np.array_equal(renamed, expected)


@pytest.fixture(scope="module")
def words():
    """A lexicon, and its tokenizer, of a text with entities whose numbers have one or several digits."""
    names = [f"@entity{number}" for number in (0, 3, 7, 12, 1999)]
    tokenizer = LexiconTokenizer(["@", "a", "met", ",", "and", *(name[1:] for name in names)])
    return tokenizer, names


def test_entities_are_two_words_and_any_two_can_change_names(words):
    tokenizer, names = words
    entities = EntityNames(tokenizer)
    text = f"{names[1]} met {names[3]} , {names[4]} and @ , entity3"
    ids, spans = tokenizer.encode([text], [False])
    occurrences = list(entities.find(ids))
    assert [(int(spans.starts[occurrence.first]), occurrence.number) for occurrence in occurrences] == [
        (0, 3),
        (13, 12),
        (25, 1999),
    ]
    assert len({entities.length(number) for number in (0, 3, 7, 12, 1999)}) == 1
    renamed = entities.rename(ids, {3: 1999, 1999: 12, 12: 3})
    expected, _ = tokenizer.encode(["@entity1999 met @entity3 , @entity12 and @ , entity3"], [False])
    assert np.array_equal(renamed, expected)
    assert -1 not in renamed


def test_texts_without_entities_have_none():
    assert not list(EntityNames(LexiconTokenizer(["a", "met"])).find(np.array([0, 1, 0])))


@pytest.mark.parametrize("head", ["word", "vocabulary"])
def test_batches_of_words_have_other_names_for_the_same_candidates(sample, head):
    """Passage, question and candidates get the same new names; which candidate is right, and where, stays."""
    benchmark = BenchmarkParameters(
        name="sample",
        title="Sample",
        tasks=("word",),
        sources=[{"format": "cnn", "folder": "sample", "files": {}}],
        training={"permute_entities": True, "train_on": {"sample": "news"}, "selection": "dev"},
    )
    interaction = {"word": "attention_sum", "vocabulary": "attentive"}[head]
    options = {"vectors": "random", "vector_width": 2, "hidden": 2}
    reader = ReaderParameters(name="mine", reader=f"recurrent+{interaction}", head=head, **options)
    experiment = Experiment.from_config(
        BenchmarkTables(sample.questions, sample.passages, sample.stored_tokens, sample.tags, benchmark),
        ReaderSetup(reader, EncoderParameters(), TokenizerParameters(), TaggingParameters()),
    )
    train, _ = experiment.source.training(experiment.training)
    built = build_reader(experiment, train)
    spelling = [*SPECIAL, *built.encoder.words]
    plain = build_collator(experiment, built, train)(train.examples)
    drawn = []
    for epoch in (*range(6), 2):
        permute = entity_permutation(experiment, 1, partial(int, epoch))
        batch = build_collator(experiment, built, train, permutation=permute)(train.examples)
        for name in plain.keys() - {"input_ids", "candidate_ids"}:
            assert torch.equal(batch[name], plain[name]), name
        pairs = set()
        for row in range(len(plain["input_ids"])):
            old, new = (names_in(spelling, arrays["input_ids"][row]) for arrays in (plain, batch))
            names = dict(zip(old, new, strict=True))
            assert len(set(names.values())) == len(names)
            assert set(names) == set(names.values())
            assert all(names[before] == after for before, after in zip(old, new, strict=True))
            of_candidates = [names_in(spelling, arrays["candidate_ids"][row].flatten()) for arrays in (plain, batch)]
            assert [names[name] for name in of_candidates[0]] == of_candidates[1]
            assert sorted(of_candidates[0]) == sorted(name[1:] for name in train.examples[row].candidates)
            pairs |= {(row, *pair) for pair in names.items()}
        same = batch["input_ids"] == plain["input_ids"]
        changed = {spelling[number] for number in plain["input_ids"][~same].tolist()}
        assert all(re.fullmatch(r"entity\d+", word) for word in changed)
        drawn.append(tuple(sorted(pairs)))
    assert drawn[2] == drawn[-1]
    assert len(set(drawn)) > 1


def names_in(spelling, ids):
    return [spelling[number] for number in ids.tolist() if number >= 0 and spelling[number].startswith("entity")]
