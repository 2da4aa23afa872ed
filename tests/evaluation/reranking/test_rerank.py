"""Candidates ranked again: scores, folds, and what is reported."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.config import BenchmarkParameters, RerankingParameters
from coattend.errors import CoattendError
from coattend.evaluation.reranking.language_models import LanguageFeatures
from coattend.evaluation.reranking.rankings import FEATURES, rankings
from coattend.evaluation.reranking.rerank import rerank
from coattend.pipelines.reranking.nodes import rerank as node
from coattend.schemas import PASSAGES, PREDICTIONS, QUESTIONS
from coattend.text.hashing import text_id

LOGITS = st.lists(st.integers(-40, 40).map(lambda n: n / 8), min_size=2, max_size=8)
NAMES = ("Anna", "Boris", "Clara", "David")


def ranking(scores, *, options=None, label=0, n_best=5, head="vocabulary"):
    """A question's ranking, with language models that like the worst candidates best."""
    options = options or [f"w{number}" for number in range(len(scores))]
    question = {"question_id": "q", "options": options, "label": label}
    row = dict.fromkeys(PREDICTIONS.names) | {"question_id": "q", "trial_id": "t", "seed": 0, "scores": list(scores)}
    (ranked,) = rankings(
        [row],
        {"q": question},
        lambda _, numbers: np.array([[n, -n, 2 * n] for n in numbers]),
        head=head,
        n_best=n_best,
    )
    return ranked


@given(LOGITS, st.floats(0.1, 1), st.integers(2, 5))
def test_a_reader_of_masses_is_ranked_as_one_of_logits_with_the_same_probabilities(logits, share, n_best):
    masses = share * np.exp(logits) / np.exp(logits).sum()  # A head for words leaves some of the mass to other words.
    of_masses, of_logits = ranking(masses, n_best=n_best, head="word"), ranking(logits, n_best=n_best)
    np.testing.assert_allclose(of_masses.log_scores, np.maximum(of_logits.log_scores, np.log(1e-6 / share)), atol=1e-4)
    np.testing.assert_allclose(of_masses.features, of_logits.features, atol=1e-4)


def test_a_candidate_without_any_probability_is_finite():
    first, last = ranking([0.5, 0.0], head="word").log_scores
    assert first - last == pytest.approx(np.log(0.5 / 1e-6))


@given(LOGITS, st.floats(0.1, 10), st.integers(2, 5))
def test_the_readers_order_stays_where_language_models_weigh_nothing(scores, weight, n_best):
    answer = ranking(scores, n_best=n_best).answer(np.array([weight, 0.0, 0.0, 0.0]))
    order = np.argsort(-np.array(scores), kind="stable")
    again = np.argsort(-np.array(answer["scores"]), kind="stable")
    # Rounding may make ties of what nearly was one, so that places are compared by the scores in them.
    np.testing.assert_allclose(np.array(scores)[again], np.array(scores)[order], atol=1e-4)
    assert answer["correct"] == (scores[0] > max(scores[1:]))


@given(LOGITS, st.integers(2, 5))
def test_candidates_that_are_not_among_the_best_stay_behind(scores, n_best):
    ranked = ranking(scores, n_best=n_best)
    new = np.array(ranked.answer(np.array([0.5, 3.0, 0.0, 0.0]))["scores"])
    assert set(np.argsort(-new, kind="stable")[:n_best]) == set(ranked.best.tolist())
    assert ranked.answer(np.array([0.0, 1.0, 0.0, 0.0]))["label"] == ranked.best.max()


def test_a_tie_with_another_word_is_wrong():
    keep = np.array([1.0, 0.0, 0.0, 0.0])
    assert not ranking([2.0, 2.0, 1.0]).answer(keep)["correct"]
    assert ranking([2.0, 2.0, 1.0], options=["cat", "cat", "dog"]).answer(keep)["correct"]
    assert not ranking([2.0, 1.0], label=None).answer(keep)["correct"]


def test_each_language_model_has_its_column():
    sentences = [["the", "cat", "sat"], ["a", "dog", "ran"], ["the", "dog", "sat"], ["a", "cat", "ran"]]
    sentences += [["the", "cat", "sat"], ["a", "fox", "sat"], ["the", "fox", "ran"]]
    language = LanguageFeatures(sentences, RerankingParameters(order=2, classes=3))
    cat, dog, ran = language.of("the _ sat", "see the dog sit", ["cat", "dog", "ran"])
    everywhere, passage_model, classes = range(3)
    assert cat[everywhere] > dog[everywhere]
    assert dog[passage_model] > cat[passage_model] == ran[passage_model]
    assert cat[classes] == dog[classes] > ran[classes]
    assert language.learned_from == {"words": 21, "distinct words": 7, "word classes": 3}


def cloze(number, split, *, label, subset=None):
    """A question whose passage says twice who came; the right one stands at its label."""
    options = [f"{name}{number}" for name in NAMES]
    text = f"Yesterday {options[label]} came home .\nThen {options[label]} came home .\n{' . '.join(options)} ."
    question = {"question_id": f"{split}{number}", "passage_id": f"p{split}{number}", "split": split, "subset": subset}
    question |= {
        "group": question["passage_id"],
        "task": "word",
        "question": "Yesterday _ came home .",
        "options": options,
        "label": label,
    }
    return question | {"answerable": True, "text": f"{split} .\n{text}"}


def benchmark(rows):
    questions = [dict.fromkeys(QUESTIONS.names) | {k: v for k, v in row.items() if k != "text"} for row in rows]
    passages = [{"passage_id": row["passage_id"], "text": row["text"], "source": "f"} for row in rows]
    return (
        pa.Table.from_pylist(questions, QUESTIONS),
        pads.dataset(pa.Table.from_pylist(passages, PASSAGES)),
    )


def guess(row, *, trial="t0", seed=0, confident=0.4):
    """A prediction of the third candidate."""
    scores = [0.1, 0.2, confident, 0.15]
    right = row["label"] == 2
    row_prediction = {
        "question_id": row["question_id"],
        "trial_id": trial,
        "seed": seed,
        "prediction": row["options"][2],
    }
    return (
        dict.fromkeys(PREDICTIONS.names)
        | row_prediction
        | {"label": 2, "scores": scores, "correct": right, "f1": float(right)}
    )


def rows_of(sizes, *, subset=None):
    return [
        cloze(number, split, label=number % 4, subset=subset) for split, size in sizes.items() for number in range(size)
    ]


def ranked_again(rows, predictions=None, trials=None, **parameters):
    answers = predictions or [guess(row) for row in rows if row["split"] != "train"]
    return rerank(
        pa.Table.from_pylist(answers, PREDICTIONS),
        *benchmark(rows),
        head="word",
        trials=trials or {"t0": 0},
        parameters=RerankingParameters(**({"aggressiveness": 0.5, "n_best": 3} | parameters)),
    )


def test_the_passages_own_language_model_mends_a_reader_that_guesses():
    table, report = ranked_again(rows_of({"train": 3, "dev": 16, "test": 8}))
    assert table.schema == PREDICTIONS
    assert table["question_id"].to_pylist() == [f"dev{n}" for n in range(16)] + [f"test{n}" for n in range(8)]
    dev, test = (report["splits"][split]["all"]["seeds"]["0"] for split in ("dev", "test"))
    # The first candidate is not among the best three.
    assert dev["before"] == test["before"] == 25
    assert dev["right_among_n_best"] == test["right_among_n_best"] == 75
    assert dev["after"] == test["after"] == 75
    assert (test["gained"], test["lost"], test["p"]) == (4, 0, pytest.approx(2 / 2**4))
    assert sum(table["correct"].to_pylist()) == 12 + 6
    assert report["tuned_on"] == {"dev": "the other half of dev", "test": "dev"}
    assert [part["tuned_on"] for part in report["weights"]] == ["dev, half 2", "dev, half 1", "dev"]
    assert [part["questions"] for part in report["weights"]] == [8, 8, 16]
    assert all(set(part["weights"]) == set(FEATURES) and part["weights"]["local"] > 0 for part in report["weights"])


def test_no_answer_changes_with_the_labels_of_its_own_half():
    rows = rows_of({"train": 3, "dev": 16, "test": 8})
    passages = sorted({row["passage_id"] for row in rows if row["split"] == "dev"}, key=text_id)
    first = set(passages[::2])
    turned = [row | {"label": 3 - row["label"]} if row["passage_id"] in first else row for row in rows]
    (original, before), (relabelled, after) = ranked_again(rows), ranked_again(turned)
    weights = [[part["weights"] for part in report["weights"]] for report in (before, after)]
    assert weights[0][0] == weights[1][0]
    assert weights[0][1] != weights[1][1]
    assert weights[0][2] != weights[1][2]
    half = [row["question_id"] for row in rows if row["passage_id"] in first]
    scores = [
        {row["question_id"]: row["scores"] for row in table.to_pylist() if row["question_id"] in half}
        for table in (original, relabelled)
    ]
    assert scores[0] == scores[1]


def test_each_trial_and_each_subset_has_weights_of_its_own():
    rows = [*rows_of({"train": 2, "dev": 8}, subset="NE")]
    rows += [{**row, "question_id": f"{row['question_id']}-CN", "subset": "CN"} for row in rows_of({"dev": 8})]
    dev_rows = [row for row in rows if row["split"] == "dev"]
    predictions = [guess(row) for row in dev_rows] + [guess(row, trial="t1", seed=7, confident=0.9) for row in dev_rows]
    # The last question of CN has no answer of the second trial, and the one before has none of either.
    left = [row for number, row in enumerate(predictions[:-1]) if number not in (14, 30)]
    table, report = ranked_again(rows, left, trials={"t0": 0, "t1": 7})
    parts = {(part["trial_id"], part["seed"], part["subset"], part["applied_to"]) for part in report["weights"]}
    assert len(parts) == len(report["weights"]) == 8
    assert {part[:3] for part in parts} == {(f"t{n}", seed, s) for n, seed in ((0, 0), (1, 7)) for s in ("CN", "NE")}
    assert set(report["splits"]["dev"]) == {"all", "CN", "NE"}
    assert report["splits"]["dev"]["CN"]["missing"] == 2
    assert report["splits"]["dev"]["all"]["questions"] == 16
    assert len(table) == 29


def test_questions_whose_passages_overlap_are_in_one_half():
    rows = [row | {"group": f"g{number // 4}"} for number, row in enumerate(rows_of({"dev": 16, "train": 3}))]
    groups = sorted({row["group"] for row in rows if row["split"] == "dev"}, key=text_id)
    turned = [row | {"label": 3 - row["label"]} if row["group"] in (groups[0], groups[2]) else row for row in rows]
    weights = [[part["weights"] for part in ranked_again(each)[1]["weights"]] for each in (rows, turned)]
    assert [before == after for before, after in zip(*weights, strict=True)] == [True, False]


def test_one_passage_is_nothing_to_tune_on():
    rows = rows_of({"train": 2, "dev": 1, "test": 4})
    with pytest.raises(CoattendError, match="no question with a known answer to tune weights on"):
        ranked_again(rows)
    hidden = [row | {"label": None} if row["split"] == "dev" else row for row in rows_of({"train": 2, "dev": 6})]
    with pytest.raises(CoattendError, match="no question with a known answer"):
        ranked_again(hidden, [guess(row) for row in hidden if row["split"] == "dev"])


def test_without_training_passages_there_is_nothing_to_learn_from():
    with pytest.raises(CoattendError, match="no training passages"):
        ranked_again(rows_of({"dev": 4}))


def test_predictions_of_another_trial_are_refused():
    with pytest.raises(CoattendError, match="predictions of trial t0, which is not one of the reader's"):
        ranked_again(rows_of({"train": 2, "dev": 4}), trials={"t9": 0})


def test_the_node_says_what_is_missing():
    rows = rows_of({"train": 2, "dev": 4})
    questions, passages = benchmark(rows)
    model = {"reader": "plain", "task": "word", "trials": [{"trial_id": "t0", "seed": 0}]}
    source = {"format": "cbt", "folder": "f", "files": {"dev": ["x"]}}
    parameters = BenchmarkParameters(name="gaps", title="Gaps", tasks=("word",), sources=(source,))
    predictions = pads.dataset(pa.Table.from_pylist([guess(row) for row in rows[2:]], PREDICTIONS))
    tables = (pads.dataset(questions), passages)
    with pytest.raises(CoattendError, match=r"gaps\.plain: has no predictions"):
        node(None, *tables, model, parameters)
    with pytest.raises(CoattendError, match="answers no questions with a missing word"):
        node(predictions, *tables, model | {"task": "options"}, parameters)
    _, report = node(predictions, *tables, model, parameters)
    assert (report["benchmark"], report["reader"]) == ("gaps", "plain")
    assert report["parameters"] == RerankingParameters().model_dump()
