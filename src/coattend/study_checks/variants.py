"""The rows of a study."""

from collections.abc import Iterator

from pydantic import ValidationError

from coattend import configuration, readers
from coattend.errors import CoattendError, did_you_mean
from coattend.parameters import ReaderParameters
from coattend.parameters.benchmark import METRICS
from coattend.study import Study
from coattend.study_checks.numbers import of_subset
from coattend.study_checks.options import of_options
from coattend.study_checks.problem import Problem, of_training, unknown
from coattend.study_checks.same import are_same


def of_variant(study: Study, name: str) -> Iterator[Problem]:
    """A variant that names what there is not, that cannot be run, or that is another one."""
    asked, path = study.parameters, ("variants", name)
    variant = asked.variants[name]
    if variant.against is not None:
        yield from unknown((*path, "against"), variant.against, asked.variants, "variant")
    start = study.starts_from(name)
    if start is not None:
        place = (*path, "change", "training", "start_from")
        yield from unknown(place, start, asked.variants, "variant")
        if _starts_from_itself(study, name):
            yield Problem(place, f"{name!r} would start from itself", "Name a variant that is trained before it")
    yield from _of_reader(study, name)
    other = asked.baseline_of(name)
    if name != other and are_same(study, name, other):
        yield Problem((*path, "change"), f"{name!r} is what its baseline {other!r} is", "Change something in it")


def _starts_from_itself(study: Study, name: str) -> bool:
    """Whether a variant begins with trials that begin with its own."""
    seen, one = {name}, study.starts_from(name)
    while one in study.parameters.variants and one not in seen:
        seen.add(one)
        one = study.starts_from(one)
    return one == name


def _of_reader(study: Study, variant: str) -> Iterator[Problem]:
    change = study.parameters.variants[variant].change
    path = ("variants", variant, "change")
    try:
        configuration.check_reader(str(change.get("reader", study.parameters.base.get("reader"))))
    except CoattendError as error:
        yield Problem((*path, "reader"), error.problem, error.cure)
        return
    try:
        entry = ReaderParameters.model_validate(study.entry(variant))
    except ValidationError as error:
        first = error.errors()[0]
        yield Problem((*path, *first["loc"]), first["msg"].removeprefix("Value error, "), None)
        return
    yield from of_options(study, variant, entry)
    yield from unknown((*path, "tagging"), entry.tagging, configuration.tagging_names(), "tagging profile")
    yield from of_training((*path, "training"), change.get("training", {}))
    for name, subsets in entry.training.get("train_on", {}).items():
        place = (*path, "training", "train_on", name)
        yield from unknown(place, name, configuration.benchmark_names(), "benchmark")
        for subset in (subsets,) if isinstance(subsets, str) else subsets:
            yield from of_subset(place, name, subset)
    try:
        configuration.encoder_entry(entry.encoder)
        for benchmark in study.parameters.benchmarks_of(variant):
            head = readers.head_for(entry.reader, configuration.answerable_tasks(benchmark), entry.head)
            readers.head_for(entry.reader, configuration.answerable_tasks(entry.trained_on(benchmark)), head)
    except CoattendError as error:
        yield Problem(path, error.problem, error.cure)


def of_titles(study: Study) -> Iterator[Problem]:
    """Variants that a page would show as one."""
    first: dict[str, str] = {}
    for name, variant in study.parameters.variants.items():
        other = first.setdefault(variant.title, name)
        if other != name:
            what = f"{other!r} has the title {variant.title!r} too"
            yield Problem(("variants", name, "title"), what, "Say in it what differs")


def of_tasks(study: Study) -> Iterator[Problem]:
    """Variants that cannot answer the same questions of a benchmark have no scores to put side by side."""
    asked = study.parameters
    for benchmark in asked.benchmarks:
        own = [name for name in asked.variants if benchmark in asked.benchmarks_of(name)]
        tasks = {name: _tasks(study, name, benchmark) for name in own}
        for name in own[1:]:
            if not tasks[name] & tasks[own[0]]:
                mine, theirs = (" or ".join(sorted(tasks[one])) for one in (name, own[0]))
                cure = "Choose heads that answer the same questions, or make two studies of it"
                what = f"{name!r} answers {mine} on {benchmark}, and {own[0]!r} {theirs}"
                yield Problem(("variants", name, "change"), what, cure)


def of_metric(study: Study, metric: str) -> Iterator[Problem]:
    """A metric that nothing is scored by."""
    asked = study.parameters
    places = [(name, benchmark) for name in asked.variants for benchmark in asked.benchmarks_of(name)]
    known = {one for place in places for task in _tasks(study, *place) for one in METRICS[task]}
    if metric not in known:
        cure = did_you_mean(metric, sorted(known))
        yield Problem(("metric",), f"no benchmark of the study is scored by {metric!r}", cure)


def _tasks(study: Study, variant: str, benchmark: str) -> set[str]:
    """The tasks of the questions that a variant may be asked; which of several, its data decides."""
    entry, own = study.entry(variant), configuration.benchmark_entry(benchmark)["tasks"]
    heads = [entry["head"]] if entry.get("head") else readers.heads_of(entry["reader"])
    tasks = {readers.task_of(head) for head in heads} & set(configuration.answerable_tasks(benchmark))
    # Options can be read of questions with a missing word.
    return {task if task in own else "word" for task in tasks}
