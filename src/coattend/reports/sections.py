"""Sections and sentences that several pages share: calibration of confidences, and what is wrong with trials."""

from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np

from coattend.config.reader import UNTRAINED
from coattend.evaluation.calibration import BINS
from coattend.evaluation.records import Calibration, ReliabilityBin, Score, TrialRecord
from coattend.evaluation.runs import chosen_on_scored, curve_questions, finished
from coattend.reports.tables import NO_VALUE, Cell, Table, cells, noted_cell
from coattend.trials.warnings import alarms

ENCODER_NOTE = (
    "The embedded MiniLM encoder was tuned on sentence pairs that include the questions of SQuAD and TriviaQA: it has "
    "seen questions of this kind, so span results with it may be too good."
)

UNTRAINED_NOTE = (
    f"The encoder {UNTRAINED} starts from random weights and learns from the training questions alone: scores with it "
    "say how readers differ, and not what they reach over a pretrained encoder of the language."
)

CALIBRATION_TEXT = (
    "A reader that gives its answers a probability of 80 % should be right four times in five. The probability is, for "
    "options, the softmax over them; for a missing word, the candidate's share of the probability of all candidates; "
    "for a span, that of its first word times that of its last, where only exact matches count as right. Readers that "
    "choose from all words of the passage are left out, as they keep no scores.",
    "Calibration error (ECE): how far probability and accuracy are apart, on average over tenths of the questions, "
    "from the least sure to the surest; it is hardly ever zero, and the small print says what chance alone makes of "
    "it.",
    "Risk: the share of wrong answers where a reader may keep silent when it is least sure. Its mean over all shares "
    "of answered questions is AURC, lower being better; the small print has what the best order would reach with the "
    "same answers.",
)


def encoders_of(trials: Iterable[TrialRecord]) -> set[str]:
    """Name the encoders of trials; records without one are of the embedded one."""
    return {trial.get("encoder", "embedded") for trial in trials}


def encoder_notes(encoders: Collection[str], *, spans: bool) -> Iterator[str]:
    """Say what to keep in mind about encoders; ``spans`` if these were scored."""
    if spans and any(encoder.startswith("embedded") for encoder in encoders):
        yield ENCODER_NOTE
    if UNTRAINED in encoders:
        yield UNTRAINED_NOTE


def calibration_table(caption: str, name_title: str, calibrations: Mapping[str, Calibration]) -> Table:
    """List accuracy, mean confidence, calibration error and AURC of readers or variants, as ``name_title`` says."""
    return Table.of(
        caption,
        (
            {
                name_title: name,
                "Accuracy": f"{calibration['accuracy']:.1f}",
                "Mean probability": f"{calibration['confidence']['mean']:.1f}",
                "ECE": _mean_cell(calibration["ece"], f"{calibration['ece_by_chance']['mean']:.1f} by chance"),
                "AURC": _mean_cell(calibration["aurc"], f"{calibration['aurc_at_best']['mean']:.1f} at best"),
            }
            for name, calibration in calibrations.items()
        ),
    )


def _mean_cell(score: Score, note: str) -> Cell:
    return noted_cell(f"{score['mean']:.1f}", note, std_note(score))


def std_note(score: Score) -> str:
    """Describe the spread of a score over seeds; empty with a single seed."""
    return "" if score["spread"] is None else f"± {score['spread']:.1f}, {len(score['seeds'])} seeds"


def reliability_table(questions: str, name_title: str, calibrations: Mapping[str, Calibration]) -> Table:
    """List accuracy and confidence by tenths of the questions, means over seeds."""
    # Only the outer tenths have a name.
    ends = {0: "least sure", BINS - 1: "surest"}
    tenths = (noted_cell(f"{index + 1} of {BINS}", ends.get(index, "")) for index in range(BINS))
    caption = f"Accuracy by tenths, {questions}; in small print the mean probability"
    rows = tuple(
        cells(name, *_reliability_cells(list(calibration["reliability"].values())))
        for name, calibration in calibrations.items()
    )
    return Table(caption, cells(name_title, *tenths), rows)


def _reliability_cells(seeds: list[list[ReliabilityBin]]) -> Iterator[Cell]:
    """Make a cell for each tenth; with fewer questions than tenths the last ones are empty."""
    for index in range(BINS):
        bins = [seed[index] for seed in seeds if index < len(seed)]
        if bins:
            accuracy = float(np.mean([tenth["accuracy"] for tenth in bins]))
            confidence = float(np.mean([tenth["confidence"] for tenth in bins]))
            yield Cell(f"{accuracy:.1f}", (f"{confidence:.1f}",))
        else:
            yield Cell(NO_VALUE)


INTERVAL_TEXT = (
    "Brackets hold 95 % intervals over groups of questions, such as those about one passage, and over seeds where "
    "there are several."
)


def selection_notes(
    trials_by_name: Mapping[str, Iterable[TrialRecord]], benchmark: str, trained_on: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Say which readers or variants chose on the questions that they are scored on, if any did.

    ``trained_on`` maps some of them to the other benchmark that they were trained on.
    """
    described = []
    for name, trials in trials_by_name.items():
        scored = finished(trials)
        count = sum(chosen_on_scored(trial, benchmark, (trained_on or {}).get(name)) for trial in scored)
        if count:
            described.append(name if count == len(scored) else f"{name} ({count} of {len(scored)} trials)")
    if described:
        chosen = "checkpoints, and null thresholds where readers have them, were chosen on dev itself"
        separator = "; " if any("," in name for name in described) else ", "
        yield f"Scores on dev of {benchmark} are too good for {separator.join(described)}: {chosen}."


def chosen_on_dev(trial: TrialRecord, benchmark: str, trained_on: str | None = None) -> Iterator[str]:
    """Say of a trial whether its checkpoint was chosen on the questions of a benchmark that it is scored on.

    ``trained_on`` is the benchmark that it was trained on, if that is another one.
    """
    if chosen_on_scored(trial, benchmark, trained_on):
        yield "Its checkpoint was chosen on dev: its dev scores are too good."


def curve_text(trials: Iterable[TrialRecord]) -> str:
    """Say what training curves show."""
    questions = curve_questions(trials)
    text = f"A line for each seed. Scores are those of {questions}, on which checkpoints were chosen."
    if questions == "dev":
        return text
    return (
        f"{text} Held-out questions are a part of the training set that was not trained on: whole groups, whose "
        "passages overlap with no other."
    )


def training_warnings(trials_by_name: Mapping[str, Iterable[TrialRecord]]) -> Iterator[str]:
    """Say what looks wrong with trials of readers or variants, each warning once with all trials that raise it."""
    # Warning to reader or variant to the seeds of its trials.
    seeds_by_warning: dict[str, dict[str, list[str]]] = {}
    for name, trials in trials_by_name.items():
        for trial in trials:
            for warning in alarms(trial.get("signs", {})):
                seeds_by_warning.setdefault(warning, {}).setdefault(name, []).append(str(trial["seed"]))
    for warning, by_name in seeds_by_warning.items():
        trials_named = "; ".join(
            f"{name}, seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}" for name, seeds in by_name.items()
        )
        yield f"Warning, {trials_named}: {warning}"


def unmonitored_trials(trials: Iterable[TrialRecord]) -> Iterator[str]:
    """Say how many trials lack the diagnostics that warnings are based on, if any do."""
    count = sum(not trial.get("failure") and "signs" not in trial for trial in trials)
    if count:
        subject, pronoun = ("1 trial was", "it") if count == 1 else (f"{count:,} trials were", "them")
        yield f"{subject} trained before diagnostics were recorded: no warnings are shown for {pronoun}."


def divided_dev(benchmark: str, share: float | None) -> Iterator[str]:
    """Say that train was drawn from dev, if it was."""
    if share is not None:
        yield (
            f"{benchmark} has no files of train here: its dev set is split by groups of questions, of which "
            f"{100 * share:.3g} % are train and {100 * (1 - share):.3g} % are dev. These scores compare with no "
            "published ones."
        )


def partial_scoring(benchmark: str, share: float) -> Iterator[str]:
    """Say which share of a benchmark's questions is scored, unless all are."""
    if share < 1:
        yield f"{benchmark}: {100 * share:.3g} % of the questions to score are asked, drawn by their ids."
