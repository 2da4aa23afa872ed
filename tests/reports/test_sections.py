"""Warnings of trials, and trials for which there can be none."""

from coattend.reports.sections import partial_scoring, selection_notes, training_warnings, unmonitored_trials

HEALTHY = {"final_loss": 0.5, "chance_loss": 1.0986, "truncated_passages": 0.0}
TRUNCATED = HEALTHY | {"truncated_passages": 0.25}


def test_a_warning_is_given_once_with_all_trials_that_raise_it():
    trials = {
        "Baseline": [{"seed": 0, "signs": TRUNCATED}, {"seed": 1, "signs": TRUNCATED}, {"seed": 2, "signs": HEALTHY}],
        "POI-Net": [{"seed": 1, "signs": TRUNCATED | {"final_loss": 1.1}}],
    }
    truncated, stuck = training_warnings(trials)
    assert truncated.startswith("Warning, Baseline, seeds 0, 1; POI-Net, seed 1: 25.0 % of the passages")
    assert stuck.startswith("Warning, POI-Net, seed 1: the training loss ended at 1.10,")


def test_trials_without_diagnostics_are_counted_and_failed_ones_are_not():
    trials = [{"seed": 0}, {"seed": 1, "failure": "out of memory"}, {"seed": 0, "signs": HEALTHY}]
    (sentence,) = unmonitored_trials(trials)
    assert sentence.startswith("1 trial was trained")
    assert not list(unmonitored_trials(trials[1:]))


def test_only_a_share_below_one_is_partial():
    (sentence,) = partial_scoring("dream", 0.1)
    assert sentence.startswith("dream: 10 % of the questions")
    assert not list(partial_scoring("race", 1.0))


def test_titles_with_commas_are_listed_by_semicolons():
    chosen = [{"seed": 0, "selection": "dev"}]
    (sentence,) = selection_notes({"DUMA, improved": chosen, "POI-Net": chosen, "Baseline": [{"seed": 0}]}, "recam")
    assert sentence.startswith("Scores on dev of recam are too good for DUMA, improved; POI-Net: ")
