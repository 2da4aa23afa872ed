"""Words, their features, and a recurrent layer over each side."""

from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from coattend.readers.attended import Encoded
from coattend.readers.batch import Batch
from coattend.readers.encoders.context import PADDING, ContextVectors
from coattend.readers.encoders.ngrams import NGrams
from coattend.readers.encoders.words import MODEL_TYPE, Words, vector_table
from coattend.readers.parts import STREAMS, EncoderConfig, EncoderShape
from coattend.readers.recurrence import Cell, Recurrence, last_states


class RecurrentEncoder(nn.Module):
    """The encoder of the cloze readers (AoA, "Contextual Embedding") and of DCN and DCN+ (DCN+, equation 1).

    A word is its vector, and beside it what is asked for: character n-grams, its tag, and a vector of its context. One
    recurrent layer reads the passage and another the question, or one both (``shared``, as in DCN). The state of the
    question is what each direction knows at its end.

    What ids mean is its ``words``; None where it was built from a pretrained encoder instead of `Words`: then ids are
    those of that encoder's pieces.

    Args:
        config: Its options.
        source: `Words`; or a pretrained encoder or its configuration, whose pieces it then reads like words.
        summary: Never asked for, as it fills none.
    """

    class Config(EncoderConfig):
        """Options of the encoder."""

        reads_together: ClassVar[bool] = False

        cell: Cell = Field("gru", description="gru or lstm.")
        hidden: int = Field(128, ge=1, description="Width of the state of each direction.")
        directions: Literal[1, 2] = Field(2, description="2: the layer reads from both ends.")
        shared: bool = Field(False, description="Whether one layer reads passage and question.")
        vectors: Literal["encoder", "file", "random"] = Field(
            "encoder", description="encoder: the mean of the pretrained encoder's input rows of a word's pieces."
        )
        vectors_file: str | None = Field(None, description="File of vectors, as GloVe's; for vectors: file.")
        vector_spread: float = Field(
            1.0, gt=0, description="Root mean square of vectors' numbers; those of a file stay as they are."
        )
        vector_width: int = Field(128, ge=1, description="Width of random vectors.")
        train_vectors: bool = Field(False, description="Whether vectors are trained; else they stay as they are.")
        most_words: int = Field(50_000, ge=1, description="Most words of the vocabulary, the most frequent ones.")
        lowercase: bool = Field(True, description="Whether words are looked up in lower case.")
        character_width: int = Field(0, ge=0, description="Width of character n-gram vectors; 0: none.")
        tag_embedding: bool = Field(False, description="Whether to add an embedding of part-of-speech tags.")
        tag_count: int = Field(39, ge=2, description="Tags with PAD, SPE and ERR: 39, or 48 with punctuation's own.")
        tag_width: int = Field(16, ge=1, description="Width of the embedding of tags.")
        context: bool = Field(False, description="Whether to add vectors from the pretrained encoder, frozen.")
        word_dropout: float = Field(0.0, ge=0, lt=1, description="Share of the passage's words that become zero.")
        dropout: float = Field(0.0, ge=0, lt=1, description="Dropout of what the layer reads.")

        def fills(self) -> frozenset[str]:
            """What the encoder can give."""
            return STREAMS

    def __init__(self, config: Config, source: Any, *, summary: bool = False) -> None:
        super().__init__()
        table = vector_table(
            source,
            vectors=config.vectors,
            file=config.vectors_file,
            width=config.vector_width,
            spread=config.vector_spread,
        )
        self.words, self.lowercase = table.words, config.lowercase
        self.vectors: nn.Embedding = nn.Embedding.from_pretrained(
            table.vectors, freeze=not config.train_vectors, padding_idx=0
        )
        if not config.train_vectors:  # A fixed table is no parameter.
            weight = self.vectors.weight.detach()
            del self.vectors.weight
            self.vectors.register_buffer("weight", weight)
        self.ngrams = NGrams(table.spellings, config.character_width) if config.character_width else None
        self.tags = nn.Embedding(config.tag_count, config.tag_width, padding_idx=0) if config.tag_embedding else None
        self.context = ContextVectors(_transformer(source)) if config.context else None
        width = table.vectors.shape[1] + config.character_width
        width += config.tag_width if config.tag_embedding else 0
        width += self.context.width if self.context is not None else 0
        sides = 1 if config.shared else 2
        self.layers = nn.ModuleList(
            [Recurrence(width, config.hidden, cell=config.cell, directions=config.directions) for _ in range(sides)]
        )
        self.dropout, self.word_dropout = nn.Dropout(config.dropout), config.word_dropout
        self.directions = config.directions
        hidden = config.directions * config.hidden
        self.shape = EncoderShape(
            hidden,
            attention_heads=_heads(hidden),
            vocabulary=len(table.vectors),
            word_width=width,
        )
        self.max_length: int | None = None

    def describe(self) -> dict[str, Any]:
        """What it can be built from again, but for its weights."""
        size, width = self.vectors.weight.shape
        context = None if self.context is None else self.context.model.config.to_dict()
        words = None if self.words is None else list(self.words)
        return {"model_type": MODEL_TYPE, "words": words, "size": size, "width": width, "context": context}

    def forward(self, batch: Batch) -> Encoded:
        """Read both sides.

        Args:
            batch: S sequences, of which P positions are the passage domain and Q the question domain.

        Returns:
            Passage [S, P, H], question [S, Q, H], the question's state [S, H] and its word vectors [S, Q, D].
        """
        length = batch.passage_mask.shape[1]
        passage_mask, question_mask = _not_empty(batch.passage_mask), _not_empty(batch.question_mask)
        of_passage = self._words(batch.input_ids[:, :length], batch.tag_ids[:, :length])
        of_question = self._words(
            batch.input_ids.gather(1, batch.question_index), batch.tag_ids.gather(1, batch.question_index)
        )
        if self.context is not None:
            of_passage = torch.cat([of_passage, self._in_context(self.context, batch, "passage", passage_mask)], -1)
            of_question = torch.cat([of_question, self._in_context(self.context, batch, "question", question_mask)], -1)
        of_passage = of_passage * batch.passage_mask.unsqueeze(-1)
        of_question = of_question * batch.question_mask.unsqueeze(-1)
        if self.training and self.word_dropout:
            kept = torch.rand(of_passage.shape[:2], device=of_passage.device) >= self.word_dropout
            of_passage = of_passage * kept.unsqueeze(-1)
        passage = self.layers[0](self.dropout(of_passage), passage_mask)
        of_question = self.dropout(of_question)
        question = self.layers[-1](of_question, question_mask)
        return Encoded(
            passage=passage,
            question=question,
            passage_mask=passage_mask,
            question_mask=question_mask,
            option_mask=batch.option_mask,
            blank_mask=batch.blank_mask,
            question_state=last_states(question, question_mask, self.directions),
            question_words=of_question,
        )

    def _words(self, ids: Tensor, tags: Tensor) -> Tensor:
        """Vectors of words without context, [S, L] to [S, L, D]."""
        features = [self.vectors(ids)]
        if self.ngrams is not None:
            features.append(self.ngrams(ids))
        if self.tags is not None:
            features.append(self.tags(tags))
        return torch.cat(features, -1)

    def _in_context(self, context: ContextVectors, batch: Batch, side: str, mask: Tensor) -> Tensor:
        made: Tensor | None = getattr(batch, f"{side}_context")
        if made is not None:
            return made.to(self.vectors.weight.dtype)
        pieces, words = getattr(batch, f"{side}_pieces"), getattr(batch, f"{side}_piece_words")
        length = mask.shape[1]
        if pieces is None:  # What it reads are the transformer's own pieces.
            ids = batch.input_ids
            pieces = ids[:, :length] if side == "passage" else ids.gather(1, batch.question_index)
            words = torch.arange(length, device=ids.device).expand(len(ids), -1).masked_fill(~mask, PADDING)
        vectors: Tensor = context(pieces, words, length)
        return vectors.to(self.vectors.weight.dtype)


def _not_empty(mask: Tensor) -> Tensor:
    """A side without a word is read as one of zeros, so that nothing is undefined."""
    first = torch.zeros_like(mask)
    first[:, 0] = True
    return mask | (first & ~mask.any(1, keepdim=True))


def _heads(width: int) -> int:
    """As many heads as divide a width, twelve at most, for interactions that ask for the encoder's."""
    return max(heads for heads in range(1, 13) if width % heads == 0)


def _transformer(source: Any) -> Any:
    """Where context vectors come from."""
    if isinstance(source, Words):
        return source.encoder
    if isinstance(source, dict) and source.get("model_type") == MODEL_TYPE:
        return source["context"]
    return source


PART = RecurrentEncoder
