"""Nodes of one study, which stand behind the data stages of its benchmarks."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.config.entries import TextProfiles
from coattend.pipelines.attention import study_nodes
from coattend.pipelines.keys import STUDY, TRAINS
from coattend.pipelines.study.nodes import analyse, finish, prepare, record, run_variant, tabulate
from coattend.pipelines.training.pipeline import tables_of

OUTPUTS = ("findings", "rows", "table_page", "table_markdown", "table_csv", "table_latex", "table_chart", "figures")
ANALYSES = ("breakdowns", "analyses")


class VariantTables(NamedTuple):
    """The tables and trials that a variant reads on a benchmark: its profiles decide which tables of texts, its own
    trials begin with those of ``starts_from`` and learn from those of ``learns_from``, and ``also`` are other
    benchmarks that it is trained on."""

    profiles: TextProfiles
    starts_from: str | None = None
    learns_from: str | None = None
    also: tuple[str, ...] = ()


Variants = Mapping[tuple[str, str], VariantTables]
"""Tables by benchmark and variant."""


def create_nodes(study: str, variants: Variants, *, attention: bool = False) -> list[Node]:
    """Create a study's nodes, below ``study.<study>``: they train and evaluate each variant
    (``<benchmark>.<variant>``), analyse its answers (``<benchmark>.analyse``), put the variants side by side
    (``tabulate``), record its trials (``record``) and fail the run if a trial failed (``finish``). With attention, they
    also draw attention pages of the study's trials."""
    namespace = f"study.{study}"
    benchmarks = list(dict.fromkeys(benchmark for benchmark, _ in variants))
    drawn = benchmarks if attention else []
    outcomes = {
        f"{benchmark}.{variant}.{table}": f"{namespace}.{benchmark}.{variant}.{table}"
        for benchmark, variant in variants
        for table in ("outcome", "answers")
    }
    analyses = {
        f"{benchmark}.{table}": f"{namespace}.{benchmark}.{table}" for benchmark in benchmarks for table in ANALYSES
    }
    questions = {f"{benchmark}.questions": f"{benchmark}.questions" for benchmark in benchmarks}
    pages = {f"{benchmark}.attention": f"{namespace}.{benchmark}.attention_page" for benchmark in drawn}
    costs, findings = f"{namespace}.costs", f"{namespace}.findings"
    parameters = {"study": f"params:studies.{study}.about"}
    prepared = _shared(study) | {"variants": f"params:studies.{study}.variants"}
    for (benchmark, _), tables in variants.items():
        prepared |= _inputs(study, benchmark, tables)

    def study_node(function: Callable[..., object], inputs: dict[str, str], outputs: str | list[str] | None) -> Node:
        return node(function, inputs, outputs, name=function.__name__, namespace=namespace, tags=STUDY)

    return [
        study_node(prepare, prepared, costs),
        *(_variant_node(study, benchmark, variant, tables) for (benchmark, variant), tables in variants.items()),
        *(_analysis(study, benchmark, variants) for benchmark in benchmarks),
        *(look for benchmark in drawn for look in study_nodes(study, benchmark)),
        study_node(
            tabulate,
            parameters | {"costs": costs} | questions | outcomes | analyses,
            [f"{namespace}.{name}" for name in OUTPUTS],
        ),
        study_node(
            record,
            parameters
            | {"settings": "params:study", "findings": findings, "trials": "trials", "earlier": "study_records"}
            | questions
            | outcomes,
            [f"{namespace}.records", f"{namespace}.record_page"],
        ),
        study_node(finish, {"findings": findings, "record": f"{namespace}.record_page"} | pages, None),
    ]


def _inputs(study: str, benchmark: str, tables: VariantTables) -> dict[str, str]:
    """The tables that a variant reads on a benchmark, and the parameters with the study's changes to training."""
    inputs: dict[str, str] = {}
    for name in (benchmark, *tables.also):
        inputs |= {table: table for table in tables_of(name, tables.profiles).values()}
        inputs[f"{name}.benchmark"] = f"params:studies.{study}.benchmarks.{name}"
    return inputs


def _analysis(study: str, benchmark: str, variants: Variants) -> Node:
    namespace = f"study.{study}.{benchmark}"
    profiles = {variant: tables.profiles for (name, variant), tables in variants.items() if name == benchmark}
    inputs = {name: f"{benchmark}.{name}" for name in ("questions", "passages")} | {
        "study": f"params:studies.{study}.about",
        "variants": f"params:studies.{study}.variants",
        "taggings": "params:taggings",
        "settings": "params:study",
        "benchmark": f"params:benchmarks.{benchmark}",
    }
    for variant in profiles:
        inputs |= {f"{variant}.{table}": f"{namespace}.{variant}.{table}" for table in ("outcome", "answers")}
    for tagging in sorted({profile.tagging for profile in profiles.values()}):
        inputs[f"{tagging}.tags"] = f"{benchmark}.{tagging}.tags"
    outputs = [f"{namespace}.{table}" for table in ANALYSES]
    return node(analyse, inputs, outputs, name="analyse", namespace=namespace, tags=STUDY)


def _variant_node(study: str, benchmark: str, variant: str, tables: VariantTables) -> Node:
    namespace = f"study.{study}.{benchmark}"
    inputs = _inputs(study, benchmark, tables)
    inputs |= _shared(study) | {
        "benchmark": inputs.pop(f"{benchmark}.benchmark"),
        "variant": f"params:studies.{study}.variants.{variant}",
        "costs": f"study.{study}.costs",
    }
    if tables.starts_from is not None:
        inputs["start"] = f"{namespace}.{tables.starts_from}.outcome"
    if tables.learns_from is not None:
        inputs["teacher"] = f"{namespace}.{tables.learns_from}.outcome"
    outputs = [f"{namespace}.{variant}.{table}" for table in ("outcome", "answers")]
    return node(run_variant, inputs, outputs, name=variant, namespace=namespace, tags=[TRAINS, STUDY])


def _shared(study: str) -> dict[str, str]:
    """The inputs shared by the nodes that configure variants."""
    return {
        "study": f"params:studies.{study}.about",
        "settings": "params:study",
        "profiles": "params:profiles",
        "trials": "trials",
    }
