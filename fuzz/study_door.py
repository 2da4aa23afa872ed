"""The door of studies' YAML."""

from collections.abc import Iterator
from pathlib import Path

from coattend import studies
from coattend.pipeline_registry import of_study
from fuzz.door import Door


def doors() -> Iterator[Door]:
    """The only one."""
    yield Door("study", (_STUDIES.encode(),), _registered, ".yml")


def _registered(file: Path) -> None:
    """What Kedro does with a study before anything runs: it is read, its pipeline built, its parameters made."""
    found = studies.read(file)
    assert found, "no study"
    for one in found:
        assert of_study(one).nodes, "nothing to run"
        one.parameters.model_dump_json()


_STUDIES = """\
paper:
  title: "A paper"
  authors: [Ann, Bob]
  year: 2021
  venue: GitHub
  key: paper2021
studies:
  table1:
    title: Accuracy of two readers
    source: A paper, table 1
    benchmarks: [dream, race]
    protocol: finetuned
    seeds: [0, 1]
    search: { trials: 2, space: { learning_rate: { low: 0.00001, high: 0.001, log: true } } }
    training: { dream: { epochs: 2 } }
    base: &base
      reader: plain
      encoder: minilm
      training: { evaluations: 10 }
    baseline: plain
    variants:
      plain: { title: Plain }
      duma: { title: DUMA, change: { reader: duma, layers: 2, training: { epochs: 3 } }, against: plain }
      poi_net: { title: POI-Net, change: { reader: poi_net, turns: 3 }, benchmarks: [dream] }
    shows: [curve, parameters]
    examples:
      - { benchmark: dream, question: 1-1, printed: { duma: There. } }
    printed:
      - encoder: ALBERT-xxlarge
        numbers:
          plain: { dream: { dev: 83.4, test: { accuracy: 84.4 } }, parameters_millions: 200 }
    cited:
      - { name: A system, mark: "*", numbers: { race: { test: 88.8, test/middle: 90.1 } } }
    notes: [Something to know.]
    budget_hours: 2.5
  figure2:
    title: Turns
    source: A paper, figure 2
    benchmarks: [dream]
    base: *base
    baseline: one
    variants:
      one: { title: One, change: { training: { train_on: { dream: [], race: high } } } }
      two: { title: Two, change: { training: { start_from: one, epochs: 2 } } }
"""
