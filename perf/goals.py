"""What speed and memory should come to, and how to find in the measurements what they came to."""

from collections.abc import Callable, Mapping
from statistics import mean, stdev
from typing import Any, NamedTuple


class Goal(NamedTuple):
    """What is measured, beside what, what it should come to, and how to find what it came to.

    Attributes:
        what: What is measured.
        peer: Beside what.
        goal: What it should come to.
        of: Which measurement.
        found: What it came to, from the measurement's figures; KeyError where it was left out.
    """

    what: str
    peer: str
    goal: str
    of: str
    found: Callable[[Any], str]


def times(ratio: Mapping[str, float]) -> str:
    """A ratio with its least and its greatest round."""
    return f"{ratio['ratio']:.1f} x [{ratio['least']:.1f}, {ratio['greatest']:.1f}]"


def _percent(ratio: Mapping[str, float]) -> str:
    return " %".join((f"{100 * ratio['ratio']:.0f}", f" [{100 * ratio['least']:.0f}, {100 * ratio['greatest']:.0f}]"))


def _beside(peer: str) -> Callable[[Any], str]:
    """How much faster ours is, and on which benchmark: the sample stands in where another is not at hand."""
    return lambda figures: f"{times(figures['faster_than'][peer])}, {figures['benchmark']}"


def _rate(figures: Any) -> str:
    unit = "" if figures["matrix_units"] else ", no matrix units: no goal"
    precision = f" in {figures['precision']}" if "precision" in figures else ""
    return f"{_percent(figures['share'])} of {figures['gflops']['product']:.0f} GFLOP/s{precision}{unit}"


def _frozen(figures: Any) -> str:
    size = f", trials of {figures['trial_questions']} questions" if "trial_questions" in figures else ""
    kept = f"{figures['kept_kib_per_question']:.0f} KiB a question kept"
    return f"{times(figures['trial_faster'])}, {figures['benchmark']}{size}, {kept}"


def _tensors(figures: Any) -> str:
    return f"{figures['percent_for_tensors']:.2f} %"


def _stages(name: str, show: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda figures: show(figures[name])


def _inference(figures: Any) -> str:
    return "; ".join(
        f"{task}, {one['benchmark']}: {times(one['faster'])}, in fp32 {one['faster_in_fp32']['ratio']:.1f} x"
        for task, one in figures.items()
    )


def _switches(figures: Any) -> str:
    shown = (f"{name} {mean(one):.1f} ± {stdev(one):.1f}" for name, one in figures["ways"].items())
    return ", ".join(shown)


GOALS = (
    Goal(
        "training, options, questions a second",
        "the stock multiple-choice example's recipe: random order, padded to the longest, fp32",
        "5 x",
        "options",
        _beside("stock"),
    ),
    Goal(
        "the same",
        "every sequence padded to 512, fp32, as the papers' released code",
        "12 x",
        "options",
        _beside("padded to 512"),
    ),
    Goal(
        "training, options, operations a second",
        "a product of 4096 x 384 x 1536, in the precision of the step",
        "45 % where there are matrix units",
        "rate",
        _rate,
    ),
    Goal(
        "training, spans, questions a second",
        "the stock question-answering example's recipe: windows padded to 384, fp32",
        "3 x",
        "spans",
        _beside("stock"),
    ),
    *(
        Goal(
            f"training, {title}",
            "the same network, each question read alone",
            "5 x",
            "recurrent",
            _stages(reader, _beside("one by one")),
        )
        for reader, title in (("aoa_reader", "AoA Reader"), ("dcn_plus", "DCN+"))
    ),
    Goal(
        "frozen protocol, DUMA, a trial, once the encoder has read all",
        "fine-tuning it",
        "20 x",
        "frozen",
        _frozen,
    ),
    Goal(
        "its steps alone, questions a second",
        "those of fine-tuning it",
        "",
        "frozen",
        lambda figures: times(figures["faster"]),
    ),
    Goal(
        "inference, questions a second",
        "pipelines of `transformers` over the same encoder: `text-classification` for options, `token-classification`"
        " for spans, as version 5 has none that answers questions, and `feature-extraction` for words",
        "3 x",
        "inference",
        _inference,
    ),
    Goal(
        "data stages, RACE",
        "each passage tagged and tokenised for each option",
        "25 x",
        "data_stages",
        _stages("race", lambda one: times(one["faster"])),
    ),
    Goal(
        "the same, seconds and memory of the whole command",
        "",
        "90 s, 2 GiB",
        "commands",
        _stages("race_data_stages", lambda one: f"{one['seconds']:.0f} s, {one['peak_mib'] / 1024:.2f} GiB"),
    ),
    Goal(
        "tokens on disk, RACE",
        "a padded file for each option, 64-bit numbers",
        "2 %",
        "data_stages",
        _stages("race", lambda one: f"{one['tokens_percent_of_features']:.2f} %"),
    ),
    *(
        Goal(f"a batch's tensors, {title}", "its training step", "3 %", name, found)
        for title, name, found in (
            ("options", "options", _tensors),
            ("spans", "spans", _tensors),
            ("AoA Reader", "recurrent", _stages("aoa_reader", _tensors)),
            ("DCN+", "recurrent", _stages("dcn_plus", _tensors)),
            ("DUMA, frozen", "frozen", _tensors),
        )
    ),
    Goal(
        "`plain` on the sample's dev, in fp32 and with questions that meet at random",
        "as it is; three seeds each",
        "within the spread of seeds",
        "switches",
        _switches,
    ),
    Goal(
        "memory of the data stages, 1,000,000 passages",
        "10,000 passages",
        "within 10 %",
        "scale",
        lambda figures: f"{figures['peak_beside_the_first'][-1]:.2f} x",
    ),
    Goal(
        "memory of the training loader, 1,000,000 passages",
        "10,000 passages",
        "within 10 %",
        "scale",
        lambda figures: f"{figures['loader_beside_the_first'][-1]:.2f} x",
    ),
    Goal("`kedro registry list`", "", "1.5 s", "commands", lambda figures: f"{figures['registry_list_seconds']:.2f} s"),
    Goal(
        "`kedro run` of one data node",
        "",
        "3 s",
        "commands",
        lambda figures: f"{figures['ingestion_again_seconds']:.2f} s",
    ),
    Goal(
        "going through a study's 100 trials, all trained already, every file of theirs read",
        "",
        "1 s",
        "overhead",
        lambda figures: f"{figures['done_seconds']:.2f} s",
    ),
    Goal(
        "100 new trials of a tiny reader of words, one step each",
        "their steps, which are taken off",
        "1 s",
        "overhead",
        lambda figures: f"{figures['new_seconds']:.1f} s",
    ),
    Goal(
        "`make run`, set up already",
        "",
        "180 s",
        "commands",
        lambda figures: f"{figures['default_run']['seconds']:.0f} s",
    ),
)
