"""What pages say about the machines of trials and the versions of benchmarks."""

from coattend.reports.provenance import (
    commits,
    machine,
    machine_sentences,
    size_sentence,
    training_sentence,
    version_sentence,
)

ON_PROCESSOR = {"device": "AMD EPYC, 2 threads", "processor": "AMD EPYC", "threads": 2, "precision": "bf16"}
ON_GPU = {"device": "NVIDIA H100", "processor": "AMD EPYC", "threads": 16, "precision": "bf16"}


def trial(seed, **fields):
    return {"trial_id": f"t{seed}", "seed": seed, "failure": None, **fields}


def test_a_machine_is_named_once_with_threads_and_precision():
    assert machine(trial(0, **ON_PROCESSOR)) == "AMD EPYC, 2 threads, bf16"
    assert machine(trial(0, **ON_GPU)) == "NVIDIA H100, AMD EPYC, 16 threads, bf16"
    assert machine(trial(0, **ON_GPU | {"threads": 1})) == "NVIDIA H100, AMD EPYC, 1 thread, bf16"
    assert machine(trial(0, device="AMD EPYC, 2 threads", precision="fp32")) == "AMD EPYC, 2 threads, fp32"


def test_seeds_stand_beside_their_machines():
    trials = [trial(seed, **ON_PROCESSOR) for seed in (2, 0)] + [trial(0, **ON_PROCESSOR), trial(1, **ON_GPU)]
    trials += [{"trial_id": "x", "seed": 7, "failure": "no memory"}, trial(8), trial(9, trained=False, **ON_GPU)]
    assert list(machine_sentences(trials)) == [
        "Seeds 0, 2 trained on AMD EPYC, 2 threads, bf16.",
        "Seed 1 trained on NVIDIA H100, AMD EPYC, 16 threads, bf16.",
    ]
    both = [trial(seed, **at) for seed in (0, 1) for at in (ON_PROCESSOR, ON_GPU)]
    assert list(machine_sentences(both)) == [
        "Seeds 0, 1 trained on AMD EPYC, 2 threads, bf16, or on NVIDIA H100, AMD EPYC, 16 threads, bf16."
    ]


def test_sizes_are_of_what_was_trained():
    def trial(questions, epochs=1.0, **changes):
        return {"seed": 0, "failure": None, "questions": questions, "training": {"epochs": epochs}} | changes

    assert [*size_sentence("dream", [trial(2000), trial(2000)])] == ["Trained on 2,000 questions of dream, 1 epoch."]
    failed, asked = trial(9, failure="no"), trial(0, trained=False)
    several = [trial(500, 2.0), trial(5809, 2.0), failed, asked]
    assert [*size_sentence("dream", several)] == ["Trained on 500 to 5,809 questions of dream, 2 epochs."]
    assert [*size_sentence("dream", [trial(10), trial(10, 3.0)])] == ["Trained on 10 questions of dream."]
    assert [*size_sentence("dream", [failed, asked])] == []
    for end in ({"patience": 3}, {"min_steps": 200}):
        stopped = trial(2000, training={"epochs": 12.0} | end)
        assert [*size_sentence("dream", [stopped])] == ["Trained on 2,000 questions of dream."]
    joined = trial(93000, training={"epochs": 1.0, "train_on": {"dream": (), "race": ()}})
    assert [*size_sentence("dream", [joined])] == ["Trained on 93,000 questions of dream and race, 1 epoch."]
    several = ["Trained on 10 to 93,000 questions of dream, or of dream and race, 1 epoch."]
    assert [*size_sentence("dream", [trial(10), joined])] == several


def test_a_variant_that_is_trained_otherwise_is_named():
    def trained(steps, **training):
        settings = {"learning_rate": 1e-3, "tokens_per_batch": 6144, "questions_per_batch": None} | training
        curve = [{"step": step} for step in (steps // 2, steps)]
        return trial(0, training=settings, curve=curve)

    alike = {"Baseline": [trained(924), trained(924)], "DUMA": [trained(924)]}
    assert [*training_sentence("cbt", alike)] == [
        "Training on cbt: learning rate 0.001; batches of 6,144 tokens; 924 steps."
    ]
    others = {
        "Stock": [trained(1300, learning_rate=5e-5, questions_per_batch=8)],
        "Stopped": [trained(400), trained(500)],
    }
    assert [*training_sentence("cbt", alike | others)] == [
        "Training on cbt: learning rate 0.001, but 5e-05 (“Stock”); batches of 6,144 tokens, but 8 questions "
        "(“Stock”); 924 steps, but 1,300 (“Stock”), 400 or 500 (“Stopped”)."
    ]
    failed, asked = trial(0) | {"failure": "no memory"}, trained(5) | {"trained": False}
    assert [*training_sentence("cbt", {"Failed": [failed], "As it is": [asked]})] == []


def test_commits_are_short_and_stand_once():
    trials = [trial(0, commit="746e231e220cac30"), trial(1, commit="746e231e220cac30"), trial(2)]
    assert commits([*trials, trial(3, commit="96833bc9aaaa-dirty")]) == ["746e231e", "96833bc9 with changes"]


def test_versions_are_told_where_they_are_known():
    assert list(version_sentence({"cbt": 2, "cnn": 2})) == [
        "Versions of the benchmarks: cbt 2, cnn 2. Scores of two versions do not compare."
    ]
    assert list(version_sentence({"cbt": 2, "cnn": None})) == [
        "Version of the benchmark: cbt 2. Scores of two versions do not compare."
    ]
    assert not list(version_sentence({"cbt": None}))
