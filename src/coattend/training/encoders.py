"""What an encoder is, for a trial's id: its files."""

import hashlib
from pathlib import Path

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
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(source, "config.json")
    commit = Path(cached).parent.name if isinstance(cached, str) else "newest"
    return hashlib.sha256(f"{source}@{commit}".encode()).hexdigest()
