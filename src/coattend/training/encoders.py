"""What an encoder is, for a trial's id: its files."""

import hashlib
from pathlib import Path

from coattend.errors import CoattendError
from coattend.training.trial import digest_of_files


def encoder_digest(source: str) -> str:
    """A hash of an encoder's files.

    Args:
        source: ``"embedded"``, a folder, or a Hugging Face name.

    Returns:
        For a folder, a hash of its files; for a name, of the name and the commit that the local cache holds.
    """
    from coattend.readers.encoders.transformer import encoder_folder

    folder = encoder_folder(source)
    if folder is not None:
        return digest_of_files(Path(folder))
    return hashlib.sha256(f"{source}@{_commit(source)}".encode()).hexdigest()


def _commit(source: str) -> str:
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    cached = try_to_load_from_cache(source, "config.json")
    try:
        config = cached if isinstance(cached, str) else hf_hub_download(source, "config.json")
    # A wrong name, no network, no permission: OSError or ValueError, by the library's own account.
    except (OSError, ValueError) as error:
        raise CoattendError(
            "is neither a folder nor a Hugging Face name that is at hand or can be fetched",
            where=f"encoder {source!r}",
            cure="Check its spelling and the network",
        ) from error
    return Path(config).parent.name
