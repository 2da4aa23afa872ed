"""The tiny sample's tables as training reads them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

from coattend.batches.examples import Example, Layout, UnreadableQuestion, build_examples
from coattend.batches.tokens import Tokens
from coattend.batches.word_tokens import ONLY_WORDS, WITH_BOUNDARY, WordTokens
from coattend.config import (
    BenchmarkParameters,
    EncoderParameters,
    ReaderParameters,
    TaggingParameters,
    TokenizerParameters,
)
from coattend.text.encode import tokenize_texts
from coattend.text.hashing import file_version
from coattend.text.tokenizer import SpecialLayout, load_tokenizer, special_layout
from coattend.training.run_trial import TrialRunner, train_all
from coattend.trials.experiment import BenchmarkTables, Experiment, ReaderSetup
from coattend.trials.trial import TrialOutcome

SAMPLE = {
    "name": "sample",
    "title": "Sample",
    "tasks": ["options"],
    "fill_blanks": True,
    "sources": [{"format": "dream", "folder": "x", "files": {}}],
}
# Eight questions in a single epoch: enough for a loss, a checkpoint and answers. In float32 all machines learn alike.
TRAINING = {
    "epochs": 1,
    "evaluations": 1,
    "max_questions": 8,
    "held_out": 0.2,
    "tokens_per_batch": 512,
    "precision": "fp32",
}


@dataclass(frozen=True)
class Read:
    """Input of a reader from the sample: subwords or words, with the special tokens of one task."""

    tokens: Tokens
    layout: SpecialLayout


@dataclass(frozen=True)
class Sample:
    """The sample's tables in a folder, and the encoder of readers of subwords."""

    folder: Path
    encoder: Path

    @cached_property
    def questions(self) -> pads.Dataset:
        return pads.dataset(self.folder / "02_intermediate/sample/questions.parquet")

    @cached_property
    def passages(self) -> pads.Dataset:
        return pads.dataset(self.folder / "02_intermediate/sample/passages.parquet")

    @cached_property
    def texts(self) -> dict[str, str]:
        """Every text by its id."""
        table = pads.dataset(self.folder / "03_primary/sample/texts").to_table(columns=["text_id", "text"])
        return dict(zip(table.column("text_id").to_pylist(), table.column("text").to_pylist(), strict=True))

    @cached_property
    def tags(self) -> pads.Dataset:
        return pads.dataset(self.folder / "04_feature/sample/nltk_penn/tags", format="parquet")

    @cached_property
    def stored_tokens(self) -> pads.Dataset:
        return pads.dataset(self.folder / "05_model_input/sample/nltk_penn/minilm/tokens", format="parquet")

    @cached_property
    def words(self) -> WordTokens:
        return WordTokens.from_tags(self.tags)

    @cached_property
    def subwords(self) -> Tokens:
        return Tokens.from_table(self.stored_tokens, with_word_index=True)

    @cached_property
    def special_tokens(self) -> SpecialLayout:
        return special_layout(load_tokenizer(TokenizerParameters()))

    def read(self, unit: str, task: str) -> Read:
        """Return subwords or words in the layout of a task's readers."""
        if unit == "subwords":
            return Read(self.subwords, self.special_tokens)
        # Readers of spans put a boundary before the words, whose span means "no answer".
        return Read(self.words, WITH_BOUNDARY if task == "span" else ONLY_WORDS)

    def rows(self, task: str, split: str | None = None) -> pa.Table:
        """Return the questions of a task, of all splits or of one."""
        # Columns are dictionaries of strings, which pyarrow compares only after a cast.
        condition = pc.field("task").cast(pa.string()) == task
        if split is not None:
            condition &= pc.field("split").cast(pa.string()) == split
        return self.questions.to_table(filter=condition)

    def passage_of(self, questions: pa.Table) -> dict[str, str]:
        """Map the id of each question to the text of its passage."""
        table = self.passages.to_table(columns=["passage_id", "text"])
        texts = dict(zip(table.column("passage_id").to_pylist(), table.column("text").to_pylist(), strict=True))
        return {row["question_id"]: texts[row["passage_id"]] for row in questions.to_pylist()}

    def build(
        self, questions: pa.Table, read: Read, max_length: int = 256, **options: object
    ) -> tuple[list[Example], list[UnreadableQuestion]]:
        """Build examples of questions, whose options fill blanks."""
        layout = Layout(max_length=max_length, special_tokens=read.layout.count, fill_blanks=True, **options)
        return build_examples(questions, self.passages, read.tokens, layout)


def train_reader(experiment: Experiment, store: Path) -> list[TrialOutcome]:
    """Train an experiment's trials on its questions."""
    return train_all(experiment.training_questions(), experiment, store)


def train_seed(experiment: Experiment, store: Path) -> TrialOutcome:
    """Train the trial of an experiment's first seed alone, as studies and searches do."""
    outcome, _ = TrialRunner.of(experiment, store).attempt(experiment.training.seeds[0])
    return outcome


def lose_a_bit(trial: Path) -> None:
    """Change the last byte of a trial's weights, and let it look as if nothing had happened to the file."""
    weights, checked = trial / "model" / "model.safetensors", trial / ".model.checked"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    record = json.loads(checked.read_text())
    record["versions"][weights.name] = file_version(weights)
    checked.write_text(json.dumps(record))


def write_language_model(folder: Path, texts: Iterable[str], *, layers: int = 2, width: int = 32) -> None:
    """Write a Llama with random weights, and a byte-level BPE that is learned from texts."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    learned = ByteLevelBPETokenizer()
    learned.train_from_iterator(texts, vocab_size=2000, special_tokens=["<s>", "</s>"], show_progress=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=learned._tokenizer, bos_token="<s>", eos_token="</s>")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=3 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        max_position_embeddings=2048,
        initializer_range=1.5 / width**0.5,  # With smaller weights all options are about as likely.
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="session")
def language_model(built_once, sample) -> Path:
    """The folder of a tiny random Llama, whose tokenizer has learned from the sample's texts."""
    return built_once("language_model", lambda folder: write_language_model(folder, sample.texts.values()))


def tokenized(sample: Sample, source: Path) -> pads.Dataset:
    """The sample's tokens by the tokenizer in another folder."""
    texts = pads.dataset(sample.folder / "03_primary/sample/texts", format="parquet").to_table()
    tags = sample.tags.to_table()
    rows = pc.index_in(texts["text_id"], value_set=tags["text_id"])
    return pads.dataset(tokenize_texts(load_tokenizer(TokenizerParameters(source=str(source))), texts, tags.take(rows)))


@pytest.fixture(scope="session")
def sample(sample_tables, tiny_encoder) -> Sample:
    """The tables of the tiny sample, with the tiny encoder."""
    return Sample(sample_tables, tiny_encoder)


@pytest.fixture(scope="session")
def experiment_for(sample):
    """Make an experiment: a reader on a few questions of the sample."""

    def make(
        reader="plain", task="options", encoder=sample.encoder, tokens=sample.stored_tokens, seeds=(3, 4), **training
    ):
        benchmark = BenchmarkParameters(**SAMPLE | {"tasks": [task]}, training=TRAINING | training)
        entry = ReaderParameters(name=reader, reader=reader, training={"seeds": list(seeds)})
        # The last table, of tagged words, is read by recurrent readers only.
        tables = BenchmarkTables(sample.questions, sample.passages, tokens, None, benchmark)
        # The tiny encoder reads MiniLM's subwords, any other its own.
        tokenizer = TokenizerParameters() if encoder == sample.encoder else TokenizerParameters(source=str(encoder))
        setup = ReaderSetup(entry, EncoderParameters(source=str(encoder)), tokenizer, TaggingParameters())
        return Experiment.from_config(tables, setup)

    return make
