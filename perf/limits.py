"""What holds speed back: arithmetic with the figures of goals that were missed, and no more than follows from them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Figures = Mapping[str, Any]
"""The figures of each measurement by its name."""


def sentences(results: Mapping[str, Any]) -> list[str]:
    """What can be said of what was measured."""
    figures = {name: one["figures"] for name, one in results.items()}
    found = []
    for say in SAYINGS:
        try:
            found += list(say(figures))
        except (KeyError, TypeError):  # Something that it needs was not measured.
            continue
    return found


def options(figures: Figures) -> Iterator[str]:
    """What the goals need beside the rate of a product of matrices."""
    rate, step = figures["rate"], figures["options"]
    if rate.get("benchmark", step["benchmark"]) != step["benchmark"]:
        return
    reached, answered, limit = rate["gflops"]["step"], step["questions_per_second"], rate["gflops"]["product"]
    each = reached / answered["ours"]
    missed = []
    for name, of, goal in (("stock", "the stock recipe", 5), ("padded to 512", "padding to 512", 12)):
        if step["faster_than"][name]["ratio"] < goal:
            needed = goal * answered[name] * each
            share = "more than" if needed > limit else f"{100 * needed / limit:.0f} % of"
            so = ", which is impossible here with as many operations" if needed > limit else ""
            missed.append(
                f"{goal} x the {answered[name]:.2f} questions a second of {of} needs {needed:.0f} GFLOP/s, {share} the"
                f" product's {limit:.0f}{so}"
            )
    if missed:
        yield (
            f"Training, options: a question takes {each:.1f} GFLOP, as our step does {reached:.0f} GFLOP/s and"
            f" {answered['ours']:.1f} questions a second. {'; '.join(missed)}."
        )


def products(figures: Figures) -> Iterator[str]:
    """How fast a step were if it had nothing but the products of its linear layers."""
    rate, step = figures["rate"], figures["profiled"]
    if not rate["matrix_units"] or rate["share"]["ratio"] >= 0.45:
        return
    limit, reached = rate["gflops"]["product"], step["gflops_of_products"]
    shares = sorted(step["percent"].items(), key=lambda one: -one[1])
    yield (
        f"Training, options, beside a product of matrices: the products of linear layers, forwards and backwards, run"
        f" at {reached} GFLOP/s, {100 * reached / limit:.0f} % of that product's rate, and take"
        f" {step['percent']['products of linear layers']:.0f} % of a step's time. All of it:"
        f" {', '.join(f'{kind} {percent:.0f} %' for kind, percent in shares)}."
    )


def frozen(figures: Figures) -> Iterator[str]:
    """What the steps of a frozen trial leave to what is beside them."""
    trial, steps = (figures["frozen"][name]["ratio"] for name in ("trial_faster", "faster"))
    if trial >= 20:
        return
    if steps < 20:
        yield (
            f"Frozen trials: their steps alone come to {steps:.1f} x, so that all else in a trial (building the reader,"
            " scoring, writing) would have to become more than 20 times faster."
        )
    else:
        yield (
            f"Frozen trials: their steps alone come to {steps:.1f} x; what is beside them (building the reader,"
            " scoring, writing) holds whole trials back."
        )


def inference(figures: Figures) -> Iterator[str]:
    """What bf16 would have to bring."""
    missed = []
    for task, one in figures["inference"].items():
        same, rates = one["faster_in_fp32"]["ratio"], one["questions_per_second"]
        if one["faster"]["ratio"] < 3:
            brought = rates["ours"] / rates["ours, fp32"]
            missed.append(
                f"{task}: {same:.1f} x in fp32, so that bf16 has to bring {3 / same:.1f} x, and brings {brought:.1f} x"
            )
    if missed:
        yield f"Inference, {'; '.join(missed)}."


def data_stages(figures: Figures) -> Iterator[str]:
    """What reading each passage once brings, and what is left to do."""
    race = figures["data_stages"]["race"]
    each, faster = race["pairs"] / race["passages"], race["faster"]["ratio"]
    if faster < 25:
        yield (
            f"Data stages, RACE: {race['pairs']:,} pairs over {race['passages']:,} passages are {each:.1f} a passage."
            f" Reading each passage once brings that at most; tagging and tokenising a text faster brought the other"
            f" {faster / each:.1f} x, and 25 x needs {25 / each:.1f} x. In seconds, tagging and tokenising alone take"
            f" {race['seconds']:.0f} of them with {race['workers']} processes."
        )


def commands(figures: Figures) -> Iterator[str]:
    """What the start of Kedro leaves to a node."""
    node, start = (figures["commands"][name] for name in ("ingestion_again_seconds", "registry_list_seconds"))
    if node > 3:
        yield (
            f"One data node: `kedro registry list`, which runs none, takes {start:.2f} s of its {node:.2f} s; the node"
            f" and what it imports take the other {node - start:.2f} s, and have {3 - start:.2f} s."
        )


def overhead(figures: Figures) -> Iterator[str]:
    """What a trial that is done takes, and what a new one has beside its steps."""
    count, done, new = (figures["overhead"][name] for name in ("trials", "done_seconds", "new_seconds"))
    if done > 1:
        yield (
            f"Trials that are done: {1000 * done / count:.0f} ms each, for reading and hashing every byte of what was"
            " trained, so that damage is found before anything relies on it."
        )
    if new > 1:
        yield (
            f"New trials: {1000 * new / count:.0f} ms each beside its steps, for building the reader, scoring,"
            f" checkpoints and records; the goal leaves {1000 / count:.0f} ms."
        )


SAYINGS: tuple[Callable[[Figures], Iterator[str]], ...] = (
    options,
    products,
    frozen,
    inference,
    data_stages,
    commands,
    overhead,
)
