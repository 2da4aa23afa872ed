"""Reading the sequences of a batch one behind the other, without padding: how a GPU reads them in bf16."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.attention.varlen import varlen_attn
from torch.nn.functional import pad

from coattend.readers.batch import Batch


def reads_packed(batch: Batch, *, head_width: int, dropout: float) -> bool:
    """Tell whether the kernel for packed sequences takes a batch: on a GPU, in bf16, without dropout of the weights.

    It needs no mask, which the kernels for padded sequences are slowed down by.
    """
    mask = batch.attention_mask
    is_half = torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == torch.bfloat16
    return mask.device.type == "cuda" and is_half and dropout == 0 and head_width % 8 == 0 and head_width <= 256


@dataclass(frozen=True, kw_only=True)
class PackedSequences:
    """The T real tokens of a batch of sequences in one row.

    Attributes:
        place: Where each token stands among those of all sequences, padding included [T].
        position: Its position in its sequence [1, T].
        starts: Where each sequence starts, and where the last one ends [S + 1].
        shape: S and N.
    """

    place: Tensor
    position: Tensor
    starts: Tensor
    shape: tuple[int, int]

    @classmethod
    def of(cls, batch: Batch) -> "PackedSequences":
        """Pack the sequences of a batch."""
        mask = batch.attention_mask
        place = mask.flatten().nonzero().squeeze(1)
        starts = pad(mask.sum(1).cumsum(0), (1, 0)).to(torch.int32)
        return cls(
            place=place, position=(place % mask.shape[1])[None], starts=starts, shape=(mask.shape[0], mask.shape[1])
        )

    def pack(self, values: Tensor) -> Tensor:
        """Copy values of sequences [S, N, ...] into the row [1, T, ...]."""
        return values.flatten(0, 1)[self.place].unsqueeze(0)

    def unpack(self, hidden: Tensor) -> Tensor:
        """Copy the row [1, T, H] back into sequences [S, N, H]; padding is zero."""
        count, length = self.shape
        sequences = hidden.new_zeros(count * length, hidden.shape[2]).index_copy(0, self.place, hidden.squeeze(0))
        return sequences.view(count, length, -1)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, *, dropout: float = 0.0, window: int | None = None
    ) -> Tensor:
        """Attend within each sequence [1, heads, T, d]; with a window, to tokens at most so far away."""
        assert dropout == 0, "the kernel has no dropout"
        width = -1 if window is None else window
        queries, keys, values = (stream.squeeze(0).transpose(0, 1) for stream in (query, key, value))  # [T, heads, d]
        starts, longest = self.starts, self.shape[1]
        attended = varlen_attn(queries, keys, values, starts, starts, longest, longest, window_size=(width, width))
        assert isinstance(attended, Tensor)
        return attended.transpose(0, 1).unsqueeze(0)
