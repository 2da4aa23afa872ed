"""Any encoder of Hugging Face, with an embedding of part-of-speech tags."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from coattend.errors import CoattendError
from coattend.readers.attended import Encoded
from coattend.readers.batch import Batch
from coattend.readers.encoders.pretrained import encoder_folder, load_model, position_limit, word_table
from coattend.readers.linear import linear
from coattend.readers.parts import STREAMS, EncoderConfig, EncoderShape
from coattend.readers.pooling import masked_mean

__all__ = ["PART", "TransformerEncoder", "encoder_folder"]


ONE_MASK_FOR_ALL = ("deberta", "deberta-v2")
"""Families whose layers take a mask of tokens, and none of pairs of tokens."""


class TransformerEncoder(nn.Module):
    """BERT, ALBERT, RoBERTa, ELECTRA, DeBERTa, MiniLM, ModernBERT ...; E of POI-Net, section 2.1, and of DUMA, 4.1.

    With ``tag_embedding`` the input embedding is Norm(E_t + E_s + E_p + E_POS) (POI-Net, 2.1): E_POS, as wide as the
    word embedding E_t, is added to it before the encoder adds the others and normalises. It starts at zero, so that
    training starts from the pretrained encoder as it is; its padding row stays there.

    With ``hidden_tag_embedding`` another one, H wide, is added to what the encoder ends with: the parameters of the
    multi-head comparator in POI-Net's table 7 leave room for one (39 x H, inferred).

    With ``co_attention`` every self-attention becomes DUMA's co-attention, its pretrained weights kept (DUMA, section
    6.8 and table 11, "SA+CA"): what keeps a token from its own side is the mask alone.

    The bias of a self-attention's keys adds the same to every score of a softmax: it cannot get a gradient.

    Args:
        config: Its options.
        source: ``"embedded"``, a folder, a Hugging Face name, or a configuration for random weights.
        summary: Whether to make a vector of the whole sequence: the encoder's own pooler (its weights are random where
            the encoder was published without), or, for families that have none, a dense layer and tanh over [CLS].
    """

    class Config(EncoderConfig):
        """Options of the encoder."""

        reads_together: ClassVar[bool] = True

        dropout: float | None = Field(
            None, ge=0, lt=1, description="Dropout of hidden states and attention; null: as the encoder has it."
        )
        tag_embedding: bool = Field(False, description="Whether to add an embedding of part-of-speech tags.")
        hidden_tag_embedding: bool = Field(
            False, description="Whether to add another embedding of tags to the encoder's vectors."
        )
        co_attention: bool = Field(
            False,
            description="Whether its layers co-attend: passage tokens look at question tokens alone and back, and those"
            " with a sliding window too at the whole other side.",
        )
        tag_count: int = Field(39, ge=2, description="Tags with PAD, SPE and ERR: 39, or 48 with punctuation's own.")

        def fills(self) -> frozenset[str]:
            """What the encoder can give."""
            return STREAMS | {"summary"}

    def __init__(
        self, config: Config, source: "str | Path | Mapping[str, Any] | Any", *, summary: bool = False
    ) -> None:
        super().__init__()
        self.model = load_model(source, dropout=config.dropout, pooler=summary)
        family = self.model.config.model_type
        if config.co_attention and family in ONE_MASK_FOR_ALL:
            raise CoattendError(
                f"{family} cannot let tokens look at different others", where="co_attention", cure="Take BERT's kin"
            )
        words = word_table(self.model)
        self.tags: nn.Embedding | None = None
        if config.tag_embedding:
            self.tags = nn.Embedding(config.tag_count, words.embedding_dim, padding_idx=0)
            nn.init.zeros_(self.tags.weight)
        hidden = self.model.config.hidden_size
        self.hidden_tags: nn.Embedding | None = None
        if config.hidden_tag_embedding:
            self.hidden_tags = nn.Embedding(config.tag_count, hidden, padding_idx=0)
            nn.init.zeros_(self.hidden_tags.weight)
        self.shape = EncoderShape(hidden, self.model.config.num_attention_heads, words.num_embeddings)
        self.pooler: nn.Module | None = None
        if summary and getattr(self.model, "pooler", None) is None:
            self.pooler = nn.Sequential(linear(hidden, hidden), nn.Tanh())
        self._summary, self._co_attention = summary, config.co_attention
        self._typed = (getattr(self.model.config, "type_vocab_size", None) or 0) > 1
        self.max_length = position_limit(self.model)

    def describe(self) -> dict[str, Any]:
        """The encoder's configuration, from which one with random weights can be built."""
        return self.model.config.to_dict()

    def forward(self, batch: Batch) -> Encoded:
        """Encode sequences and split them into passage and question.

        Args:
            batch: S sequences of N tokens, of which P positions are the passage domain and Q the question domain.

        Returns:
            Passage [S, P, H], question [S, Q, H], its mean as the question's state [S, H], and summary [S, H] if it was
            asked for.

        Raises:
            CoattendError: If the sequences are longer than the encoder can read, or an id is out of range.
        """
        hidden = self.read(batch) if batch.hidden is None else batch.hidden  # [S, N, H]
        summary = self._summarize(hidden) if self._summary else None
        if self.hidden_tags is not None:
            hidden = hidden + self.hidden_tags(batch.tag_ids)
        question = hidden.gather(1, batch.question_index.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))
        return Encoded(
            passage=hidden[:, : batch.passage_mask.shape[1]],
            question=question,
            passage_mask=batch.passage_mask,
            question_mask=batch.question_mask,
            option_mask=batch.option_mask,
            blank_mask=batch.blank_mask,
            question_state=masked_mean([question], [batch.question_mask]),
            summary=summary,
        )

    def read(self, batch: Batch) -> Tensor:
        """What the pretrained layers make of sequences [S, N, H]."""
        length = batch.input_ids.shape[1]
        if self.max_length is not None and length > self.max_length:
            raise CoattendError(
                f"a sequence has {length} tokens and the encoder reads at most {self.max_length}",
                cure="Lower training.max_length",
            )
        try:
            hidden: Tensor = self.model(attention_mask=self._mask(batch), **self._inputs(batch)).last_hidden_state
        except IndexError:
            self._refuse_unknown_ids(batch)
            raise
        return hidden

    def _mask(self, batch: Batch) -> Tensor:
        """Which tokens a token may look at: [S, N], or with co-attention [S, 1, N, N]."""
        return co_attention_mask(batch).unsqueeze(1) if self._co_attention else batch.attention_mask

    def _inputs(self, batch: Batch) -> dict[str, Tensor]:
        types = {"token_type_ids": batch.token_type_ids} if self._typed else {}
        if self.tags is None:
            return {"input_ids": batch.input_ids, **types}
        words = word_table(self.model)(batch.input_ids)
        return {"inputs_embeds": words + self.tags(batch.tag_ids), **types}

    def _summarize(self, hidden: Tensor) -> Tensor:
        summary: Tensor
        if self.pooler is not None:
            summary = self.pooler(hidden[:, 0])
        elif isinstance(self.model.pooler, nn.Linear):  # ALBERT's, whose activation stands beside it.
            summary = self.model.get_submodule("pooler_activation")(self.model.pooler(hidden[:, 0]))
        else:
            summary = self.model.get_submodule("pooler")(hidden)
        return summary

    def freeze(self) -> None:
        """Leave the pretrained layers, and what is added to their input, as they are."""
        for part in (self.model, self.tags):
            if part is not None:
                part.requires_grad_(False)

    def _refuse_unknown_ids(self, batch: Batch) -> None:
        words = word_table(self.model)
        tables = [("token", batch.input_ids, words, "Use the encoder's own tokenizer")]
        if self.tags is not None:
            cure = "Set tag_count to the number of tags of the tagging profile"
            tables.append(("tag", batch.tag_ids, self.tags, cure))
        for kind, ids, table, cure in tables:
            if int(ids.max()) >= table.num_embeddings:
                known = f"and the reader knows {table.num_embeddings}"
                raise CoattendError(f"a {kind} has the id {int(ids.max())}, {known}", cure=cure) from None


def co_attention_mask(batch: Batch) -> Tensor:
    """Which tokens each token may look at if every self-attention is replaced by co-attention (DUMA, section 6.8).

    Args:
        batch: S sequences of N tokens.

    Returns:
        [S, N, N]: tokens of the passage domain see the question domain, and the other way round; padding sees all real
        tokens, so that nothing of it is undefined.
    """
    real = batch.attention_mask
    passage = torch.zeros_like(real)
    passage[:, : batch.passage_mask.shape[1]] = batch.passage_mask
    other = passage.unsqueeze(2) != passage.unsqueeze(1)
    return real.unsqueeze(1) & (other | ~real.unsqueeze(2))


PART = TransformerEncoder
