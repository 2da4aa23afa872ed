"""The page of a benchmark, read back: complete, self-contained, and safe from texts of users."""

import copy

import numpy as np
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from compared import compare

from coattend.config.reader import UNTRAINED
from coattend.evaluation.runs import digest_of_scored
from coattend.reports import benchmark
from coattend.reports.render import html_page, markdown_page
from coattend.reports.sections import CALIBRATION_TEXT, ENCODER_NOTE, UNTRAINED_NOTE


@pytest.fixture(scope="module")
def page(node_outputs, parse_page):
    return parse_page(node_outputs[2])


@pytest.fixture(scope="module")
def markdown(node_outputs):
    return node_outputs[1]


def section_of(results, title):
    return next(section for section in benchmark.benchmark_sections(results) if section.title == title)


def test_the_page_is_whole_and_loads_nothing(page, node_outputs):
    assert page.open_tags == []
    assert ("html", {"lang": "en"}) in page.elements
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        # A link loads nothing until it is followed.
        loading = {"src", "href", "srcset", "style", "onload", "onclick"} - ({"href"} if tag == "a" else set())
        assert not loading & set(attributes), (tag, attributes)
    policy = next(a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    # It adapts to phones and to dark mode.
    assert any("width=device-width" in a.get("content", "") for _, a in page.elements)
    assert "prefers-color-scheme: dark" in node_outputs[2]


def test_plotly_is_inlined_once_and_each_figure_has_its_data(page, node_outputs):
    assert node_outputs[2].count("* plotly.js v") == 1
    assert page.count("figure") == 5
    data = [a for tag, a in page.elements if tag == "script" and a.get("type") == "application/json"]
    assert len(data) == 5


def test_texts_of_users_are_escaped(page, node_outputs):
    assert page.count("script") == 4 + 5  # Printing, sorting, plotly.js and drawing; five figures.
    assert page.count("b") == 0
    assert "alert(1)</script> | <b>*x*</b>" in page.text
    assert "</script><script>alert" not in node_outputs[2]


def test_scores_are_in_the_table(page, results):
    metric = results["readers"]["poi_net"]["metrics"]["splits"]["dev"]["all"]["accuracy"]
    row = next(row for row in page.rows if row[0] == "poi_net")
    assert row[1].startswith(f"{metric['mean']:.1f}[{metric['low']:.1f}, {metric['high']:.1f}]")
    assert "2 seeds" in row[1]


def test_columns_count_the_questions_of_their_part(results):
    """Every fourth of 60 questions for spans has no answer."""
    _, spans = benchmark.score_tables(results)
    columns = {column.text: column.notes for column in spans.columns}
    assert columns["F1 where there is an answer"] == ("dev", "45 questions")
    assert columns["F1 where there is none"] == ("dev", "15 questions")


def test_costs_are_those_of_the_readers_that_were_run(results):
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in benchmark.costs_table(results).rows}
    assert "duma" not in rows
    assert rows["poi_net"][:5] == ["2", "22,713,985", "90 s", "8.8", "2.0 GiB"]


def test_the_version_of_the_benchmark_and_the_host_of_a_gpu_are_on_the_page(results, page):
    assert results["readers"]["plain"]["metrics"]["benchmark_version"] == results["benchmark_version"] == 1
    assert "Version of the benchmark: sample 1." in page.text
    metrics = results["readers"]["plain"]["metrics"]
    trial = metrics["trials"][0] | {"device": "NVIDIA H100", "processor": "AMD EPYC", "threads": 16}
    entry = {"status": "scored", "metrics": metrics | {"trials": [trial]}}
    (row,) = benchmark.costs_table(results | {"readers": {"plain": entry}}).rows
    assert ("NVIDIA H100", ("AMD EPYC, 16 threads", "bf16")) in [(cell.text, cell.notes) for cell in row]


def test_cautions_name_rejections_failures_and_warnings(results):
    cautions = list(benchmark.cautions(results))
    assert any(sentence.startswith("broken, seed 0, failed:") for sentence in cautions)
    assert any(sentence.startswith("Ingestion rejected 3 records") for sentence in cautions)
    assert any(sentence.startswith("Warning, poi_net, seeds 0, 1; plain, seeds 0, 1;") for sentence in cautions)
    assert "There are warnings, under “What to keep in mind”." in section_of(results, "In short").text


def test_cautions_name_what_was_not_scored_or_not_read(results):
    metrics = results["readers"]["plain"]["metrics"]
    unscored = {"not_scored": {"no gold answer": {"test": 1200}}, "not_read": {"too long": 3}}
    trial = metrics["trials"][0] | {"unreadable": [{"question_id": "q1", "reason": "too long"}]}
    entry = {"status": "scored", "metrics": metrics | unscored | {"trials": [trial]}}
    rejected = {"records": 8, "reasons": {f"reason {number}": 1 for number in range(8)}}
    cautions = list(benchmark.cautions(results | {"readers": {"plain": entry}, "rejected": rejected}))
    assert "plain is not scored on 1,200 questions of test: no gold answer." in cautions
    assert "plain could not be given 3 questions, which count as wrong: too long." in cautions
    assert any(sentence.startswith("1 training questions could not be read") for sentence in cautions)
    assert any(sentence.endswith("1 × reason 4; 3 other reasons, see the rejected table.") for sentence in cautions)


@pytest.mark.parametrize(
    ("chosen", "named"), [((True, True), "plain:"), ((True, False), "plain (1 of 2 trials):"), ((False, False), None)]
)
def test_the_first_lines_say_what_was_chosen_on_dev(results, parse_page, chosen, named):
    metrics = results["readers"]["plain"]["metrics"]
    trials = [
        trial | ({"selection": "dev"} if on_dev else {})
        for trial, on_dev in zip(metrics["trials"], chosen, strict=True)
    ]
    entry = {"status": "scored", "metrics": metrics | {"trials": trials}}
    sections = benchmark.benchmark_sections(results | {"readers": results["readers"] | {"plain": entry}})
    start = "Scores on dev of sample are too good for"
    pages = (parse_page(html_page("Sample", sections)).text, markdown_page("Sample", sections))
    for page in pages:
        assert (start in " ".join(page.split())[:120]) == (named is not None)
    assert named is None or all(f"{start} {named}" in " ".join(page.split()) for page in pages)


@pytest.mark.parametrize(("training", "scored"), [({"train_on": {"race": ()}}, {}), ({}, {"trained_on": "race"})])
def test_training_on_another_benchmark_chooses_on_its_dev(results, training, scored):
    metrics = results["readers"]["plain"]["metrics"]
    elsewhere = [trial | {"selection": "dev", "training": training} for trial in metrics["trials"]]
    entry = {"status": "scored", "metrics": metrics | scored | {"trials": elsewhere}}
    section = section_of(results | {"readers": results["readers"] | {"plain": entry}}, "In short")
    assert not any("too good" in sentence for sentence in section.text)


def test_generated_texts_rank_no_readers(results):
    real, simulated = (
        " ".join(section_of(results | {"simulated": generated}, "In short").text) for generated in (False, True)
    )
    assert "has the highest" in real and "rank none" not in real
    assert "The texts are generated: scores show that readers learn to read them, and rank none." in simulated
    assert not any(word in simulated for word in ("highest", "Against", "plain", "poi_net"))
    assert "On dev" in simulated


@pytest.mark.parametrize(
    ("p_corrected", "over_seeds", "ending"),
    [
        (0.04, True, "+2.0 points, p\u00a0=\u00a00.040 after a correction for the number of readers (Holm)."),
        (0.04, False, "after a correction for the number of readers (Holm), for these seeds."),
        (None, False, "+2.0 points, of which nothing more can be told."),
    ],
)
def test_the_best_reader_has_a_corrected_p_value_and_no_other(results, p_corrected, over_seeds, ending):
    best = {"task": "options", "split": "dev", "metric": "accuracy", "reader": "poi_net", "baseline": "plain"}
    best |= {"mean": 2.0, "low": 0.1, "high": 3.9, "p": 0.02, "p_corrected": p_corrected, "over_seeds": over_seeds}
    (sentence,) = [
        sentence
        for sentence in section_of(results | {"differences": [best | {"mcnemar_p": None}]}, "In short").text
        if "Against plain" in sentence
    ]
    assert sentence.endswith(ending)
    assert "0.020" not in sentence


def test_settings_that_differ_are_apart_from_those_that_are_the_same(results):
    section = section_of(results, "Settings")
    differing = {row[0].text: [cell.text for cell in row[1:]] for row in section.tables[0].rows}
    assert differing["turns"] == ["3", "–", "–", "–", "–"]
    assert differing["pooling"] == ["–", "mean", "mean", "mean", "–"]
    same = results | {"readers": {"plain": results["readers"]["plain"]}, "baselines": {"options": "plain"}}
    assert section_of(same, "Settings").text == ("The readers have no settings that differ.",)


def test_the_encoder_of_spans_is_a_caution(results):
    assert ENCODER_NOTE in benchmark.cautions(results)
    options_only = {name: entry for name, entry in results["readers"].items() if "span" not in name}
    assert ENCODER_NOTE not in benchmark.cautions(results | {"readers": options_only})


def test_partial_scoring_is_a_caution(results):
    partial = benchmark.cautions(results | {"scored": 0.125})
    assert next(partial).endswith("12.5 % of the questions to score are asked, drawn by their ids.")
    assert not any("of the questions to score" in sentence for sentence in benchmark.cautions(results))


def test_an_untrained_encoder_is_a_caution_once(results):
    readers = copy.deepcopy(results["readers"])
    trials = [trial for entry in readers.values() if entry["metrics"] for trial in entry["metrics"]["trials"]]
    assert len(trials) > 1
    for trial in trials:
        trial["encoder"] = UNTRAINED
    cautions = list(benchmark.cautions(results | {"readers": readers}))
    assert cautions.count(UNTRAINED_NOTE) == 1
    assert UNTRAINED_NOTE not in benchmark.cautions(results)


def test_a_dev_set_that_train_was_drawn_from_is_named_first(results):
    sentence = "of which 80 % are train and 20 % are dev. These scores compare with no published ones."
    assert any(text.endswith(sentence) for text in section_of(results | {"train_from_dev": 0.8}, "In short").text)
    assert not any(text.endswith(sentence) for text in section_of(results, "In short").text)


def test_the_html_and_the_markdown_page_have_the_same_text(page, markdown):
    for sentence in ("Not run: duma", "Failed in every trial: broken", "guessing scores 25.0 %", "22,713,985"):
        assert sentence in page.text
        assert sentence in markdown


def test_the_readers_that_were_not_run_are_folded(node_outputs):
    html = node_outputs[2]
    assert "<details><summary>1 reader was not run</summary><p>Not run: duma.</p></details>" in html


def test_markdown_tables_are_whole(markdown):
    blocks = [block for block in markdown.split("\n\n") if block.startswith("|")]
    assert len(blocks) >= 5
    for block in blocks:
        widths = {line.replace("\\|", "").count("|") for line in block.splitlines()}
        assert len(widths) == 1
    assert "<script" not in markdown
    assert "<b>" not in markdown


def test_a_page_without_scores(node_inputs, benchmark_parameters, parse_page):
    not_run = {
        name: None if name.endswith((".metrics", ".predictions")) else value for name, value in node_inputs.items()
    }
    results, markdown, html, chart = compare(benchmark_parameters, **not_run)
    assert {entry["status"] for entry in results["readers"].values()} == {"not run"}
    assert "No reader has been scored yet." in markdown
    assert parse_page(html).open_tags == []
    assert not chart.data


def test_readers_of_other_questions_are_left_out_until_they_are_evaluated_again(
    node_inputs, benchmark_parameters, caplog
):
    """Answers to a part of the questions would count as wrong on the others, and so lose a comparison."""
    questions = node_inputs["questions"].to_table()
    fewer = pads.dataset(questions.filter(pc.field("question_id") != questions["question_id"][0].as_py()))
    of_fewer = {
        "poi_net.metrics": node_inputs["poi_net.metrics"] | {"scored": digest_of_scored(fewer.to_table(), "options")}
    }
    results, markdown, *_ = compare(benchmark_parameters, **node_inputs | of_fewer)
    assert results["readers"]["poi_net"] == {"status": "outdated", "metrics": None}
    assert {difference["reader"] for difference in results["differences"]} == {"poi_net_span"}
    assert "left out until they are evaluated again: poi_net." in markdown
    assert "sample: poi_net were scored on other questions than there are now" in caplog.text


def test_the_same_inputs_give_the_same_page(node_outputs, node_inputs, benchmark_parameters):
    assert compare(benchmark_parameters, **node_inputs)[:3] == node_outputs[:3]


@pytest.fixture(scope="module")
def calibration(results):
    return results["readers"]["poi_net"]["metrics"]["calibration"]["dev"]


def test_calibration_has_a_table_for_each_split_and_a_row_for_each_reader(results, calibration):
    section = section_of(results, "Calibration")
    assert section.text == CALIBRATION_TEXT
    dev, test, _ = section.tables
    assert (dev.caption, test.caption) == ("Calibration, dev, options", "Calibration, test, options")
    rows = {row[0].text: row for row in dev.rows}
    assert set(rows) == {"plain", "poi_net"}
    _, accuracy, confidence, ece, aurc = rows["poi_net"]
    group = results["readers"]["poi_net"]["metrics"]["splits"]["dev"]["all"]
    assert accuracy.text == f"{group['accuracy']['mean']:.1f}"
    assert confidence.text == f"{calibration['confidence']['mean']:.1f}"
    assert ece.text == f"{calibration['ece']['mean']:.1f}"
    assert ece.notes[0] == f"{calibration['ece_by_chance']['mean']:.1f} by chance"
    assert aurc.text == f"{calibration['aurc']['mean']:.1f}"
    assert aurc.notes[0] == f"{calibration['aurc_at_best']['mean']:.1f} at best"
    assert aurc.notes[1].endswith("2 seeds")


def test_reliability_by_tenths_is_the_mean_over_seeds(results, calibration):
    dev = section_of(results, "Calibration").folded[0]
    row = next(row for row in dev.rows if row[0].text == "poi_net")
    first_bins = [bins[0] for bins in calibration["reliability"].values()]
    assert row[1].text == f"{np.mean([tenth['accuracy'] for tenth in first_bins]):.1f}"
    assert row[1].notes == (f"{np.mean([tenth['confidence'] for tenth in first_bins]):.1f}",)
    assert len(row) == 11


def test_the_accuracy_of_spans_is_their_exact_match(results):
    exact = results["readers"]["plain_span"]["metrics"]["splits"]["dev"]["all"]["exact"]["mean"]
    assert benchmark.calibrations(results, "span")["dev"]["plain_span"]["accuracy"] == exact
