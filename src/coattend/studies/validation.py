"""Validate a study: its benchmarks, variants, figure, search and printed numbers."""

from collections.abc import Collection, Iterator, Sequence

from pydantic import ValidationError

from coattend import readers
from coattend.config import ReaderParameters, SearchParameters, TrainingParameters, entries
from coattend.config.benchmark import METRICS
from coattend.config.reader import can_be_taught
from coattend.config.study import SEARCHED
from coattend.errors import CoattendError, did_you_mean, message_of
from coattend.studies.study import Study
from coattend.studies.value_checks import (
    Path,
    Problem,
    check_name,
    check_numbers,
    check_options,
    check_subset,
    check_training,
    check_training_value,
    have_same_trials,
)


def check_benchmarks(study: Study) -> Iterator[Problem]:
    """Yield unknown or repeated benchmarks, and those that no variant runs on."""
    parameters = study.parameters
    lists: dict[Path, tuple[Sequence[str], Collection[str]]] = {
        ("benchmarks",): (parameters.benchmarks, entries.benchmark_names())
    }
    for name, variant in parameters.variants.items():
        lists["variants", name, "benchmarks"] = (variant.benchmarks or (), parameters.benchmarks)
    for path, (names, allowed) in lists.items():
        for index, name in enumerate(names):
            yield from check_name((*path, index), name, allowed, "benchmark")
            if name in names[:index]:
                yield Problem((*path, index), f"{name!r} is there twice", "Name it once")
    run = {benchmark for name in parameters.variants for benchmark in parameters.benchmarks_of(name)}
    for index, benchmark in enumerate(parameters.benchmarks):
        if benchmark not in run:
            yield Problem(
                ("benchmarks", index), f"no variant is run on {benchmark!r}", "Run one there, or leave it out"
            )


def check_baselines(study: Study) -> Iterator[Problem]:
    """Yield variants whose baseline does not run on all of their benchmarks."""
    parameters = study.parameters
    for name, variant in parameters.variants.items():
        baseline = parameters.baseline_of(name)
        run = parameters.benchmarks_of(baseline) if baseline in parameters.variants else parameters.benchmarks
        lacking = [benchmark for benchmark in parameters.benchmarks_of(name) if benchmark not in run]
        if lacking:
            path = ("baseline",) if variant.against is None else ("variants", name, "against")
            problem = f"{baseline!r} is not run on {' and '.join(lacking)}, where {name!r} is compared with it"
            yield Problem(path, problem, f"Run it there too, or say with 'against' what {name!r} is compared with")


def check_repeats(study: Study) -> Iterator[Problem]:
    """Yield variants that repeat no variant of the study, or none over another encoder, and those that need one that
    is left out where the study's base names no encoder."""
    variants = study.parameters.variants
    repeating = {name for name, variant in variants.items() if variant.repeats is not None}
    for name, variant in variants.items():
        path = ("variants", name, "repeats")
        if variant.repeats is not None:
            yield from check_name(path, variant.repeats, variants.keys() - repeating, "variant")
            if "encoder" not in variant.change:
                yield Problem(path, f"{name!r} has no encoder of its own", "Name the encoder in 'change'")
            continue
        for needed in (study.parameters.baseline_of(name), *study.parameters.needed_by(name)):
            if needed in repeating:
                problem = f"{name!r} needs {needed!r}, which is left out where the base names no encoder"
                yield Problem(("variants", name), problem, f"Take {variants[needed].repeats!r}")


_EMBEDDINGS = ("tag_embedding", "hidden_tag_embedding")
_NOISE = ("tag_noise", "tag_noise_kind", "tag_noise_in")


def check_frozen(study: Study) -> Iterator[Problem]:
    """Yield variants that read other tags than the baseline over an encoder whose tag embedding stays at zero: it is
    added to the frozen encoder's input, and so is frozen with it. The one that is added to its outputs
    (``hidden_tag_embedding``) is learned."""
    parameters = study.parameters
    frozen = [name for name in parameters.variants if _is_frozen(study, name)]
    if not frozen or parameters.baseline not in parameters.variants:
        return
    baseline = parameters.baseline
    baseline_learns, tags_of_baseline = _tags(study, baseline)
    for name in frozen:
        learns, tags = _tags(study, name)
        if tags != tags_of_baseline and not (learns or baseline_learns):
            problem = f"{name!r} reads other tags than {baseline!r}, whose embedding stays at zero where it is frozen"
            cure = "Take protocol: finetuned, or for all variants options: { tag_embedding: false } and the same tags"
            yield Problem(("variants", name, "change"), problem, cure)


def _is_frozen(study: Study, variant: str) -> bool:
    # A study may freeze encoders in its training on a benchmark instead of in a variant.
    elsewhere = any(training.get("frozen") for training in study.parameters.training.values())
    entry = study.entry(variant)
    return entries.is_trained(entry) and bool(entry["training"].get("frozen", elsewhere))


def _tags(study: Study, variant: str) -> tuple[bool, tuple[str, dict[str, object]] | None]:
    """Return True if a variant learns tags in spite of freezing, and the profile and noise of those that it embeds."""
    reader = ReaderParameters.model_validate(study.entry(variant))
    embedded, learned = (
        bool(reader.options.get(option, readers.default_of(reader.reader, option))) for option in _EMBEDDINGS
    )
    # Without noise its other settings change no tag.
    noise = {field: reader.training.get(field) for field in _NOISE} if reader.training.get("tag_noise") else {}
    return learned, (reader.tagging, noise) if embedded else None


def check_lines(study: Study) -> Iterator[Problem]:
    """Yield points without an axis, figures without points, and two points of a line at one position."""
    parameters = study.parameters
    points: dict[tuple[str, float | str], str] = {}
    for name, variant in parameters.variants.items():
        path = ("variants", name)
        if bool(variant.series) != (variant.at is not None):
            yield Problem(path, "has only one of 'series' and 'at'", "Say of which lines it is a point, and where")
        if variant.at is None:
            continue
        for series in variant.series:
            # The first variant at a position stays there, to be compared with any later one.
            first = points.setdefault((series, variant.at), name)
            if first != name and variant.at != "questions":
                problem = f"{name!r} and {first!r} stand at the same place of the line {series!r}"
                yield Problem((*path, "at"), problem, "Say where they differ")
    if "lines" in parameters.shows and not (points and parameters.axis):
        yield Problem(
            ("shows",), "lines need an axis and variants that are its points", "Give 'axis', 'series' and 'at'"
        )
    if points and "lines" not in parameters.shows:
        yield Problem(("shows",), "variants are points of lines that are not shown", "Add lines")


def check_search(search: SearchParameters) -> Iterator[Problem]:
    """Yield fields and values that cannot be searched, and a number of trials that exceeds the space."""
    for field, values in search.space.items():
        path = ("search", "space", field)
        if field in SEARCHED:
            # The field itself may refuse a value.
            bounds: dict[Path, float | None] = {("low",): values.low, ("high",): values.high}
            choices: dict[Path, float | None] = {("choices", index): v for index, v in enumerate(values.choices or ())}
            for key, value in (choices or bounds).items():
                yield from check_training_value((*path, *key), field, value)
        elif field in TrainingParameters.model_fields:
            problem = f"{field!r} is not how a reader learns, but what it learns or is judged by"
            yield Problem(path, problem, f"Search among {', '.join(SEARCHED)}")
        else:
            yield from check_name(path, field, SEARCHED, "field of training to search")
    if search.count() < search.trials:
        problem = f"{search.trials} configurations are asked for, and the space holds {search.count():g}"
        yield Problem(("search", "trials"), problem, "Ask for fewer, or allow more values")


_OF_ENTRIES = {
    "training_on": "Say it in the study's own block 'training', for all variants alike, or in 'training' here",
    "benchmarks": "Say it beside 'change', as the variant's own 'benchmarks'",
    "name": "A variant has the name of its block",
}
"""Fields of a reader's entry that do nothing in a study."""


def check_fields(study: Study) -> Iterator[Problem]:
    """Yield fields of readers' entries that would do nothing in the study."""
    blocks: dict[Path, Collection[str]] = {("base",): study.parameters.base}
    blocks |= {("variants", name, "change"): variant.change for name, variant in study.parameters.variants.items()}
    for path, block in blocks.items():
        for field in _OF_ENTRIES.keys() & block:
            yield Problem((*path, field), f"{field!r} does nothing in a study", _OF_ENTRIES[field])


def check_variant(study: Study, name: str) -> Iterator[Problem]:
    """Yield the mistakes of a variant: unknown names, invalid settings, a variant equal to its baseline."""
    parameters, path = study.parameters, ("variants", name)
    variant = parameters.variants[name]
    if variant.against is not None:
        yield from check_name((*path, "against"), variant.against, parameters.variants, "variant")
    needs = {
        ("start_from",): parameters.starts_from(name),
        ("distillation", "teacher"): parameters.learns_from(name),
    }
    for field, needed in needs.items():
        if needed is not None:
            needed_path = (*path, "change", "training", *field)
            yield from check_name(needed_path, needed, parameters.variants, "variant")
            if _leads_to(study, needed, name):
                problem = f"{name!r} would need its own trials"
                yield Problem(needed_path, problem, "Name a variant that is trained before it")
    yield from _check_reader(study, name)
    baseline = parameters.baseline_of(name)
    if name != baseline and have_same_trials(study, name, baseline):
        yield Problem((*path, "change"), f"{name!r} is what its baseline {baseline!r} is", "Change something in it")


def _leads_to(study: Study, first: str, name: str) -> bool:
    """Return True if a chain of start_from and teachers leads from one variant to another, or both are the same."""
    # The visited names end the walk at a cycle that does not contain the other variant.
    visited, waiting = set[str](), [first]
    while waiting:
        variant = waiting.pop()
        if variant == name:
            return True
        if variant in study.parameters.variants and variant not in visited:
            waiting += study.parameters.needed_by(variant)
        visited.add(variant)
    return False


def _check_reader(study: Study, variant: str) -> Iterator[Problem]:
    change = study.parameters.variants[variant].change
    path = ("variants", variant, "change")
    try:
        entries.check_reader(str(change.get("reader", study.parameters.base.get("reader"))))
    except CoattendError as error:
        yield Problem((*path, "reader"), error.problem, error.cure)
        return
    try:
        entry = ReaderParameters.model_validate(study.entry(variant))
    except ValidationError as error:
        first = error.errors()[0]
        yield Problem((*path, *first["loc"]), message_of(first), None)
        return
    yield from check_options(study, variant, entry)
    yield from check_name((*path, "tagging"), entry.tagging, entries.tagging_names(), "tagging profile")
    yield from check_training((*path, "training"), change.get("training", {}))
    for name, subsets in entry.training.get("train_on", {}).items():
        benchmark_path = (*path, "training", "train_on", name)
        yield from check_name(benchmark_path, name, entries.benchmark_names(), "benchmark")
        for subset in (subsets,) if isinstance(subsets, str) else subsets:
            yield from check_subset(benchmark_path, name, subset)
    try:
        entries.encoder_entry(entry.encoder)
        for benchmark in study.parameters.benchmarks_of(variant):
            # The head that fits the scored benchmark must fit the one that is trained on, too.
            head = readers.head_for(entry.reader, entries.benchmark(benchmark).answerable, entry.head)
            readers.head_for(entry.reader, entries.benchmark(entry.trained_on(benchmark)).answerable, head)
            if study.parameters.learns_from(variant) is not None and not can_be_taught(head, entry.options):
                problem = f"teaches scores of options or of tokens, of which {variant!r} has none on {benchmark}"
                yield Problem((*path, "training", "distillation"), problem, "Leave it out, or name other benchmarks")
    except CoattendError as error:
        yield Problem(path, error.problem, error.cure)


def check_titles(study: Study) -> Iterator[Problem]:
    """Yield variants with the same title."""
    first: dict[str, str] = {}
    for name, variant in study.parameters.variants.items():
        namesake = first.setdefault(variant.title, name)
        if namesake != name:
            problem = f"{namesake!r} has the title {variant.title!r} too"
            yield Problem(("variants", name, "title"), problem, "Say in it what differs")


def check_tasks(study: Study) -> Iterator[Problem]:
    """Yield variants that cannot answer the same questions of a benchmark, so that their scores cannot be compared."""
    parameters = study.parameters
    for benchmark in parameters.benchmarks:
        runnable = [name for name in parameters.variants if benchmark in parameters.benchmarks_of(name)]
        tasks = {name: _tasks(study, name, benchmark) for name in runnable}
        for name in runnable[1:]:
            if not tasks[name] & tasks[runnable[0]]:
                own_tasks, other_tasks = (" or ".join(sorted(tasks[candidate])) for candidate in (name, runnable[0]))
                cure = "Choose heads that answer the same questions, or make two studies of it"
                problem = f"{name!r} answers {own_tasks} on {benchmark}, and {runnable[0]!r} {other_tasks}"
                yield Problem(("variants", name, "change"), problem, cure)


def benchmarks_alike(study: Study, variant: str) -> list[str]:
    """Return the benchmarks on which a variant can answer questions that its baseline answers."""
    baseline = study.parameters.baseline_of(variant)
    benchmarks = study.parameters.benchmarks_of(baseline)
    return [name for name in benchmarks if _tasks(study, variant, name) & _tasks(study, baseline, name)]


def check_metric(study: Study, metric: str) -> Iterator[Problem]:
    """Yield a problem if no benchmark of the study has a metric."""
    parameters = study.parameters
    cells = [(name, benchmark) for name in parameters.variants for benchmark in parameters.benchmarks_of(name)]
    metrics = {metric_name for cell in cells for task in _tasks(study, *cell) for metric_name in METRICS[task]}
    if metric not in metrics:
        cure = did_you_mean(metric, sorted(metrics))
        yield Problem(("metric",), f"no benchmark of the study is scored by {metric!r}", cure)


def _tasks(study: Study, variant: str, benchmark: str) -> set[str]:
    """Return the tasks of the questions that a variant may answer; its data decide among several."""
    entry, benchmark_tasks = study.entry(variant), entries.benchmark_entry(benchmark)["tasks"]
    heads = [entry["head"]] if entry.get("head") else readers.heads_of(entry["reader"])
    tasks = {readers.task_of(head) for head in heads} & set(entries.benchmark(benchmark).answerable)
    # Options can be read of questions with a missing word.
    return {task if task in benchmark_tasks else "word" for task in tasks}


def find_problems(study: Study) -> Iterator[Problem]:
    """Yield all mistakes of a study, the most basic ones first."""
    parameters = study.parameters
    yield from check_benchmarks(study)
    yield from check_fields(study)
    yield from check_name(("baseline",), parameters.baseline, parameters.variants, "variant")
    for name in parameters.variants:
        yield from check_variant(study, name)
    yield from check_baselines(study)
    yield from check_repeats(study)
    yield from check_frozen(study)
    yield from check_titles(study)
    yield from check_tasks(study)
    yield from check_lines(study)
    for name, subsets in parameters.asks.items():
        yield from check_name(("asks", name), name, parameters.benchmarks, "benchmark")
        for subset in subsets if name in parameters.benchmarks else ():
            yield from check_subset(("asks", name), name, subset)
    for name in parameters.thresholds:
        yield from check_name(("thresholds", name), name, parameters.benchmarks, "benchmark")
    if parameters.metric is not None:
        yield from check_metric(study, parameters.metric)
    if parameters.search is not None:
        yield from check_search(parameters.search)
    yield from check_training(("base", "training"), parameters.base.get("training", {}))
    for name, training in parameters.training.items():
        yield from check_name(("training", name), name, study.read, "benchmark")
        yield from check_training(("training", name), training)
    for index, block in enumerate(parameters.printed):
        for name, numbers in block.numbers.items():
            path = ("printed", index, "numbers", name)
            yield from check_name(path, name, parameters.variants, "variant")
            yield from check_numbers(path, numbers, parameters.benchmarks_of(name))
    for index, row in enumerate(parameters.cited):
        yield from check_numbers(("cited", index, "numbers"), row.numbers, parameters.benchmarks)
    for index, example in enumerate(parameters.examples):
        yield from check_name(("examples", index, "benchmark"), example.benchmark, parameters.benchmarks, "benchmark")
        for name in example.printed:
            yield from check_name(("examples", index, "printed", name), name, parameters.variants, "variant")
