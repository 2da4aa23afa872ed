"""A study's page: calibration, breakdowns, ensembles, single questions and exports."""

import csv
import html
import io
import re

import pytest
from example_study import SEEDS, STUDY, findings_of, question_rows, report, study

from coattend import readers
from coattend.config.reader import UNTRAINED
from coattend.reports.render import Section, html_page, markdown_page
from coattend.reports.sections import ENCODER_NOTE, UNTRAINED_NOTE
from coattend.reports.study import analyses
from coattend.reports.study.page import latex_tables, overview_sections, study_sections
from coattend.reports.study.sections import attention_section, cited_section, training_sections
from coattend.reports.study.table import arrow_table
from coattend.reports.tables import Table, to_latex


@pytest.fixture(scope="module")
def full_report():
    return report(study("by_answer_pos", "ensemble"))


def cells(table, *columns):
    """The texts of some columns, by the first."""
    return {row[0].text: tuple(row[column].text for column in columns) for row in table.rows}


def test_calibration_and_answerability_are_on_every_page(full_report):
    findings = full_report.findings
    section = analyses.calibration_section(findings)
    tables = {table.caption: table for table in section.tables}
    assert set(tables) == {"Calibration: exams, dev", "Answerability AUROC: articles, dev"}
    calibration = findings["analyses"]["exams"]["calibration"]["poi_net"]["dev"]
    row = next(row for row in findings["rows"] if (row["benchmark"], row["variant"]) == ("exams", "poi_net"))
    assert calibration["accuracy"] == pytest.approx(row["mean"])
    numbers = (row["mean"], calibration["confidence"]["mean"], calibration["ece"]["mean"])
    listed = cells(tables["Calibration: exams, dev"], 1, 2, 3)
    assert listed["POI-Net"] == tuple(f"{number:.1f}" for number in numbers)
    area = findings["analyses"]["articles"]["calibration"]["plain"]["dev"]["answerability_auroc"]
    assert area > 75
    assert cells(tables["Answerability AUROC: articles, dev"], 1)["Baseline"] == (f"{area:.1f}",)
    assert [caption for caption, _ in section.figures] == ["Risk against coverage: exams."]


def test_seeds_stand_beside_their_machine_and_benchmarks_beside_their_version(full_report):
    first = study_sections(full_report.findings)[0].text
    assert any(sentence.startswith("Seeds 0, 1") and sentence.endswith("trained on x86_64.") for sentence in first)
    assert "Versions of the benchmarks: exams 1, articles 1. Scores of two versions do not compare." in first


def test_the_summary_says_that_dev_was_divided_where_no_file_has_train(full_report):
    findings = full_report.findings
    divided = findings["analyses"] | {"exams": findings["analyses"]["exams"] | {"train_from_dev": 0.8}}
    sentence = "exams has no files of train here: its dev set is split by groups of questions, of which 80 % are train"
    said = [
        any(text.startswith(sentence) for text in study_sections(either)[0].text)
        for either in (findings, findings | {"analyses": divided})
    ]
    assert said == [False, True]


def test_scores_are_broken_down_by_the_answers_part_of_speech(full_report):
    findings = full_report.findings
    counts = {
        (row["benchmark"], row["group"]): row["questions"]
        for row in findings["breakdowns"]
        if row["variant"] == "plain" and row["breakdown"] == "by_answer_pos" and row["metric"] != "exact"
    }
    assert counts == {
        **{("exams", part): 15 for part in ("noun", "proper noun", "verb", "number")},
        **{("articles", part): 15 for part in ("noun", "proper noun", "verb", "no answer")},
    }
    exams, articles = analyses.breakdown_sections(findings, ["by_answer_pos"])
    assert exams.title == "By part of speech of the answer: exams, dev"
    assert set(cells(articles.folded[0])) == {"noun", "proper noun", "verb", "no answer"}
    (caption, _), (note,) = exams.figures[0], exams.text
    for text in (f"<h2>{exams.title}</h2>", f"<figcaption>{caption}</figcaption>", f"<p>{note}</p>"):
        assert text in html.unescape(full_report.html)
    for text in (f"## {exams.title}", f"Drawn on the HTML page: {caption}", "| proper noun (15 questions) |"):
        assert text in full_report.markdown


def test_the_summary_names_seeds_protocol_and_encoders(full_report):
    findings = full_report.findings
    summary = study_sections(findings)[0].text[0]
    assert summary == "Seeds 0, 1. Protocol: finetuned, every weight is trained. Encoder: minilm."
    different = [row | {"encoder": row["variant"]} for row in findings["rows"]]
    summary = study_sections(findings | {"rows": different})[0].text[0]
    assert summary.endswith("Encoders: plain (Baseline); poi_net (POI-Net).")
    assert set(arrow_table(findings)["encoder"].to_pylist()) == {"minilm"}


def test_the_overview_lists_studies_with_their_encoders(full_report):
    first, *following = overview_sections({"mine_turns": full_report.findings, "other": None})
    assert cells(first.tables[0], 3, 4, 5, 6)[STUDY.title] == ("finetuned", "held out", "minilm", "2")
    assert cells(first.folded[0]) == {"other": ()}
    assert following[0].title == STUDY.title


def test_latex_has_seeds_and_verdicts(full_report):
    row = next(row for row in full_report.findings["rows"] if row["verdict"])
    latex = latex_tables(full_report.findings)
    assert f"± {row['spread']:.1f} over 2 seeds" in latex
    assert row["verdict"].partition(",")[0] in latex


def test_scores_are_broken_down_by_subset():
    findings = findings_of(study("by_subset", benchmarks=["exams"]))
    (section,) = analyses.breakdown_sections(findings, ["by_subset"])
    (table,) = section.folded
    titles = [column.text for column in table.columns]
    by_group = {row[0].text: row for row in table.rows}
    for row in findings["rows"]:
        if row["group"] != "all":
            assert by_group[row["group"]][0].notes == (f"{row['questions']} questions",)
            cell = by_group[row["group"]][titles.index(f"{row['title']}, Accuracy")]
            assert (cell.text, cell.notes) == (f"{row['mean']:.1f}", (f"[{row['low']:.1f}, {row['high']:.1f}]",))


def test_analyses_are_of_the_subset_that_was_trained_on():
    parameters = study("ensemble", "by_answer_pos", benchmarks=["exams"])
    findings = findings_of(parameters, training={"train_on": {"exams": "NE"}})
    assert {row["group"] for row in findings["analyses"]["exams"]["ensemble"]["plain"]} == {"NE"}
    (table,) = analyses.ensemble_section(findings).tables
    assert table.caption == "exams, dev, NE: Accuracy"
    single = next(row for row in findings["rows"] if (row["group"], row["variant"]) == ("NE", "plain"))
    assert cells(table, 1)["Baseline"] == (f"{single['mean']:.1f}",)
    assert analyses.calibration_section(findings).tables[0].caption == "Calibration: exams, dev, NE"
    (breakdown,) = analyses.breakdown_sections(findings, ["by_answer_pos"])
    assert breakdown.title.endswith("exams, dev, NE")


@pytest.mark.parametrize(
    ("training", "questions", "group"),
    [({"train_on": {"exams": "NE"}}, "exams, dev, NE, Accuracy", "NE"), ({}, "exams, dev, Accuracy", "all")],
)
def test_differences_by_seed_are_of_the_questions_that_the_study_asks(training, questions, group):
    findings = findings_of(study(benchmarks=["exams"]), training=training)
    (table,) = study_sections(findings)[0].folded
    row = next(row for row in findings["rows"] if row["group"] == group and row["by_seed"])
    assert [tuple(cell.text for cell in listed[:4]) for listed in table.rows] == [
        ("POI-Net", questions, str(difference["seed"]), f"{difference['mean']:+.1f}") for difference in row["by_seed"]
    ]


@pytest.mark.parametrize(
    ("training", "asked", "others"),
    [({}, ["all", "CN", "NE"], []), ({"train_on": {"exams": "NE"}}, ["NE"], ["all", "CN"])],
)
def test_scores_on_questions_that_nobody_was_trained_on_stand_behind(training, asked, others):
    sections = study_sections(findings_of(study(benchmarks=["exams"]), training=training))
    behind = [section for section in sections if section.title == "Scores on other questions"]
    captions = {"all": "exams, dev: Accuracy", "CN": "exams, dev, CN: Accuracy", "NE": "exams, dev, NE: Accuracy"}

    def groups(tables):
        return [next(name for name, caption in captions.items() if each.caption.startswith(caption)) for each in tables]

    assert groups(sections[0].tables) == asked
    assert groups(behind[0].folded if behind else []) == others


def test_examples_are_missing_only_if_no_benchmark_has_them():
    section = analyses.example_section(findings_of(example="articles-1"))
    assert [table.caption for table in section.tables] == ["Who slept 1? Gold: Ann."]
    assert not section.text
    parameters = study("predictions", examples=[{"benchmark": "exams", "question": "exams-99"}])
    section = analyses.example_section(findings_of(parameters, example="nowhere"))
    assert not section.tables
    assert set(section.text) == {
        "“exams-99” is not among the questions of exams.",
        *(f"“nowhere” is not among the questions of {benchmark}." for benchmark in STUDY.benchmarks),
    }


def test_a_study_without_scores():
    unknown = {
        "exams": [row | {"label": None} for row in question_rows("exams")],
        "articles": [row | {"answers": None} for row in question_rows("articles")],
    }
    findings = findings_of(study("ensemble", "boundary_pos"), questions=unknown)
    titles = [section.title for section in study_sections(findings)]
    assert titles == [STUDY.source, "What to keep in mind"]
    assert study_sections(findings)[0].text[-1].startswith("Nothing was scored")


def test_attention_pages_are_linked():
    findings = findings_of(study("attention"))
    section = attention_section(findings)
    left, right = (findings["trials"]["exams"][name][0]["trial_id"] for name in ("plain", "poi_net"))
    assert f" --params attention.left={left},attention.right={right}." in section.text[0]
    assert section.links == tuple(
        (f"{benchmark}: Baseline beside POI-Net", f"{benchmark}_attention.html") for benchmark in STUDY.benchmarks
    )
    page, overview = [section], overview_sections({"mine_turns": findings})
    assert '<a href="exams_attention.html">exams: Baseline beside POI-Net</a>' in html_page("Study", page)
    assert "[exams: Baseline beside POI-Net](exams_attention.html)" in markdown_page("Study", page)
    links = [link for section in overview for link in section.links]
    assert ("exams: Baseline beside POI-Net", "studies/mine_turns/exams_attention.html") in links


@pytest.mark.parametrize(
    ("held_out", "caption"),
    [
        ({"held_out_loss": 1.25}, "Held-out score and loss by step"),
        ({"held_out_loss": None}, "Held-out score and training loss by step"),
        ({}, "Held-out score and training loss by step"),  # As in records of earlier versions.
    ],
)
def test_the_loss_by_step_is_the_held_out_one_where_there_is_one(held_out, caption):
    curve = [
        {"step": 10, "epoch": 1.0, "loss": 0.5, "held_out": None} | dict.fromkeys(held_out),
        {"step": 10, "epoch": 1.0, "loss": None, "held_out": 0.4} | held_out,
    ]
    steps = {200: {"accuracy": 59.68}, 400: {"accuracy": 76.94, "loss": 0.6223}}
    blocks = [{"encoder": "ALBERT", "numbers": {"plain": {"exams": {"dev": steps}}}}]
    findings = findings_of(study("curve", benchmarks=["exams"], printed=blocks), curve=curve)
    (section,) = training_sections(findings)
    (table,) = section.folded
    assert table.caption == caption
    rows = {row[0].text: [(cell.text, *cell.notes) for cell in row[1:]] for row in table.rows}
    loss = "loss 1.250" if held_out.get("held_out_loss") else "loss 0.500"
    measured = ("40.0", loss, "step 10")
    assert rows["100 %"] == [measured, measured, ("76.94", "loss 0.6223", "step 400")]
    assert rows["50 %"] == [("–",), ("–",), ("59.68", "step 200")]


def test_steps_are_printed_by_the_metric_that_decides():
    spans = {"dev": {100: {"exact_match": 60.5, "f1": 70.25}, 200: {"exact_match": 61.0, "f1": 71.0}}}
    blocks = [
        {"encoder": "ALBERT", "numbers": {"plain": {"exams": {"dev": {100: 59.5, 200: 60.0}}}}},
        {"encoder": "ALBERT", "numbers": {"poi_net": {"exams": spans}}},
    ]
    curve = [{"step": 10, "loss": 0.5, "held_out": 0.4}]
    findings = findings_of(study("curve", benchmarks=["exams"], printed=blocks), curve=curve)
    (section,) = training_sections(findings)
    half = next(row for row in section.folded[0].rows if row[0].text == "50 %")
    assert [(cell.text, *cell.notes) for cell in half[-2:]] == [("59.5", "step 100"), ("70.25", "step 100")]


def test_captions_of_latex_tables_have_their_signs_escaped():
    table = Table.of("squad_v1, 5 % of R&D", [{"Exact match, %": "50_0"}])
    latex = to_latex(table)
    assert r"\caption{squad\_v1, 5 \% of R\&D}" in latex
    assert r"Exact match, \%" in latex and r"50\_0" in latex


def test_scores_by_step_are_called_devs_where_checkpoints_were_chosen_on_it():
    findings = findings_of(study("curve", benchmarks=["exams"]), curve=[{"step": 10, "loss": 0.5, "held_out": 0.4}])
    for trials in findings["trials"]["exams"].values():
        for trial in trials:
            trial["selection"] = "dev"
    (section,) = training_sections(findings)
    assert section.folded[0].caption == "Score on dev and training loss by step"
    assert not any("held-out" in text.lower() for text in section.text)


def test_options_of_all_variants_are_named(full_report):
    sentence = "Every variant has other options here than in its paper: hidden 16."
    assert sentence in study_sections(full_report.findings | {"options": {"hidden": 16}})[0].text
    assert not any("other options" in text for text in study_sections(full_report.findings)[0].text)


def test_options_that_an_environment_has_changed_are_named():
    findings = findings_of(STUDY)
    findings["variants"]["poi_net"]["change"] = {"reader": "poi_net", "turns": 5}
    for trials in findings["trials"].values():
        for variant, records in trials.items():
            for trial in records:
                own = readers.completed(variant, "options", {"turns": 5} if variant == "poi_net" else {})
                trial |= {"variant": variant, "head": "options", "options": own}
                if variant == "poi_net":
                    trial["options"] = own | {"beta": "learned"}
    text = study_sections(findings)[0].text
    assert "Set by the environment, of POI-Net: beta learned in place of confidence." in text
    assert sum("Set by the environment" in sentence for sentence in text) == 1, "turns are the study's"
    studied = study_sections(findings | {"options": {"beta": "learned"}})[0].text
    assert not any("Set by the environment" in sentence for sentence in studied)


def test_cited_systems_are_quiet(full_report):
    numbers = {"exams": {"dev": 61.0, "test": {"f1": 3}}}
    system = {"name": "Their reader", "mark": "*", "encoder": None, "source": None, "numbers": numbers}
    (table,) = cited_section(full_report.findings | {"cited": [system]}).folded
    assert table.quiet
    assert [cell.text for cell in table.rows[0]] == ["Their reader*", "–", "–", "exams dev 61; exams test f1 3"]
    page = html_page("Page", [Section("Tables", tables=(table, Table("", table.columns, table.rows)))])
    assert "Their reader" in page.partition('<table class="quiet">')[2].partition("</table>")[0]
    assert page.count('<table class="quiet">') == 1


def test_failures_left_out_variants_and_reranked_answers_have_sections(full_report):
    seed = {"before": 50.0, "after": 60.0, "right_among_n_best": 80.0, "gained": 3, "lost": 1, "p": 0.5}
    group = {"questions": 60, "missing": 0, "seeds": {"0": seed, "1": seed | {"after": 61.0, "lost": 2, "p": 0.004}}}
    reranked = {"exams": {"reranking": {"plain": {"splits": {"dev": {"NE": group}}}}}}
    failure = {"benchmark": "exams", "variant": "plain", "seed": 7, "failure": "out of memory"}
    changes = {"analyses": reranked, "failures": [failure], "left_out": ["poi_net"]}
    sections = {section.title: section for section in study_sections(full_report.findings | changes)}
    (row,) = sections["Ranked again"].tables[0].rows
    numbers = ["50.0", "60.5", "–", "80.0", "3.0", "1.5", "0.004 to 0.500"]
    assert [cell.text for cell in row] == ["Baseline", "dev, NE", *numbers]
    assert [cell.text for cell in sections["Failed"].tables[0].rows[0]] == ["plain", "exams", "7", "out of memory"]
    assert sections["Left out"].text[0].endswith("did not train: POI-Net.")


def test_what_was_not_run_is_named_by_benchmark(full_report):
    trials = full_report.findings["trials"]
    some = {"exams": {name: of_variant for name, of_variant in trials["exams"].items() if name != "poi_net"}}
    sections = {section.title: section for section in study_sections(full_report.findings | {"trials": some})}
    assert "Not run on exams: “POI-Net”." in sections["Left out"].text
    none = {"exams": {}}
    sections = {section.title: section for section in study_sections(full_report.findings | {"trials": none})}
    assert sections["Left out"].text == ("Not run on exams: every variant.",)


def test_variants_of_several_commits_are_listed_with_theirs(full_report):
    def of_commits(first, second):
        trials = dict(full_report.findings["trials"]["exams"])
        for commit, name in ((first, "plain"), (second, "poi_net")):
            trials[name] = [trial | {"commit": commit} for trial in trials[name]]
        section, *_ = study_sections(full_report.findings | {"trials": {"exams": trials}})
        return next((table for table in section.folded if table.caption == "Code that trained them"), None)

    table = of_commits("1192bf4d00", "9b1dafa800")
    rows = {row[0].text: row[2].text for row in table.rows}
    assert {"Baseline": "1192bf4d", "POI-Net": "9b1dafa8"}.items() <= rows.items()
    assert of_commits("1192bf4d00", "1192bf4d00") is None


def test_variants_of_several_machines_are_listed_with_theirs(full_report):
    trials = dict(full_report.findings["trials"]["exams"])
    for precision, name in (("bf16", "plain"), ("fp32", "poi_net")):
        trials[name] = [trial | {"device": "one GPU", "precision": precision} for trial in trials[name]]
    section, *_ = study_sections(full_report.findings | {"trials": {"exams": trials}})
    (table,) = (table for table in section.folded if table.caption == "Machine that trained them")
    rows = {row[0].text: row[2].text for row in table.rows}
    assert rows["Baseline"].endswith("bf16") and rows["POI-Net"].endswith("fp32")


def test_trials_on_two_benchmarks_warn_once(full_report):
    truncated = {"final_loss": 0.5, "chance_loss": 1.0986, "truncated_passages": 0.25}
    trials = {"plain": [{"seed": 0, "signs": truncated, "encoder": "albert_base"}]}
    findings = full_report.findings | {
        "trials": {"exams": trials, "articles": trials},
        "trained_on": {"exams": {}, "articles": {"plain": "exams"}},
        "shows": [],
    }
    (warning,) = study_sections(findings)[-1].text
    assert warning.startswith("Warning, Baseline on exams, seed 0: ")


@pytest.mark.parametrize(
    ("trained", "scored", "encoder", "note"),
    [
        (("exams", "articles"), ("exams", "articles"), "embedded", ENCODER_NOTE),
        (("articles",), ("articles",), "embedded, 2 layers", ENCODER_NOTE),
        (("articles",), ("articles",), "albert_base", None),
        (("exams",), ("exams",), "embedded", None),
        (("exams", "articles"), ("exams",), "embedded", None),
        (("exams", "articles"), ("exams", "articles"), UNTRAINED, UNTRAINED_NOTE),
    ],
)
def test_what_the_encoder_has_seen_is_said_once_where_spans_are_scored(full_report, trained, scored, encoder, note):
    trials = {"plain": [{"seed": seed, "encoder": encoder} for seed in SEEDS]}
    findings = full_report.findings | {
        "trials": dict.fromkeys(trained, trials),
        "rows": [row for row in full_report.findings["rows"] if row["benchmark"] in scored],
        "shows": [],
    }
    said = [text for text in study_sections(findings)[-1].text if text in (ENCODER_NOTE, UNTRAINED_NOTE)]
    assert said == ([note] if note else [])


@pytest.fixture(scope="module")
def chosen_on_dev():
    """All of POI-Net's trials chose on dev, and one of the baseline's."""
    return report(study(benchmarks=["exams"]), on_dev={"poi_net": SEEDS, "plain": SEEDS[:1]})


NOTE = (
    "Scores on dev of exams are too good for Baseline (1 of 2 trials), POI-Net: checkpoints, and null thresholds where "
    "readers have them, were chosen on dev itself."
)


def test_pages_say_in_their_first_lines_what_was_chosen_on_dev(chosen_on_dev, full_report):
    title, _, source, _, first, *_ = chosen_on_dev.markdown.splitlines()
    assert (title, source, first) == (f"# {STUDY.title}", f"## {STUDY.source}", NOTE)
    text = re.sub(r"<[^>]+>", " ", html.unescape(chosen_on_dev.html).partition("<main>")[2])
    assert " ".join(text.split()).startswith(f"{STUDY.title} {STUDY.source} {NOTE}")
    for page in (full_report.html, full_report.markdown, full_report.latex):
        assert "Scores on dev" not in page


def test_tables_say_what_was_chosen_on_dev(chosen_on_dev, full_report):
    assert chosen_on_dev.latex.startswith(f"% {NOTE}\n")
    captions = [line for line in chosen_on_dev.latex.splitlines() if line.startswith(r"\caption{exams, dev")]
    assert captions
    assert all(NOTE.rstrip(".") in line for line in captions)
    for written, expected in ((chosen_on_dev, {"Baseline": "dev, held_out", "POI-Net": "dev"}), (full_report, None)):
        rows = list(csv.DictReader(io.StringIO(written.csv)))
        assert {row["title"]: row["selection"] for row in rows} == (
            expected or {"Baseline": "held_out", "POI-Net": "held_out"}
        )


def test_the_page_of_all_studies_says_which_chose_on_dev(chosen_on_dev, full_report):
    studies = {"mine_turns": chosen_on_dev.findings | {"title": "Chosen"}, "other": full_report.findings}
    overview, of_study, *_ = overview_sections(studies)
    assert overview.text[0] == "Scores on dev are too good where it also chose the checkpoints: Chosen."
    assert [row[4].text for row in overview.tables[0].rows] == ["chosen on dev", "held out"]
    assert of_study.text[1] == NOTE


def test_a_variant_that_was_trained_on_another_benchmark_chose_on_its_dev(chosen_on_dev):
    elsewhere = chosen_on_dev.findings | {"trained_on": {"exams": {"poi_net": "race", "plain": "race"}}}
    assert not any("too good" in sentence for sentence in study_sections(elsewhere)[0].text)
