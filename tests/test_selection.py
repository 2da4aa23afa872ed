"""The pipelines and nodes of a run: what namespaces, nodes and the ends of a path mean alone, and misspelt names."""

import pytest
from kedro.framework.project import pipelines
from kedro.framework.startup import bootstrap_project

from coattend.errors import CoattendError
from coattend.pipelines.keys import NodeKey
from coattend.selection import Filters, select


@pytest.fixture(scope="module", autouse=True)
def registered(empty_project):
    """A configured project, whose pipelines are those of this one."""
    bootstrap_project(empty_project)


@pytest.mark.parametrize(
    ("pipelines", "namespaces", "expected"),
    [
        (["ingestion"], [], (["ingestion"], [])),
        ([], ["dream", "race"], (["dream", "race"], ["dream", "race"])),
        (["training"], ["dream.poi_net"], (["training"], ["dream.poi_net"])),
        ([], ["study.duma_table7.dream"], (["study_duma_table7"], ["study.duma_table7.dream"])),
        # Kedro refuses the nodes of a namespace inside another one, since it takes them twice.
        (["training"], ["dream.poi_net", "dream"], (["training"], ["dream"])),
    ],
)
def test_namespaces_alone_choose_their_pipelines(pipelines, namespaces, expected):
    assert select(pipelines, namespaces) == (*expected, [])


def test_a_reader_alone_brings_its_data_and_its_page_and_no_other_reader():
    selection = select([], ["custom.plain", "custom.poi_net"])
    assert selection[:2] == (["custom"], [])
    stages = ["ingest", "distinct_texts", "tag_nltk_penn", "tokenize_nltk_penn_minilm"]
    readers = [f"{reader}.{deed}" for reader in ("plain", "poi_net") for deed in ("train", "predict", "score")]
    assert {f"custom.{name}" for name in (*stages, *readers)} < set(selection.nodes)
    chosen = pipelines["custom"].filter(node_names=selection.nodes)
    assert {NodeKey.of(node).reader for node in chosen.nodes} == {None, "plain", "poi_net"}
    assert "custom.page" in chosen.all_outputs()
    # Beside a benchmark as a whole.
    both = set(select([], ["custom.plain", "sample_news"]).nodes)
    assert {node.name for node in pipelines["sample_news"].nodes} < both
    assert both & {node.name for node in pipelines["custom"].nodes} == set(select([], ["custom.plain"]).nodes)


def test_nodes_alone_choose_the_first_pipelines_that_have_them():
    nodes = ["dream.ingest", "dream.poi_net.train"]
    assert select([], [], Filters(node_names=nodes)) == (["ingestion", "training"], [], nodes)


@pytest.mark.parametrize(
    ("filters", "pipeline"),
    [
        ({"to_nodes": ["sample.plain.train"]}, "__default__"),
        ({"to_nodes": ["dream.poi_net.train"]}, "dream"),
        ({"to_outputs": ["dream.poi_net.metrics", "dream.plain.metrics"]}, "dream"),
        ({"from_inputs": ["dream.questions"], "to_nodes": ["dream.plain.train"]}, "dream"),
        ({"to_nodes": ["study.duma_table7.dream.summation"]}, "study_duma_table7"),
        ({"to_outputs": ["dream.champion"]}, "champion"),
        ({"to_nodes": ["compare.trials"]}, "compare"),
    ],
)
def test_the_ends_of_a_path_choose_a_pipeline_that_has_them(filters, pipeline):
    assert select([], [], Filters(**filters)).pipelines == [pipeline]


def test_every_command_that_kedro_viz_shows_runs():
    """It shows ``--to-nodes`` of every node and ``--to-outputs`` of every dataset that a node writes."""
    registered = {name: pipelines[name] for name in pipelines}
    examples = {}
    for name, pipeline in registered.items():
        for node in pipeline.nodes:
            # One node of each kind, of a benchmark that is no default, and of studies: kinds share their wiring.
            examples.setdefault((node.func.__name__, name == "__default__", name.startswith("study_")), node)
    for node in examples.values():
        commands = [Filters(to_nodes=[node.name]), *(Filters(to_outputs=[output]) for output in node.outputs)]
        for filters in commands:
            (chosen,) = select([], [], filters).pipelines
            path = registered[chosen].filter(to_nodes=filters.to_nodes or None, to_outputs=filters.to_outputs or None)
            assert node.name in {member.name for member in path.nodes}


@pytest.mark.parametrize(
    ("names", "filters", "message"),
    [
        (
            [],
            {"node_names": ["sample.ingest", "sample.ingst"]},
            r"^--nodes sample.ingst: .* in any pipeline. Did .* 'sample.ingest'\?",
        ),
        ([], {"from_nodes": ["dream.ingst"]}, r"^--from-nodes dream.ingst: .* Did you mean 'dream.ingest'\?"),
        (["dream"], {"to_nodes": ["dream.plain.trian"]}, r"^--to-nodes dream.plain.trian: .* 'dream.plain.train'\?"),
        (["training"], {"to_nodes": ["dream.ingest"]}, r"in the pipelines training. .* --pipelines ingestion"),
        ([], {"from_inputs": ["sample.question"]}, r"^--from-inputs sample.question: .* 'sample.questions'\?"),
        (
            [],
            {"to_outputs": ["sample.plain.metric"]},
            r"^--to-outputs sample.plain.metric: .* 'sample.plain.metrics'\?",
        ),
        ([], {"tags": ["gpuu"]}, r"^--tags gpuu: there is no such tag in any pipeline. Did you mean 'gpu'\?"),
        (["ingestion"], {"tags": ["gpu"]}, r"^--tags gpu: .* the pipelines ingestion. .* --pipelines training"),
        (
            ["dream"],
            {"from_nodes": ["dream.plain.train"], "to_nodes": ["dream.ingest"]},
            r"no nodes after applying all provided filters.*[^.]\. Leave some of these options out",
        ),
    ],
)
def test_misspelt_nodes_datasets_and_tags_are_refused_with_the_nearest(names, filters, message):
    with pytest.raises(CoattendError, match=message) as error:
        select(names, [], Filters(**filters))
    assert "\n" not in error.value.message


@pytest.mark.parametrize(
    ("pipelines", "namespaces", "message"),
    [
        (["trainign"], [], r"no pipeline is called 'trainign'. Did you mean 'training'\?"),
        ([], ["draem"], r"no benchmark is called 'draem'. Did you mean 'dream'\?"),
        (["ingestion"], ["draem"], r"no benchmark is called 'draem'"),
        ([], ["duma"], r"no benchmark is called 'duma', which is a reader. Name .*, as in \w+\.duma"),
        ([], ["dcn"], r"no benchmark is called 'dcn', which is a reader. Name .*, as in \w+\.dcn"),
        ([], ["study.duma_table77"], r"no study is called 'duma_table77'. Did you mean 'duma_table7'\?"),
        (
            ["training"],
            ["dream.poi_nt"],
            r"no namespace 'dream.poi_nt' in the pipelines training. Did .*'dream.poi_net'",
        ),
        (
            ["training"],
            ["dream.poi_net_span"],
            r"--namespaces dream.poi_net_span: 'poi_net_span' has no head for options.*Readers of dream: .*duma",
        ),
        ([], ["mctest.bidaf"], r"benchmarks\.mctest\.readers does not name 'bidaf'\. Readers of mctest: .*poi_net"),
        (["submission"], ["sample.plain"], r"in the pipelines submission. They are run for: .*recam, .*squad_v1"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(pipelines, namespaces, message):
    with pytest.raises(CoattendError, match=message):
        select(pipelines, namespaces)
