"""A wrong parameter is an error of one line, with the nearest name."""

import pytest

from coattend import readers
from coattend.config import BenchmarkParameters, EngineParameters, ReaderParameters, source, training_of
from coattend.config.parameters import ProjectParameters, check_parameters, field_names
from coattend.errors import CoattendError
from coattend.settings import CONFIG_LOADER_ARGS, ProjectConfigLoader


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"benchmarks": {"sample": {"training": {"epoch": 2}}}},
            r"benchmarks\.sample\.training\.epoch: there .*'epochs'\?",
        ),
        ({"benchmarks": {"sample": {"fil_blanks": True}}}, r"benchmarks\.sample\.fil_blanks: there .*'fill_blanks'\?"),
        ({"benchmarks": {"sample": {"training": {"epochs": -1}}}}, r"training\.epochs: Input should be greater than 0"),
        ({"benchmarks": {"sample": {"training": {"seeds": [1, 1]}}}}, r"training\.seeds: the seed 1 is there twice"),
        (
            {"benchmarks": {"sample": {"training": {"seeds": [-1]}}}},
            r"training\.seeds\.0: .*greater than or equal to 0",
        ),
        ({"benchmarks": {"sample": {"training": {"seeds": [2**32]}}}}, r"training\.seeds\.0: .*less than 4294967296"),
        (
            {"benchmarks": {"sample": {"training": {"seeds": 3}}}},
            r"training\.seeds: must be a list: .*\[3\] is the seed 3",
        ),
        ({"engine": {"address": "tcp://10.0.0.1:8786"}}, r"^engine: address is that of a Dask scheduler"),
        ({"compare": {"left": 7.5}}, r"^--params compare\.left: was read as a number"),
        ({"training": {"epochs": 2}}, r"--params training: there is no .* Say whose: benchmarks\.<name>\.training"),
        (
            {"sample": {"training": {"epochs": 2}}},
            r"--params sample: there is no .* an entry of a block: benchmarks\.sample",
        ),
        ({"minilm": {"source": "x"}}, r"--params minilm: .* a block: encoders\.minilm or tokenizers\.minilm"),
        ({"benchmark": {"sample": {}}}, r"--params benchmark: there is no .* Did you mean 'benchmarks'\?"),
        (
            {"benchmarks": {"sampel": {"scored": 1}}},
            r"--params benchmarks\.sampel: there is no .* Did you mean 'sample'",
        ),
        ({"studies": {"duma_table7": {"variants": {}}}}, r"studies\.duma_table7\.variants: cannot be changed here"),
        ({"studies": {"duma_table7": {"budget_hours": -1}}}, r"^studies\.duma_table7\.budget_hours: .* greater than 0"),
        (
            {"studies": {"today": {"beside": ["option_likelihood:a/final", "option_likelihood:b/final"]}}},
            r"^studies\.today: beside: two variants would be called option_likelihood_final\. Give the folder of b/",
        ),
        (
            {"studies": {"aoa_results_cbt_ne": {"training": {"cbt": {"tokens_per_batch": 64}}}}},
            r"aoa_results_cbt_ne\.training\.cbt\.tokens_per_batch: is overruled for every variant. "
            r"Change benchmarks\.cbt\.recurrent\.tokens_per_batch, which counts more",
        ),
        (
            {"studies": {"duma_table8": {"protocol": "frozen", "training": {"dream": {"learning_rate": 0.1}}}}},
            r"^studies\.duma_table8\.training\.dream\.learning_rate: is overruled for every variant. "
            r"Change benchmarks\.dream\.frozen\.learning_rate, which counts more",
        ),
        (
            {"studies": {"duma_table7": {"training": {"draem": {"epochs": 1}}}}},
            r"^studies\.duma_table7\.training\.draem: there is no benchmark 'draem' here\. Did you mean 'dream'\?",
        ),
        ({"studies": {"duma_table7": {"thresholds": {"race": 5}}}}, r"thresholds\.race: there is no benchmark 'race'"),
        ({"studies": {"duma_table7": {"training": 5}}}, r"^studies\.duma_table7\.training: must be a block of fields"),
        ({"readers": {"plain": {"training_on": {"draem": {}}}}}, r"plain\.training_on\.draem: there is no such bench"),
        (
            {"readers": {"plain": {"training_on": {"dream": {"epoch": 1}}}}},
            r"readers\.plain\.training_on\.dream\.epoch: Extra inputs .* Did you mean 'epochs'\?",
        ),
        ({"benchmarks": {"dream": {"recurrent": {"epochs": 0}}}}, r"dream\.recurrent\.epochs: Input should be greater"),
        (
            {"studies": {"dcn_plus_answer": {"training": {"squad_v1": {"seeds": [3]}}}}},
            r"dcn_plus_answer\.training\.squad_v1\.seeds: seeds are the study's, .* Say its own: seeds",
        ),
    ],
)
def test_a_wrong_parameter_is_one_line(kedro_run, params, message):
    with pytest.raises(CoattendError, match=message) as error:
        kedro_run("ingestion", "sample", **params)
    assert "\n" not in error.value.message


@pytest.fixture
def studies_with():
    """Read the studies with changes of `--params`."""

    def read(**changes):
        loader = ProjectConfigLoader("conf", env="base", runtime_params={"studies": changes}, **CONFIG_LOADER_ARGS)
        return loader["parameters"]["studies"]

    yield read
    source.enter("conf", "test")


# The blocks of the first two say nothing of it, and the readers of the third are no recurrent ones.
@pytest.mark.parametrize(
    ("study", "variant", "benchmark", "field", "value"),
    [
        ("aoa_results_cbt_ne", "as_reader", "cbt", "warmup", 0.5),
        ("dcn_plus_answer", "dcn", "squad_v1", "warmup", 0.5),
        ("ours_passage_apart", "bidaf", "dream", "tokens_per_batch", 64),
    ],
)
def test_a_change_of_a_study_s_training_that_nothing_overrules_is_taken(
    studies_with, study, variant, benchmark, field, value
):
    changed = studies_with(**{study: {"training": {benchmark: {field: value}}}})[study]
    settings = BenchmarkParameters.model_validate(changed["benchmarks"][benchmark])
    reader = ReaderParameters.model_validate(changed["variants"][variant])
    training = training_of(settings, reader, recurrent=readers.encoder_of(reader.reader) == "recurrent")
    assert getattr(training, field) == value


def test_an_empty_block_of_a_study_changes_nothing(studies_with):
    assert studies_with(duma_table7=dict.fromkeys(["base", "training", "options"])) == studies_with()


def test_a_block_is_named_by_its_place_among_all_parameters():
    with pytest.raises(CoattendError, match=r"^studies\.table7\.about\.knd: there .* Did you mean 'kind'\?"):
        check_parameters({"knd": "local"}, EngineParameters, block="studies.table7.about")


def test_fields_are_found_through_mappings_of_models():
    assert "epochs" in field_names(ProjectParameters, ["benchmarks", "dream", "training"])
    assert field_names(ProjectParameters, ["benchmarks", "dream", "title"]) == []
