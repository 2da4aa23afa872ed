"""Sentences on what scores come from: versions of benchmarks, and how, where and by which code trials were trained."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from coattend.evaluation.records import TrialRecord
from coattend.evaluation.runs import finished


def host(trial: TrialRecord) -> str:
    """Name the processor and the number of threads beside a GPU; empty where the device says both, or none is known."""
    processor, threads = trial.get("processor"), trial.get("threads")
    if not processor or threads is None or trial.get("device", "").startswith(processor):
        return ""
    return f"{processor}, {_count(threads, 'thread')}"


def machine(trial: TrialRecord) -> str:
    """Name the device, processor, threads and precision of a trial, as far as they are known."""
    return ", ".join(filter(None, (trial.get("device", ""), host(trial), trial.get("precision", ""))))


def machines(trials: Iterable[TrialRecord]) -> list[str]:
    """List the machines and precisions that trained trials, each once, as far as they are known."""
    return list(_seeds_by_machine(trials))


def machine_sentences(trials: Iterable[TrialRecord]) -> Iterator[str]:
    """Say which seeds were trained with which machines and precisions."""
    by_seeds: dict[tuple[int, ...], list[str]] = {}
    for name, used in sorted(_seeds_by_machine(trials).items()):
        by_seeds.setdefault(tuple(sorted(used)), []).append(name)
    for seeds, names in by_seeds.items():
        plural = "s" if len(seeds) > 1 else ""
        yield f"Seed{plural} {', '.join(map(str, seeds))} trained on {', or on '.join(names)}."


def _seeds_by_machine(trials: Iterable[TrialRecord]) -> dict[str, set[int]]:
    seeds: dict[str, set[int]] = {}
    for trial in (trial for trial in finished(trials) if trial.get("trained", True)):
        if name := machine(trial):
            seeds.setdefault(name, set()).add(trial["seed"])
    return seeds


def size_sentence(benchmark: str, trials: Iterable[TrialRecord]) -> Iterator[str]:
    """Say how many questions trials were trained on, of which benchmarks, and how often they were read."""
    trained = [
        trial
        for trial in finished(trials)
        if trial.get("trained", True) and "questions" in trial and "training" in trial
    ]
    if not trained:
        return
    fewest, most = (edge(trial["questions"] for trial in trained) for edge in (min, max))
    questions = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    sources = dict.fromkeys(" and ".join(trial["training"].get("train_on") or (benchmark,)) for trial in trained)
    epochs = {_epochs(trial["training"]) for trial in trained}
    known = epochs.pop() if len(epochs) == 1 else None
    passes = "" if known is None else f", {known:g} epoch{'s' * (known != 1)}"
    yield f"Trained on {questions} questions of {', or of '.join(sources)}{passes}."


def _epochs(training: Mapping[str, Any]) -> float | None:
    """Return how often a training read its questions; None if it may have ended before or after its epochs."""
    ends_otherwise = training.get("patience") is not None or training.get("min_steps")
    return None if ends_otherwise else training.get("epochs")


def training_sentence(benchmark: str, trials: Mapping[str, Sequence[TrialRecord]]) -> Iterator[str]:
    """Say at which rates, in which batches and for how many steps variants were trained, by their titles.

    A variant that differs from most is named.
    """
    by_setting: dict[str, dict[str, str]] = {}
    for title, of_variant in trials.items():
        trained = [trial for trial in finished(of_variant) if trial.get("trained", True) and trial.get("curve")]
        for template, values in _training_settings(trained).items():
            by_setting.setdefault(template, {})[title] = " or ".join(values)
    if by_setting:
        settings = (_most_and_others(template, by_title) for template, by_title in by_setting.items())
        yield f"Training on {benchmark}: {'; '.join(settings)}."


def _training_settings(trials: Iterable[TrialRecord]) -> dict[str, dict[str, None]]:
    """Collect the rates, batches and steps of trials, each with the template of what is said of it."""
    settings: dict[str, dict[str, None]] = {}
    for trial in trials:
        training: Mapping[str, Any] = trial["training"]
        if "learning_rate" in training:
            settings.setdefault("learning rate {}", {})[f"{training['learning_rate']:g}"] = None
        if questions := training.get("questions_per_batch"):
            settings.setdefault("batches of {}", {})[_count(questions, "question")] = None
        elif tokens := training.get("tokens_per_batch"):
            settings.setdefault("batches of {}", {})[f"{tokens:,} tokens"] = None
        settings.setdefault("{} steps", {})[f"{max(point['step'] for point in trial['curve']):,}"] = None
    return settings


def _most_and_others(template: str, by_title: Mapping[str, str]) -> str:
    """Say the value that most have, and behind it the others with their titles."""
    (most, _), *others = Counter(by_title.values()).most_common()
    told = [
        f"{value} ({', '.join(f'“{title}”' for title in by_title if by_title[title] == value)})" for value, _ in others
    ]
    return template.format(most) + (f", but {', '.join(told)}" if told else "")


def commit_sentence(trials: Iterable[TrialRecord]) -> Iterator[str]:
    """Name the commits of the code that trained trials, as far as they are known."""
    if names := commits(trials):
        yield f"Commit{'s' if len(names) > 1 else ''} of the code: {', '.join(names)}."


def commits(trials: Iterable[TrialRecord]) -> list[str]:
    """List the commits of the code that trained trials, each once, as far as they are known."""
    known = (short_commit(commit) for trial in finished(trials) if (commit := trial.get("commit")))
    return list(dict.fromkeys(known))


def short_commit(commit: str) -> str:
    """Shorten a commit to eight digits, and say if files differed from it."""
    digits, _, changed = commit.partition("-")
    return f"{digits[:8]} with changes" if changed else digits[:8]


def version_sentence(versions: Mapping[str, int | None]) -> Iterator[str]:
    """Say which versions of benchmarks scores belong to, if they are known."""
    known = [f"{benchmark} {version}" for benchmark, version in versions.items() if version is not None]
    if known:
        yield (
            f"Version{'s' if len(known) > 1 else ''} of the benchmark{'s' if len(known) > 1 else ''}: "
            f"{', '.join(known)}. Scores of two versions do not compare."
        )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
