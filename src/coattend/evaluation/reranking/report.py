"""What ranking candidates again changed, by split and subset."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from coattend.evaluation.answers import align
from coattend.evaluation.groups import members, scored_questions, subsets, within
from coattend.evaluation.significance import mcnemar


def changes(
    before: pa.Table, after: pa.Table, reachable: pa.Table, questions: pa.Table, trials: Mapping[str, int]
) -> dict[str, dict[str, Any]]:
    """Compare a reader's predictions with the same ones ranked again.

    Args:
        before: The predictions, with the columns `coattend.evaluation.answers.COLUMNS`.
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
    asked, _ = scored_questions(questions, "word")
    laid_out = [align(table, asked["question_id"], list(trials)) for table in (before, after, reachable)]
    right = np.stack([answers.correct for answers in laid_out]).astype(bool)
    missing = laid_out[0].missing
    return {
        split: {
            name: {"questions": int(group.sum()), "missing": int(missing[:, group].sum())}
            | {"seeds": {str(s): _change(*right[:, n, group]) for n, s in enumerate(trials.values())}}
            for name, group in within(rows, subsets(asked))
        }
        for split, rows in members(asked["split"]).items()
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
