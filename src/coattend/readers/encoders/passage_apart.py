"""Reading a passage once for all of its questions and options: rows of a passage and its segments side by side."""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from coattend.readers.batch import Batch
from coattend.readers.interfaces import require
from coattend.readers.layers.attention import LastCall, attend, attention_weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel

BERT_LIKE = ("bert", "roberta", "xlm-roberta", "camembert", "electra")
"""Families whose layers stand in ``encoder.layer`` and take positions in their embeddings."""

FAST = (*BERT_LIKE, "albert", "modernbert")
"""Families that read rows; others that take a mask of pairs read whole sequences under such a mask, which is slower."""


_Masks = dict[str | None, Any]
"""A mask of transformers for each kind of layer; None: for layers of one kind."""


class AttentionPattern(Protocol):
    """Computes the attention of an encoder's layers, in the order in which they run."""

    def attend(self, query: Tensor, key: Tensor, value: Tensor, *, dropout: float, window: int | None) -> Tensor:
        """Attend with queries, keys and values [A, heads, L, d]; tokens further apart than a window see no other."""


@dataclass(frozen=True, kw_only=True)
class PassageRows:
    """A row for each of A distinct passages: its P tokens, and M tokens of the segments that ask about it, packed.

    A segment is the question domain of one sequence. Its tokens keep the positions that they have in the sequence.

    Attributes:
        blind: True if segments do not see the passage.
        row: The row of each sequence [S].
        column: Where in the row the tokens of each segment stand [S, Q], counted from the passage's end; arbitrary at
            padding.
        source: The sequence that each token of a row is copied from [A, P + M].
        position: Its position there [A, P + M]; 0 at padding.
        passage_mask: True at the passage's real tokens [A, P].
        segment: The sequence that each packed token belongs to [A, M]; -1 at padding.
    """

    blind: bool
    row: Tensor
    column: Tensor
    source: Tensor
    position: Tensor
    passage_mask: Tensor
    segment: Tensor
    _masks: dict[int | None, tuple[Tensor, Tensor]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, batch: Batch, *, blind: bool) -> "PassageRows":
        """Pack the sequences of a batch; without ``passage_of`` each has a passage of its own."""
        mask, device = batch.question_mask, batch.question_mask.device
        count, passage_length = len(mask), batch.passage_mask.shape[1]
        numbers = torch.arange(count, device=device)
        row = numbers if batch.passage_of is None else batch.passage_of
        rows = int(row.max()) + 1
        first = torch.full((rows,), count, device=device).scatter_reduce(0, row, numbers, "amin")
        # The segments of a row stand one behind the other, in the order of their sequences.
        lengths = mask.sum(1)
        order = row.argsort(stable=True)
        before = lengths[order].cumsum(0) - lengths[order]
        row_start = torch.full((rows,), int(lengths.sum()), device=device).scatter_reduce(0, row[order], before, "amin")
        offset = torch.empty_like(lengths)
        offset[order] = before - row_start[row[order]]
        packed_length = int(torch.zeros_like(row_start).scatter_add(0, row, lengths).max())
        column = (offset.unsqueeze(1) + torch.arange(mask.shape[1], device=device)).clamp_max(packed_length - 1)
        # Each packed token is copied from its sequence; padding is copied from the first token, and seen by none.
        packed = row.unsqueeze(1).expand_as(column)[mask], column[mask]
        segment = torch.full((rows, packed_length), -1, device=device)
        segment[packed] = numbers.unsqueeze(1).expand_as(column)[mask]
        packed_position = torch.zeros_like(segment)
        packed_position[packed] = batch.question_index[mask]
        positions = torch.arange(passage_length, device=device) * batch.passage_mask[first]
        source = torch.cat([first.unsqueeze(1).expand(-1, passage_length), segment.clamp_min(0)], 1)
        return cls(
            blind=blind,
            row=row,
            column=column,
            source=source,
            position=torch.cat([positions, packed_position], 1),
            passage_mask=batch.passage_mask[first],
            segment=segment,
        )

    @property
    def passage_length(self) -> int:
        """P, the length of the longest passage domain."""
        return self.passage_mask.shape[1]

    def pack(self, values: Tensor) -> Tensor:
        """Copy values of sequences [S, N, ...] into rows [A, P + M, ...]."""
        return values[self.source, self.position]

    def split(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Split rows [A, P + M, H] into the passage [S, P, H] and the question domain [S, Q, H] of each sequence."""
        passages, segments = hidden[:, : self.passage_length], hidden[:, self.passage_length :]
        return passages[self.row], segments[self.row.unsqueeze(1), self.column]

    def passage_weights(self, call: LastCall) -> Tensor:
        """Return what the tokens of each segment see of their passage, averaged over heads [S, Q, P].

        Args:
            call: The attention of the segments in a layer.
        """
        query, key = require(call.query, "query"), require(call.key, "key")
        if self.blind:
            return query.new_zeros(*self.column.shape, self.passage_length)
        weights = attention_weights(query, key, call.mask).mean(1)
        return weights[self.row.unsqueeze(1), self.column, : self.passage_length]

    def unpack(self, hidden: Tensor, batch: Batch) -> Tensor:
        """Copy rows [A, P + M, H] back into the batch's sequences [S, N, H]."""
        position = torch.zeros_like(batch.input_ids)
        position[:, : self.passage_length] = torch.arange(self.passage_length, device=position.device)
        mask = batch.question_mask
        sequence = torch.arange(len(position), device=position.device).unsqueeze(1).expand_as(mask)
        position[sequence[mask], batch.question_index[mask]] = self.column[mask] + self.passage_length
        return hidden[self.row.unsqueeze(1), position]

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, *, dropout: float = 0.0, window: int | None = None
    ) -> Tensor:
        """Attend within rows [A, heads, P + M, d]: passages to themselves, segments to themselves and their passage.

        Args:
            dropout: Dropout of the attention weights.
            window: Greatest distance of two positions that see each other; None: any.
        """
        split, (passage_mask, segment_mask) = self.passage_length, self.masks(window)
        apart = attend(query[:, :, :split], key[:, :, :split], value[:, :, :split], passage_mask, dropout=dropout)
        seen = slice(split, None) if self.blind else slice(None)
        asked = attend(query[:, :, split:], key[:, :, seen], value[:, :, seen], segment_mask, dropout=dropout)
        return torch.cat([apart, asked], 2)

    def masks(self, window: int | None) -> tuple[Tensor, Tensor]:
        """Return the masks of passage [A, 1, 1 or P, P] and segments [A, 1, M, M or P + M]; layers share them."""
        if window not in self._masks:
            split = self.passage_length
            passage = self.passage_mask.unsqueeze(1)  # [A, 1, P]
            segments = self.segment.unsqueeze(2) == self.segment.unsqueeze(1)  # [A, M, M]
            if not self.blind:
                segments = torch.cat([passage.expand(-1, segments.shape[1], -1), segments], 2)
            if window is not None:
                near = (self.position.unsqueeze(2) - self.position.unsqueeze(1)).abs() <= window
                # Padding sees itself, so that no softmax is undefined; so does every token of a segment.
                itself = torch.eye(split, dtype=torch.bool, device=near.device)
                passage = (passage & near[:, :split, :split]) | itself
                segments = segments & near[:, split:, split if self.blind else 0 :]
            self._masks[window] = passage.unsqueeze(1), segments.unsqueeze(1)
        return self._masks[window]


class LayerStack:
    """The embeddings and layers of an encoder of the families `FAST`, to run some of them over rows and others over
    sequences."""

    def __init__(self, model: "PreTrainedModel") -> None:
        self.model: Any = model
        self.layers = list(layers_of(model))

    def embed(self, position: Tensor, **inputs: Tensor) -> Tensor:
        """Embed tokens at positions [A, L], given ``input_ids`` or ``inputs_embeds``, and perhaps their types."""
        model, family = self.model, self.model.config.model_type
        if family == "modernbert":  # Its layers rotate positions in; it has no types.
            return cast(Tensor, model.embeddings(**inputs))
        # RoBERTa and its kin count positions from behind their padding row.
        padding = model.embeddings.position_embeddings.padding_idx
        shift = 0 if padding is None else padding + 1
        hidden = model.embeddings(position_ids=position + shift, **inputs)
        projection = getattr(model, "embeddings_project", None) or getattr(
            model.encoder, "embedding_hidden_mapping_in", None
        )
        return cast(Tensor, hidden if projection is None else projection(hidden))

    def over_rows(self, hidden: Tensor, position: Tensor, pattern: AttentionPattern, layers: slice) -> Tensor:
        """Run layers over tokens at positions [A, L], [A, L, H] each, which see each other as a pattern says."""
        return self._run(hidden, layers, position, pattern=pattern)

    def over_sequences(self, hidden: Tensor, mask: Tensor, layers: slice) -> Tensor:
        """Run layers over sequences [S, N, H], whose real tokens the mask [S, N] marks."""
        from transformers.masking_utils import create_bidirectional_mask, create_bidirectional_sliding_window_mask

        arguments = {"config": self.model.config, "inputs_embeds": hidden, "attention_mask": mask}
        masks: _Masks = {None: create_bidirectional_mask(**arguments)}
        if self.model.config.model_type == "modernbert":
            masks["full_attention"] = masks[None]
            masks["sliding_attention"] = create_bidirectional_sliding_window_mask(**arguments)
        position = torch.arange(hidden.shape[1], device=hidden.device).unsqueeze(0)
        return self._run(hidden, layers, position, masks)

    def finish(self, hidden: Tensor) -> Tensor:
        """Apply what follows the last layer."""
        norm: nn.Module | None = getattr(self.model, "final_norm", None)
        return hidden if norm is None else cast(Tensor, norm(hidden))

    def _run(
        self,
        hidden: Tensor,
        layers: slice,
        position: Tensor,
        masks: _Masks | None = None,
        **options: Any,
    ) -> Tensor:
        rotations: dict[str, tuple[Tensor, Tensor]] = {}
        for layer in self.layers[layers]:
            kind = getattr(layer, "attention_type", None)  # ModernBERT's layers see everything, or a window.
            if kind is not None:
                if kind not in rotations:
                    rotations[kind] = self.model.rotary_emb(hidden, position, kind)
                options["position_embeddings"] = rotations[kind]
            hidden = layer(hidden, attention_mask=None if masks is None else masks[kind], **options)
        return hidden


def layers_of(model: Any) -> Iterable[nn.Module]:
    """Return the layers of an encoder of the families `FAST` in the order in which they run."""
    family = model.config.model_type
    if family in BERT_LIKE:
        return cast(Iterable[nn.Module], model.encoder.layer)
    if family == "modernbert":
        return cast(Iterable[nn.Module], model.layers)
    return _albert_layers(model.encoder)


def _albert_layers(encoder: Any) -> Iterator[nn.Module]:
    """Yield ALBERT's layers as often as they run: those of a group share their weights."""
    config = encoder.config
    for number in range(config.num_hidden_layers):
        yield from encoder.albert_layer_groups[
            number * config.num_hidden_groups // config.num_hidden_layers
        ].albert_layers


@dataclass
class _PassagesAlone:
    """Attention of passages to themselves, which keeps the keys and values of each layer [A, heads, P, d]."""

    rows: PassageRows
    numbers: Tensor
    layers: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, *, dropout: float, window: int | None) -> Tensor:
        self.layers.append((key, value))
        mask = self.rows.masks(window)[0][self.numbers]
        return attend(query, key, value, mask, dropout=dropout)


@dataclass
class _SegmentsAlone:
    """Attention of segments to themselves and to passages whose keys and values are known."""

    rows: PassageRows
    layers: Iterator[tuple[Tensor, Tensor]]

    def attend(self, query: Tensor, key: Tensor, value: Tensor, *, dropout: float, window: int | None) -> Tensor:
        if not self.rows.blind:
            keys, values = next(self.layers)
            key, value = torch.cat([keys, key], 2), torch.cat([values, value], 2)
        return attend(query, key, value, self.rows.masks(window)[1], dropout=dropout)


class PassageCache:
    """What an encoder that does not change has made of the passages that were asked about last, under a limit of bytes.

    Of each passage it holds the last hidden states and every layer's keys and values, by a hash of the passage's
    tokens, so that another question about it reads itself alone.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self.size = max_bytes, 0
        self._passages: OrderedDict[bytes, list[Tensor]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._passages)

    def read(self, stack: LayerStack, rows: PassageRows, layers: slice, **inputs: Tensor) -> Tensor:
        """Run layers over rows, as `LayerStack.over_rows` does, but for passages that it holds: [A, P + M, H]."""
        split, lengths = rows.passage_length, rows.passage_mask.sum(1).tolist()
        keys = [_content(inputs, row, length) for row, length in enumerate(lengths)]
        states = {key: self._passages[key] for key in keys if key in self._passages}
        missing = {key: row for row, key in enumerate(keys) if key not in states}
        if missing:
            numbers = torch.tensor(list(missing.values()), device=rows.row.device)
            pattern = _PassagesAlone(rows, numbers)
            position = rows.position[numbers, :split]
            hidden = stack.embed(position, **{name: values[numbers, :split] for name, values in inputs.items()})
            hidden = stack.over_rows(hidden, position, pattern, layers)
            for number, (key, row) in enumerate(missing.items()):
                streams = [hidden[number].unsqueeze(0), *(stream[number] for pair in pattern.layers for stream in pair)]
                states[key] = [stream[:, : lengths[row]].clone() for stream in streams]
        # Passages of a batch are padded together, however they came here.
        padded = [_pad_passages([states[key][number] for key in keys], split) for number in range(len(states[keys[0]]))]
        position = rows.position[:, split:]
        asked = stack.embed(position, **{name: values[:, split:] for name, values in inputs.items()})
        known = zip(padded[1::2], padded[2::2], strict=True)
        asked = stack.over_rows(asked, position, _SegmentsAlone(rows, iter(known)), layers)
        for key in keys:
            self._keep(key, states[key])
        return torch.cat([padded[0].squeeze(1), asked], 1)

    def _keep(self, key: bytes, states: list[Tensor]) -> None:
        if key not in self._passages:
            self.size += _bytes_of(states)
            self._passages[key] = states
        self._passages.move_to_end(key)
        while self.size > self.max_bytes:
            _, oldest = self._passages.popitem(last=False)
            self.size -= _bytes_of(oldest)


def _content(inputs: dict[str, Tensor], row: int, length: int) -> bytes:
    """Hash the inputs of a row's passage."""
    content = hashlib.sha256()
    for name, values in sorted(inputs.items()):
        content.update(name.encode() + values[row, :length].contiguous().cpu().numpy().tobytes())
    return content.digest()


def _pad_passages(streams: list[Tensor], length: int) -> Tensor:
    """Pad streams [heads, P, d] of passages to a length and stack them: [A, heads, P, d]."""
    return torch.stack([pad(stream, (0, 0, 0, length - stream.shape[1])) for stream in streams])


def _bytes_of(states: list[Tensor]) -> int:
    return sum(stream.nbytes for stream in states)
