"""Records of a study's trials that are small enough for version control, and the study's page that they rebuild.

A study has one file for itself, one for the questions of each benchmark, and one for each trial. They hold marks and
offsets, and no text of a benchmark: questions are known by their positions, and by a digest of their ids. Columns are
packed (`pack`), so that the answers of a trial to 2,000 questions take half a kilobyte.
"""

import base64
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.config import StudyParameters
from coattend.errors import CoattendError
from coattend.evaluation import groups
from coattend.evaluation.alignment import Layout
from coattend.evaluation.records import Analyses, BreakdownRow, SearchResult, TrialRecord, VariantOutcome
from coattend.evaluation.runs import check_scored
from coattend.evaluation.summary import metric_name
from coattend.reports.records import StudyFindings
from coattend.reports.study.table import study_findings
from coattend.schemas import BREAKDOWNS, PREDICTIONS, QUESTIONS
from coattend.text.hashing import digest_of_ids
from coattend.trials.trial import TrialContent, read_content

STUDY_FILE = "study"
"""Name of the study's own record; those of its trials are called by their ids."""
QUESTIONS_FILE = "{benchmark}.questions"

FORMAT = 1
"""Raised when the records change so that earlier ones cannot be read."""

_FOLDERS = re.compile(r"(?<![\w./])/(?:[^/\s'\"]+/)+")
"""The folders of an absolute path, which say nothing on another machine."""


class QuestionRecord(TypedDict):
    """The scored questions of a benchmark, in the order of their table; columns are packed."""

    questions: int
    digest: str
    """SHA-256 of their ids, one a line."""
    names: dict[str, list[str]]
    """Splits, subsets, tasks and types of questions; columns have their numbers, -1 for none."""
    columns: dict[str, str]


class AnswerRecord(TypedDict):
    """What a trial answered to the questions of a benchmark; columns are packed, and have -1 for no answer."""

    digest: str
    """That of the questions."""
    columns: dict[str, str]
    f1: NotRequired[list[float]]
    """The distinct values of F1, by their numbers in the column; for spans."""


class FileOfTrial(TypedDict):
    """A finished trial."""

    trial_id: str
    commit: str | None
    finished: str
    """The day, in UTC."""
    configuration: TrialContent
    """All that its id is a hash of."""
    outcome: TrialRecord
    """Its processor, seconds, memory and curve; without what the configuration says, and only with scored steps."""
    scores: dict[str, dict[str, float]]
    """Benchmark to metric, in percent."""
    answers: dict[str, AnswerRecord]


class RecordedVariant(TypedDict):
    """A variant on one benchmark; ``trials`` are the ids of those that are finished."""

    variant: str
    task: str
    encoder: NotRequired[str]
    trained_on: NotRequired[str]
    search: NotRequired[SearchResult]
    trials: list[str]
    failed: list[TrialRecord]


class FileOfStudy(TypedDict):
    """A study as it was run, its variants by benchmark, and the analyses that it shows."""

    format: int
    study: dict[str, Any]
    outcomes: dict[str, dict[str, RecordedVariant]]
    analyses: dict[str, Analyses]
    breakdowns: list[BreakdownRow]
    left_out: list[str]


def pack(values: np.ndarray) -> str:
    """Write whole numbers as text: in the smallest type that holds them, of flags the bits, compressed, and in the
    base64 of URLs, which has no slashes."""
    if values.dtype == bool:
        code, data = "bits", np.packbits(values)
    else:
        kinds = (np.dtype(kind) for kind in ("int8", "<i2", "<i4"))
        data = next(values.astype(kind) for kind in kinds if np.array_equal(values.astype(kind), values))
        code = data.dtype.str
    return f"{code}:{base64.urlsafe_b64encode(zlib.compress(data.tobytes(), 9)).decode()}"


def unpack(text: str, count: int) -> np.ndarray:
    """Read so many numbers or flags that `pack` wrote."""
    code, _, packed = text.partition(":")
    data = zlib.decompress(base64.urlsafe_b64decode(packed))
    if code == "bits":
        return np.unpackbits(np.frombuffer(data, np.uint8), count=count).astype(bool)
    return np.frombuffer(data, np.dtype(code), count=count)


def study_records(
    study: StudyParameters,
    findings: StudyFindings,
    parts: Mapping[str, Any],
    trials: Path,
    *,
    commit: str | None = None,
) -> dict[str, Any]:
    """Write the records of a study, by file name.

    ``parts`` are ``<benchmark>.questions``, and ``<benchmark>.<variant>.outcome`` and ``.answers``, None where a
    variant was not run; ``trials`` is the folder of all trials. The commit is that of trials that do not say theirs.
    """
    records: dict[str, Any] = {}
    left_out = findings.get("left_out", [])
    outcomes: dict[str, dict[str, RecordedVariant]] = {}
    for benchmark in study.benchmarks:
        table = _labelled(parts[f"{benchmark}.questions"].to_table(columns=groups.COLUMNS))
        questions = records[QUESTIONS_FILE.format(benchmark=benchmark)] = _question_record(table)
        for variant in study.variants:
            outcome, answers = (parts.get(f"{benchmark}.{variant}.{part}") for part in ("outcome", "answers"))
            # What the budget leaves out has an outcome without trials, which tells nothing about the variant.
            if outcome is None or answers is None or variant in left_out:
                continue
            outcomes.setdefault(benchmark, {})[variant] = _variant_record(outcome)
            check_scored(outcome, table)
            predictions = answers.to_table()
            for trial in (trial for trial in outcome["trials"] if not trial.get("failure")):
                name = trial["trial_id"]
                file = records.setdefault(name, _file_of_trial(trial, trials / name, commit))
                of_trial = predictions.filter(pc.equal(predictions["trial_id"], name))
                record = _answer_record(of_trial, name, table, questions["digest"])
                # Variants that differ in what is scored alone, as in wrong tags of dev, have one trial.
                key = benchmark if file["answers"].get(benchmark, record) == record else f"{benchmark}.{variant}"
                file["scores"][key], file["answers"][key] = _scores(findings, benchmark, variant, trial["seed"]), record
    records[STUDY_FILE] = FileOfStudy(
        format=FORMAT,
        study=study.model_copy(update={"examples": ()}).model_dump(mode="json"),
        outcomes=outcomes,
        analyses={name: _without_texts(analyses) for name, analyses in findings["analyses"].items()},
        breakdowns=[row for row in findings["breakdowns"] if row["breakdown"] in study.shows],
        left_out=list(left_out),
    )
    return cast("dict[str, Any]", _without_folders(records))


def recorded_findings(records: Mapping[str, Any]) -> StudyFindings:
    """Collect the findings of a study from its records: scores, intervals and tests are computed anew.

    Raises:
        CoattendError: If a record is missing, or does not belong to the others.
    """
    file = cast("FileOfStudy", _get(records, STUDY_FILE))
    if file["format"] != FORMAT:
        problem = f"has the format {file['format']}, and this code reads {FORMAT}"
        raise CoattendError(problem, where=f"{STUDY_FILE}.json", cure="Run the study's pipeline again")
    study = StudyParameters.model_validate(file["study"])
    shows = tuple(name for name in study.shows if name not in ("attention", "predictions"))
    parts: dict[str, Any] = {}
    for benchmark in study.benchmarks:
        questions = cast("QuestionRecord", _get(records, QUESTIONS_FILE.format(benchmark=benchmark)))
        parts[f"{benchmark}.questions"] = pads.dataset(_question_table(questions))
        parts[f"{benchmark}.analyses"] = file["analyses"].get(benchmark, {})
        rows = [row for row in file["breakdowns"] if row["benchmark"] == benchmark]
        parts[f"{benchmark}.breakdowns"] = pads.dataset(pa.Table.from_pylist(cast("list[Any]", rows), BREAKDOWNS))
        for variant, recorded in file["outcomes"].get(benchmark, {}).items():
            files = [cast("FileOfTrial", _get(records, name)) for name in recorded["trials"]]
            parts[f"{benchmark}.{variant}.outcome"] = _outcome(recorded, files)
            answers = [_answer_table(trial, benchmark, variant, questions) for trial in files]
            table = pa.concat_tables([PREDICTIONS.empty_table(), *answers])
            parts[f"{benchmark}.{variant}.answers"] = pads.dataset(table)
    findings = study_findings(study.model_copy(update={"shows": shows}), parts)
    findings["left_out"] = file["left_out"]
    return findings


def _get(records: Mapping[str, Any], name: str) -> Any:
    if name not in records:
        raise CoattendError(f"there is no {name}.json", where="records", cure="Run the study's pipeline again")
    return records[name]


def _labelled(questions: pa.Table) -> pa.Table:
    """Select the questions that are not trained on and whose answer is known."""
    tasks = pc.unique(questions["task"].cast(pa.string())).to_pylist()
    by_task = [groups.scored_questions(questions, task)[0]["question_id"] for task in tasks]
    labelled = pa.chunked_array([chunk for ids in by_task for chunk in ids.chunks], pa.string())
    return questions.filter(pc.is_in(questions["question_id"], labelled))


_NUMBERED = ("passage_id", "group")
"""Columns of ids, whose numbers are enough."""
_NAMED = ("split", "subset", "task")


def _question_record(table: pa.Table) -> QuestionRecord:
    digest = digest_of_ids(table["question_id"].to_pylist())
    names, columns = {}, {}
    for column in (*_NUMBERED, *_NAMED):
        encoded = table[column].cast(pa.string()).combine_chunks().dictionary_encode()
        columns[column] = pack(pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False))
        if column in _NAMED:
            names[column] = encoded.dictionary.to_pylist()
    columns["answerable"] = pack(table["answerable"].to_numpy())
    types = groups.types(table)
    names["question_types"] = list(types)
    columns |= {f"question_types.{name}": pack(mask) for name, mask in types.items()}
    return {"questions": len(table), "digest": digest, "names": names, "columns": columns}


def _question_table(record: QuestionRecord) -> pa.Table:
    """Build a table of questions whose ids are their numbers, with as much as scoring reads."""
    count = record["questions"]
    columns = {name: unpack(text, count) for name, text in record["columns"].items()}
    table: dict[str, Any] = {"question_id": [str(number) for number in range(count)]}
    table |= {name: columns[name].astype(str) for name in _NUMBERED}
    for name in _NAMED:
        values = [*record["names"][name], None]  # -1 is the last one.
        table[name] = [values[number] for number in columns[name].tolist()]
    # That an answer is known shows in labels and answers, whatever they are.
    spans = [task == "span" for task in table["task"]]
    table["label"] = [None if span else 0 for span in spans]
    table["answers"] = [[] if span else None for span in spans]
    table["answerable"] = columns["answerable"]
    types = {name: columns[f"question_types.{name}"] for name in record["names"]["question_types"]}
    table["question_types"] = [[name for name, mask in types.items() if mask[row]] for row in range(count)]
    return pa.table(table, pa.schema([QUESTIONS.field(name) for name in groups.COLUMNS]))


def _answer_record(predictions: pa.Table, trial_id: str, questions: pa.Table, digest: str) -> AnswerRecord:
    layout = Layout(predictions.select(["question_id", "trial_id"]), questions["question_id"], [trial_id])
    correct = layout.matrix(predictions["correct"], False)[0]
    columns = {"correct": pack(correct)}
    if layout.missing.any():
        columns["missing"] = pack(layout.missing[0])
    record = AnswerRecord(digest=digest, columns=columns)
    spans = np.array(questions["task"].to_pylist()) == "span"
    if spans.any():
        f1 = layout.matrix(predictions["f1"], 0.0)[0]
        values, numbers = np.unique(f1, return_inverse=True)
        record["f1"] = values.tolist()
        columns["f1"] = pack(numbers)
        for column in ("start", "end"):
            columns[column] = pack(layout.matrix(pc.fill_null(predictions[column], -1), -1)[0])
        columns["empty"] = pack(layout.matrix(pc.equal(predictions["prediction"], ""), False)[0])
    return record


def _answer_table(trial: FileOfTrial, benchmark: str, variant: str, questions: QuestionRecord) -> pa.Table:
    """Build a trial's predictions for a variant, with as much as scoring reads."""
    answers, count = trial["answers"], questions["questions"]
    record = answers.get(f"{benchmark}.{variant}", answers[benchmark])
    if record["digest"] != questions["digest"]:
        problem = f"has answered other questions of {benchmark} than those that are recorded"
        raise CoattendError(problem, where=f"trial {trial['trial_id']}", cure="Run the study's pipeline again")
    columns = {name: unpack(text, count) for name, text in record["columns"].items()}
    correct, empty = columns["correct"], columns.get("empty", np.zeros(count, bool))
    f1 = np.array(record["f1"])[columns["f1"]] if "f1" in record else correct.astype(float)
    answered = ~columns.get("missing", np.zeros(count, bool))
    rows = [
        {
            "question_id": str(row),
            "trial_id": trial["trial_id"],
            "seed": trial["configuration"]["seed"],
            "prediction": "" if empty[row] else "…",
            "start": _offset(columns, "start", row),
            "end": _offset(columns, "end", row),
            "correct": bool(correct[row]),
            "f1": float(f1[row]),
        }
        for row in np.flatnonzero(answered).tolist()
    ]
    return pa.Table.from_pylist(rows, PREDICTIONS)


def _offset(columns: Mapping[str, np.ndarray], name: str, row: int) -> int | None:
    return int(columns[name][row]) if name in columns and columns[name][row] >= 0 else None


_CONFIGURED = ("seed", "head", "options", "data")
_LEFT_OUT = ("folder", "trial_id", "model_digest", "unreadable", *_CONFIGURED)


def _file_of_trial(trial: TrialRecord, folder: Path, commit: str | None) -> FileOfTrial:
    content = read_content(folder)
    if content is None:
        raise CoattendError("is missing", where=str(folder / "trial.json"), cure="Run the study's pipeline again")
    outcome = {name: value for name, value in trial.items() if name not in _LEFT_OUT}
    curve = trial.get("curve", [])
    scored = {point["step"] for point in curve if point.get("held_out") is not None}
    outcome["curve"] = [
        {name: value for name, value in point.items() if value is not None}
        for point in curve
        if point["step"] in scored
    ]
    configured = content["training"].items()
    outcome["training"] = {name: value for name, value in trial["training"].items() if (name, value) not in configured}
    finished = datetime.fromtimestamp((folder / "outcome.json").stat().st_mtime, UTC)
    return {
        "trial_id": trial["trial_id"],
        "commit": trial.get("commit", commit),
        "finished": f"{finished:%Y-%m-%d}",
        "configuration": content,
        "outcome": cast("TrialRecord", outcome),
        "scores": {},
        "answers": {},
    }


def _variant_record(outcome: VariantOutcome) -> RecordedVariant:
    shared = {name: value for name, value in outcome.items() if name not in ("benchmark", "scored", "trials")}
    finished = [trial["trial_id"] for trial in outcome["trials"] if not trial.get("failure")]
    failed = [trial for trial in outcome["trials"] if trial.get("failure")]
    return cast("RecordedVariant", shared | {"trials": finished, "failed": failed})


def _outcome(recorded: RecordedVariant, files: Sequence[FileOfTrial]) -> VariantOutcome:
    shared = {name: value for name, value in recorded.items() if name not in ("trials", "failed")}
    return cast("VariantOutcome", shared | {"trials": [*map(_trial_of, files), *recorded["failed"]]})


def _trial_of(file: FileOfTrial) -> TrialRecord:
    content, outcome = file["configuration"], file["outcome"]
    configured = {name: value for name, value in content.items() if name in _CONFIGURED}
    commit = {} if file["commit"] is None else {"commit": file["commit"]}
    training = {**content["training"], **outcome["training"]}
    return cast("TrialRecord", configured | outcome | commit | {"trial_id": file["trial_id"], "training": training})


def _scores(findings: StudyFindings, benchmark: str, variant: str, seed: int) -> dict[str, float]:
    return {
        metric_name(row["split"], row["group"], row["metric"]): row["seeds"][str(seed)]
        for row in findings["rows"]
        if (row["benchmark"], row["variant"]) == (benchmark, variant) and str(seed) in row["seeds"]
    }


def _without_texts(analyses: Analyses) -> Analyses:
    """Leave out answers to single questions, and curves that only figures show."""
    others = {name: value for name, value in analyses.items() if name not in ("predictions", "calibration")}
    calibration = {
        variant: {
            split: {name: value for name, value in measured.items() if name != "risk_coverage"}
            for split, measured in splits.items()
        }
        for variant, splits in analyses.get("calibration", {}).items()
    }
    return cast("Analyses", others | {"calibration": calibration})


def _without_folders(value: object) -> object:
    """Name files and folders of this machine without the folders that they are in."""
    if isinstance(value, str):
        return _FOLDERS.sub("", value)
    if isinstance(value, Mapping):
        return {name: _without_folders(entry) for name, entry in value.items()}
    return [_without_folders(entry) for entry in value] if isinstance(value, list | tuple) else value


def read_records(folder: Path) -> dict[str, Any]:
    """Read all records of a folder, by name.

    Raises:
        CoattendError: If a file is no JSON.
    """
    return dict(_read_files(folder))


def _read_files(folder: Path) -> Iterator[tuple[str, Any]]:
    for file in sorted(folder.glob("*.json")):
        try:
            yield file.stem, json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise CoattendError("is no JSON", where=str(file), cure="Take it from version control again") from error
