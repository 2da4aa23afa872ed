"""Predictions in the form that a benchmark's own scorer reads."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Literal

import pyarrow as pa

from coattend.errors import CoattendError
from coattend.schemas import PredictionRow

Form = Literal["squad", "recam"]
QUESTION_COLUMNS = ["question_id", "passage_id", "split", "subset", "task"]
PREDICTION_COLUMNS = ["question_id", "seed", "prediction", "label"]


def files(
    form: Form, questions: pa.Table, predictions: pa.Table, rejected: Mapping[str, int], source_of: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield name and contents of a file for each split, subset and seed.

    Args:
        form: ``squad``: JSON, question id to answer. ``recam``: CSV with the columns id and label, where an id is the
            question's number in its raw file, from 0.
        questions: In the order of their raw files.
        predictions: Those of one reader.
        rejected: Raw file to the number of its records that were left out.
        source_of: Passage id to the raw file that it comes from.

    Raises:
        CoattendError: For ``recam``, if a question of a file was not answered or not read: its scorer would take the
            others for the wrong ones.
    """
    answers: dict[tuple[int, str], PredictionRow] = {
        (row["seed"], row["question_id"]): row for row in predictions.to_pylist()
    }
    seeds = sorted({seed for seed, _ in answers})
    for name, passage_of in _groups(questions).items():
        for seed in seeds:
            answer_of = {question: answers[seed, question] for question in passage_of if (seed, question) in answers}
            if not answer_of:
                continue
            # ReCAM's scorer knows a question by its number in the file: one gap would shift all behind it.
            if form == "recam":
                _check_read(name, {source_of[passage] for passage in passage_of.values()}, rejected)
                lacking = [question for question in passage_of if question not in answer_of]
                if lacking:
                    problem = f"{len(lacking)} of {len(passage_of)} questions have no answer, the first is {lacking[0]}"
                    cure = "See the reader's rejected_questions"
                    raise CoattendError(problem, where=f"{name}, seed {seed}", cure=cure)
                yield f"{name}-seed{seed}.csv", _recam(answer_of)
            else:
                # A question that is missing would leave the total of SQuAD 2.0's scorer: it counts as unanswered.
                texts = {
                    question: answer_of[question]["prediction"] if question in answer_of else ""
                    for question in passage_of
                }
                yield f"{name}-seed{seed}.json", json.dumps(texts, ensure_ascii=False, indent=1) + "\n"


def _check_read(name: str, sources: set[str], rejected: Mapping[str, int]) -> None:
    for source in sorted(sources):
        if rejected.get(source):
            raise CoattendError(
                f"{rejected[source]} records of {source} were left out, and the others are known by their place in it",
                where=name,
                cure="Mend the file: the benchmark's table of rejected records says what is wrong",
            )


def _groups(questions: pa.Table) -> dict[str, dict[str, str]]:
    """Names of the files of scored splits, with their questions in order, and the passage of each."""
    groups: dict[str, dict[str, str]] = {}
    for row in questions.to_pylist():
        if row["split"] != "train":
            name = "-".join(part.replace(" ", "_") for part in (row["subset"], row["split"]) if part)
            groups.setdefault(name, {})[row["question_id"]] = row["passage_id"]
    return groups


def _recam(answer_of: Mapping[str, PredictionRow]) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["id", "label"])
    writer.writerows((number, answer["label"]) for number, answer in enumerate(answer_of.values()))
    return file.getvalue()
