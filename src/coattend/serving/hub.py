"""Export a trained reader as a folder for the Hugging Face Hub, and upload it."""

import json
import tempfile
from importlib.metadata import version
from pathlib import Path

import pyarrow.compute as pc

from coattend.config import BenchmarkParameters
from coattend.errors import CoattendError, first_line
from coattend.evaluation import alignment, groups, summary
from coattend.evaluation.records import ScoredTrials
from coattend.io.atomic import checksum_path
from coattend.io.table_store import StoredTables
from coattend.serving import model_card
from coattend.serving.preprocessor import pack
from coattend.serving.records import SharedReader
from coattend.trials import run_spec
from coattend.trials.run_spec import RunSpec
from coattend.trials.store import FinishedTrial, answers_of

LOG_IN = "Log in with `hf auth login`, or set HF_TOKEN, as a user who may write there"


def upload(folder: Path, to: str, *, private: bool) -> str:
    """Upload a folder to a repository, ``<user>/<name>``, which is created if needed; return the commit's address."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HTTPError  # type: ignore[attr-defined]  # Of its HTTP library.

    api = HfApi(library_name="coattend")
    retry = f"The reader is written to {folder}; the same command sends it"
    try:
        api.create_repo(to, private=private, exist_ok=True)
        return api.upload_folder(repo_id=to, folder_path=folder, commit_message="Share a reader").commit_url
    except (HfHubHTTPError, ValueError) as error:
        response = getattr(error, "response", None)
        is_denied = response is not None and response.status_code in (401, 403)
        problem, cure = f"the Hub refuses ({first_line(error)})", f"{LOG_IN}. {retry}" if is_denied else retry
    except (HTTPError, OSError) as error:  # The first is what it raises where nobody answers.
        problem, cure = f"the Hub is out of reach ({first_line(error)})", f"{retry} where there is a network"
    raise CoattendError(problem, where=f"share.to {to}", cure=cure)


def write_folder(
    trial: FinishedTrial,
    target: Path,
    tables: StoredTables,
    benchmark: BenchmarkParameters,
    *,
    to: str,
    commit: str | None,
    answers: str,
    merge: bool = False,
) -> SharedReader:
    """Export a trial's reader as a folder; an earlier folder is replaced once the new one is complete.

    Of several files of answers, ``answers`` names the one whose scores the card has. Adapters of its
    encoder are merged on request. The card names the commit that trained it and, unless that is empty, its repository
    on the Hub.

    Raises:
        CoattendError: If the trial has no spec, answered none of the benchmark's questions, or is of a language model.
    """
    spec = run_spec.read_servable(trial.folder).without_credentials()
    if spec.language_model is not None:
        problem = "is a language model as it is, whose trials have no weights to share"
        raise CoattendError(problem, where=f"trial {trial}", cure="Name a trial of a reader that is trained")
    metrics = trial_metrics(trial, spec, tables, answers)
    # The benchmark may have got its name on the Hub after the reader was trained.
    named = spec.model_copy(update={"hub": benchmark.hub, "merged": merge and spec.has_adapters})
    card = model_card.build(named, metrics, trial.outcome, commit=commit, repository=to)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as temporary:
        folder = Path(temporary, target.name)
        packed = pack(trial.folder, folder, merge=merge)
        for file in run_spec.weights_of(folder).iterdir():
            file.rename(folder / file.name)
        (folder / "model").rmdir()
        # Its files lie elsewhere now, and the Hub has digests of its own.
        without_digest = packed.model_copy(update={"model_digest": None})
        (folder / run_spec.FILE).write_text(without_digest.model_dump_json(indent=1) + "\n")
        checksum_path(folder / run_spec.FILE).unlink(missing_ok=True)
        # By this file the Hub counts downloads.
        library = {"library_name": "coattend", "library_version": version("coattend")}
        config = library | {"reader": spec.reader, "head": spec.head, "trial_id": spec.trial_id}
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
        card.save(folder / model_card.FILE)
        replace_folder(folder, target)
    files = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())
    return {"trial": trial.id, "about": str(trial), "folder": target.name, "files": files, "scores": metrics["splits"]}


def replace_folder(folder: Path, target: Path) -> None:
    """Move a folder to a target on the same disk; an earlier target moves beside the folder's old location."""
    if target.is_dir():
        target.rename(folder.parent / "old")
    folder.rename(target)


def trial_metrics(trial: FinishedTrial, spec: RunSpec, tables: StoredTables, answers: str) -> ScoredTrials:
    """Score one trial on its own benchmark, by the predictions in its folder; see `write_folder`."""
    questions = tables.open("questions", spec.benchmark).to_table(columns=groups.COLUMNS)
    predictions = answers_of(trial, answers, questions["question_id"], spec.benchmark)
    predictions = predictions.filter(pc.is_in(predictions["question_id"], questions["question_id"]))
    seeds = {trial.id: trial.outcome["seed"]}
    metrics = summary.summarise(predictions.select(alignment.COLUMNS), questions, task=spec.task, trials=seeds)
    return {"benchmark": spec.benchmark, "reader": spec.name, "trials": [trial.outcome], **metrics}
