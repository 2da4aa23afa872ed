"""What is trained: which reader, which head, on which questions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from coattend import readers
from coattend.engines.progress import shown
from coattend.errors import CoattendError
from coattend.parameters import EncoderParameters, TokenizerParameters, TrainingParameters
from coattend.readers.encoders.words import UNKNOWN, Words
from coattend.readers.reader import Reader
from coattend.text.subwords import SpecialLayout, load_tokenizer
from coattend.training.answers import Answer, answer
from coattend.training.cloze import ClozeArrays
from coattend.training.collation import Collator, Kept
from coattend.training.data import QuestionSet, Source
from coattend.training.devices import device_of, uses_bf16
from coattend.training.encoders import encoder_digest
from coattend.training.entities import EntityNames, Permutation
from coattend.training.kept_contexts import keep_contexts
from coattend.training.kept_states import keep_states
from coattend.training.pieces import Pieces
from coattend.training.pooled import training_questions
from coattend.training.rewards import SpanReward
from coattend.training.words import LexiconTokenizer, WordTokens

IN_CACHE = 2048
"""Padded tokens with which a transformer's layers stay near a processor's cache: of batches three times as large, what
they answer takes a tenth to a quarter longer. What is learned from has larger ones, as each goes over all weights."""


@dataclass(frozen=True)
class Plan:
    """Everything that the trials of one reader on one benchmark share.

    Attributes:
        benchmark: Name of the benchmark.
        name: Name of the reader's entry.
        reader: Its name in the registry.
        head: Its head.
        options: Its options, resolved.
        encoder: Its encoder.
        training: How it is trained.
        source: Where its questions come from.
        layout: Special tokens of its tokenizer.
        pieces: Subwords beside words, where it reads words and asks for vectors of their context.
        others: Where questions of other benchmarks come from, which it may be trained on too.
        starts: The trial that each seed's begins with; seeds that it lacks begin as ``training.start_from`` says.
    """

    benchmark: str
    name: str
    reader: str
    head: str
    options: dict[str, Any]
    encoder: EncoderParameters
    training: TrainingParameters
    source: Source
    layout: SpecialLayout
    pieces: Pieces | None = None
    others: tuple[Source, ...] = ()
    starts: Mapping[int, str] = field(default_factory=dict)

    def start_of(self, seed: int) -> str | None:
        """The trial that a seed's begins with; None: it begins anew."""
        return self.starts.get(seed, self.training.start_from)

    def training_questions(self) -> tuple[QuestionSet, QuestionSet]:
        """The questions to train on and those that choose the checkpoint."""
        return training_questions((self.source, *self.others), self.training)

    @property
    def task(self) -> str:
        """What its head answers."""
        return readers.task_of(self.head)

    @property
    def scores_are_softmaxed(self) -> bool:
        """Whether the scores of spans are probabilities."""
        return self.options.get("score") == "softmax"

    def collator(
        self,
        reader: Reader,
        asked: QuestionSet,
        *,
        permute: Permutation | None = None,
        kept: Kept | None = None,
    ) -> Collator:
        """Makes this plan's batches.

        Args:
            reader: Who reads them.
            asked: The questions that they are made of.
            permute: How entities change their names, in training.
            kept: What a frozen encoder made of them.
        """
        tokens, before = asked.tokens, len(self.layout.prefix)
        lookup = None
        if isinstance(tokens, WordTokens):
            lookup = tokens.lookup(reader.encoder.words, lowercase=reader.encoder.lowercase)
        cloze = ClozeArrays(tokens, asked.texts, unknown=UNKNOWN) if self.task == "word" else None
        rewarded = self.options.get("objective", "cross_entropy") != "cross_entropy"
        reward = partial(SpanReward, passages=asked.texts, tokens=tokens, before=before) if rewarded else None
        extras = {"lookup": lookup, "cloze": cloze, "pieces": self.pieces, "reward": reward, "kept": kept}
        return Collator(tokens, self.layout, self.task, permute=permute, **extras)

    def kept(self, reader: Reader, asked: QuestionSet, store: Path) -> Kept | None:
        """What is computed once of questions and kept: a frozen encoder's states, or vectors of words in their context.

        Args:
            reader: Whose encoder it is.
            asked: The questions.
            store: The folder of all trials; what is kept lies beside it.

        Raises:
            CoattendError: If there is no pretrained encoder to freeze, or entities change their names.
        """
        words, training = isinstance(asked.tokens, WordTokens), self.training
        if training.frozen and (words or training.permute_entities):
            problem = "words are learned anew" if words else "entities change their names"
            raise CoattendError(f"cannot be: {problem}", where="training.frozen", cure="Train it with frozen: false")
        if not training.frozen and self.pieces is None:
            return None
        encoder = encoder_digest(self.encoder.source)
        _, bf16 = self.precision()
        how: dict[str, Any] = {
            "folder": store.parent / "encoder_outputs",
            "tokens_per_batch": self.asked_at_once(by_transformer=True),
            "bf16": bf16,
        }
        if self.pieces is not None:
            how |= {"pieces": self.pieces, "before": len(self.layout.prefix), "encoder": encoder}
            return keep_contexts(reader.encoder.context, asked.examples, **how)
        how |= {"tokens": asked.tokens, "encoder": f"{encoder} {self.options.get('co_attention')}"}
        return keep_states(reader, asked.examples, collator=self.collator(reader, asked), **how)

    def permutation(self, seed: int, epoch: Callable[[], int]) -> Permutation | None:
        """How entities change their names in training, if they do."""
        if not self.training.permute_entities:
            return None
        tokens = self.source.tokens
        words = isinstance(tokens, WordTokens)
        tokenizer = LexiconTokenizer(tokens.lexicon) if words else load_tokenizer(self._tokenizer)
        return Permutation(EntityNames(tokenizer), tokens, seed=seed, epoch=epoch)

    @property
    def _tokenizer(self) -> TokenizerParameters:
        return TokenizerParameters(source=self.encoder.source)

    def build(self, train: QuestionSet) -> Reader:
        """A fresh reader of this plan.

        Args:
            train: What it will be trained on: a vocabulary comes from there.

        Raises:
            CoattendError: If the encoder cannot read sequences as long as they may become.
        """
        return self.ready(readers.build(self.reader, encoder=self._encoder(train), head=self.head, **self.built_with))

    @property
    def built_with(self) -> dict[str, Any]:
        """All options of the reader: its encoder's entry decides on its dropout where the reader's does not."""
        return {"dropout": self.encoder.dropout} | self.options

    def ready(self, reader: Reader) -> Reader:
        """The same reader, ready to be trained.

        Raises:
            CoattendError: If its encoder cannot read sequences as long as they may become.
        """
        longest = reader.encoder.max_length
        if longest is not None and self.training.max_length > longest:
            raise CoattendError(
                f"is {self.training.max_length}, and the encoder reads at most {longest} tokens",
                where="training.max_length",
                cure=f"Set it to {longest} or less",
            )
        if self.training.frozen and hasattr(reader.encoder, "freeze"):
            reader.encoder.freeze()
        return reader

    def _encoder(self, train: QuestionSet) -> "str | Words":
        """What the reader's encoder is made from: the pretrained one, or the words of what it is trained on."""
        tokens = self.source.tokens
        if not isinstance(tokens, WordTokens):
            return self.encoder.source
        how = {"most": self.options["most_words"], "lowercase": self.options["lowercase"]}
        return Words(words=tokens.vocabulary(train.examples, **how), encoder=self.encoder.source)

    def ask(
        self, reader: Reader, asked: QuestionSet, *, kept: Kept | None = None, title: str | None = None
    ) -> list[Answer]:
        """What a reader of this plan answers to questions; with a title it is shown how far it is."""
        _, bf16 = self.precision()
        answers = answer(
            reader,
            asked.examples,
            collator=self.collator(reader, asked, kept=kept),
            tokens=asked.tokens,
            tokens_per_batch=self.asked_at_once(by_transformer=not isinstance(asked.tokens, WordTokens)),
            bf16=bf16,
            max_answer_length=self.training.max_answer_length,
            softmaxed=self.scores_are_softmaxed,
        )
        return list(answers if title is None else shown(answers, len(asked.examples), title))

    def asked_at_once(self, *, by_transformer: bool) -> int:
        """Padded tokens that a batch may hold which nothing is learned from.

        Args:
            by_transformer: Whether a transformer reads them, and not a recurrent layer.
        """
        budget, (device, _) = self.training.tokens_per_batch, self.precision()
        return min(budget, IN_CACHE) if device == "cpu" and by_transformer else budget

    def precision(self) -> tuple[str, bool]:
        """The device, and whether matrix products run in bf16."""
        device = device_of(self.training)
        return device, uses_bf16(self.training, device)
