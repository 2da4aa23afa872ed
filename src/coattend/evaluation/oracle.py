"""What a reader of spans could score if it knew the best null threshold of each scored split: an upper bound."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.evaluation import squad
from coattend.evaluation.thresholds import choose

PREDICTION_COLUMNS = ["question_id", "trial_id", "start", "end", "null_score"]
QUESTION_COLUMNS = ["question_id", "passage_id", "split", "task", "answers", "answerable"]


def best_with_hindsight(
    predictions: pa.Table, questions: pa.Table, passages: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Exact match and F1 at thresholds that are tuned on the scored questions, each apart, as SQuAD 2.0 does.

    Args:
        predictions: The columns `PREDICTION_COLUMNS`.
        questions: The columns `QUESTION_COLUMNS`.
        passages: Passage id to text.

    Returns:
        Split to ``oracle_exact`` and ``oracle_f1`` in percent, means over trials. A split whose questions have answers
        all is left out: there is nothing to tune.
    """
    asked = {row["question_id"]: row for row in _spans(questions).to_pylist()}
    unanswerable = {row["split"] for row in asked.values() if not row["answerable"]}
    scores: dict[str, list[dict[str, float]]] = {}
    for trial in pc.unique(predictions["trial_id"]).to_pylist():
        rows = predictions.filter(pc.equal(predictions["trial_id"], trial)).to_pylist()
        for split in sorted(unanswerable):
            own = [row for row in rows if asked.get(row["question_id"], {}).get("split") == split]
            if own:
                scores.setdefault(split, []).append(_best(own, asked, passages))
    return {
        split: {name: 100 * float(np.mean([one[name] for one in found])) for name in found[0]}
        for split, found in scores.items()
    }


def _spans(questions: pa.Table) -> pa.Table:
    scored = pc.not_equal(questions["split"].cast(pa.string()), "train")
    return questions.filter(pc.and_(scored, pc.equal(questions["task"].cast(pa.string()), "span")))


def _best(rows: list[dict[str, Any]], asked: dict[str, Any], passages: Mapping[str, str]) -> dict[str, float]:
    found, nothing = [], []
    for row in rows:
        question = asked[row["question_id"]]
        golds = [answer["text"] for answer in question["answers"]]
        text = passages[question["passage_id"]][row["start"] : row["end"]]
        found.append(squad.best(text, golds, version="v2.0"))
        nothing.append(float(not question["answerable"]))
    margins = [row["null_score"] for row in rows]
    exact, overlap = zip(*found, strict=True)
    return {
        "oracle_exact": choose(margins, exact, nothing, chosen_on="oracle").score,
        "oracle_f1": choose(margins, overlap, nothing, chosen_on="oracle").score,
    }
