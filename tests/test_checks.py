"""A run whose tables are missing names the command that writes them, which works when it is pasted."""

import shlex

import pytest
from kedro.framework.project import pipelines
from kedro.framework.startup import bootstrap_project
from kedro.pipeline import Pipeline

from coattend.checks import writing_command
from coattend.config import source
from coattend.errors import CoattendError
from coattend.pipelines.keys import entry_of
from coattend.selection import select


def options_of(command):
    """The options of a command for ``kedro run``, by name."""
    words = shlex.split(command)
    assert words[:2] == ["kedro", "run"]
    return {name.removeprefix("--"): value for name, value in zip(words[2::2], words[3::2], strict=True)}


def test_the_command_keeps_environment_and_parameters(kedro_run):
    changes = {"readers": {"plain": {"pooling": "max"}}, "prediction": {"model": "75e2", "input": "a b.csv"}}
    with pytest.raises(CoattendError, match=r"does not exist. Write it first: ") as error:
        kedro_run("evaluation", "sample.plain", **changes)
    options = options_of(error.value.cure.removeprefix("Write it first: "))
    assert options == {
        "env": "test",
        "pipelines": "ingestion,tagging,tokenization",
        "namespaces": "sample",
        "params": 'readers.plain.pooling=max,prediction.model="75e2",prediction.input=a b.csv',
    }


def test_the_command_for_a_trained_reader_brings_its_data_along(kedro_run, sample_project):
    with pytest.raises(CoattendError, match=r"sample.plain.model: does not exist. Write it first: ") as error:
        kedro_run("evaluation", "sample.plain")
    options = options_of(error.value.cure.removeprefix("Write it first: "))
    assert options == {"env": "test", "namespaces": "sample.plain"}
    kedro_run(namespaces=options["namespaces"])
    kedro_run("evaluation", "sample.plain")
    assert (sample_project / "data/test/08_reporting/sample/index.html").is_file()


def test_the_costs_of_a_study_are_written_before_anything_is_trained(empty_project):
    bootstrap_project(empty_project)
    source.enter("conf", "test")
    options = options_of(writing_command("study.duma_table7.costs", pipelines))
    chosen = {"pipelines": "study_duma_table7", "to-nodes": "study.duma_table7.prepare"}
    assert options == chosen | {"env": "test"} or options == chosen
    run = pipelines[options["pipelines"]].to_nodes(options["to-nodes"])
    assert "study.duma_table7.costs" in run.all_outputs() and not any("gpu" in node.tags for node in run.nodes)


def test_every_table_that_a_stage_reads_has_a_command_that_writes_it(empty_project):
    bootstrap_project(empty_project)
    source.enter("conf", "test")
    written = {dataset for pipeline in pipelines.values() for dataset in pipeline.all_outputs()}
    for stage in ("profile", "tagging", "training", "evaluation", "submission", "reranking", "champion"):
        tables = {table for table in pipelines[stage].inputs() & written if table.startswith(("dream.", "books."))}
        # One of each kind: readers of a benchmark share their wiring.
        for table in {(table.partition(".")[0], entry_of(table)): table for table in sorted(tables)}.values():
            options = options_of(writing_command(table, pipelines))
            names, namespaces = (options.get(name, "").split(",") for name in ("pipelines", "namespaces"))
            chosen, within, nodes = select([name for name in names if name], namespaces)
            combined = sum((pipelines[name] for name in chosen), Pipeline([]))
            run = combined.filter(node_names=nodes or None, node_namespaces=within or None)
            assert table in run.all_outputs(), table
            # It lacks nothing else, but for what pages do without.
            missing = {name for name in run.inputs() & written if name.partition(".")[0] == table.partition(".")[0]}
            assert {entry_of(name) for name in missing} <= {"metrics", "predictions"}, table


@pytest.mark.parametrize(("training", "refused"), [({"max_length": 256}, True), ({"learning_rate": 1e-2}, False)])
def test_a_training_is_checked_by_what_is_published_about_its_encoder(kedro_run, caplog, training, refused):
    published = {"learning_rate": [1e-5, 3e-5], "max_length": 128, "source": "a paper"}
    changes = {
        "encoders": {"minilm_4": {"fine_tuning": published}},
        "readers": {"plain": {"training": {"max_length": 128} | training}},
    }
    # Tables are looked for once the readers are checked, and there are none.
    with pytest.raises(CoattendError, match="128 at most" if refused else "does not exist"):
        kedro_run("training", "sample.plain", **changes)
    warned = "sample.plain: training.learning_rate is 0.01" in caplog.text and "1e-05 to 3e-05 (a paper)" in caplog.text
    assert warned is not refused


def test_a_language_model_is_not_held_to_what_is_published_about_an_encoder(kedro_run):
    encoders = {"minilm_4": {"fine_tuning": {"learning_rate": [1e-5, 3e-5], "max_length": 128, "source": "a paper"}}}
    with pytest.raises(CoattendError, match=r"sample\.\w+: does not exist"):
        kedro_run(
            "evaluation",
            "sample.option_likelihood",
            encoders=encoders,
            readers={"option_likelihood": {"model": "a/model"}},
        )
