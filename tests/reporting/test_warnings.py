"""Warnings of a study's trials, and of trials of which none can be given."""

from coattend.reporting import study_page

GOOD = {"final_loss": 0.5, "chance_loss": 1.0986, "truncated_passages": 0.0}
CUT = GOOD | {"truncated_passages": 0.25}


def told(given, **more):
    """What a study's page says one has to keep in mind."""
    results = {
        "source": "A paper, table 1",
        "seeds": [0, 1],
        "protocol": "finetuned",
        "variants": {"plain": {"title": "Baseline"}, "poi_net": {"title": "POI-Net"}},
        "trials": {"dream": given},
        "notes": ["What to know."],
        "analyses": {},
    }
    lists = {key: [] for key in ("rows", "shows", "cited", "left_out", "failures", "printed", "benchmarks")}
    return study_page.sections(results | lists | more)[-1].text


def test_a_warning_is_given_once_with_all_trials_that_raise_it():
    trials = {
        "plain": [{"seed": 0, "signs": CUT}, {"seed": 1, "signs": CUT}, {"seed": 2, "signs": GOOD}],
        "poi_net": [{"seed": 1, "signs": CUT | {"final_loss": 1.1}}],
    }
    who = "Baseline on dream, seeds 0, 1; POI-Net on dream, seed 1"
    cut, stuck, note = told(trials)
    assert cut == f"Warning, {who}: 25.0 % of the passages are too long and are not read to their end."
    assert stuck.startswith("Warning, POI-Net on dream, seed 1: the training loss ended at 1.10,")
    assert note == "What to know."


def test_a_share_that_is_asked_is_told():
    assert told({}, analyses={"dream": {"scored": 0.1}, "race": {"scored": 1.0}}) == (
        "dream: 10 % of the questions to score are asked, drawn by their ids.",
        "What to know.",
    )


def test_trials_of_which_nothing_is_known_are_counted_and_failed_ones_are_not():
    trials = {"plain": [{"seed": 0}, {"seed": 1, "failure": "out of memory"}], "poi_net": [{"seed": 0, "signs": GOOD}]}
    first, note = told(trials)
    assert first == "1 trial was trained before such things were noted: nothing here warns of it."
    assert note == "What to know."


def test_trials_that_answer_two_benchmarks_warn_once_of_the_one_that_they_were_trained_on():
    trials = {"plain": [{"seed": 0, "signs": CUT}]}
    both = {"dream": trials, "race": trials}
    first, note = told({}, trials=both, trained_on={"race": {"plain": "dream"}})
    assert first.startswith("Warning, Baseline on dream, seed 0: ")
    assert note == "What to know."
