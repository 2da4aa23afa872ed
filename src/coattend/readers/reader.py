"""A reader as a torch module: an encoder, an interaction and a head."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, load_model, save_file, save_model
from torch import Tensor, nn

from coattend.errors import CoattendError
from coattend.readers.batch import Batch
from coattend.readers.composition import check_fit, compose_fitting
from coattend.readers.encoders.adapters import Adapters, add_adapters, merge_adapters
from coattend.readers.encoders.pretrained import weights_digest
from coattend.readers.interfaces import Attended, Encoder, Head, Interaction
from coattend.readers.registry import DESCRIPTION, WEIGHTS

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from coattend.readers.encoders.word_embeddings import Words


@dataclass(kw_only=True)
class ReaderOutput:
    """Output of a reader.

    Attributes:
        attended: Output of its interaction.
        loss: Mean over the batch, a scalar; None if the batch has no answers.
        scores: Score of each option or candidate [B, C]; -inf where a question has fewer.
        start: Score of each token as the first of the answer [S, P]; position 0 (CLS) stands for "no answer", other
            tokens that no answer may contain are -inf.
        end: Score of each token as the last of the answer [S, P], likewise.
        proposal: First and last token of the span that the head answers with itself [S, 2], perhaps out of order, 0
            for "no answer"; None: the best span is sought by the scores.
        word_mass: Probability of each distinct word of the passage [B, P], by its number in the batch's word groups.
    """

    attended: Attended
    loss: Tensor | None = None
    scores: Tensor | None = None
    start: Tensor | None = None
    end: Tensor | None = None
    proposal: Tensor | None = None
    word_mass: Tensor | None = None


@dataclass  # Not frozen: transformers.Trainer notes its own settings on a model's `config`.
class ReaderConfig:
    """Description of a reader, from which it can be built without its weights.

    Attributes:
        reader: Name in the registry.
        head: Its head.
        options: Options of its parts, resolved.
        encoder: Configuration of its encoder.
        adapters: Adapters of its encoder, if that has some; then its own weights are those of its files.
    """

    reader: str
    head: str
    options: dict[str, Any]
    encoder: dict[str, Any]
    adapters: Adapters | None = None

    def describe(self) -> dict[str, Any]:
        """Return its fields as JSON values; one without adapters has none."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def read(cls, folder: Path) -> "ReaderConfig":
        """Read the description of a saved reader; raise a `CoattendError` if the folder holds none."""
        try:
            description = json.loads((folder / DESCRIPTION).read_text())
            adapters = description.pop("adapters", None)
            return cls(**description, adapters=None if adapters is None else Adapters.of(adapters))
        except (OSError, ValueError, TypeError, KeyError) as error:
            problem = f"holds no reader ({error})" if folder.is_dir() else "there is no such folder"
            raise CoattendError(problem, where=str(folder)) from None


class Reader(nn.Module):
    """A model that answers questions about passages; usually built by `coattend.readers.build`.

    Its encoder turns a batch into `Encoded`, its interaction that into `Attended`, and its head that into the output.
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
        # Names, values and fit are checked before any weight is allocated.
        composition = compose_fitting(name, head, overrides)
        classes, configs = composition.classes, composition.configs
        encoder_module = classes.encoder(configs.encoder, encoder, summary=composition.encoder_summarises)
        # Only now it is known how a transformer attends.
        attending = getattr(encoder_module, "config", configs.encoder)
        check_fit(replace(composition, configs=configs._replace(encoder=attending)))
        encoder_shape = encoder_module.shape
        # The head sees the width of the interaction's output instead of the encoder's.
        head_shape = replace(encoder_shape, hidden_size=configs.interaction.width(encoder_shape))
        return cls(
            encoder=encoder_module,
            interaction=classes.interaction(configs.interaction, encoder_shape),
            head=classes.head(configs.head, head_shape, composition.provided_fields),
            config=ReaderConfig(name, composition.head, composition.options, encoder_module.describe()),
        ).eval()

    def forward(self, batch: Batch) -> ReaderOutput:
        """Read S sequences for B questions; there is a loss if the batch has answers.

        A head of options, or of words that chooses from candidates, returns scores [B, C]; one that sums over
        occurrences the mass of each distinct word [B, P]; one of spans start and end [S, P].

        Raises:
            CoattendError: If a sequence is longer than the encoder can read.
        """
        return self.head(self.interaction(self.encoder(batch)), batch)

    def extra_metrics(self) -> dict[str, float]:
        """Return values of its head for training curves, by name; the uncertainties of the mixed objective."""
        metrics: dict[str, float] = getattr(self.head, "extra_metrics", dict)()
        return metrics

    def keep_maps(self, keep: bool = True) -> None:
        """Keep attention maps, which are not stored otherwise, in ``output.attended.maps`` from now on, or no longer.

        The docstring of the reader's interaction lists them. There are none if no attention is computed: with the
        interaction ``none``, without turns, or with an interaction that ignores its ``keep_maps``.
        """
        self.interaction.keep_maps = keep

    def add_adapters(
        self, source: str, *, rank: int, alpha: float, dropout: float = 0.0, targets: tuple[str, ...] = ()
    ) -> None:
        """Put low-rank adapters around linear layers of its transformer encoder, whose own weights are frozen.

        What is new is trained whole: interaction, head, embeddings of tags and pooler. Saved readers hold these and
        the adapters alone.

        Args:
            source: ``"embedded"``, a folder or a Hugging Face name: the encoder that the reader was built with.
            rank: Rank of the update of each layer's matrix.
            alpha: The update is multiplied by alpha / rank.
            dropout: Dropout of what an adapter reads.
            targets: Names, or ends of names, of the layers; empty: all linear layers but the pooler.

        Raises:
            CoattendError: If peft is missing, or a target names no linear layer.
        """
        model = self.encoder.model  # type: ignore[attr-defined]  # Of a transformer.
        adapters = Adapters(rank, alpha, dropout, tuple(targets), source, weights_digest([model]))
        add_adapters(model, adapters)
        self.config = replace(self.config, adapters=adapters)

    def merge_adapters(self) -> None:
        """Add its adapters' updates to the weights of its encoder, if it has adapters: it is then saved whole."""
        if self.config.adapters is not None:
            merge_adapters(self.encoder.model)  # type: ignore[attr-defined]  # Of a transformer.
            self.config = replace(self.config, adapters=None)

    def save(self, folder: Path | str) -> None:
        """Write ``model.safetensors`` and ``reader.json``. Shared weights are written once, and those of an encoder
        with adapters not at all."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        if self.config.adapters is None:
            save_model(self, str(folder / WEIGHTS))
        else:
            save_file(self._own_weights(), folder / WEIGHTS)
        (folder / DESCRIPTION).write_text(json.dumps(self.config.describe(), indent=1, sort_keys=True))

    @classmethod
    def load(cls, folder: Path | str) -> "Reader":
        """Load a saved reader from its folder alone, without a network; one with adapters needs its encoder's files.

        Raises:
            CoattendError: If the folder contains no reader, or a reader that this version cannot build; if the files
                of an encoder with adapters are missing, or have other weights now.
        """
        folder = Path(folder)
        # First the architecture with random weights, then the saved ones.
        config = ReaderConfig.read(folder)
        if config.adapters is None:
            reader = cls.build(config.reader, encoder=config.encoder, head=config.head, **config.options)
        else:
            reader = cls._with_adapters(config, config.adapters, str(folder))
        weights = str(folder / WEIGHTS)
        try:
            reader._read_weights(weights)
        except (OSError, RuntimeError, SafetensorError) as error:
            reason = str(error).partition("\n")[0]
            problem = f"does not hold the weights of this reader ({reason})"
            raise CoattendError(problem, where=weights, cure="Train it again") from None
        return reader

    @staticmethod
    def parameter_count(folder: Path | str) -> int:
        """Count the parameters of a saved reader without loading weights: also those that were not trained, such as a
        frozen encoder's or, where it has adapters, those of its own files.

        Raises:
            CoattendError: If the folder contains no reader.
        """
        folder = Path(folder)
        config = ReaderConfig.read(folder)
        with torch.device("meta"):
            reader = Reader.build(config.reader, encoder=config.encoder, head=config.head, **config.options)
        count = sum(weights.numel() for weights in reader.parameters())
        if config.adapters is None:
            return count
        with safe_open(folder / WEIGHTS, "pt") as file:
            sizes: dict[str, int] = {name: math.prod(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
        return count + sum(size for name, size in sizes.items() if ".lora_" in name)

    @classmethod
    def _with_adapters(cls, config: ReaderConfig, adapters: Adapters, folder: str) -> "Reader":
        """Build a reader with adapters, not yet those that were trained, on the encoder that these were trained on."""
        cure = f"Restore the encoder {adapters.source!r}, or take the reader from where it is, with merged adapters"
        try:
            reader = cls.build(config.reader, encoder=adapters.source, head=config.head, **config.options)
        except CoattendError as error:
            problem = f"holds adapters of an encoder that cannot be loaded ({error.problem})"
            raise CoattendError(problem, where=folder, cure=cure) from None
        settings = {name: value for name, value in asdict(adapters).items() if name != "digest"}
        reader.add_adapters(**settings)
        if reader.config.adapters != adapters:
            problem = f"holds adapters of other weights than {adapters.source!r} has now"
            raise CoattendError(problem, where=folder, cure=cure)
        return reader

    def _own_weights(self) -> dict[str, Tensor]:
        """Return the weights of a reader with adapters, but for those of its encoder's files."""
        return {name: weights.detach() for name, weights in self.named_parameters() if weights.requires_grad}

    def _read_weights(self, file: str) -> None:
        if self.config.adapters is None:
            load_model(self, file)
            return
        weights = load_file(file)
        if weights.keys() != self._own_weights().keys():
            raise RuntimeError("other weights than its description's")
        self.load_state_dict(weights, strict=False)
