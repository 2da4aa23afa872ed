"""The recurrent encoder: what a word is, what the layers make of words, and what is saved."""

import hashlib
import math
import os
import shutil
from dataclasses import replace
from pathlib import Path

import oracle
import pytest
import tiny
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from coattend import readers
from coattend.errors import CoattendError
from coattend.readers.encoders.pretrained import encoder_folder
from coattend.readers.encoders.recurrent import RecurrentEncoder
from coattend.readers.encoders.word_embeddings import BOUNDARY, PAD, UNKNOWN, Words, mean_of_subwords, read_vectors
from coattend.readers.encoders.word_features import OF_NO_WORD, PADDING, ContextVectors, NGrams
from coattend.readers.reader import Reader

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "word", "##s", *(f"##{digit}" for digit in range(10))]
REACH = 24


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory) -> Path:
    """A folder with a small encoder and its tokenizer, which reads at most 24 pieces."""
    folder = tmp_path_factory.mktemp("pretrained")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(PIECES),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=12,
        max_position_embeddings=REACH,
        initializer_range=0.5,
    )
    transformers.BertModel(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(PIECES))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "do_lower_case": true}')
    return folder


def build(source=None, **options):
    """A small encoder; by default its words have random vectors, and nothing is dropped."""
    torch.manual_seed(0)
    config = RecurrentEncoder.Config(**{"hidden": 3, "vectors": "random", "vector_width": 4} | options)
    return RecurrentEncoder(config, Words(words=tiny.WORDS) if source is None else source).double().eval()


def batch_of(*lengths):
    """Sequences of some words of passage and question each."""
    return tiny.batch([tiny.question(n, passage=p, options=(q,)) for n, (p, q) in enumerate(lengths)])


LENGTHS = ((7, 3), (1, 5), (4, 1))


def words_read(encoder, batch):
    """The inputs of the layers: passages and questions [S, L, D], in the order in which they are read."""
    read, hooks = [], []
    for layer in dict.fromkeys(encoder.layers):
        hooks.append(layer.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0])))
    encoder(batch)
    for hook in hooks:
        hook.remove()
    return read


# Vectors.


def test_a_words_vector_is_the_mean_of_the_embedded_encoders_input_rows_of_its_pieces_spread_out():
    words = ("rose", "unbelievably", "Photosynthesis", "123456", " ", "don't")
    folder = encoder_folder("embedded")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = transformers.AutoModel.from_pretrained(folder).get_input_embeddings().weight.detach()
    encoder = RecurrentEncoder(
        RecurrentEncoder.Config(hidden=2, vector_spread=0.5), Words(words=words, encoder="embedded")
    )
    vectors = encoder.vectors.weight[BOUNDARY + 1 :].double()
    assert vectors.square().mean().sqrt().item() == pytest.approx(0.5, abs=1e-6)
    pieces = [tokenizer.tokenize(word) for word in words]
    assert [len(of_word) > 1 for of_word in pieces] == [False, True, True, True, False, True]
    expected = torch.zeros(len(words), 384, dtype=torch.float64)
    for word, of_word in enumerate(pieces):
        for piece in of_word:
            expected[word] += rows[tokenizer.convert_tokens_to_ids(piece)].double() / len(of_word)
    numbers = [number for row in expected.tolist() for number in row]
    size = math.sqrt(sum(number * number for number in numbers) / len(numbers))
    torch.testing.assert_close(vectors, expected * (0.5 / size), rtol=0, atol=1e-6)
    assert encoder.vectors.weight[[PAD, UNKNOWN, BOUNDARY]].abs().max() == 0
    assert encoder.words == words


VECTORS = {"rose": [1.0, 2.0, -3.0], "Rose": [0.5, 0.25, 4.0], "is": [1e-3, 0.0, 7.0]}


@pytest.fixture
def vectors(tmp_path) -> Path:
    file = tmp_path / "vectors.txt"
    lines = [f"{word} {' '.join(map(str, numbers))}\n" for word, numbers in VECTORS.items()]
    # word2vec writes a space behind each number.
    file.write_text("".join([lines[0].replace("\n", " \n"), lines[1], "at name@domain.com 9 9 9\n", lines[2]]))
    return file


def test_vectors_come_from_a_file(vectors):
    """A word that the file has in lower case only is found as well; one that it lacks is zero."""
    words = ("Rose", "ROSE", "rose", "Is", "at", "thorn")
    encoder = build(Words(words=words), vectors="file", vectors_file=str(vectors))
    expected = [VECTORS["Rose"], VECTORS["rose"], VECTORS["rose"], VECTORS["is"], [0.0] * 3, [0.0] * 3]
    torch.testing.assert_close(encoder.vectors.weight, torch.tensor([[0.0] * 3] * 3 + expected).double())


def test_published_vectors_are_read():
    folder = Path(os.environ.get("COATTEND_RAW", "")) / "glove"
    files = sorted(folder.glob("*.txt")) if os.environ.get("COATTEND_RAW") else []
    if not files:
        pytest.skip("COATTEND_RAW names no folder with glove/*.txt")
    for file in files:
        lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
        table = {word: list(map(float, numbers)) for word, *numbers in lines}
        words = [*table, lines[0][0].upper(), "no-such-word"]
        expected = [*table.values(), table[lines[0][0]], [0.0] * 50]
        torch.testing.assert_close(read_vectors(file, words), torch.tensor(expected), rtol=0, atol=0)


BROKEN = [
    ("a 1 2\nb 1\n", r"vectors\.txt, line 2: has 1 numbers and the first line 2"),
    ("a 1 2\nb 1 2\nc 1 2 3\n", r"vectors\.txt, line 3: has 3 numbers and the first line 2"),
    ("400000 2\na 1 2\n", r"vectors\.txt, line 2: has 2 numbers and the first line 1"),
    ("a\t1\t2\n", r"vectors\.txt, line 1: has 0 numbers"),
    ("b 1 2\na 1 two\n", r"vectors\.txt, line 2: holds no vector of 'a'"),
    ("a 1 nan\n", r"vectors\.txt, line 1: holds no vector of 'a'"),
    ("", r"vectors\.txt: holds no vectors: it is empty"),
]


def test_a_broken_line_is_named(subtests, tmp_path):
    for content, problem in BROKEN:
        with subtests.test(content=content):
            (tmp_path / "vectors.txt").write_text(content)
            with pytest.raises(CoattendError, match=problem):
                read_vectors(tmp_path / "vectors.txt", ["a"])


def test_a_file_of_vectors_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CoattendError, match=r"none\.txt: holds no vectors that can be read"):
        build(vectors="file", vectors_file=str(tmp_path / "none.txt"))
    with pytest.raises(CoattendError, match="option 'vectors_file': is not given"):
        build(vectors="file")


def test_vectors_are_fixed_unless_they_are_trained():
    batch = batch_of(*LENGTHS)
    for trained in (False, True):
        encoder = build(train_vectors=trained)
        assert ("vectors.weight" in dict(encoder.named_parameters())) == trained
        assert "vectors.weight" in encoder.state_dict()
        encoder(batch).passage.sum().backward()
        if trained:
            moved = encoder.vectors.weight.grad.abs().sum(1) > 0
            assert moved.nonzero().flatten().tolist() == sorted(
                set(batch.input_ids[:, : batch.passage_mask.shape[1]][batch.passage_mask].tolist()) - {PAD}
            )


def test_random_vectors_have_the_width_and_spread_asked_for():
    encoder = build(vector_width=7, vector_spread=0.25)
    assert encoder.vectors.weight.shape == (len(tiny.WORDS) + 3, 7)
    assert encoder.vectors.weight[BOUNDARY + 1 :].square().mean().sqrt().item() == pytest.approx(0.25, abs=1e-6)
    assert encoder.vectors.weight[: BOUNDARY + 1].abs().max() == 0
    assert build(Words(words=("a",), width=5), vectors="encoder").vectors.weight.shape == (4, 5)


# What stands beside them.


def buckets_of(word):
    """Hashes of a word's n-grams, with its ends marked."""
    marked = f"#{word}#"
    grams = {marked[k : k + n] for n in (2, 3, 4) for k in range(len(marked)) if k + n <= len(marked)}
    return {int.from_bytes(hashlib.sha256(gram.encode()).digest()[:4], "big") % 20_000 for gram in grams}


@settings(max_examples=25, deadline=None)
@given(words=st.lists(st.text(max_size=7), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_a_words_n_gram_vector_is_the_mean_over_its_distinct_n_grams(words, seed):
    module = tiny.scatter(NGrams(words, 3))
    buckets = sorted(set().union(*map(buckets_of, words)))
    rows = module.vectors.weight.tolist()
    assert len(rows) == len(buckets)
    ids = torch.randint(len(words), (2, 5), generator=torch.Generator().manual_seed(seed))
    expected = []
    for word in words:
        rows_of_word = [rows[buckets.index(bucket)] for bucket in buckets_of(word)]
        expected.append([math.fsum(column) / len(rows_of_word) for column in zip(*rows_of_word, strict=True)])
    for row in range(2):
        oracle.same(module(ids)[row], [expected[word] for word in ids[row].tolist()])


def cut(batch, side, seed):
    """Pieces of one side's words by hand: one to three for each, special ones at the ends; and the word of each."""
    mask = batch.passage_mask if side == "passage" else batch.question_mask
    generator = torch.Generator().manual_seed(seed)
    texts = []
    for length in mask.sum(1).tolist():
        words = [OF_NO_WORD]
        for word in range(length):
            words += [word] * int(torch.randint(1, 4, (1,), generator=generator))
        words.append(OF_NO_WORD)
        texts.append((torch.randint(5, len(PIECES), (len(words),), generator=generator).tolist(), words))
    longest = max(len(words) for _, words in texts)
    return texts, {
        f"{side}_pieces": torch.tensor([[*ids, *[0] * (longest - len(ids))] for ids, _ in texts]),
        f"{side}_piece_words": torch.tensor([[*words, *[PADDING] * (longest - len(words))] for _, words in texts]),
    }


def context_oracle(model, text, length):
    """For each word the mean of its pieces' last hidden states, of a text that is read alone; zero beyond its reach."""
    ids, words = (part[:REACH] for part in text)
    states = model(torch.tensor([ids])).last_hidden_state[0].tolist()
    context = []
    for word in range(length):
        states_of_word = [state for state, of_word in zip(states, words, strict=True) if of_word == word]
        context.append(
            [sum(column) / len(states_of_word) for column in zip(*states_of_word, strict=True)]
            if states_of_word
            else [0.0] * len(states[0])
        )
    return context


def test_a_word_is_its_vector_its_n_grams_its_tag_and_its_context(pretrained):
    """The context is beyond the transformer's reach at the end of the longest passage."""
    batch = batch_of((18, 3), (1, 5), (4, 1))
    (passages, of_passage), (questions, of_question) = (cut(batch, side, 1) for side in ("passage", "question"))
    batch = replace(batch, **of_passage, **of_question)
    assert len(passages[0][0]) > REACH > len(passages[1][0])
    source = Words(words=tiny.WORDS, encoder=str(pretrained))
    encoder = build(source, character_width=3, tag_embedding=True, tag_width=2, context=True, vectors="encoder")
    tiny.scatter(encoder.ngrams)
    model = transformers.AutoModel.from_pretrained(pretrained).double().eval()
    spellings = ["<pad>", "<unknown>", "<boundary>", *tiny.WORDS]
    grams = encoder.ngrams(torch.arange(len(spellings)))
    rows = mean_of_subwords(str(pretrained), tiny.WORDS)
    rows = rows * (1.0 / rows.square().mean().sqrt())
    vectors = torch.cat([torch.zeros(3, 8), rows]).tolist()
    tags = encoder.tags.weight.tolist()
    read = words_read(encoder, batch)
    for side, texts, word_vectors in zip(("passage", "question"), (passages, questions), read, strict=True):
        for row, text in enumerate(texts):
            positions = range(int(getattr(batch, f"{side}_mask")[row].sum()))
            if side == "question":
                positions = batch.question_index[row][batch.question_mask[row]].tolist()
            context = context_oracle(model, text, len(positions))
            expected = [
                [*vectors[word], *grams[word].tolist(), *tags[tag], *of_context]
                for word, tag, of_context in zip(
                    batch.input_ids[row, positions].tolist(),
                    batch.tag_ids[row, positions].tolist(),
                    context,
                    strict=True,
                )
            ]
            oracle.same(word_vectors[row], expected)
    assert read[0][0, -1, -8:].abs().max() == 0
    assert encoder.tags.weight[0].abs().max() == 0


def test_pieces_that_are_read_like_words_are_their_own_context(pretrained):
    """Built from a pretrained encoder instead of words, it hands that encoder each side alone."""
    batch = batch_of((5, 3), (2, 4))
    batch.input_ids %= len(PIECES)
    encoder = build(str(pretrained), context=True, vector_spread=0.3)
    assert encoder.words is None
    model = transformers.AutoModel.from_pretrained(pretrained).double().eval()
    table = model.get_input_embeddings().weight.detach()
    scale = 0.3 / table.square().mean().sqrt()
    passages, questions = words_read(encoder, batch)
    for row in range(2):
        ids = batch.input_ids[row][: int(batch.passage_mask[row].sum())]
        oracle.same(passages[row, :, 8:], model(ids[None]).last_hidden_state[0].tolist())
        ids = batch.input_ids[row][batch.question_index[row][batch.question_mask[row]]]
        oracle.same(questions[row, :, 8:], model(ids[None]).last_hidden_state[0].tolist())
        torch.testing.assert_close(questions[row, : len(ids), :8], table[ids] * scale, rtol=1e-6, atol=0)


def test_the_context_does_not_learn_and_is_the_same_in_training(pretrained):
    module = ContextVectors(str(pretrained))
    pieces, words = torch.randint(5, len(PIECES), (2, 9)), torch.arange(9).expand(2, -1)
    evaluated = module(pieces, words, 9)
    assert not evaluated.requires_grad
    assert not any(parameter.requires_grad for parameter in module.parameters())
    assert torch.equal(module.train()(pieces, words, 9), evaluated)
    assert not module.requires_grad_(True)(pieces, words, 9).requires_grad  # Not even where all is told to learn.
    encoder = build(Words(words=tiny.WORDS, encoder=str(pretrained)), context=True)
    batch = batch_of(*LENGTHS)
    batch.input_ids %= len(PIECES)
    encoder(batch).passage.sum().backward()
    assert all(parameter.grad is None for parameter in encoder.context.parameters())
    assert all(parameter.grad is not None for parameter in encoder.layers[0].parameters())


def test_word_dropout_takes_whole_words_of_passages_in_training_only():
    batch = batch_of(*[(40, 40)] * 4)
    encoder = build(word_dropout=0.3, tag_embedding=True)
    passages, questions = words_read(encoder, batch)
    real = passages.abs().amax(-1) > 0
    encoder.train()
    torch.manual_seed(1)
    dropped, kept_questions = words_read(encoder, batch)
    hidden = dropped.abs().amax(-1) == 0
    assert torch.equal(dropped[~hidden], passages[~hidden])
    assert torch.equal(kept_questions, questions)
    share = (hidden & real).sum() / real.sum()
    assert 0.2 < share < 0.4
    assert len({tuple(row.tolist()) for row in hidden}) == 4
    assert all(
        torch.equal(*pair) for pair in zip(words_read(encoder.eval(), batch), (passages, questions), strict=True)
    )


def test_dropout_is_of_both_sides_in_training_only():
    batch = batch_of(*LENGTHS)
    encoder = build(dropout=0.5)
    evaluated = encoder(batch)
    assert torch.equal(encoder(batch).question, evaluated.question)
    trained = encoder.train()(batch)
    assert not torch.equal(trained.question, evaluated.question)
    assert not torch.equal(trained.passage, evaluated.passage)


@pytest.mark.parametrize("shared", [False, True])
def test_what_is_read_of_questions_is_handed_over_as_their_words(shared):
    batch = batch_of(*LENGTHS)
    encoder = build(shared=shared, tag_embedding=True, character_width=2, dropout=0.5).train()
    read = []
    encoder.layers[-1].register_forward_pre_hook(lambda _, inputs: read.append(inputs[0]))
    words = encoder(batch).question_words
    assert torch.equal(words, read[-1])
    assert words.shape == (*batch.question_mask.shape, encoder.shape.word_width)
    assert words[~batch.question_mask].eq(0).all()


# The layers.


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("shared", [False, True])
def test_each_side_is_read_by_its_layer_or_both_by_one(cell, directions, shared):
    encoder = tiny.scatter(build(cell=cell, directions=directions, shared=shared), deviation=0.4)
    batch = replace(batch_of(*LENGTHS), option_mask=torch.zeros(3, 6, dtype=torch.bool))
    assert len(encoder.layers) == 2 - shared
    assert encoder.shape.hidden_size == 3 * directions
    encoded = encoder(batch)
    assert encoded.blank_mask is batch.blank_mask
    assert encoded.option_mask is batch.option_mask
    table = encoder.vectors.weight.tolist()
    for row in range(len(LENGTHS)):
        ids = batch.input_ids[row].tolist()
        passage = [table[word] for word in ids[: int(batch.passage_mask[row].sum())]]
        question = [table[ids[index]] for index in batch.question_index[row][batch.question_mask[row]].tolist()]
        oracle.same(encoded.passage[row], oracle.recurrence(passage, encoder.layers[0]))
        states = oracle.recurrence(question, encoder.layers[0 if shared else 1])
        oracle.same(encoded.question[row], states)
        oracle.same(encoded.question_state[row], [*states[-1][:3], *states[0][3:]])


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("directions", [1, 2])
def test_a_side_without_words_gives_numbers(cell, directions, pretrained):
    source = Words(words=tiny.WORDS, encoder=str(pretrained))
    encoder = build(source, cell=cell, directions=directions, character_width=2, context=True)
    batch = batch_of(*LENGTHS)
    batch.input_ids %= len(PIECES)
    batch.passage_mask[0], batch.question_mask[1] = False, False
    encoded = encoder(batch)
    outputs = encoded.passage, encoded.question, encoded.question_state
    sum(output.sum() for output in outputs).backward()
    assert all(output.isfinite().all() for output in outputs)
    assert all(parameter.grad.isfinite().all() for parameter in encoder.layers.parameters())
    assert encoded.passage_mask[0].nonzero().flatten().tolist() == [0]
    assert encoded.question_mask[1].nonzero().flatten().tolist() == [0]
    assert torch.equal(encoded.passage_mask[1:], batch.passage_mask[1:])


# Saving.


@pytest.mark.parametrize(
    ("vectors_from", "context"), [("file", False), ("encoder", False), ("encoder", True), ("random", True)]
)
def test_it_loads_without_the_files_that_it_was_built_from(vectors_from, context, pretrained, vectors, tmp_path):
    folder = shutil.copytree(pretrained, tmp_path / "encoder")
    words = Words(words=("rose", "is", "thorn", *tiny.WORDS), encoder=str(folder))
    torch.manual_seed(0)
    file = {"vectors_file": str(vectors)} if vectors_from == "file" else {}
    features = {"character_width": 2, "tag_embedding": True, "lowercase": False}
    reader = readers.build(
        "as_reader", encoder=words, hidden=3, vectors=vectors_from, context=context, **features, **file
    )
    batch = batch_of(*LENGTHS)
    for side in ("passage", "question"):
        batch = replace(batch, **cut(batch, side, 2)[1])
    before = reader(batch)
    reader.save(tmp_path / "saved")
    shutil.rmtree(folder)
    vectors.unlink()
    loaded = Reader.load(tmp_path / "saved")
    assert torch.equal(loaded(batch).scores, before.scores)
    assert torch.equal(loaded.encoder.vectors.weight, reader.encoder.vectors.weight)
    assert loaded.encoder.words == words.words
    assert loaded.encoder.lowercase is False
    assert (loaded.encoder.context is not None) == context
    assert {name for name, parameter in loaded.named_parameters() if parameter.requires_grad} == {
        name for name, parameter in reader.named_parameters() if parameter.requires_grad
    }
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again" / "reader.json").read_bytes() == (tmp_path / "saved" / "reader.json").read_bytes()
