"""Anonymised entities that change names, read back as text by the tokenizer itself."""

import re
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from coattend.parameters import TokenizerParameters
from coattend.text.identity import text_id
from coattend.text.subwords import load_tokenizer, special_layout
from coattend.training.collation import Collator
from coattend.training.entities import EntityNames, Permutation
from coattend.training.examples import Example
from coattend.training.tokens import Tokens

TEXTS = [
    "@entity3 met @entity12 , and @entity3 's friend @entity0 saw entity3 and @entity1999 .",
    "@entity12 saw @placeholder",
    "@entity12",
    "Nobody met @entity 3 or user@entity .",
]


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


@pytest.fixture(params=["minilm", "bpe"])
def subwords(request):
    return request.getfixturevalue(request.param)


def tokens_of(subwords, texts):
    ids, spans = subwords.encode(texts, [False] * len(texts))
    rows = {text_id(text): row for row, text in enumerate(texts)}
    none = np.zeros(len(ids), np.int8)
    return Tokens(rows, spans.offsets, ids, none, spans.starts, spans.ends, "", "")


def decode(subwords, ids):
    return subwords.tokenizer.decode(list(ids)).replace(" ", "")


def test_entities_are_found_where_the_text_has_them(subwords):
    names = EntityNames(subwords)
    tokens = tokens_of(subwords, TEXTS)
    for row, text in enumerate(TEXTS):
        where = tokens.slice(row)
        found = [(int(tokens.starts[where][one.first]), one.number) for one in names.find(tokens.input_ids[where])]
        expected = [(match.start(), int(match.group(1))) for match in re.finditer(r"@entity(\d+)", text)]
        assert [(number, text[start:].lstrip().startswith(f"@entity{number}")) for start, number in found] == [
            (number, True) for _, number in expected
        ]


def example(tokens, passage, domains):
    rows = [tuple(tokens.row(text) for text in texts) for texts in domains]
    lengths = tuple(sum(tokens.length(row) for row in texts) for texts in rows)
    windows = ((0, tokens.length(tokens.row(passage))),) * len(rows)
    return Example("q", tokens.row(passage), tuple(rows), lengths, windows, 0, ())


def test_a_batch_has_the_same_text_with_other_names(subwords):
    """All texts of a question get the same names, in every epoch others, and the same ones again if it is repeated."""
    passage, *options = TEXTS[0], TEXTS[1], TEXTS[1].replace("12", "0")
    tokens = tokens_of(subwords, [passage, *options])
    names = EntityNames(subwords)
    one = example(tokens, passage, [[option] for option in options])
    layout = special_layout(subwords)
    drawn = []
    for epoch in (*range(12), 3):
        permute = Permutation(names, tokens, seed=1, epoch=partial(int, epoch))
        collator = Collator(tokens, layout, "options", permute=permute)
        ids = collator([one])["input_ids"].numpy()
        plain = Collator(tokens, layout, "options")([one])["input_ids"].numpy()
        assert ids.shape == plain.shape
        for row, before in zip(ids, plain, strict=True):
            shape = re.sub(r"@entity\d+", "@entity", decode(subwords, row))
            assert shape == re.sub(r"@entity\d+", "@entity", decode(subwords, before))
        pairs = {
            pair
            for row, before in zip(ids, plain, strict=True)
            for pair in zip(
                re.findall(r"@entity(\d+)", decode(subwords, before)),
                re.findall(r"@entity(\d+)", decode(subwords, row)),
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
        assert {found.number for found in names.find(ids)} <= {1}


@settings(deadline=None, max_examples=60)
@given(
    words=st.lists(st.sampled_from(["@entity1", "@entity2", "@entity30", "the", ",", "entity", "@", "2"]), max_size=12)
)
def test_renaming_there_and_back(minilm, words):
    names = EntityNames(minilm)
    ids, _ = minilm.encode([" ".join(words)], [False])
    there = names.renamed(ids, {1: 2, 2: 30, 30: 1})
    back = names.renamed(there, {2: 1, 30: 2, 1: 30})
    assert np.array_equal(back, ids)
    swapped = {"@entity1": "@entity2", "@entity2": "@entity30", "@entity30": "@entity1"}
    expected, _ = minilm.encode([" ".join(swapped.get(word, word) for word in words)], [False])
    assert np.array_equal(there, expected)
