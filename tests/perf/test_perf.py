"""What is measured can be run: small sizes, no judgement of speed."""

import json

import pytest
import torch
from perf.prepared import Prepared
from perf.recipes import one_by_one, ours

from coattend.readers.attended import Attended
from coattend.readers.parts import EncoderShape
from perf import __main__ as bench
from perf import (
    data_stages,
    frozen,
    goals,
    inference,
    interactions,
    kept,
    leads,
    limits,
    overhead,
    page,
    profiled,
    scale,
    switches,
    training,
)


@pytest.fixture(scope="module")
def prepared(shared_project):
    return Prepared(shared_project, "test", ("sample",))


@pytest.mark.long
def test_recipes_are_timed_beside_one_another(prepared, monkeypatch):
    monkeypatch.setattr(training, "LONGEST", 64)
    monkeypatch.setitem(training.STOCK_SPAN, "max_length", 64)
    found = training.options(prepared, rounds=1, batches=1)
    assert set(found["faster_than"]) == {"stock", "padded to 512"}
    assert 0 < found["real_tokens"] <= 1
    assert set(training.spans(prepared, rounds=1, batches=1)["questions_per_second"]) == {"ours", "stock"}


@pytest.mark.long
def test_recurrent_readers_are_timed_beside_each_question_alone(prepared):
    found = training.recurrent(prepared, rounds=1, batches=1)
    assert set(found) == {"aoa_reader", "dcn_plus"}
    assert all(one["benchmark"] == "sample" and one["faster_than"]["one by one"]["least"] > 0 for one in found.values())


def test_peers_train_as_they_are_said_to(prepared):
    plan = prepared.plan("sample", "plain", training={"precision": "bf16"})
    recipes = training.recipes_of_options(plan, plan.training_questions()[0])
    assert {name: recipe.bf16 for name, recipe in recipes.items()} == {
        "ours": True,
        "stock": False,
        "padded to 512": False,
    }
    widths = {name: _widths(recipe) for name, recipe in recipes.items()}
    assert widths["padded to 512"] == {512}
    assert max(widths["stock"]) < 512, "padded to the longest of each batch"


def test_dcn_plus_is_timed_over_the_vectors_that_training_keeps(prepared, tmp_path):
    plan = prepared.plan("sample", "dcn_plus")
    train, _ = plan.training_questions()
    kept = plan.kept(plan.build(train), train, tmp_path / "trials")
    for recipe in (ours(plan, train, kept=kept), one_by_one(plan, train, kept=kept)):
        batch = recipe.collator([recipe.examples[row] for row in recipe.batches[0][:1]])
        assert "passage_context" in batch and "passage_pieces" not in batch


def _widths(recipe):
    """Columns of a recipe's batches."""
    batches = (recipe.collator([recipe.examples[row] for row in rows]) for rows in recipe.batches)
    return {batch["input_ids"].shape[1] for batch in batches}


def test_a_rate_has_its_limit(prepared):
    found = training.rate(prepared, rounds=1, batches=1)
    assert found["gflops"]["step"] > 0 and found["gflops"]["product"] > 0
    assert found["precision"] in ("bf16", "fp32") and found["benchmark"] == "sample"


@pytest.mark.long
def test_a_step_is_taken_apart(prepared):
    found = profiled.measure(prepared, rounds=1, batches=1)
    assert list(found["percent"]) == [*profiled.KINDS, "the rest"]
    assert sum(found["percent"].values()) == pytest.approx(100, abs=0.5)
    assert min(found["percent"].values()) > 0 and found["gflops_of_products"] > 0


@pytest.mark.long
def test_a_frozen_encoder_is_not_asked(prepared, monkeypatch):
    monkeypatch.setitem(frozen.TRAINING, "max_questions", 8)
    found = frozen.measure(prepared, rounds=1, batches=1)
    assert min(found["faster"]["ratio"], found["trial_faster"]["ratio"]) > 0 and found["kept_kib_per_question"] > 0
    assert found["trial_questions"] == 8 and found["percent_for_tensors"] > 0


@pytest.mark.long
def test_pipelines_answer_beside_ours(prepared, monkeypatch):
    monkeypatch.setattr(inference, "QUESTIONS", 4)
    found = inference.measure(prepared, rounds=1, batches=1)
    assert set(found) == {"options", "span", "word"}
    assert all(rate > 0 for one in found.values() for rate in one["questions_per_second"].values())


@pytest.mark.long
def test_each_lead_is_timed_beside_the_step_without_it(prepared):
    found = leads.measure(prepared, rounds=1, batches=1)
    assert list(found["faster"]) == list(leads.LEADS)
    assert all(one["least"] > 0 for one in found["faster"].values())


@pytest.mark.long
def test_ways_to_be_fast_are_scored_on_the_same_questions(prepared, monkeypatch):
    monkeypatch.setitem(switches.TRAINING, "max_questions", 8)
    ways = switches.measure(prepared, rounds=1, batches=1)["ways"]
    assert list(ways) == list(switches.WAYS)
    assert all(len(one) == 3 and 0 <= min(one) <= max(one) <= 100 for one in ways.values())


def test_trials_that_are_done_are_gone_through(prepared, monkeypatch):
    monkeypatch.setattr(overhead, "TRIALS", 3)
    found = overhead.measure(prepared, rounds=1, batches=1)
    assert found["trials"] == 3 and found["done_seconds"] > 0 and found["new_seconds"] > 0


def test_the_page_shows_what_was_measured_and_what_was_not():
    machine = {"processor": "X1", "cores": 2, "threads": 2, "bf16": [], "python": "3.11", "code": "abc"}
    ratio = {"ratio": 4.4, "least": 3.0, "greatest": 7.0}
    figures = {
        "faster_than": {"stock": ratio, "padded to 512": ratio},
        "percent_for_tensors": 0.5,
        "questions_per_second": {"ours": 8.8, "stock": 2.0},
        "benchmark": "dream",
    }
    about = {"machine": machine, "measured": "2026-01-01"}
    faster = {"benchmark": "dream", "faster": {"bf16": ratio}}
    scores = {"ways": {"as it is": [70.0, 72.0, 74.0]}}
    results = {"options": figures, "leads": faster, "switches": scores}
    shown = page.of({name: about | {"figures": one} for name, one in results.items()})
    assert "| as it is 72.0 ± 2.0 |" in shown
    assert "| 5 x | 4.4 x [3.0, 7.0], dream |" in shown
    assert "What 0.1 costs was not measured." in shown
    assert "## What holds it back" not in shown, "the rate that it follows from was not measured"
    assert "| training, options | dream | ours 8.8, stock 2 |" in shown
    assert f"| {leads.LEADS['bf16'].what} | {leads.LEADS['bf16'].expected} | 4.4 x [3.0, 7.0] |" in shown
    assert shown.count("| not measured |") == len(goals.GOALS) - 4


def test_what_holds_speed_back_follows_from_the_figures():
    missed = {"ratio": 4.0, "least": 3.0, "greatest": 7.0}
    rate = {"gflops": {"step": 100.0, "product": 200.0}}
    answered = {"ours": 5.0, "stock": 1.0, "padded to 512": 0.9}
    step = {
        "benchmark": "dream",
        "questions_per_second": answered,
        "faster_than": {"stock": missed, "padded to 512": missed},
    }
    (said,) = limits.sentences({"rate": {"figures": rate}, "options": {"figures": step}})
    assert "a question takes 20.0 GFLOP" in said
    assert "5 x the 1.00 questions a second of the stock recipe needs 100 GFLOP/s, 50 % of the product's 200" in said
    assert "needs 216 GFLOP/s, more than the product's 200, which is impossible here" in said
    step["faster_than"] = {"stock": {"ratio": 5.0}, "padded to 512": {"ratio": 13.0}}
    assert limits.sentences({"rate": {"figures": rate}, "options": {"figures": step}}) == []
    rate |= {"matrix_units": True, "share": {"ratio": 0.2}}
    seen = {"percent": {"attention": 60.0, "products of linear layers": 40.0}, "gflops_of_products": 150}
    figures = {name: {"figures": one} for name, one in {"rate": rate, "options": step, "profiled": seen}.items()}
    (said,) = limits.sentences(figures)
    assert "run at 150 GFLOP/s, 75 % of that product's rate, and take 40 % of a step's time" in said
    assert said.endswith("attention 60 %, products of linear layers 40 %.")
    rate["matrix_units"] = False
    assert limits.sentences(figures) == []
    trial = {"trial_faster": {"ratio": 9.0}, "faster": {"ratio": 17.0}}
    (said,) = limits.sentences({"frozen": {"figures": trial}})
    assert "more than 20 times faster" in said


def test_results_of_earlier_runs_are_still_shown():
    kept = json.loads(bench.RESULTS.read_text())
    for name, one in kept.items():
        for key in ("benchmark", "precision", "percent_for_tensors", "trial_questions"):
            if isinstance(one["figures"], dict) and name in ("rate", "frozen", "overhead"):
                one["figures"].pop(key, None)
    shown = page.of(kept)
    assert all(goal.what in shown for goal in goals.GOALS)


def test_what_there_is_no_data_for_leaves_what_was_measured(tmp_path, monkeypatch):
    for name in ("RESULTS", "PAGE"):
        monkeypatch.setattr(bench, name, tmp_path / name)
    bench.note("data_stages", {"race": {}})
    bench.note("data_stages", {})
    assert json.loads((tmp_path / "RESULTS").read_text())["data_stages"]["figures"] == {"race": {}}


def test_the_code_is_described_wherever_it_is_measured(tmp_path, monkeypatch):
    expected = bench.machine()["code"]
    monkeypatch.chdir(tmp_path)
    assert bench.machine()["code"] == expected


def test_the_released_way_and_ours(raw):
    pairs = data_stages.read_pairs(raw, "dream")
    assert len(pairs) == 24_468
    found = data_stages.measure(pairs[:60], timed=10, workers=1, rounds=2)
    assert found["pairs"] == 60 and found["faster"]["ratio"] > 0


@pytest.mark.long
def test_the_sample_of_any_size():
    found = scale.main(["--passages", "30", "60"])
    assert set(found["passages"]) == {"30", "60"}
    assert len(found["peak_beside_the_first"]) == len(found["loader_beside_the_first"]) == 1


@pytest.fixture(scope="module")
def measured():
    return interactions.main(["--rounds", "1", "--sequences", "1", "--passage", "20", "--question", "6"])


def test_every_interaction_has_its_cost_on_a_transformer(measured):
    costs = measured["costs"]["transformer"]
    assert {"encoder", "poi_net", "duma", "recam_duma", "bidaf", "0 turns", "4 turns"} <= costs.keys()
    assert "plain" not in costs, "it has no interaction"
    assert costs["encoder"]["layers"] == 6
    assert all("percent_added" in costs[f"{turns} turns"] for turns in range(1, 5))


def test_every_interaction_has_its_cost_on_a_recurrent_encoder(measured):
    costs = measured["costs"]["recurrent"]
    cloze = {"aoa_reader", "as_reader", "cas_reader", "ga_reader", "attentive_reader", "stanford_reader"}
    assert cloze | {"encoder", "dcn", "dcn_plus", "aoa_span", "dual_multi_head", "bidaf"} <= costs.keys()
    assert costs["encoder"]["layers"] == 1


def test_one_encoder_can_be_chosen():
    sizes = ["--rounds", "1", "--sequences", "1", "--passage", "5", "--question", "2"]
    found = interactions.main([*sizes, "--encoder", "recurrent"])
    assert found["costs"].keys() == found["memory"].keys() == {"recurrent"}


@pytest.mark.parametrize("encoder", interactions.ENCODERS)
def test_what_interactions_keep_grows_no_faster_than_their_tokens(measured, encoder):
    memory = measured["memory"][encoder]
    assert memory.keys() == measured["costs"][encoder].keys() - {"encoder"}
    for name, one in memory.items():
        assert one["passage_doubled"] <= 2 and one["question_doubled"] <= 2 and one["both_doubled"] <= 4, name


class Squared(torch.nn.Module):
    """Keeps every token's likeness to every token of the passage: P x P numbers."""

    def forward(self, encoded):
        likeness = (encoded.passage @ encoded.passage.transpose(1, 2)).exp()
        return Attended(
            passage=likeness.sum(-1, keepdim=True) + encoded.passage,
            question=encoded.question,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
        )


def test_bytes_that_are_kept_are_counted_once():
    assert kept.kept_bytes(Squared(), kept.vectors(30, 5, 8)) == 30 * 30 * 4
    assert kept.growth(Squared(), EncoderShape(8, 2))["passage_doubled"] == 4
