"""Low-rank adapters of a pretrained encoder (LoRA), which are trained in place of its own weights, by peft."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import nn

from coattend.errors import CoattendError, did_you_mean
from coattend.readers.encoders.pretrained import silence

if TYPE_CHECKING:
    from transformers import PreTrainedModel

INSTALL = 'pip install "coattend[lora]"'
"""Command that installs what adapters need."""

WHOLE = "pooler."
"""Beginning of the names of weights that are trained whole: a pooler may start at random, and feeds the head."""


@dataclass(frozen=True)
class Adapters:
    """Adapters of an encoder, and the encoder that they were made for.

    Attributes:
        rank: Rank of the update of each matrix.
        alpha: The update is multiplied by alpha / rank.
        dropout: Dropout of what an adapter reads.
        targets: Names, or ends of names, of the linear layers that have one; empty: all but the pooler.
        source: The pretrained encoder: ``"embedded"``, a folder or a Hugging Face name.
        digest: Hash of its weights.
    """

    rank: int
    alpha: float
    dropout: float
    targets: tuple[str, ...]
    source: str
    digest: str

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> "Adapters":
        """Read adapters from JSON values."""
        return cls(**{**description, "targets": tuple(description["targets"])})


def add_adapters(model: "PreTrainedModel", adapters: Adapters) -> None:
    """Put adapters around linear layers of an encoder; from then on they are trained, and its own weights are not.

    With A [rank, in], drawn, and B [out, rank], zero at first, a layer W x becomes W x + alpha / rank * B A x (Hu et
    al.: LoRA, 2021, section 4.1).

    Raises:
        CoattendError: If peft is missing, or a target names no linear layer.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
        from transformers.pytorch_utils import Conv1D  # GPT-2's linear layers.
    except ImportError:
        raise CoattendError("needs the package peft", where="training.lora", cure=INSTALL) from None
    layers = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear | Conv1D) and not f"{name}.".startswith(WHOLE)
    }
    for target in adapters.targets:
        if not any(_is_called(name, target) for name in layers):
            ends = sorted({name.rpartition(".")[2] for name in layers})
            raise CoattendError(
                f"no linear layer of the encoder is called {target!r}",
                where="training.lora.targets",
                cure=f"{did_you_mean(target, ends)} Its linear layers: {', '.join(ends)}",
            )
    chosen = [name for name in layers if not adapters.targets or any(_is_called(name, end) for end in adapters.targets)]
    factor: Any = adapters.alpha  # peft takes any number, and annotates whole ones.
    config = LoraConfig(
        r=adapters.rank,
        lora_alpha=factor,
        lora_dropout=adapters.dropout,
        target_modules=chosen,
        fan_in_fan_out=any(isinstance(layers[name], Conv1D) for name in chosen),  # Their weights are transposed.
    )
    with silence():
        inject_adapter_in_model(config, model)
    for name, weights in model.named_parameters():
        weights.requires_grad_(".lora_" in name or name.startswith(WHOLE))


def merge_adapters(model: "PreTrainedModel") -> None:
    """Add the updates of adapters to an encoder's own weights, and remove the adapters.

    Raises:
        CoattendError: If an update is not finite.
    """
    from peft.tuners.tuners_utils import BaseTunerLayer

    for name, module in list(model.named_modules()):
        if not isinstance(module, BaseTunerLayer):
            continue
        layer: Any = module
        try:
            layer.merge(safe_merge=True)
        except ValueError as error:
            raise CoattendError(
                f"cannot be merged: {error}", where=f"adapter of {name}", cure="Train it again"
            ) from None
        parent, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(parent), attribute, layer.get_base_layer())
    model.requires_grad_(True)


def _is_called(name: str, end: str) -> bool:
    return name == end or name.endswith(f".{end}")
