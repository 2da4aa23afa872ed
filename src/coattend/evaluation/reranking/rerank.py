"""Rank the best candidates of each prediction again, and compare the answers before and after."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.config import RerankingParameters
from coattend.errors import CoattendError
from coattend.evaluation.alignment import Layout
from coattend.evaluation.groups import (
    COLUMNS,
    TRAINING_SPLIT,
    group_numbers,
    members,
    scored_questions,
    subsets,
    within,
)
from coattend.evaluation.reranking.language_models import LanguageFeatures
from coattend.evaluation.reranking.mira import tuned_apart, tuning_part
from coattend.evaluation.reranking.rankings import rankings
from coattend.evaluation.reranking.records import Reranked, RerankedGroup, RerankedSeed
from coattend.evaluation.significance import paired_test
from coattend.schemas import QuestionRow, read_passage_texts


def rerank(
    predictions: pa.Table,
    questions: pa.Table,
    passages: pads.Dataset,
    *,
    head: str,
    trials: Mapping[str, int],
    parameters: RerankingParameters,
) -> tuple[pa.Table, Reranked]:
    """Rank the best candidates of each prediction again; what is no answer to one of the questions is left out.

    Returns:
        The predictions in the same order, none of them by weights that were tuned on its question; and what changed,
        with the weights, what they were tuned on and what the language models learned from.

    Raises:
        CoattendError: If the predictions are of another trial, or there is nothing to learn from or to tune on.
    """
    predictions = predictions.filter(pc.is_in(predictions["question_id"], questions["question_id"].combine_chunks()))
    # Predictions of other trials are refused before anything takes its time.
    layout = Layout(predictions, questions["question_id"], list(trials))
    training = questions.filter(pc.equal(questions["split"].cast(pa.string()), TRAINING_SPLIT))
    if not len(training):
        cure = "Add a training split to the benchmark's files"
        raise CoattendError("there are no training passages to learn from", where="questions table", cure=cure)
    language = LanguageFeatures.train(passages, pc.unique(training["passage_id"]), parameters)
    predicted_questions = questions.filter(pc.is_in(questions["question_id"], pc.unique(predictions["question_id"])))
    question_of = {row["question_id"]: row for row in predicted_questions.to_pylist()}
    texts = read_passage_texts(passages, predicted_questions["passage_id"])

    def fit(question: QuestionRow, numbers: Sequence[int]) -> np.ndarray:
        options = question["options"] or []
        candidates = [options[number] for number in numbers]
        return language.of(question["question"], texts[question["passage_id"]], candidates)

    ranked = rankings(predictions.to_pylist(), question_of, fit, head=head, n_best=parameters.n_best)
    answers, reachable, records = {}, {}, []
    for record, weights, group in tuned_apart(ranked, parameters):
        records.append(record)
        for ranking in group:
            key = ranking.prediction["trial_id"], ranking.prediction["question_id"]
            answers[key], reachable[key] = ranking.answer(weights), ranking.right is not None
    keys = list(zip(predictions["trial_id"].to_pylist(), predictions["question_id"].to_pylist(), strict=True))
    reranked = pa.Table.from_pylist([answers[key] for key in keys], predictions.schema)
    is_reachable = np.array([reachable[key] for key in keys], dtype=bool)
    columns = (predictions["correct"], reranked["correct"], is_reachable)
    correct = np.stack([layout.matrix(column, False) for column in columns])
    splits = _changes(correct, layout.missing, questions.select(COLUMNS), list(trials.values()))
    return reranked, {
        "parameters": parameters.model_dump(),
        "splits": splits,
        "tuned_on": {split: tuning_part(split) for split in splits},
        "weights": records,
        "learned_from": language.learned_from,
    }


def _changes(
    correct: np.ndarray, missing: np.ndarray, questions: pa.Table, seeds: Sequence[int]
) -> dict[str, dict[str, RerankedGroup]]:
    """Compare answers before and after, by split and by group: ``all`` and each subset; missing ones count as wrong.

    ``correct`` says what was right before, right after, and among those that were ranked again [3, seeds, questions].
    """
    labelled, _ = scored_questions(questions, "word")
    is_labelled = pc.is_in(questions["question_id"], labelled["question_id"].combine_chunks()).to_numpy()
    correct, missing = correct[:, :, is_labelled], missing[:, is_labelled]
    units = group_numbers(labelled)
    return {
        split: {
            name: {
                "questions": int(group.sum()),
                "missing": int(missing[:, group].any(axis=0).sum()),
                "seeds": {str(seed): _change(correct[:, row, group], units[group]) for row, seed in enumerate(seeds)},
            }
            for name, group in within(rows, subsets(labelled))
        }
        for split, rows in members(labelled["split"]).items()
    }


def _change(correct: np.ndarray, units: np.ndarray) -> RerankedSeed:
    before, after, reachable = correct
    return {
        "before": 100 * float(before.mean()),
        "after": 100 * float(after.mean()),
        "right_among_n_best": 100 * float(reachable.mean()),
        "gained": int(np.sum(after & ~before)),
        "lost": int(np.sum(before & ~after)),
        "p": paired_test(after[None].astype(float), before[None].astype(float), units).p,
    }
