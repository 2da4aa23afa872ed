import json

import pytest
from kedro.io import DataCatalog, DatasetError, MemoryDataset
from kedro.pipeline import Pipeline
from kedro.runner import SequentialRunner
from stored_texts import BENCHMARK, KINDS, LEXICON, rewritten, save_tags, save_texts, shard_of, written

from coattend.config import LOCAL, TokenizerParameters
from coattend.errors import CoattendError
from coattend.io.schema_validator import SchemaValidator
from coattend.io.sharded import ShardedTableDataset, ShardPlan
from coattend.pipelines import tokenization
from coattend.pipelines.tokenization.nodes import tokenize
from coattend.schemas import TAGS
from coattend.text.hashing import text_id
from coattend.text.tagset import ERR
from coattend.text.tokenizer import load_tokenizer


def save_tokens(folder, texts, tags, tokenizer=TokenizerParameters()):  # noqa: B008
    stored = ShardedTableDataset(filepath=str(folder / "tokens"))
    plan = tokenize(texts.load(), tags.load(), tokenizer, BENCHMARK)
    stored.save(SchemaValidator("tokens").validate(plan))
    return stored


def rows(stored) -> dict[str, dict]:
    return {row["text_id"]: row for row in stored.load().to_table().to_pylist()}


@pytest.fixture
def stored(tmp_path):
    texts = save_texts(tmp_path)
    tags = save_tags(tmp_path, texts)
    return texts, tags, save_tokens(tmp_path, texts, tags)


def test_each_subword_has_the_tag_of_its_word(stored):
    _, tags, tokens = stored
    tagged, tokenized = rows(tags), rows(tokens)
    assert tokenized.keys() == tagged.keys()
    for text in KINDS:
        row, words = tokenized[text_id(text)], tagged[text_id(text)]
        for tag, word, start, end in zip(row["tag_ids"], row["word_index"], row["starts"], row["ends"], strict=True):
            assert max(words["starts"][word], start) < min(words["ends"][word], end)
            assert tag == words["tags"][word]
            assert tag >= ERR


def test_ids_are_the_tokenizers(stored):
    tokenized = rows(stored[2])
    text = "W: The old captain sailed to Norway.\nM: He can't have."
    tokenizer = load_tokenizer(TokenizerParameters()).tokenizer
    assert tokenized[text_id(text)]["input_ids"] == tokenizer.encode(text, add_special_tokens=False).ids
    assert tokenized[text_id("")]["input_ids"] == []


def test_the_table_is_valid_and_names_the_tagger(stored):
    loaded = stored[2].load()
    SchemaValidator("tokens").validate(loaded)
    assert loaded.schema.metadata[b"tagger"] == b"textblob lexicon"


def test_a_second_run_writes_nothing(stored, tmp_path):
    texts, _, _ = stored
    before = written(tmp_path / "tokens")
    save_tokens(tmp_path, texts, save_tags(tmp_path, texts))
    assert rewritten(before, written(tmp_path / "tokens")) == set()


def test_other_tags_tokenise_everything_anew_and_are_seen(stored, tmp_path):
    texts, _, _ = stored
    before = written(tmp_path / "tokens")
    tags = save_tags(tmp_path, texts, LEXICON.model_copy(update={"tagset": "extended"}))
    tokenized = rows(save_tokens(tmp_path, texts, tags))
    filled = {shard_of(text) for text in KINDS if text}
    assert filled <= rewritten(before, written(tmp_path / "tokens"))
    assert ERR not in tokenized[text_id("The captain.")]["tag_ids"]


def test_a_new_text_is_tokenised_with_its_shard_alone(stored, tmp_path):
    before = written(tmp_path / "tokens")
    texts = save_texts(tmp_path, KINDS | {"Something new.": "option"})
    save_tokens(tmp_path, texts, save_tags(tmp_path, texts))
    assert rewritten(before, written(tmp_path / "tokens")) == {shard_of("Something new.")}


def test_another_tokenizer_tokenises_everything_anew(stored, tmp_path):
    texts, tags, _ = stored
    before = written(tmp_path / "tokens")
    folder = tmp_path / "cased"
    folder.mkdir()
    settings = json.loads(load_tokenizer(TokenizerParameters()).tokenizer.to_str())
    settings["normalizer"]["lowercase"] = False
    (folder / "tokenizer.json").write_text(json.dumps(settings))
    save_tokens(tmp_path, texts, tags, TokenizerParameters(source=str(folder)))
    assert rewritten(before, written(tmp_path / "tokens")) == set(before)


def test_tags_of_other_texts_are_refused(stored, tmp_path):
    _, tags, tokens = stored
    changed = save_texts(tmp_path, {**KINDS, "Something new.": "option"})
    with pytest.raises(DatasetError, match="tags are not those of the texts"):
        save_tokens(tmp_path, changed, tags)
    with pytest.raises(CoattendError, match="is not finished"):
        tokens.load()


def test_tags_in_other_shards_are_refused(stored, tmp_path):
    texts, tags, _ = stored
    plan = ShardPlan("once", lambda: {"0000": "key"}, lambda names: ((name, TAGS.empty_table()) for name in names))
    tags.save(plan)
    with pytest.raises(CoattendError, match="kedro run --pipelines ingestion,tagging,tokenization"):
        save_tokens(tmp_path, texts, tags)


def test_the_pipeline_is_one_node_of_the_benchmark():
    pipeline = Pipeline(tokenization.create_nodes("dream", "nltk_penn", "minilm"))
    assert [node.name for node in pipeline.nodes] == ["dream.tokenize_nltk_penn_minilm"]
    assert pipeline.inputs() == {
        "dream.texts", "dream.nltk_penn.tags", "params:tokenizers.minilm", "params:benchmarks.dream", "params:engine"
    }  # fmt: skip
    assert pipeline.outputs() == {"dream.nltk_penn.minilm.tokens"}


def test_the_pipeline_runs_over_a_catalog(stored):
    texts, tags, tokens = stored
    before = rows(tokens)
    catalog = DataCatalog(
        {
            "tiny.texts": texts,
            "tiny.lexicon.tags": tags,
            "params:tokenizers.minilm": MemoryDataset(TokenizerParameters()),
            "params:benchmarks.tiny": MemoryDataset(BENCHMARK),
            "params:engine": MemoryDataset(LOCAL),
            "tiny.lexicon.minilm.tokens": tokens,
        }
    )
    SequentialRunner().run(Pipeline(tokenization.create_nodes("tiny", "lexicon", "minilm")), catalog)
    assert rows(tokens) == before
