"""Recurrent encoder: word vectors with features, and a recurrent layer over each side."""

from typing import Any

import torch
from torch import Tensor, nn

from coattend.readers.batch import Batch
from coattend.readers.encoders.configs import RecurrentConfig
from coattend.readers.encoders.word_embeddings import MODEL_TYPE, Words, vector_table
from coattend.readers.encoders.word_features import PADDING, ContextVectors, NGrams
from coattend.readers.interfaces import Encoded, EncoderShape
from coattend.readers.layers.recurrent import Recurrence, last_states


class RecurrentEncoder(nn.Module):
    """The encoder of the cloze readers (AoA, "Contextual Embedding") and of DCN and DCN+ (DCN+, equation 1).

    A word is its vector, concatenated with optional features: character n-grams, its tag, and a vector of its context.
    One recurrent layer reads the passage and another the question, or one reads both (``shared``, as in DCN). The
    question's state is the last state of each direction.

    Its vocabulary is ``words``; None if it was built from a pretrained encoder instead of `Words`: then ids are those
    of that encoder's subwords.

    Args:
        source: `Words`; or a pretrained encoder or its configuration, whose subwords it then reads like words.
        summary: Always false, as it provides no summary.
    """

    Config = RecurrentConfig

    def __init__(self, config: RecurrentConfig, source: Any, *, summary: bool = False) -> None:
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
        # A word's vector and its features are concatenated.
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
        self.shape = EncoderShape(hidden, _head_count(hidden), vocabulary=len(table.vectors), word_width=width)
        self.max_length: int | None = None

    def describe(self) -> dict[str, Any]:
        """Return the ``source`` from which it can be built again, without its weights."""
        size, width = self.vectors.weight.shape
        context = None if self.context is None else self.context.model.config.to_dict()
        words = None if self.words is None else list(self.words)
        return {"model_type": MODEL_TYPE, "words": words, "size": size, "width": width, "context": context}

    def forward(self, batch: Batch) -> Encoded:
        """Encode passage [S, P, H] and question [S, Q, H], its state [S, H] and its word vectors [S, Q, D]."""
        passage_mask, question_mask = _not_empty(batch.passage_mask), _not_empty(batch.question_mask)
        # Word vectors with their features [S, P, D] and [S, Q, D], zero at padding.
        passage_words = self._embed(batch, "passage", passage_mask) * batch.passage_mask.unsqueeze(-1)
        question_words = self._embed(batch, "question", question_mask) * batch.question_mask.unsqueeze(-1)
        # Word dropout hides whole words of the passage in training.
        if self.training and self.word_dropout:
            visible = torch.rand(passage_words.shape[:2], device=passage_words.device) >= self.word_dropout
            passage_words = passage_words * visible.unsqueeze(-1)
        passage = self.layers[0](self.dropout(passage_words), passage_mask)
        question_words = self.dropout(question_words)
        question = self.layers[-1](question_words, question_mask)
        return Encoded(
            passage=passage,
            question=question,
            passage_mask=passage_mask,
            question_mask=question_mask,
            option_mask=batch.option_mask,
            blank_mask=batch.blank_mask,
            question_state=last_states(question, question_mask, self.directions),
            question_words=question_words,
        )

    def _embed(self, batch: Batch, side: str, mask: Tensor) -> Tensor:
        """Concatenate the vectors of a side's words with their features [S, L, D]."""
        ids, tags = (
            tokens[:, : mask.shape[1]] if side == "passage" else tokens.gather(1, batch.question_index)
            for tokens in (batch.input_ids, batch.tag_ids)
        )
        features = [self.vectors(ids)]
        if self.ngrams is not None:
            features.append(self.ngrams(ids))
        if self.tags is not None:
            features.append(self.tags(tags))
        if self.context is not None:
            vectors: Tensor | None = getattr(batch, f"{side}_context")
            if vectors is None:
                vectors = self._context_vectors(self.context, batch, side, ids, mask)
            features.append(vectors.to(self.vectors.weight.dtype))
        return torch.cat(features, -1)

    def _context_vectors(self, context: ContextVectors, batch: Batch, side: str, ids: Tensor, mask: Tensor) -> Tensor:
        subwords, words = getattr(batch, f"{side}_pieces"), getattr(batch, f"{side}_piece_words")
        if subwords is None:  # The batch consists of the transformer's own subwords, each a word of its own.
            subwords = ids
            words = torch.arange(mask.shape[1], device=ids.device).expand(len(ids), -1).masked_fill(~mask, PADDING)
        vectors: Tensor = context(subwords, words, mask.shape[1])
        return vectors


def _not_empty(mask: Tensor) -> Tensor:
    """Make the first token of a side without words real: a vector of zeros, so that nothing is undefined."""
    first = torch.zeros_like(mask)
    first[:, 0] = True
    return mask | (first & ~mask.any(1, keepdim=True))


def _head_count(width: int) -> int:
    """Return the largest number of heads, twelve at most, that divides a width; for multi-head interactions."""
    return max(heads for heads in range(1, 13) if width % heads == 0)


def _transformer(source: Any) -> Any:
    """Return the source of the transformer that computes context vectors."""
    if isinstance(source, Words):
        return source.encoder
    if isinstance(source, dict) and source.get("model_type") == MODEL_TYPE:
        return source["context"]
    return source


PART = RecurrentEncoder
