"""Each measurement runs at a small size; nothing is said of speed."""

import json
import shutil
from functools import partial

import pytest
from perf.gpu import collect
from perf.prepared import Prepared
from perf.recipes import one_by_one, product_recipe

from coattend.trials.build import build_reader, cached_features
from perf import __main__ as bench
from perf import commands, data_stages, inference, likelihood, memory, overhead, page, passages, scale, timing, training


@pytest.fixture(scope="module")
def prepared(shared_project):
    return Prepared(shared_project, "test", ("sample",))


def test_steps_take_turns_and_ratios_are_of_rounds():
    values = iter(range(100))
    times = timing.alternate({"first": partial(next, values), "second": partial(next, values)}, 3, warm_up=1)
    assert sorted(times["first"] + times["second"]) == [2, 3, 4, 5, 6, 7], "the warm-up does not count"
    assert timing.ratio([2, 3, 8], [1, 1, 2]) == {"ratio": 3, "least": 2, "greatest": 4}


def test_peers_train_as_they_are_said_to(prepared):
    experiment = prepared.experiment("sample", "plain", training={"precision": "bf16"})
    recipes = training.recipes_of_options(experiment, experiment.training_questions().train)
    precisions = {name: recipe.bf16 for name, recipe in recipes.items()}
    assert precisions == {"ours": True, "stock": False, "padded to 512": False}
    widths = {name: batch_widths(recipe) for name, recipe in recipes.items()}
    assert widths["padded to 512"] == {512}
    assert max(widths["stock"]) < 512, "padded to the longest of each batch"
    assert 0 < recipes["stock"].real_token_share() < recipes["ours"].real_token_share() <= 1


def batch_widths(recipe):
    batches = (recipe.collator([recipe.examples[row] for row in rows]) for rows in recipe.batches)
    return {batch["input_ids"].shape[1] for batch in batches}


@pytest.mark.slow
def test_dcn_plus_is_timed_over_cached_vectors(prepared, tmp_path):
    experiment = prepared.experiment("sample", "dcn_plus")
    train = experiment.training_questions().train
    cache = cached_features(experiment, build_reader(experiment, train), train, tmp_path / "trials")
    for recipe in (product_recipe(experiment, train, kept=cache), one_by_one(experiment, train, kept=cache)):
        batch = recipe.collator([recipe.examples[row] for row in recipe.batches[0][:1]])
        assert "passage_context" in batch and "passage_pieces" not in batch


@pytest.mark.slow
def test_training_is_timed_beside_its_limit(prepared):
    figures = training.rate(prepared, rounds=1, batches=1)
    assert figures["gflops"]["step"] > 0 and figures["gflops"]["product"] > 0
    assert figures["precision"] in ("bf16", "fp32") and figures["benchmark"] == "sample"


@pytest.mark.slow
def test_overhead_of_trials(prepared, monkeypatch):
    monkeypatch.setattr(overhead, "TRIALS", 3)
    figures = overhead.measure(prepared, rounds=1, batches=1)
    assert figures["trials"] == 3
    # Three trials that are done take less than the rounding to hundredths.
    for name in ("changed", "new", "least"):
        assert figures[name]["clock"] > 0 and figures[name]["processor"] > 0
    assert figures["done"]["clock"] <= figures["changed"]["clock"] < figures["new"]["clock"]


@pytest.mark.long
def test_training_is_timed_beside_other_recipes(prepared, monkeypatch):
    monkeypatch.setattr(training, "LONGEST", 64)
    monkeypatch.setitem(training.STOCK_SPAN, "max_length", 64)
    monkeypatch.setitem(training.FROZEN, "max_questions", 8)
    options = training.options(prepared, rounds=1, batches=1)
    assert set(options["faster_than"]) == {"stock", "padded to 512"} and 0 < options["real_tokens"] <= 1
    assert set(training.spans(prepared, rounds=1, batches=1)["questions_per_second"]) == {"ours", "stock"}
    recurrent = training.recurrent(prepared, rounds=1, batches=1)
    assert set(recurrent) == {"aoa_reader", "dcn_plus"}
    assert all(figures["faster_than"]["one by one"]["least"] > 0 for figures in recurrent.values())
    frozen = training.frozen(prepared, rounds=1, batches=1)
    assert min(frozen["faster"]["ratio"], frozen["trial_faster"]["ratio"]) > 0
    assert frozen["trial_questions"] == 8 and frozen["percent_for_tensors"] > 0 < frozen["kept_kib_per_question"]


@pytest.mark.long
def test_inference_is_timed_beside_pipelines(prepared, monkeypatch):
    monkeypatch.setattr(inference, "QUESTIONS", 4)
    figures = inference.measure(prepared, rounds=1, batches=1)
    assert set(figures) == {"options", "span", "word"}
    assert all(rate > 0 for task in figures.values() for rate in task["questions_per_second"].values())


@pytest.mark.slow
def test_the_released_way_and_ours(raw):
    pairs = data_stages.read_pairs(raw, "dream")
    assert len(pairs) == 24_468
    figures = data_stages.compare(pairs[:60], pairs_timed=10, workers=1, rounds=2)
    assert figures["pairs"] == 60 and figures["faster"]["ratio"] > 0


def test_commands_are_measured_without_what_their_user_has_set(tmp_path, monkeypatch):
    for name in (*commands.USER_SETTINGS, "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    assert not set(commands.USER_SETTINGS) & set(commands.clean_environment())
    assert commands.clean_environment()["OMP_NUM_THREADS"] == "1"
    (tmp_path / "mine/conf/local").mkdir(parents=True)
    (tmp_path / "mine/conf/local/parameters.yml").write_text("tracking: { models: false }\n")
    for name in ("pyproject.toml", ".telemetry"):
        shutil.copy(commands.ROOT / name, tmp_path / "mine")
    monkeypatch.setattr(commands, "ROOT", tmp_path / "mine")
    (tmp_path / "new").mkdir()
    assert list((commands.new_project(tmp_path / "new") / "conf/local").iterdir()) == []


@pytest.mark.long
def test_scale_and_commands(monkeypatch):
    sizes = scale.measure([30, 60])
    assert set(sizes["passages"]) == {"30", "60"}
    assert len(sizes["peak_beside_the_first"]) == len(sizes["loader_beside_the_first"]) == 1
    monkeypatch.setattr(commands, "NODE_ROUNDS", 1)
    figures = commands.measure(None, default_run=False)
    assert 0 < figures["registry_list_seconds"] < figures["ingestion_first_seconds"]


def test_the_page_shows_every_result_and_what_is_missing():
    results = json.loads(bench.RESULTS.read_text())
    assert {name for name in results if not name.startswith(collect.PREFIX)} <= set(bench.NAMES)
    assert page.renew(bench.PAGE.read_text(), results) == bench.PAGE.read_text(), "renew it: make bench"
    scores = collect.Pages().scores.read_text()
    assert page.renew(scores, results, template=collect.TEMPLATE) == scores
    table = page.measured({"options": results["options"]})
    median = results["options"]["figures"]["faster_than"]["stock"]["ratio"]
    assert f"| 5 x | {median:.1f} x [" in table
    goals = [line for line in page.measured({}).partition("##")[0].splitlines()[2:] if line]
    assert len(goals) > 25 and all(line.endswith(f"| {page.MISSING} |") for line in goals)


def test_figures_without_data_leave_the_earlier_ones(tmp_path, monkeypatch):
    for name in ("RESULTS", "PAGE"):
        monkeypatch.setattr(bench, name, tmp_path / name)
    (tmp_path / "PAGE").write_text(f"# Speed\n\n{page.BEGIN}{page.END}\n\n## Findings\n")
    bench.record("data_stages", {"race": {}})
    bench.record("data_stages", {})
    assert json.loads((tmp_path / "RESULTS").read_text())["data_stages"]["figures"] == {"race": {}}
    assert (tmp_path / "PAGE").read_text().endswith(f"{page.END}\n\n## Findings\n")


def test_the_commit_is_found_from_everywhere(tmp_path, monkeypatch):
    expected = page.machine()["code"]
    monkeypatch.chdir(tmp_path)
    assert page.machine()["code"] == expected


@pytest.mark.slow
def test_a_language_model_is_timed_beside_the_harness(prepared, monkeypatch):
    for name, value in (("QUESTIONS", 4), ("LAYERS", 1), ("WIDTH", 32)):
        monkeypatch.setattr(likelihood, name, value)
    figures = likelihood.measure(prepared, rounds=1, batches=1)
    assert figures["questions"] == 4
    assert all(rate > 0 for rate in figures["questions_per_second"].values())


@pytest.mark.slow
def test_a_passage_that_is_read_once_is_kept_once(prepared, monkeypatch):
    monkeypatch.setattr(memory, "PASSAGES", 2)
    (figures,) = memory.measure(prepared, rounds=1, batches=2).values()
    kept = figures["mib_per_question"]
    assert 0 < kept["ours"] < kept["joint"] < kept["stock"]
    assert 0 < figures["frozen_kib_per_question"]["ours"] < figures["frozen_kib_per_question"]["joint"]


@pytest.mark.slow
def test_passages_that_are_read_once_are_timed_beside_the_joint_encoder(prepared, monkeypatch):
    monkeypatch.setattr(passages, "PASSAGES", 6)
    asked = passages.asked(prepared, "sample", rounds=1)
    assert asked["questions"] >= 6 and asked["faster"]["ratio"] > 0
    served = passages.measure_served(prepared, rounds=1, batches=1)
    assert set(served["question"]["milliseconds"]) == {"known", "new", "joint"}
    assert served["question"]["faster_than"]["joint"]["ratio"] > 0 < served["question"]["passage_tokens"]
    assert served["file"]["questions"] >= 6 and served["file"]["faster"]["ratio"] > 0
    assert set(passages.options(prepared, "sample", rounds=1, batches=1)["faster_than"]) == {"joint", "stock"}
