"""A trial: one training of a reader with one seed, in a folder that is named after a hash of its content."""

import hashlib
import json
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NotRequired, TypedDict, cast

from coattend.config import EncoderParameters
from coattend.errors import CoattendError
from coattend.evaluation.records import Setting, TrainingRecord, TrialRecord
from coattend.io.atomic import MTIME_RESOLUTION_S, atomic_write, exclusive_lock, matches_checksum, write_if_changed
from coattend.masking import masked_text
from coattend.text.hashing import file_digest, file_version

TRAINING_VERSION = 2
"""Raised when a change to the training code makes the same content train another reader."""

RUN_SPEC_FILE = "run_spec.json"
"""The description of how to run a trial's reader, in its folder."""

PREDICTIONS_FILE = "predictions-{key}.parquet"
"""Predictions in a trial's folder; the key is a hash of what they depend on beside the trial."""

logger = logging.getLogger(__name__)


class EncoderContent(TypedDict):
    """The encoder of a trial."""

    digest: str
    """Hash of its files, or of its name and commit on the Hugging Face Hub."""
    dropout: float | None
    """None: as its configuration has it."""
    layers: NotRequired[int]
    """So many of its first layers, if its profile leaves some out."""
    vectors: NotRequired[str | None]
    """Digest of a file of word vectors; None if it cannot be read."""
    kept: NotRequired[str]
    """Precision of the cached outputs of a frozen encoder, unless it is bf16's."""


class TrialContent(TypedDict):
    """Everything that a trial's result depends on, as in ``trial.json``; its id is a hash of all the other fields."""

    benchmark: str
    reader: str
    """Name of the reader in the registry."""
    head: str
    options: dict[str, Setting]
    encoder: EncoderContent
    training: TrainingRecord
    """Its training parameters, but for those that `coattend.training.run_trial` excludes."""
    seed: int
    data: str
    """Digest of the training and held-out examples."""
    source: str
    """Digest of the reader's code."""
    trial_id: NotRequired[str]


TrialOutcome = TrialRecord
"""The result of a trial, as in ``outcome.json``; one that failed has an id, a seed and a ``failure`` only."""


class CheckedFiles(TypedDict):
    """A folder whose files were read: the digest, and the version of each file by its path there."""

    digest: str
    versions: dict[str, list[int]]


@dataclass(frozen=True)
class Trial:
    """One training of one reader with one seed, in the store: the folder of all trials."""

    content: TrialContent
    store: Path

    @cached_property
    def id(self) -> str:
        """First 16 digits of a SHA-256 hash of the content."""
        # Sorted keys make the hash independent of the order of fields.
        text = json.dumps({"training_version": TRAINING_VERSION} | self.content, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def folder(self) -> Path:
        """The folder of everything that belongs to the trial."""
        return self.store / self.id

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints of an unfinished training."""
        return self.folder / "checkpoints"

    @property
    def model(self) -> Path:
        """Folder of the trained reader."""
        return self.folder / "model"

    def outcome(self) -> TrialOutcome | None:
        """Read the outcome; None if the trial is not finished or its reader is damaged."""
        outcome = read_outcome(self.folder)
        return outcome if outcome and has_digest(self.model, outcome["model_digest"]) else None

    def finish(self, outcome: TrialOutcome) -> TrialOutcome:
        """Record the outcome; the trial does not count as done before this."""
        # An earlier attempt may have failed.
        (self.folder / "failure.json").unlink(missing_ok=True)
        recorded: TrialOutcome = {**outcome, "model_digest": _digest_of_new_files(self.model)}
        self._write("outcome", recorded)
        return recorded

    def fail(self, problem: str) -> TrialOutcome:
        """Record why the trial has no result."""
        outcome = TrialOutcome(trial_id=self.id, seed=self.content["seed"], failure=masked_text(problem))
        self._write("failure", outcome)
        return outcome

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from training the same trial; they wait and then read its outcome."""
        with exclusive_lock(self.folder, f"trial {self.id} is being trained"):
            self._write("trial", {"trial_id": self.id} | self.content)
            yield

    def _write(self, name: str, record: Mapping[str, object]) -> None:
        write_if_changed(self.folder / f"{name}.json", json.dumps(record, indent=1, sort_keys=True))


def read_content(folder: Path) -> TrialContent | None:
    """Read ``trial.json`` of a trial's folder; None if it is missing or damaged."""
    return cast("TrialContent | None", _read_record(folder / "trial.json"))


def read_outcome(folder: Path) -> TrialOutcome | None:
    """Read ``outcome.json`` of a trial's folder; None if it is missing or damaged."""
    return cast("TrialOutcome | None", _read_record(folder / "outcome.json"))


def _read_record(file: Path) -> object:
    try:
        if matches_checksum(file):
            return json.loads(file.read_text())
    except FileNotFoundError:
        return None
    except ValueError:
        pass
    logger.warning("%s is not what was written, and the trial is not taken as done: train it again", file)
    return None


def digest_of_files(folder: Path, *, exclude: str | None = None) -> str:
    """Hash the names and contents of a folder's files, but for one name."""
    digest = hashlib.sha256()
    for path in (path for path in _files(folder) if path.name != exclude):
        digest.update(f"{path.relative_to(folder)} {file_digest(path)}\n".encode())
    return digest.hexdigest()


def has_digest(folder: Path, digest: str) -> bool:
    """Return True if a folder's files have a digest, as `digest_of_files` computes it.

    Files are read once for each change of them, by whichever process looks first: beside the folder,
    ``.<name>.checked`` has the digest and the versions of the files that were read. See `still_has_digest`, too.
    """
    checked = CheckedFiles(digest=digest, versions=_versions(folder))
    with suppress(OSError, ValueError):
        if json.loads(_checked_file(folder).read_text()) == checked:
            return True
    if digest_of_files(folder) != digest:
        return False
    _remember(folder, checked)
    return True


def still_has_digest(folder: Path, digest: str) -> bool:
    """Return True if a folder's files have a digest, by what this process has read of them: for weights that are about
    to be used.

    A disk may lose a bit without a change of the file's version. If it did, `has_digest` will no longer miss it.
    """
    if digest_of_files(folder) == digest:
        return True
    with suppress(OSError):
        _checked_file(folder).unlink(missing_ok=True)
    return False


def check_weights(folder: Path, digest: str, *, in_use: bool = True) -> None:
    """Raise a `CoattendError` unless a folder has the weights that were trained; if they are not about to be used, it
    is enough that their files have not changed since they were read."""
    is_intact = still_has_digest if in_use else has_digest
    if not folder.is_dir() or not is_intact(folder, digest):
        problem = "is missing or is not what was trained"
        raise CoattendError(problem, where=str(folder), cure="Run the training pipeline again")


def _digest_of_new_files(folder: Path) -> str:
    """Hash the files of a folder that this process has just written, so that none has to read them again."""
    # The time of a write from now on differs from theirs, even if the file system's clock has not moved since.
    with suppress(OSError):
        for path in _files(folder):
            state = path.stat()
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns - 2 * int(MTIME_RESOLUTION_S * 1e9)))
    versions = _versions(folder)
    digest = digest_of_files(folder)
    _remember(folder, CheckedFiles(digest=digest, versions=versions))
    return digest


def _remember(folder: Path, checked: CheckedFiles) -> None:
    """Write down that a folder was checked, unless a file is so young that a change of it might not be seen."""
    # A file that is replaced twice within the resolution of the file system's clock looks unchanged.
    newest = max((mtime for _, _, mtime, _ in checked["versions"].values()), default=0)
    if time.time() - newest / 1e9 < MTIME_RESOLUTION_S:
        return
    # Where nothing can be written, the files are read again.
    with suppress(CoattendError), atomic_write(_checked_file(folder), sync=False) as temporary:
        temporary.write_text(json.dumps(checked))


def _versions(folder: Path) -> dict[str, list[int]]:
    return {str(path.relative_to(folder)): list(file_version(path)) for path in _files(folder)}


def _checked_file(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.checked")


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def encoder_digest(encoder: EncoderParameters) -> str:
    """Hash the files of an encoder in a folder, or its Hugging Face name and the commit in the local cache, or the size
    of an untrained one."""
    from coattend.readers.encoders.pretrained import encoder_folder

    source = encoder.source
    if encoder.is_untrained:
        from coattend.readers.encoders.characters import VERSION

        return hashlib.sha256(f"{source} {VERSION} {encoder.untrained.model_dump_json()}".encode()).hexdigest()
    # A name on the Hub is identified by its commit; a folder has none, so its files are hashed.
    folder = encoder_folder(source)
    if folder is not None:
        return digest_of_files(Path(folder))
    return hashlib.sha256(f"{source}@{_commit(source)}".encode()).hexdigest()


def _commit(source: str) -> str:
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    try:
        cached = try_to_load_from_cache(source, "config.json")
        config = cached if isinstance(cached, str) else hf_hub_download(source, "config.json")
    # The library raises OSError or ValueError for a wrong name, a missing network and missing permission.
    except (OSError, ValueError) as error:
        raise CoattendError(
            "is neither a folder nor a Hugging Face name that is at hand or can be fetched",
            where=f"encoder {source!r}",
            cure="Check its spelling and the network",
        ) from error
    return Path(config).parent.name
