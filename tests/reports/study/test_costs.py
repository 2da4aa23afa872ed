"""Costs of a study's variants: memory and training scores beside printed ones, and summed times."""

from example_study import STUDY, findings_of, study

from coattend.reports.study.costs import cost_section
from coattend.reports.study.sections import unmeasured_table


def with_trials(findings, **fields):
    """Findings with other fields of every variant's trials, by variant."""
    trials = {
        benchmark: {name: [trial | fields.get(name, {}) for trial in trials] for name, trials in by_variant.items()}
        for benchmark, by_variant in findings["trials"].items()
    }
    return findings | {"trials": trials}


def test_memory_and_training_scores_stand_beside_printed_ones():
    numbers = {"exams": {"minutes_per_epoch": 120, "peak_memory_gb": 15.5, "training_score": 92}}
    printed = [{"encoder": "ALBERT-xxlarge", "numbers": {"poi_net": numbers}}]
    parameters = study("peak_memory", "training_score", printed=printed, benchmarks=["exams"])
    measured = {"peak_memory_mib": 2000.0, "training_score": 0.75, "training_sample": 1000}
    findings = with_trials(findings_of(parameters), poi_net=measured)
    (table,) = cost_section(findings).tables
    assert [column.text for column in table.columns[3:]] == [
        "Peak memory, GB",
        "Score on training questions",
        "Printed, ALBERT-xxlarge",
    ]
    rows = {row[0].text: row[3:] for row in table.rows}
    assert [(cell.text, *cell.notes) for cell in rows["POI-Net"]] == [
        ("2.1",),
        ("75.0", "1,000 questions"),
        ("120 minutes, 15.5 GB, 92 on training questions",),
    ]
    assert [cell.text for cell in rows["Baseline"]] == ["–", "–", "–"]
    assert unmeasured_table(findings) is None


def test_memory_and_training_scores_are_shown_where_a_study_asks_for_them():
    (table,) = cost_section(findings_of(study("parameters", benchmarks=["exams"]))).tables
    assert [column.text for column in table.columns] == ["Variant", "Parameters, millions", "Minutes for an epoch"]


def test_times_are_summed_over_variants_with_baselines_of_their_own():
    """POI-Net's 8.3 % for multi-head blocks: of the sums of its printed minutes at 1 to 4 turns."""
    printed = {"turns": (62, 72, 83, 96), "heads": (65, 76, 89, 109)}
    variants = {"plain": STUDY.model_dump()["variants"]["plain"]}
    numbers = {}
    for turns in range(4):
        variants |= {f"turns{turns}": {"title": f"{turns} turns"}}
        variants |= {f"heads{turns}": {"title": f"{turns} heads", "against": f"turns{turns}"}}
        numbers |= {
            f"{name}{turns}": {"exams": {"minutes_per_epoch": minutes[turns]}} for name, minutes in printed.items()
        }
    blocks = [{"encoder": "ALBERT-base", "numbers": numbers}]
    parameters = study("seconds_per_epoch", variants=variants, printed=blocks, benchmarks=["exams"])
    # An epoch has 100 questions: the first two pairs take 10 and 20 seconds, all others 10.
    slow = {"questions_per_second": 5.0}
    findings = with_trials(findings_of(parameters), heads0=slow, heads1=slow)
    (text,) = [line for line in cost_section(findings).text if "summed up" in line]
    assert "differ by +50.0 % from those" in text
    assert "(printed times: +8.3 %, ALBERT-base)" in text
    assert not [line for line in cost_section(findings_of(study("parameters"))).text if "summed up" in line]


def test_times_of_two_machines_name_theirs_and_are_not_compared():
    heads = {f"heads{number}": {"title": f"Heads {number}", "against": "poi_net"} for number in (1, 2)}
    variants = STUDY.model_dump()["variants"] | heads
    same = findings_of(study("seconds_per_epoch", variants=variants, benchmarks=["exams"]))
    mixed = with_trials(same, heads1={"precision": "bf16"}, heads2={"device": "another processor"})
    (one,), (several,) = cost_section(same).tables, cost_section(mixed).tables
    assert (one.caption, several.caption) == ("exams, x86_64", "exams")
    notes = {row[0].text: row[2].notes for row in several.rows}
    assert notes["Heads 1"] == ("100 questions", "x86_64, bf16")
    assert notes["Heads 2"] == ("100 questions", "another processor")
    assert notes["POI-Net"] == ("100 questions", "x86_64")
    assert [row[2].notes for row in one.rows] == [("100 questions",)] * len(one.rows)
    (summed,) = [line for line in cost_section(same).text if "summed up" in line]
    assert "the times of Heads 1, Heads 2 differ" in summed
    (summed,) = [line for line in cost_section(mixed).text if "summed up" in line]
    assert "the times of Heads 1 differ" in summed
