"""A reader: an encoder, an interaction and a head."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError
from safetensors.torch import load_model, save_model
from torch import Tensor, nn

from coattend.errors import CoattendError
from coattend.readers.assembly import fitting
from coattend.readers.attended import Attended
from coattend.readers.batch import Batch
from coattend.readers.parts import Encoder, Head, Interaction

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from coattend.readers.encoders.words import Words

WEIGHTS, DESCRIPTION = "model.safetensors", "reader.json"


@dataclass(kw_only=True)
class ReaderOutput:
    """What a reader returns.

    Attributes:
        attended: What its interaction made of passage and question.
        loss: Mean over the batch, a scalar; None if the batch has no answers.
        scores: Score of each option or candidate [B, C]; -inf where a question has fewer.
        start: Score of each token as the first of the answer [S, P]; position 0 (CLS) stands for no answer, other
            places where no answer may lie are -inf.
        end: Score of each token as the last of the answer [S, P], likewise.
        word_mass: Probability of each distinct word of the passage [B, P], by its number in the batch's word groups.
    """

    attended: Attended
    loss: Tensor | None = None
    scores: Tensor | None = None
    start: Tensor | None = None
    end: Tensor | None = None
    word_mass: Tensor | None = None


@dataclass  # Not frozen: transformers.Trainer notes its own settings on a model's `config`.
class ReaderConfig:
    """What a reader is, but for its weights.

    Attributes:
        reader: Name in the registry.
        head: Its head.
        options: Options of its parts, resolved.
        encoder: Configuration of its encoder.
    """

    reader: str
    head: str
    options: dict[str, Any]
    encoder: dict[str, Any]

    def describe(self) -> dict[str, Any]:
        """The same as JSON values."""
        return asdict(self)


class Reader(nn.Module):
    """Reads questions about passages; usually made by `coattend.readers.build`.

    Args:
        encoder: From a batch to `Encoded`.
        interaction: From `Encoded` to `Attended`.
        head: From `Attended` and the batch to the output.
        config: What it is.
    """

    def __init__(self, *, encoder: Encoder, interaction: Interaction, head: Head, config: ReaderConfig) -> None:
        super().__init__()
        self.encoder, self.interaction, self.head = encoder, interaction, head
        self.config = config

    @classmethod
    def build(
        cls,
        name: str,
        *,
        encoder: "Words | str | Path | PretrainedConfig | Mapping[str, Any]",
        head: str | None = None,
        **overrides: Any,
    ) -> "Reader":
        """Build a reader as `coattend.readers.build` does."""
        parts = fitting(name, head, overrides)
        classes, configs = parts.classes, parts.configs
        encoding = classes.encoder(configs.encoder, encoder, summary=parts.encoder_sums_up)
        attended = replace(encoding.shape, hidden_size=configs.interaction.width(encoding.shape))
        return cls(
            encoder=encoding,
            interaction=classes.interaction(configs.interaction, encoding.shape),
            head=classes.head(configs.head, attended, parts.given),
            config=ReaderConfig(name, parts.head, parts.options, encoding.describe()),
        ).eval()

    def forward(self, batch: Batch) -> ReaderOutput:
        """Read a batch.

        Args:
            batch: S sequences for B questions.

        Returns:
            Scores [B, C] from a head of options, or of words that chooses from candidates; the mass of each distinct
            word [B, P] from one that sums over occurrences; start and end [S, P] from one of spans; the loss if the
            batch has answers.

        Raises:
            CoattendError: If a sequence is longer than the encoder can read.
        """
        return self.head(self.interaction(self.encoder(batch)), batch)

    def readings(self) -> dict[str, float]:
        """What its head has learned that a curve should show, by name; the uncertainties of the mixed objective."""
        readings: dict[str, float] = getattr(self.head, "readings", dict)()
        return readings

    def keep_maps(self, keep: bool = True) -> None:
        """Ask for attention maps, which are not held otherwise: find them in ``output.attended.maps``.

        Which there are, the docstring of the reader's interaction says. There are none where no attention is computed:
        with the interaction ``none``, with no turn, or with one of your own that does not heed its ``keep_maps``.

        Args:
            keep: Whether they are wanted from now on.
        """
        self.interaction.keep_maps = keep

    def save(self, folder: Path | str) -> None:
        """Write ``model.safetensors`` and ``reader.json``. Weights that are shared are written once."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        save_model(self, str(folder / WEIGHTS))
        (folder / DESCRIPTION).write_text(json.dumps(self.config.describe(), indent=1, sort_keys=True))

    @classmethod
    def load(cls, folder: Path | str) -> "Reader":
        """Read what `save` wrote. Nothing else is needed: neither the encoder's own files nor a network.

        Raises:
            CoattendError: If the folder holds no reader, or one that this version cannot build.
        """
        folder = Path(folder)
        try:
            described = ReaderConfig(**json.loads((folder / DESCRIPTION).read_text()))
        except (OSError, ValueError, TypeError) as error:
            problem = f"holds no reader ({error})" if folder.is_dir() else "there is no such folder"
            raise CoattendError(problem, where=str(folder)) from None
        reader = cls.build(described.reader, encoder=described.encoder, head=described.head, **described.options)
        try:
            load_model(reader, str(folder / WEIGHTS))
        except (OSError, RuntimeError, SafetensorError) as error:
            reason = str(error).partition("\n")[0]
            raise CoattendError(
                f"does not hold the weights of this reader ({reason})",
                where=str(folder / WEIGHTS),
                cure="Train it again",
            ) from None
        return reader
