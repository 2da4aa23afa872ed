"""The pipeline of one study, behind the data stages of its benchmarks."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from kedro.pipeline import Pipeline, node

from coattend.pipelines.attention import study_nodes
from coattend.pipelines.study.nodes import analyse, finish, prepare, run_variant, tabulate
from coattend.pipelines.training.pipeline import SHARED, texts_of

# A benchmark's nodes stand around the table of all: kedro-viz could not fold them, and nobody asks it to.
warnings.filterwarnings("ignore", message=r"Namespace 'study\..*is interrupted by nodes")

OUTPUTS = ("findings", "rows", "table_page", "table_markdown", "table_csv", "table_latex", "table_chart", "figures")
ANALYSED = ("breakdowns", "analyses")


def create_pipeline(
    study: str, variants: Mapping[tuple[str, str], Mapping[str, Any]], *, attention: bool = False
) -> Pipeline:
    """Train, look closer, tabulate and end: ``study.<study>.<benchmark>.<variant>``, ``....analyse``, ``study.<study>.
    tabulate`` and ``finish``.

    Args:
        study: Name of the study.
        variants: Benchmark and variant to the profiles that decide which tables the variant reads, and, as
            ``starts_from``, the variant with whose trials its own begin, and as ``also`` the other benchmarks that it
            is trained on.
        attention: Whether pages of what readers look at are drawn of its trials.
    """
    namespace = f"study.{study}"
    trained = [_variant(study, benchmark, variant, **profiles) for (benchmark, variant), profiles in variants.items()]
    parts = {f"{benchmark}.questions": f"{benchmark}.questions" for benchmark, _ in variants} | {
        f"{benchmark}.{variant}.{part}": f"{namespace}.{benchmark}.{variant}.{part}"
        for benchmark, variant in variants
        for part in ("outcome", "answers")
    }
    about = {"about": f"params:studies.{study}.about"}
    known = {
        "settings": "params:study",
        "variants": f"params:studies.{study}.variants",
        "encoders": "params:encoders",
        "tokenizers": "params:tokenizers",
        "trials": "trials",
    }
    tables = {
        name: table
        for (benchmark, _), profiles in variants.items()
        for read in (benchmark, *profiles["also"])
        for name, table in _tables(study, read, profiles)
    }
    benchmarks = dict.fromkeys(benchmark for benchmark, _ in variants)
    analysed = [_analysed(study, benchmark, variants) for benchmark in benchmarks]
    parts |= {f"{benchmark}.{part}": f"{namespace}.{benchmark}.{part}" for benchmark in benchmarks for part in ANALYSED}
    outputs = [f"{namespace}.{name}" for name in OUTPUTS]
    begins = node(
        prepare, about | known | tables, f"{namespace}.costs", name="prepare", namespace=namespace, tags="study"
    )
    shown = benchmarks if attention else ()
    looked = [one for benchmark in shown for one in study_nodes(study, benchmark)]
    drawn = {f"{benchmark}.attention": f"{namespace}.{benchmark}.attention_page" for benchmark in shown}
    ends = [
        node(
            tabulate,
            about | {"costs": f"{namespace}.costs"} | parts,
            outputs,
            name="tabulate",
            namespace=namespace,
            tags="study",
        ),
        node(
            finish,
            {"findings": f"{namespace}.findings"} | drawn,
            None,
            name="finish",
            namespace=namespace,
            tags="study",
        ),
    ]
    return Pipeline([begins, *trained, *analysed, *looked, *ends])


def _benchmark(study: str, benchmark: str) -> str:
    """A benchmark's parameters with what the study changes in its training."""
    return f"params:studies.{study}.benchmarks.{benchmark}"


def _tables(study: str, benchmark: str, profiles: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The tables and parameters of a benchmark that a variant reads, by the name of the argument."""
    texts = texts_of(benchmark, profiles["tagging"], profiles["tokenizer"], reads_words=profiles["reads_words"])
    names = [*(f"{benchmark}.{name}" for name in SHARED), *texts.values()]
    return [(name, name) for name in names] + [(f"{benchmark}.benchmark", _benchmark(study, benchmark))]


def _analysed(study: str, benchmark: str, variants: Mapping[tuple[str, str], Mapping[str, Any]]) -> Any:
    namespace = f"study.{study}.{benchmark}"
    own = {variant: profiles for (where, variant), profiles in variants.items() if where == benchmark}
    inputs = {name: f"{benchmark}.{name}" for name in ("questions", "passages")} | {
        "about": f"params:studies.{study}.about",
        "variants": f"params:studies.{study}.variants",
        "taggings": "params:taggings",
        "settings": "params:study",
        "benchmark": f"params:benchmarks.{benchmark}",
    }
    inputs |= {f"{name}.{part}": f"{namespace}.{name}.{part}" for name in own for part in ("outcome", "answers")}
    inputs |= {f"{one}.tags": f"{benchmark}.{one}.tags" for one in sorted({p["tagging"] for p in own.values()})}
    outputs = [f"{namespace}.{part}" for part in ANALYSED]
    return node(analyse, inputs, outputs, name="analyse", namespace=namespace, tags="study")


def _variant(
    study: str,
    benchmark: str,
    variant: str,
    *,
    tagging: str,
    encoder: str,
    tokenizer: str,
    reads_words: bool,
    starts_from: str | None = None,
    also: Sequence[str] = (),
) -> Any:
    texts = texts_of(benchmark, tagging, tokenizer, reads_words=reads_words)
    inputs = {name: f"{benchmark}.{name}" for name in SHARED} | texts | {"trials": "trials"}
    parameters = {
        "benchmark": _benchmark(study, benchmark),
        "variant": f"params:studies.{study}.variants.{variant}",
        "encoder": f"params:encoders.{encoder}",
        "tokenizer": f"params:tokenizers.{tokenizer}",
        "tagging": f"params:taggings.{tagging}",
        "about": f"params:studies.{study}.about",
        "settings": "params:study",
        "engine": "params:engine",
        "costs": f"study.{study}.costs",
        "benchmarks": "params:benchmarks",
    }
    namespace = f"study.{study}.{benchmark}"
    for other in also:
        inputs |= {f"{other}.{name}": f"{other}.{name}" for name in SHARED}
        inputs |= {
            f"{other}.{name}": table
            for name, table in texts_of(other, tagging, tokenizer, reads_words=reads_words).items()
        }
        inputs[f"{other}.benchmark"] = _benchmark(study, other)
    if starts_from is not None:
        inputs["start"] = f"{namespace}.{starts_from}.outcome"
    outputs = [f"{namespace}.{variant}.{part}" for part in ("outcome", "answers")]
    tags = ["gpu", "study"]
    return node(run_variant, inputs | parameters, outputs, name=variant, namespace=namespace, tags=tags)
