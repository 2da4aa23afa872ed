"""Tagger and tokenizer of a trained reader, and the files that they need."""

import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads

from coattend import readers
from coattend.batches.subword_alignment import SubwordAlignment
from coattend.batches.tokens import Tokens
from coattend.batches.word_tokens import WordTokens, word_layout
from coattend.config import TokenizerParameters
from coattend.data.text_store import DistinctTexts
from coattend.errors import CoattendError
from coattend.readers.reader import Reader
from coattend.serving.queries import Query
from coattend.text import nltk as nltk_data
from coattend.text.encode import tag_texts, tokenize_texts
from coattend.text.nltk import NltkTagger
from coattend.text.tagging import RememberingTagger, Tagger, TextTagger, WholeTexts, load_named_tagger
from coattend.text.tagset import tagset
from coattend.text.tokenizer import (
    CONFIG,
    SpecialLayout,
    SubwordTokenizer,
    load_tokenizer,
    read_tokenizer,
    special_layout,
    special_names,
)
from coattend.trials import run_spec
from coattend.trials.experiment import ReaderTexts
from coattend.trials.run_spec import RunSpec
from coattend.trials.trial import digest_of_files

TOKENIZER, NLTK = "tokenizer", "nltk_data"
"""Folders of a packed reader."""


@dataclass(frozen=True)
class Preprocessor:
    """Tagger and tokenizer of a reader; one that reads words alone has no tokenizer, and so no special tokens."""

    spec: RunSpec
    tagger: TextTagger
    subwords: SubwordTokenizer | None
    layout: SpecialLayout | None

    @classmethod
    def of(cls, spec: RunSpec, folder: Path) -> "Preprocessor":
        """Load a reader's tokenizer and tagger: those that its folder carries, else where they came from.

        One that cannot be had, or is another than the reader was trained with, is an error.
        """
        tagger = _load_tagger(spec, folder)
        if not spec.tokenizer:
            return cls(spec, tagger, None, None)
        source = str(folder / TOKENIZER) if (folder / TOKENIZER).is_dir() else spec.encoder
        subwords = load_tokenizer(TokenizerParameters(source=source))
        if subwords.digest != spec.tokenizer:
            problem = f"was trained with another tokenizer than that of {subwords.source!r}"
            raise CoattendError(problem, where=f"trial {spec.trial_id}", cure="Restore its files, or train it again")
        return cls(spec, tagger, subwords, special_layout(subwords))

    @property
    def source(self) -> str:
        """Source of its tokenizer."""
        return self.spec.encoder if self.subwords is None else self.subwords.source

    def __call__(self, queries: Iterable[Query]) -> ReaderTexts:
        """Tag and tokenise all texts of queries."""
        texts = self._texts(queries)
        tags = tag_texts(self.tagger, texts)
        around_words = word_layout(readers.task_of(self.spec.head))
        if self.subwords is None or self.layout is None:
            return ReaderTexts(WordTokens.from_tags(pads.dataset(tags)), around_words)
        tokens = pads.dataset(tokenize_texts(self.subwords, texts, tags))
        if not self.spec.reads_words:
            return ReaderTexts(Tokens.from_table(tokens), self.layout)
        words = WordTokens.from_tags(pads.dataset(tags))
        pieces = SubwordAlignment.between(words, Tokens.from_table(tokens, with_word_index=True), self.layout)
        return ReaderTexts(words, around_words, pieces)

    def _texts(self, queries: Iterable[Query]) -> pa.Table:
        """Gather each distinct text once, as ingestion does."""
        texts = DistinctTexts(1)
        rules = {"fill_blanks": self.spec.fill_blanks, "words_as_options": self.spec.words_as_options}
        for query in queries:
            texts.add(query.passage, "passage")
            texts.add_question(self.spec.task, query.question, query.options, **rules)
        # All texts are in the only shard.
        (name,) = texts.keys()
        return texts.table(name)


def _load_tagger(spec: RunSpec, folder: Path) -> TextTagger:
    """Load the tagger that a reader was trained with; of a reader whose inputs depend on none, a stand-in."""
    tags = tagset(spec.tagging.tagset)
    if not spec.needs_tagger:
        return TextTagger(WholeTexts(), tags)
    data_folder = folder / NLTK
    if data_folder.is_dir():
        tagger: Tagger = NltkTagger(data_folder.absolute(), data_folder.absolute())
    else:
        try:
            tagger = load_named_tagger(spec.tagger, spec.tagging).tagger
        except CoattendError as error:
            problem = f"was trained on the tags of {error.where}: {error.problem}"
            raise CoattendError(problem, where=f"trial {spec.trial_id}", cure=error.cure) from None
    return RememberingTagger(tagger, tags, spec.tagging.lowercase_before_tagging)


def pack(trial: Path, target: Path, *, merge: bool = False) -> RunSpec:
    """Copy a finished trial's reader, and all that stands between a text and it, to a new folder; return its spec.

    Adapters of its encoder are merged into the encoder's weights on request; without, the encoder's own files are
    needed to load it. A language model stays where it is, and is loaded from there.
    """
    spec = run_spec.read_servable(trial).without_credentials()
    if spec.language_model is not None:
        shutil.copytree(trial / "model", target / "model")
        run_spec.write(spec, target)
        return spec
    processing = Preprocessor.of(spec, trial)
    if merge and spec.has_adapters:
        reader = Reader.load(trial / "model")
        reader.merge_adapters()
        reader.save(target / "model")
        spec = spec.model_copy(update={"model_digest": digest_of_files(target / "model"), "merged": True})
    else:
        shutil.copytree(trial / "model", target / "model")
    run_spec.write(spec, target)
    if (subwords := processing.subwords) is not None:
        (target / TOKENIZER).mkdir()
        tokenizer = read_tokenizer(subwords.source)
        tokenizer.save(str(target / TOKENIZER / "tokenizer.json"))
        names = {"pad_token": subwords.tokenizer.id_to_token(subwords.pad_id)} | special_names(subwords)
        (target / TOKENIZER / CONFIG).write_text(json.dumps(names) + "\n")
    tagger = processing.tagger.tagger
    if isinstance(tagger, NltkTagger):
        english = nltk_data.open_package(tagger.punkt, nltk_data.PUNKT) / "english"
        _copy_files(english, target / NLTK / nltk_data.PUNKT / "english")
        _copy_files(nltk_data.open_package(tagger.tagger, nltk_data.TAGGER), target / NLTK / nltk_data.TAGGER)
    return spec


def _copy_files(source: Traversable, target: Path) -> None:
    target.mkdir(parents=True)
    for file in source.iterdir():
        if file.is_file():
            (target / file.name).write_bytes(file.read_bytes())
