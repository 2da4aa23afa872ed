"""Transformer encoder: any encoder of Hugging Face, with an embedding of part-of-speech tags."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from coattend.errors import CoattendError
from coattend.readers.batch import Batch
from coattend.readers.encoders.configs import TransformerConfig
from coattend.readers.encoders.pretrained import has_untrained_pooler, load_model, position_limit, word_table
from coattend.readers.interfaces import Encoded, EncoderShape
from coattend.readers.layers.initializers import linear
from coattend.readers.layers.masked import masked_mean

logger = logging.getLogger(__name__)

WITHOUT_PAIR_MASKS = ("deberta", "deberta-v2")
"""Families whose layers accept a mask of tokens, but not of pairs of tokens."""


class TransformerEncoder(nn.Module):
    """BERT, ALBERT, RoBERTa, ELECTRA, DeBERTa, MiniLM, ModernBERT ...; E of POI-Net, section 2.1, and of DUMA, 4.1.

    With ``tag_embedding`` the input embedding is Norm(E_t + E_s + E_p + E_POS) (POI-Net, 2.1): E_POS, as wide as the
    word embedding E_t, is added to it before the encoder adds the others and normalises. It starts at zero, so that
    training starts from the unchanged pretrained encoder; its padding row stays there.

    With ``hidden_tag_embedding`` another embedding, H wide, is added to the encoder's last hidden states: the
    parameters of the multi-head comparator in POI-Net's table 7 leave room for one (39 x H, inferred).

    With ``co_attention`` every self-attention becomes DUMA's co-attention, with its pretrained weights (DUMA, section
    6.8 and table 11, "SA+CA"): only the mask keeps a token from attending to its own side.

    The bias of a self-attention's keys adds the same to every score of a softmax: it cannot get a gradient.

    Args:
        source: ``"embedded"``, a folder, a Hugging Face name, or a configuration for random weights.
        summary: Whether to provide a vector of the whole sequence: from the encoder's own pooler (its weights are
            random if the encoder was published without, or with an untrained one, as MiniLM was), or, for families
            without one, from a dense layer and tanh over [CLS].
    """

    Config = TransformerConfig

    def __init__(
        self, config: TransformerConfig, source: "str | Path | Mapping[str, Any] | Any", *, summary: bool = False
    ) -> None:
        super().__init__()
        self.model = load_model(source, dropout=config.dropout, pooler=summary)
        family = self.model.config.model_type
        if config.co_attention and family in WITHOUT_PAIR_MASKS:
            raise CoattendError(
                f"{family} cannot let tokens look at different others", where="co_attention", cure="Take BERT's kin"
            )
        words = word_table(self.model)
        # Embeddings of tags start at zero: at first the pretrained encoder is unchanged.
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
        """Return the encoder's configuration, from which one with random weights can be built."""
        return self.model.config.to_dict()

    def forward(self, batch: Batch) -> Encoded:
        """Encode sequences and split them into passage [S, P, H] and question [S, Q, H].

        The mean of the question is its state [S, H]; there is a summary [S, H] if the head requires it.

        Raises:
            CoattendError: If the sequences are longer than the encoder can read, or an id is out of range.
        """
        hidden = self.read(batch) if batch.hidden is None else batch.hidden  # [S, N, H]
        # The summary is taken before embeddings of tags are added: the pooler was pretrained without them.
        summary = self._summarize(hidden) if self._summary else None
        if self.hidden_tags is not None:
            hidden = hidden + self.hidden_tags(batch.tag_ids)
        # The passage is a prefix of the sequence; the question's positions differ between sequences.
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
        """Compute the last hidden states of the pretrained layers [S, N, H]."""
        length = batch.input_ids.shape[1]
        if self.max_length is not None and length > self.max_length:
            raise CoattendError(
                f"a sequence has {length} tokens and the encoder reads at most {self.max_length}",
                cure="Lower training.max_length",
            )
        try:
            mask = co_attention_mask(batch).unsqueeze(1) if self._co_attention else batch.attention_mask
            hidden: Tensor = self.model(attention_mask=mask, **self._inputs(batch)).last_hidden_state
        except IndexError:
            self._refuse_unknown_ids(batch)
            raise
        return hidden

    def _inputs(self, batch: Batch) -> dict[str, Tensor]:
        types = {"token_type_ids": batch.token_type_ids} if self._typed else {}
        if self.tags is None:
            return {"input_ids": batch.input_ids, **types}
        # E_POS is added to E_t; the encoder itself adds the other embeddings and normalises.
        words = word_table(self.model)(batch.input_ids)
        return {"inputs_embeds": words + self.tags(batch.tag_ids), **types}

    def _summarize(self, hidden: Tensor) -> Tensor:
        # Families differ in their poolers.
        summary: Tensor
        if self.pooler is not None:
            summary = self.pooler(hidden[:, 0])
        elif isinstance(self.model.pooler, nn.Linear):  # ALBERT's, whose activation is a separate module.
            summary = self.model.get_submodule("pooler_activation")(self.model.pooler(hidden[:, 0]))
        else:
            summary = self.model.get_submodule("pooler")(hidden)
        return summary

    @property
    def frozen_parts(self) -> tuple[nn.Module, ...]:
        """The modules that `freeze` excludes from training, which `read` runs."""
        return (self.model,) if self.tags is None else (self.model, self.tags)

    @property
    def summarises_at_random(self) -> bool:
        """True if the summary is made by the pretrained model's own pooler, and that was never trained."""
        return self._summary and has_untrained_pooler(self.model)

    def freeze(self) -> None:
        """Exclude the pretrained layers, and the tag embedding at their input, from training; their pooler, too."""
        if self.summarises_at_random:
            logger.warning(
                "the encoder's pooler was never trained, and is frozen: what is scored is a random map of [CLS]; "
                "pooling: mean scores what the encoder has learned"
            )
        for part in self.frozen_parts:
            part.requires_grad_(False)

    def _refuse_unknown_ids(self, batch: Batch) -> None:
        # An IndexError names neither the id nor the table: find out which id is too large.
        words = word_table(self.model)
        tables = [("token", batch.input_ids, words, "Use the encoder's own tokenizer")]
        if self.tags is not None:
            cure = "Set tag_count to the number of tags of the tagging profile"
            tables.append(("tag", batch.tag_ids, self.tags, cure))
        for unit, ids, table, cure in tables:
            if int(ids.max()) >= table.num_embeddings:
                problem = f"a {unit} has the id {int(ids.max())}, and the reader knows {table.num_embeddings}"
                raise CoattendError(problem, cure=cure) from None


def co_attention_mask(batch: Batch) -> Tensor:
    """Build the attention mask [S, N, N] that turns every self-attention into co-attention (DUMA, section 6.8).

    Tokens of the passage domain attend to the question domain, and vice versa; padding attends to all real tokens, so
    that no softmax is undefined.
    """
    # Tokens of the passage domain; all other real tokens belong to the question domain.
    real = batch.attention_mask
    passage = torch.zeros_like(real)
    passage[:, : batch.passage_mask.shape[1]] = batch.passage_mask
    across = passage.unsqueeze(2) != passage.unsqueeze(1)
    return real.unsqueeze(1) & (across | ~real.unsqueeze(2))


PART = TransformerEncoder
