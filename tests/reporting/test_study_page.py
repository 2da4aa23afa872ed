"""What a study's page says of calibration, parts of speech, ensembles and single questions."""

import pytest
from studied import STUDY, found, questions

from coattend.parameters import StudyParameters
from coattend.reporting import markdown_page, results_page, study_page, study_table


def showing(*shows, **changed):
    return StudyParameters.model_validate(STUDY.model_dump() | {"shows": shows} | changed)


@pytest.fixture(scope="module")
def studied():
    return found(showing("by_answer_pos", "ensemble"))


def test_calibration_and_answerability_stand_on_every_studys_page(studied):
    results, page, markdown = studied
    sure = results["analyses"]["exams"]["calibration"]["poi_net"]["dev"]
    row = next(row for row in results["rows"] if (row["benchmark"], row["variant"]) == ("exams", "poi_net"))
    assert sure["accuracy"] == pytest.approx(row["mean"])
    told = f"| POI-Net | {row['mean']:.1f} | {sure['confidence']['mean']:.1f} | {sure['ece']['mean']:.1f} ("
    assert told in markdown.partition("**Calibration: exams, dev**")[2]
    area = results["analyses"]["articles"]["calibration"]["plain"]["dev"]["answerability_auroc"]
    assert area > 75
    assert f"| Baseline | {area:.1f} |" in markdown.partition("**Answerability AUROC: articles, dev**")[2]
    assert "Calibration: articles" not in markdown
    assert "Answerability AUROC: exams" not in markdown
    assert "Risk against coverage: exams." in page


def test_scores_are_broken_down_by_the_answers_part_of_speech(studied):
    results, page, markdown = studied
    of_plain = [
        row for row in results["breakdowns"] if row["variant"] == "plain" and row["metric"] in ("accuracy", "f1")
    ]
    rows = [row for row in of_plain if row["breakdown"] == "by_answer_pos"]
    counts = {(row["benchmark"], row["group"]): row["questions"] for row in rows}
    assert counts == {
        **{("exams", part): 15 for part in ("noun", "proper noun", "verb", "number")},
        **{("articles", part): 15 for part in ("noun", "proper noun", "verb", "no answer")},
    }
    assert "By part of speech of the answer: exams, dev" in page
    assert "| proper noun (15 questions) |" in markdown
    assert "its first word that is no article" in markdown


def test_a_page_says_what_was_trained_and_over_which_encoder(studied):
    results, _, markdown = studied
    assert "Seeds 0, 1. Protocol: finetuned, every weight is trained. Encoder: minilm." in markdown
    assert study_table.rows_of(results)["encoder"].to_pylist() == ["minilm"] * len(results["rows"])
    others = [row | {"encoder": row["variant"]} for row in results["rows"]]
    (summary, *_) = study_page.sections(results | {"rows": others})[0].text
    assert summary.endswith("Encoders: plain (Baseline); poi_net (POI-Net).")
    everything = markdown_page.write("Results", results_page.sections({"mine_turns": results}))
    assert "| finetuned | minilm | 2 |" in everything


def test_latex_has_intervals_seeds_and_what_differences_come_to(studied):
    row = next(row for row in studied[0]["rows"] if row["verdict"])
    written = study_page.latex(studied[0])
    assert f"± {row['spread']:.1f} over 2 seeds" in written and row["verdict"].partition(",")[0] in written


def test_scores_are_broken_down_by_subset():
    results, page, markdown = found(showing("by_subset", benchmarks=["exams"]))
    by_subset = markdown.partition("## By subset: exams, dev")[2].partition("## ")[0]
    for row in results["rows"]:
        if row["group"] != "all":
            assert f"{row['group']} ({row['questions']} questions) | " in by_subset
            assert f" {row['mean']:.1f} [{row['low']:.1f}, {row['high']:.1f}] |" in by_subset
    assert "By subset: exams, dev. Bars hold" in page


def test_trials_of_one_subset_are_put_together_on_its_questions():
    results, _, markdown = found(
        showing("ensemble", "by_answer_pos", benchmarks=["exams"]), training={"train_on": {"exams": "NE"}}
    )
    rows = results["analyses"]["exams"]["ensemble"]["plain"]
    assert {row["group"] for row in rows} == {"NE"}
    ensembles = markdown.partition("## Ensembles")[2].partition("##")[0]
    assert "**exams, dev, NE: Accuracy**" in ensembles
    single = next(row for row in results["rows"] if (row["group"], row["variant"]) == ("NE", "plain"))
    assert f"| Baseline | {single['mean']:.1f} |" in ensembles
    assert "**Calibration: exams, dev, NE**" in markdown
    assert "Drawn on the HTML page: By part of speech of the answer: exams, dev, NE." in markdown


def test_differences_seed_by_seed_are_those_of_the_questions_that_the_study_asks():
    results, _, markdown = found(showing(benchmarks=["exams"]), training={"train_on": {"exams": "NE"}})
    by_seed = markdown.partition("**Seed by seed**")[2].partition("## ")[0]
    row = next(row for row in results["rows"] if row["group"] == "NE" and row["by_seed"])
    for one in row["by_seed"]:
        assert f"| POI-Net | exams, dev, NE, Accuracy | {one['seed']} | {one['mean']:+.1f}" in by_seed
    assert "exams, dev, Accuracy" not in by_seed
    assert "| POI-Net | exams, dev, Accuracy | 0 |" in found()[2].partition("**Seed by seed**")[2]


def test_a_difference_that_is_no_question_of_the_study_is_told_as_not_corrected():
    rows = [row for row in found()[0]["rows"] if row["verdict"] and row["verdict"].startswith(("better", "worse"))]
    leading = [row for row in rows if row["group"] == "all" and row["metric"] in ("accuracy", "f1")]
    assert leading
    assert len(leading) < len(rows)
    for row in rows:
        assert row["verdict"].endswith(", not corrected") == (row not in leading)


def test_a_question_of_one_benchmark_is_not_missed_on_another():
    _, _, markdown = found(question="articles-1")
    assert "Who slept 1? Gold: Ann." in markdown
    assert "is not among" not in markdown
    example = {"benchmark": "exams", "question": "exams-99"}
    _, _, markdown = found(showing("predictions", examples=[example]), question="nowhere")
    assert "“exams-99” is not among the questions of exams." in markdown
    for benchmark in STUDY.benchmarks:
        assert f"“nowhere” is not among the questions of {benchmark}." in markdown


def test_a_benchmark_whose_answers_are_not_known_has_no_scores():
    unknown = [row | {"label": None} for row in questions("exams")]
    results, _, markdown = found(showing("by_answer_pos", "ensemble"), asked={"exams": unknown})
    assert {row["benchmark"] for row in results["rows"]} == {"articles"}
    assert results["analyses"]["exams"] == {"ensemble": {}, "calibration": {}, "scored": 1.0}
    assert "exams, dev" not in markdown
    nothing = {"exams": unknown, "articles": [row | {"answers": None} for row in questions("articles")]}
    _, _, markdown = found(showing("ensemble", "boundary_pos"), asked=nothing)
    assert "Nothing was scored" in markdown
    assert not [title for title in ("Ensembles", "Words at", "Calibration") if f"## {title}" in markdown]


def test_attention_pages_are_linked_to_from_the_studys_page_and_from_the_page_of_all():
    results, page, markdown = found(showing("attention"))
    assert '<a href="exams_attention.html">exams: Baseline beside POI-Net</a>' in page
    assert "[articles: Baseline beside POI-Net](articles_attention.html)" in markdown
    everything = markdown_page.write("Results", results_page.sections({"mine_turns": results}))
    assert "(studies/mine_turns/exams_attention.html)" in everything


@pytest.mark.parametrize(
    ("held_out", "told"),
    [
        ({"held_out_loss": 1.25}, "score and loss by step"),
        ({"held_out_loss": None}, "score and training loss by step"),
        ({}, "score and training loss by step"),  # As trials were kept before there was one.
    ],
)
def test_the_loss_by_step_is_that_of_questions_held_out_where_there_is_one(held_out, told):
    curve = [
        {"step": 10, "epoch": 1.0, "loss": 0.5, "held_out": None} | dict.fromkeys(held_out),
        {"step": 10, "epoch": 1.0, "loss": None, "held_out": 0.4} | held_out,
    ]
    steps = {200: {"accuracy": 59.68, "loss": 1.1}, 400: {"accuracy": 76.94, "loss": 0.6223}}
    blocks = [{"encoder": "ALBERT", "numbers": {"plain": {"exams": {"dev": steps}}}}]
    about = showing("curve", benchmarks=["exams"], printed=blocks)
    by_step = found(about, curve=curve)[2].partition(f"**Held-out {told}**")[2].partition("## ")[0]
    loss = "1.250" if held_out.get("held_out_loss") else "0.500"
    both = f"40.0 (loss {loss}; step 10)"
    assert f"| 100 % | {both} | {both} | 76.94 (loss 0.6223; step 400) |" in by_step
    assert "| 50 % | – | – | 59.68 (loss 1.1; step 200) |" in by_step


def test_options_that_every_variant_has_are_told():
    told = "Every variant has other options here than in its paper: hidden 16."
    assert told in found(showing(options={"hidden": 16}))[2]
    assert "Every variant has other options" not in found(showing())[2]


def test_systems_that_are_only_cited_stand_back():
    cited = [{"name": "Their reader", "numbers": {"exams": {"dev": 61.0}}}]
    page = found(showing(cited=cited))[1]
    quiet = page.partition('<table class="quiet">')[2].partition("</table>")[0]
    assert "Their reader" in quiet
    assert page.count('<table class="quiet">') == 1
    assert ".quiet td, .quiet th { color: var(--quiet); }" in page
    assert 'class="quiet"' not in found(showing())[1]


def test_the_metric_that_a_study_asks_for_is_the_one_that_is_corrected():
    def corrected(about):
        rows = found(about)[0]["rows"]
        return {(row["benchmark"], row["metric"]) for row in rows if row["p_corrected"] is not None}

    assert corrected(showing()) == {("exams", "accuracy"), ("articles", "f1")}
    # The exams' questions are not scored by it, so that theirs stays.
    assert corrected(showing(metric="exact")) == {("exams", "accuracy"), ("articles", "exact")}
