"""Nodes of one study, which stand behind the data stages of its benchmarks."""

import warnings
from collections.abc import Mapping
from typing import NamedTuple

from kedro.pipeline import node
from kedro.pipeline.node import Node

from coattend.config.entries import TextProfiles
from coattend.pipelines.attention import study_nodes
from coattend.pipelines.keys import STUDY, TRAINS
from coattend.pipelines.study.nodes import analyse, finish, prepare, run_variant, tabulate
from coattend.pipelines.training.pipeline import tables_of

# Nodes of a benchmark surround the table of all of them: kedro-viz cannot fold such namespaces, and warns.
warnings.filterwarnings("ignore", message=r"Namespace 'study\..*is interrupted by nodes")

OUTPUTS = ("findings", "rows", "table_page", "table_markdown", "table_csv", "table_latex", "table_chart", "figures")
ANALYSES = ("breakdowns", "analyses")


class VariantTables(NamedTuple):
    """The tables and trials that a variant reads on a benchmark.

    Attributes:
        profiles: The profiles that decide which tables of texts it reads.
        starts_from: The variant with whose trials its own begin; None: with none.
        also: Other benchmarks that it is trained on.
    """

    profiles: TextProfiles
    starts_from: str | None = None
    also: tuple[str, ...] = ()


Variants = Mapping[tuple[str, str], VariantTables]
"""Tables by benchmark and variant."""


def create_nodes(study: str, variants: Variants, *, attention: bool = False) -> list[Node]:
    """Train, look closer, tabulate and end: ``study.<study>.<benchmark>.<variant>``, ``....analyse``, ``study.<study>.
    tabulate`` and ``finish``.

    Args:
        study: Name of the study.
        variants: Benchmark and variant to the tables that it reads.
        attention: True if pages of attention are drawn of its trials.
    """
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

    def study_node(function, inputs, outputs) -> Node:  # type: ignore[no-untyped-def]
        return node(function, inputs, outputs, name=function.__name__, namespace=namespace, tags=STUDY)

    return [
        study_node(prepare, parameters | _prepared(study, variants), costs),
        *(_variant(study, benchmark, variant, tables) for (benchmark, variant), tables in variants.items()),
        *(_analysis(study, benchmark, variants) for benchmark in benchmarks),
        *(look for benchmark in drawn for look in study_nodes(study, benchmark)),
        study_node(
            tabulate,
            parameters | {"costs": costs} | questions | outcomes | analyses,
            [f"{namespace}.{name}" for name in OUTPUTS],
        ),
        study_node(finish, {"findings": findings} | pages, None),
    ]


def _benchmark_parameters(study: str, benchmark: str) -> str:
    """A benchmark's parameters with the study's changes to its training."""
    return f"params:studies.{study}.benchmarks.{benchmark}"


def _prepared(study: str, variants: Variants) -> dict[str, str]:
    """The inputs of the node that estimates costs: parameters, and every table that a variant reads."""
    inputs = {
        "settings": "params:study",
        "variants": f"params:studies.{study}.variants",
        "encoders": "params:encoders",
        "tokenizers": "params:tokenizers",
        "taggings": "params:taggings",
        "trials": "trials",
    }
    for (benchmark, _), tables in variants.items():
        for name in (benchmark, *tables.also):
            inputs |= {table: table for table in tables_of(name, tables.profiles).values()}
            inputs[f"{name}.benchmark"] = _benchmark_parameters(study, name)
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


def _variant(study: str, benchmark: str, variant: str, tables: VariantTables) -> Node:
    namespace, profiles = f"study.{study}.{benchmark}", tables.profiles
    inputs = tables_of(benchmark, profiles) | {
        "trials": "trials",
        "benchmark": _benchmark_parameters(study, benchmark),
        "variant": f"params:studies.{study}.variants.{variant}",
        "encoder": f"params:encoders.{profiles.encoder}",
        "tokenizer": f"params:tokenizers.{profiles.tokenizer}",
        "tagging": f"params:taggings.{profiles.tagging}",
        "study": f"params:studies.{study}.about",
        "settings": "params:study",
        "engine": "params:engine",
        "costs": f"study.{study}.costs",
    }
    for source in tables.also:
        inputs |= {f"{source}.{name}": table for name, table in tables_of(source, profiles).items()}
        inputs[f"{source}.benchmark"] = _benchmark_parameters(study, source)
    if tables.starts_from is not None:
        inputs["start"] = f"{namespace}.{tables.starts_from}.outcome"
    outputs = [f"{namespace}.{variant}.{table}" for table in ("outcome", "answers")]
    return node(run_variant, inputs, outputs, name=variant, namespace=namespace, tags=[TRAINS, STUDY])
