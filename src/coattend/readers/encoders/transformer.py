"""Transformer encoder: any encoder of Hugging Face, with an embedding of part-of-speech tags."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from coattend.errors import CoattendError
from coattend.readers.batch import Batch
from coattend.readers.encoders.configs import TransformerConfig
from coattend.readers.encoders.packed_sequences import PackedSequences, reads_packed
from coattend.readers.encoders.pair_masks import apart_mask, check_takes_pairs, co_attention_mask, read_under_pairs
from coattend.readers.encoders.passage_apart import FAST, LayerStack, PassageCache, PassageRows, layers_of
from coattend.readers.encoders.pretrained import (
    ATTENTION_NAME,
    attention_window,
    has_untrained_pooler,
    is_decoder,
    let_tokens_see_all,
    load_model,
    position_limit,
    word_table,
)
from coattend.readers.interfaces import Encoded, EncoderShape
from coattend.readers.layers.attention import LastCall, attention_weights, watched_attention
from coattend.readers.layers.initializers import linear
from coattend.readers.layers.masked import masked_mean

if TYPE_CHECKING:
    from transformers import PreTrainedModel

logger = logging.getLogger(__name__)


class TransformerEncoder(nn.Module):
    """BERT, ALBERT, RoBERTa, ELECTRA, DeBERTa, MiniLM, ModernBERT ...; E of POI-Net, section 2.1, and of DUMA, 4.1.

    With ``tag_embedding`` the input embedding is Norm(E_t + E_s + E_p + E_POS) (POI-Net, 2.1): E_POS, as wide as the
    word embedding E_t, is added to it before the encoder adds the others and normalises. It starts at zero, so that
    training starts from the unchanged pretrained encoder; its padding row stays there.

    With ``hidden_tag_embedding`` another embedding, H wide, is added to the encoder's last hidden states: the
    parameters of the multi-head comparator in POI-Net's table 7 leave room for one (39 x H, inferred).

    With ``co_attention`` every self-attention becomes DUMA's co-attention, with its pretrained weights (DUMA, section
    6.8 and table 11, "SA+CA"): only the mask keeps a token from attending to its own side.

    With ``passage: apart`` its first ``apart_layers`` read each distinct passage of a batch once, for all of the
    segments (question and option) that ask about it. In those layers a passage does not see what is asked; a segment
    sees itself and, with ``segments: reads``, its passage. Later layers read sequences, as without the option. It
    differs from the papers' readers unless ``apart_layers`` is 0. Some families read whole sequences under a mask of
    pairs instead, which gives the same vectors and saves no time.

    A decoder (Llama, Qwen ...) is causal, or with ``attention: bidirectional`` reads as encoders do; its summary is
    taken from the last token, which has seen all others in both cases.

    The bias of a self-attention's keys adds the same to every score of a softmax: it cannot get a gradient.

    Args:
        source: ``"embedded"``, a folder, a Hugging Face name, or a configuration for random weights.
        summary: Whether to provide a vector of the whole sequence: from the encoder's own pooler (its weights are
            random if the encoder was published without, or with an untrained one, as MiniLM was), or, for families
            without one, from a dense layer and tanh over [CLS], of a decoder over the last token.

    Attributes:
        config: Its options; ``attention`` is that of the model where it was null, and ``apart_layers`` null for all.
    """

    Config = TransformerConfig

    def __init__(
        self, config: TransformerConfig, source: "str | Path | Mapping[str, Any] | Any", *, summary: bool = False
    ) -> None:
        super().__init__()
        self.model = load_model(source, dropout=config.dropout, pooler=summary, layers=config.encoder_layers)
        config = _with_attention(config, self.model)
        if config.apart_layers == self.model.config.num_hidden_layers:
            config = config.model_copy(update={"apart_layers": None})
        self.config = config
        self.stack: LayerStack | None = None
        self.passage_cache: PassageCache | None = None
        """Passages that were read before, for readers that do not learn any more; None: each is read anew."""
        if config.passage == "apart":
            self.stack = _stack_of(self.model, config)
        if config.co_attention or (config.passage == "apart" and self.stack is None):
            check_takes_pairs(self.model, "co_attention" if config.co_attention else "passage: apart")
        self.keep_attention = False
        """Whether to keep what the last layer attends to, for `passage_attention`."""
        self._last_layer: tuple[LastCall, PassageRows | None] | None = None
        packs = config.passage == "joint" and not config.co_attention and self.model.config.model_type in FAST
        self.packing = LayerStack(self.model) if packs else None
        """Layers that read sequences without padding where a GPU can; None: they are read padded."""
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

    def passage_attention(self, batch: Batch) -> Tensor | None:
        """Return the share of its attention that the question domain of each sequence gave to each passage token in the
        last layer, averaged over heads and tokens [S, P]; the batch is the one that was read last, with
        ``keep_attention``.

        None if the attention is not computed by this package, as for families with a bias of their own.
        """
        call, rows = self._last_layer or (LastCall(), None)
        if call.query is None or call.key is None:
            return None
        if rows is not None:
            weights = rows.passage_weights(call)
        else:
            index = batch.question_index[:, None, :, None]
            query = call.query.gather(2, index.expand(-1, call.query.shape[1], -1, call.query.shape[3]))
            mask = call.mask
            if mask is not None and mask.shape[2] > 1:
                mask = mask.gather(2, index.expand(-1, -1, -1, mask.shape[3]))
            weights = attention_weights(query, call.key, mask).mean(1)[..., : batch.passage_mask.shape[1]]
        attention = masked_mean([weights], [batch.question_mask])
        return attention.masked_fill(~batch.passage_mask, 0.0)

    def describe(self) -> dict[str, Any]:
        """Return the encoder's configuration, from which one with random weights can be built."""
        return self.model.config.to_dict()

    def forward(self, batch: Batch) -> Encoded:
        """Encode sequences and split them into passage [S, P, H] and question [S, Q, H].

        The mean of the question is its state [S, H]; there is a summary [S, H] if the head requires it.

        Raises:
            CoattendError: If the sequences are longer than the encoder can read, or an id is out of range.
        """
        rows = None
        with watched_attention() if self.keep_attention else nullcontext() as call:
            if batch.hidden is not None:
                hidden = batch.hidden  # [S, N, H]
            elif self.stack is not None and self.config.apart_to_the_end:
                rows, hidden = self._read_rows(batch, self.stack)
            else:
                hidden = self.read(batch)
        self._last_layer = None if call is None else (call, rows)
        if rows is not None:
            # Rows are split at once into passages and segments: no sequence is put together.
            passage, question = rows.split(hidden)
            summary = None
        else:
            # The summary is taken before embeddings of tags are added: the pooler was pretrained without them.
            summary = self._summarize(hidden, batch) if self._summary else None
            # The passage is a prefix of the sequence; the question's positions differ between sequences.
            passage, question = hidden[:, : batch.passage_mask.shape[1]], _at(hidden, batch.question_index)
        if self.hidden_tags is not None:
            passage = passage + self.hidden_tags(batch.tag_ids[:, : passage.shape[1]])
            question = question + self.hidden_tags(batch.tag_ids.gather(1, batch.question_index))
        return Encoded(
            passage=passage,
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
        if self.packing is not None and self._reads_packed(batch):
            return self._read_packed(batch, self.packing)
        if self.stack is None:
            with self._explained(batch):
                return self._read_whole(batch)
        rows, packed = self._read_rows(batch, self.stack)
        sequences = rows.unpack(packed, batch)
        if self.config.apart_layers is None:
            return sequences
        later = slice(self.config.apart_layers, None)
        return self.stack.finish(self.stack.over_sequences(sequences, batch.attention_mask, later))

    def _reads_packed(self, batch: Batch) -> bool:
        config = self.model.config
        head_width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        # Families differ in the name of the dropout of the attention weights.
        names = ("attention_probs_dropout_prob", "attention_dropout")
        dropout = max(getattr(config, name, 0.0) for name in names) if self.training else 0.0
        own = config._attn_implementation == ATTENTION_NAME  # Maps of attention are drawn by another one.
        return own and reads_packed(batch, head_width=head_width, dropout=dropout)

    def _read_packed(self, batch: Batch, stack: LayerStack) -> Tensor:
        """Run the layers over the real tokens of all sequences: the same hidden states [S, N, H], zero at padding."""
        rows = PackedSequences.of(batch)
        with self._explained(batch):
            hidden = stack.embed(rows.position, **self._inputs(batch, rows))
            hidden = stack.over_rows(hidden, rows.position, rows, slice(None))
        return rows.unpack(stack.finish(hidden))

    def _read_rows(self, batch: Batch, stack: LayerStack) -> tuple[PassageRows, Tensor]:
        """Run the layers that read passages apart: rows and their hidden states [A, P + M, H]."""
        rows = PassageRows.of(batch, blind=self.config.segments == "blind")
        layers = slice(self.config.apart_layers)
        with self._explained(batch):
            inputs = self._inputs(batch, rows)
            if self.passage_cache is None:
                hidden = stack.over_rows(stack.embed(rows.position, **inputs), rows.position, rows, layers)
            else:
                hidden = self.passage_cache.read(stack, rows, layers, **inputs)
        return rows, stack.finish(hidden) if self.config.apart_layers is None else hidden

    @contextmanager
    def whole_sequences(self) -> Iterator[None]:
        """Read whole sequences under a mask meanwhile, so that the encoder of transformers shows all of its attention;
        for encoders with `reads_under_one_mask`."""
        stack, self.stack = self.stack, None
        try:
            yield
        finally:
            self.stack = stack

    @contextmanager
    def _explained(self, batch: Batch) -> Iterator[None]:
        """Refuse sequences that are too long, and tell which id is out of range where one is."""
        length = batch.input_ids.shape[1]
        if self.max_length is not None and length > self.max_length:
            raise CoattendError(
                f"a sequence has {length} tokens and the encoder reads at most {self.max_length}",
                cure="Lower training.max_length",
            )
        try:
            yield
        except IndexError:
            self._refuse_unknown_ids(batch)
            raise

    def _read_whole(self, batch: Batch) -> Tensor:
        """Read sequences [S, N, H], perhaps under a mask of pairs of tokens."""
        inputs = self._inputs(batch)
        if self._co_attention:
            pairs = co_attention_mask(batch)
        elif self.config.passage == "apart":
            pairs = apart_mask(batch, blind=self.config.segments == "blind")
        else:
            hidden: Tensor = self.model(attention_mask=batch.attention_mask, **inputs).last_hidden_state
            return hidden
        return read_under_pairs(self.model, inputs, batch.attention_mask, pairs)

    def _inputs(self, batch: Batch, rows: PassageRows | PackedSequences | None = None) -> dict[str, Tensor]:
        """Return the inputs of the encoder's embeddings, of sequences [S, N], of rows [A, P + M] or of one [1, T]."""
        ids, types, tags = (
            values if rows is None else rows.pack(values)
            for values in (batch.input_ids, batch.token_type_ids, batch.tag_ids)
        )
        inputs = {"token_type_ids": types} if self._typed else {}
        if self.tags is None:
            return {"input_ids": ids, **inputs}
        # E_POS is added to E_t; the encoder itself adds the other embeddings and normalises.
        return {"inputs_embeds": word_table(self.model)(ids) + self.tags(tags), **inputs}

    def _summarize(self, hidden: Tensor, batch: Batch) -> Tensor:
        # Families differ in their poolers.
        summary: Tensor
        if self.pooler is not None and is_decoder(self.model.config):
            last = batch.attention_mask.sum(1, keepdim=True) - 1
            summary = self.pooler(_at(hidden, last).squeeze(1))
        elif self.pooler is not None:
            summary = self.pooler(hidden[:, 0])
        elif isinstance(self.model.pooler, nn.Linear):  # ALBERT's, whose activation is a separate module.
            summary = self.model.get_submodule("pooler_activation")(self.model.pooler(hidden[:, 0]))
        else:
            summary = self.model.get_submodule("pooler")(hidden)
        return summary

    @property
    def reads_under_one_mask(self) -> bool:
        """True if the same tokens see each other in all layers."""
        return self.config.passage == "joint" or self.config.apart_layers is None

    @property
    def reads_passages_once(self) -> bool:
        """True if its vectors of a passage depend on the passage alone."""
        return self.config.apart_to_the_end

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
        # An embedding behind the encoder is trained, and has an effect.
        if self.tags is not None and self.hidden_tags is None and not self.tags.weight.any():
            logger.warning(
                "the embedding of tags at the encoder's input begins at zero, and is frozen with it: tags have no "
                "effect; hidden_tag_embedding: true adds one behind the encoder, which is trained"
            )
        for part in self.frozen_parts:
            part.requires_grad_(False)

    def checkpoint_gradients(self) -> None:
        """Compute hidden states inside the pretrained layers again for the gradient, instead of keeping them."""
        family = self.model.config.model_type
        if self.model.supports_gradient_checkpointing:
            self.model.activation_checkpointing_enable()
        elif family == "albert":  # Its layers, which share their weights, lack what those of transformers' others have.
            for layer in set(layers_of(self.model)):
                layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)
        else:
            problem = f"cannot be: layers of {family} keep what they compute"
            raise CoattendError(problem, where="training.gradient_checkpointing", cure="Set it to false")

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


def _at(hidden: Tensor, positions: Tensor) -> Tensor:
    """Select vectors of sequences [S, N, H] at positions [S, Q]: [S, Q, H]."""
    return hidden.gather(1, positions.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))


def _with_attention(config: TransformerConfig, model: "PreTrainedModel") -> TransformerConfig:
    """Give a decoder the attention that is configured; return the options with the attention that the model has.

    Raises:
        CoattendError: If the model cannot have that attention, or the attention does not go with other options.
    """
    if not is_decoder(model.config):
        if config.attention == "causal":
            problem = f"does not go with {model.config.model_type}, which was trained to read in both directions"
            raise CoattendError(problem, where="attention: causal", cure="Leave attention out, or take a decoder")
        return config
    if config.attention == "bidirectional":
        let_tokens_see_all(model)
        if attention_window(model.config) is not None and config.passage == "apart":
            problem = f"does not go with {model.config.model_type}, some layers of which see a window alone"
            raise CoattendError(problem, where="passage: apart", cure="Set passage to joint")
        return config
    for option, is_set in (("passage: apart", config.passage == "apart"), ("co_attention", config.co_attention)):
        if is_set:
            problem = "does not go with causal attention, in which a passage never sees its question"
            raise CoattendError(problem, where=option, cure="Set attention to bidirectional, or leave this out")
    return config.model_copy(update={"attention": "causal"})


def _stack_of(model: "PreTrainedModel", config: TransformerConfig) -> LayerStack | None:
    """Return the layers of an encoder that reads passages once, or None if it reads under a mask of pairs instead.

    Raises:
        CoattendError: If the encoder cannot read passages apart, or not in so many layers.
    """
    if config.co_attention:
        problem = "does not go with co-attention inside the encoder"
        raise CoattendError(problem, where="passage: apart", cure="Set passage to joint")
    family, layers = model.config.model_type, model.config.num_hidden_layers
    if config.apart_layers is not None and config.apart_layers > layers:
        problem = f"is {config.apart_layers}, and the encoder has {layers}"
        raise CoattendError(problem, where="apart_layers", cure="Set it to null for all of them")
    if family in FAST and model.config._attn_implementation == ATTENTION_NAME:
        return LayerStack(model)
    if config.apart_layers is not None:
        problem = f"a {family} encoder reads passages apart in all layers only"
        raise CoattendError(problem, where="apart_layers", cure="Set it to null, or passage to joint for none of them")
    return None


PART = TransformerEncoder
