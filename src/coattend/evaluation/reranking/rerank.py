"""A question's candidates as a reader scored them, with what language models say of the best ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.config import RerankingParameters
from coattend.errors import CoattendError
from coattend.evaluation import alignment, groups
from coattend.evaluation.alignment import align
from coattend.evaluation.groups import members, scored_questions, subsets, within
from coattend.evaluation.reranking import features
from coattend.evaluation.reranking.mira import Tuned, tuned_apart, tuning_part
from coattend.evaluation.reranking.rankings import Ranking, Row, rankings
from coattend.evaluation.significance import mcnemar
from coattend.schemas import read_passage_texts

FEATURES = ("reader", *features.NAMES)


def rerank(
    predictions: pa.Table,
    questions: pa.Table,
    passages: pads.Dataset,
    tags: pads.Dataset,
    *,
    head: str,
    trials: Mapping[str, int],
    parameters: RerankingParameters,
) -> tuple[pa.Table, dict[str, Any]]:
    """Rank the best candidates of each prediction again.

    Args:
        predictions: What a reader answered. What is no answer to one of the questions is left out.
        questions: The benchmark's questions with a missing word.
        passages: The benchmark's passages.
        tags: The tags of its texts.
        head: What gave the reader's scores.
        trials: The reader's finished trials: id to seed.
        parameters: How to rank.

    Returns:
        The predictions in the same order, none of them by weights that were tuned on its question; and what changed,
        with the weights, what they were tuned on and what the language models learned from.

    Raises:
        CoattendError: If the predictions are of another trial, or there is nothing to learn from or to tune on.
    """
    predictions = predictions.filter(pc.is_in(predictions["question_id"], questions["question_id"].combine_chunks()))
    # Predictions of other trials are refused before anything takes its time.
    alignment.align(predictions.select(alignment.COLUMNS), questions["question_id"], list(trials))
    language = _language(questions, passages, tags, parameters)
    ranked = _rankings(predictions, questions, passages, language, head, parameters.n_best)
    rows: dict[tuple[str, str], Row] = {}
    reachable_rows, weights = [], []
    for tuned, group in tuned_apart(ranked, parameters):
        weights.append(_described(tuned))
        for ranking in group:
            row = ranking.answer(tuned.weights)
            rows[row["trial_id"], row["question_id"]] = row
            reachable_rows.append({**row, "correct": ranking.right is not None})
    keys = zip(predictions["trial_id"].to_pylist(), predictions["question_id"].to_pylist(), strict=True)
    reranked = pa.Table.from_pylist([rows[key] for key in keys], predictions.schema)
    tables = (predictions, reranked, pa.Table.from_pylist(reachable_rows, predictions.schema))
    before, after, reachable = (table.select(alignment.COLUMNS) for table in tables)
    splits = changes(before, after, reachable, questions.select(groups.COLUMNS), trials)
    return reranked, {
        "parameters": parameters.model_dump(),
        "splits": splits,
        "tuned_on": {split: tuning_part(split) for split in splits},
        "weights": weights,
        "learned_from": language.learned_from,
    }


def _language(
    questions: pa.Table, passages: pads.Dataset, tags: pads.Dataset, parameters: RerankingParameters
) -> features.LanguageFeatures:
    training = questions.filter(pc.equal(questions["split"].cast(pa.string()), groups.TRAINING_SPLIT))
    if not len(training):
        cure = "Add a training split to the benchmark's files"
        raise CoattendError("there are no training passages to learn from", where="questions table", cure=cure)
    return features.train(passages, tags, pc.unique(training["passage_id"]), parameters)


def _rankings(
    predictions: pa.Table,
    questions: pa.Table,
    passages: pads.Dataset,
    language: features.LanguageFeatures,
    head: str,
    n_best: int,
) -> list[Ranking]:
    predicted_questions = questions.filter(pc.is_in(questions["question_id"], pc.unique(predictions["question_id"])))
    texts = read_passage_texts(passages, predicted_questions["passage_id"])

    def fit(question: Row, numbers: Sequence[int]) -> np.ndarray:
        candidates = [question["options"][number] for number in numbers]
        return language.of(question["question"], texts[question["passage_id"]], candidates)

    by_id = {row["question_id"]: row for row in predicted_questions.to_pylist()}
    return rankings(predictions.to_pylist(), by_id, fit, head=head, n_best=n_best)


def _described(tuned: Tuned) -> dict[str, Any]:
    weights = dict(zip(FEATURES, tuned.weights.tolist(), strict=True))
    return {**vars(tuned), "weights": weights}


def changes(
    before: pa.Table, after: pa.Table, reachable: pa.Table, questions: pa.Table, trials: Mapping[str, int]
) -> dict[str, dict[str, Any]]:
    """Compare a reader's predictions with the same ones ranked again.

    Args:
        before: The predictions, with the columns `coattend.evaluation.alignment.COLUMNS`.
        after: Those of the same rows, ranked again.
        reachable: The same rows, correct where the right candidate is among those that were ranked again.
        questions: The benchmark's questions, with the columns `coattend.evaluation.groups.COLUMNS`.
        trials: The reader's trials: id to seed.

    Returns:
        Split to group (``all`` and each subset) to how many questions it has, how many predictions are missing (they
        count as wrong), and for each seed: accuracy before and after and the share of reachable questions in percent,
        the questions gained and lost, and the p value of McNemar's test.

    Raises:
        CoattendError: If predictions and trials do not belong together.
    """
    labelled, _ = scored_questions(questions, "word")
    laid_out = [align(table, labelled["question_id"], list(trials)) for table in (before, after, reachable)]
    right = np.stack([answers.correct for answers in laid_out]).astype(bool)
    missing = laid_out[0].missing
    return {
        split: {
            name: {"questions": int(group.sum()), "missing": int(missing[:, group].sum())}
            | {"seeds": {str(s): _change(*right[:, n, group]) for n, s in enumerate(trials.values())}}
            for name, group in within(rows, subsets(labelled))
        }
        for split, rows in members(labelled["split"]).items()
    }


def _change(before: np.ndarray, after: np.ndarray, reachable: np.ndarray) -> dict[str, float]:
    return {
        "before": 100 * float(before.mean()),
        "after": 100 * float(after.mean()),
        "right_among_n_best": 100 * float(reachable.mean()),
        "gained": int(np.sum(after & ~before)),
        "lost": int(np.sum(before & ~after)),
        "mcnemar_p": mcnemar(before, after),
    }
