"""Answers of a variant's trials: on the questions that it was trained for, and none where nothing was run."""

import pyarrow as pa
import pytest

from coattend.errors import CoattendError
from coattend.evaluation.runs import Run, digest_of_scored, head_of, home_of, selection_of, side_by_side
from coattend.schemas import PREDICTIONS, QUESTIONS


def outcome(train_on, failure=None, variant="mine"):
    trial = {"trial_id": variant, "seed": 0, "training": {"train_on": train_on}, "failure": failure, "head": "word"}
    return {"variant": variant, "task": "word", "trials": [trial]}


def questions(*subsets):
    rows = [
        {
            "question_id": f"q{index}", "passage_id": "p", "split": "dev", "subset": subset, "task": "word",
            "question": "_ slept", "options": ["Ann", "Bob"], "label": 1, "answerable": True, "question_types": [],
        }
        for index, subset in enumerate(subsets)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, QUESTIONS)


def answers(count):
    shared = {"trial_id": "mine", "seed": 0, "prediction": "Bob", "correct": True, "f1": 1.0}
    return pa.Table.from_pylist([shared | {"question_id": f"q{index}"} for index in range(count)], PREDICTIONS)


def test_the_home_of_variants_is_what_all_of_them_were_trained_on():
    assert home_of("cbt", [outcome({"cbt": "NE"}), outcome({"cbt": ["NE"]})]) == ("NE",)
    assert home_of("cbt", [outcome({"cbt": "NE"}), outcome({"cbt": "CN"})]) == ()
    assert home_of("cbt", [outcome({"cbt": "NE"}), outcome({})]) == ()
    assert home_of("cbt", [outcome({"dream": []})]) == ()
    assert home_of("cbt", [outcome({"cbt": "NE"}), outcome({}, failure="the loss became nan")]) == ("NE",)
    assert home_of("cbt", []) == ()


def test_questions_of_other_subsets_are_left_out():
    run = Run.of(outcome({"cbt": "NE"}), answers(3), questions("NE", "CN", "NE"), ("NE",))
    assert run.questions["question_id"].to_pylist() == ["q0", "q2"]
    assert run.marks.correct.tolist() == [[1, 1]]
    assert run.texts() == [["Bob", "Bob"]]
    assert run.group == "NE"
    assert Run.of(outcome({}), answers(3), questions("NE", "CN", "NE")).group == "all"


def test_answers_to_other_questions_are_refused():
    asked = questions("NE", "NE")
    scored = outcome({}) | {"benchmark": "cbt", "scored": digest_of_scored(asked, "word")}
    assert Run.of(scored, answers(2), asked).marks.correct.tolist() == [[1, 1]]
    with pytest.raises(CoattendError, match=r"^variant \w+: was scored on other questions than cbt has now\. Run the"):
        Run.of(scored, answers(2), questions("NE", "NE", "NE"))


def test_there_is_no_run_without_a_trial_or_a_question():
    assert Run.of(outcome({}, failure="no"), answers(1), questions("NE")) is None
    assert Run.of(outcome({}), answers(1), questions("NE"), ("CN",)) is None


def test_the_head_is_what_trials_say_and_else_called_as_their_task():
    assert head_of(outcome({})["trials"], "options") == "word"
    assert head_of([{"trial_id": "mine", "failure": None}], "options") == "options"
    assert head_of(outcome({}, failure="no")["trials"], "span") == "span"


def test_the_baseline_is_looked_at_beside_the_last_variant_that_has_a_trial():
    trials = {name: outcome({}, variant=name)["trials"] for name in ("first", "base", "second", "third")}
    trials["third"] = outcome({}, failure="no")["trials"]
    trials["fourth"] = [trials["first"][0] | {"training": {"reads": "no_passage"}}]

    def variants_shown(**changed):
        return list(side_by_side(trials | changed, "base"))

    assert variants_shown() == ["base", "second"]
    assert variants_shown(base=[]) == ["second"]
    assert variants_shown(first=[], second=[]) == ["base"]


@pytest.mark.parametrize(
    ("selections", "train_on", "trained_on", "named"),
    [
        (("held_out", "held_out"), {}, "dream", "held_out"),
        (("dev", "held_out"), {}, "dream", "dev, held_out"),
        (("dev",), {}, "race", "dev of race"),
        (("dev",), {"race": (), "dream": ()}, "race", "dev"),
    ],
)
def test_trials_choose_on_the_dev_of_what_they_are_trained_on(selections, train_on, trained_on, named):
    trials = [{"selection": selection, "training": {"train_on": train_on}} for selection in selections]
    assert selection_of(trials, "dream", trained_on) == named
