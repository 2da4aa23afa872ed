"""Settings that an environment may change, including the wiring of pipelines."""

from pathlib import Path

import pytest
import yaml
from kedro.framework.project import pipelines

from coattend import readers, studies
from coattend.config import BenchmarkParameters, EncoderParameters, ReaderParameters, entries, source, training_of
from coattend.errors import CoattendError
from coattend.pipelines.keys import TRAINS
from coattend.settings import CONFIG_LOADER_ARGS
from coattend.settings import ProjectConfigLoader as ConfigLoader

OWN = {"poi_net": "albert_base", "duma": "albert_base", "recam": "albert_xxlarge", "multi_task": "albert_xxlarge"}
"""Paper to the encoder of its studies, but for those that follow."""

OTHERS = {
    "duma_tables_2_4": "albert_xxlarge",
    "poi_net_table4_bert": "bert_base",
    "recam_joint": "albert_base",  # Section 3 of the read-me tried both ways with albert_base_v2 alone.
}


@pytest.fixture
def parameters(project):
    """Loads an environment's parameters, and leaves pipelines as tests expect them."""
    from kedro.framework.project import settings
    from kedro.framework.startup import bootstrap_project

    bootstrap_project(project)

    def load(env):
        with settings.SESSION_CLASS.create(project_path=project, env=env) as session:
            return session.load_context().params

    yield load
    source.enter(str(project / "conf"), "test")


@pytest.fixture(scope="module")
def quick():
    """The parameters of a quick look."""
    loader = ConfigLoader("conf", env="quick", **CONFIG_LOADER_ARGS)
    yield loader["parameters"]
    source.enter("conf", "test")


def tokens_read(pipeline, namespace):
    return {
        name
        for node in pipelines[pipeline].nodes
        if node.namespace == namespace
        for name in node.inputs
        if name.endswith(".tokens")
    }


def test_the_papers_environment_wires_every_study_to_its_papers_encoder(parameters):
    loaded = parameters("paper")
    for name in studies.study_names():
        paper = studies.load_study(name).file.stem
        for key, entry in loaded["studies"][name]["variants"].items():
            if paper in OWN and key not in ("plain_mean_bert", "plain_bert", "duma_bert"):
                encoder = "albert_xxlarge" if key.endswith("_xxlarge") else OTHERS.get(name, OWN[paper])
                assert ReaderParameters.model_validate(entry).encoder == encoder, (name, key)
    assert tokens_read("study_duma_table7", "study.duma_table7.dream") == {"dream.nltk_penn.albert.tokens"}
    assert tokens_read("study_dcn_plus_table2", "study.dcn_plus_table2.squad_v1") == {
        "squad_v1.nltk_penn.minilm.tokens"
    }


@pytest.mark.parametrize(("env", "encoder"), [("small", "minilm"), ("paper", "albert")])
def test_poi_net_on_bert_stands_apart_from_the_rows_that_need_no_bert(parameters, env, encoder):
    parameters(env)
    for name, tokenizer in (("poi_net_table4", encoder), ("poi_net_table4_bert", "bert_base")):
        for benchmark in ("race", "squad_v1"):
            read = tokens_read(f"study_{name}", f"study.{name}.{benchmark}")
            assert read == {f"{benchmark}.nltk_penn.{tokenizer}.tokens"}
    (printed,) = studies.load_study("poi_net_table4_bert").parameters.printed
    assert printed.numbers["plain"] == {
        "race": {"dev": 64.73},
        "squad_v1": {"dev": {"exact_match": 81.21, "f1": 88.84}},
    }
    assert printed.numbers["poi_net"]["race"] == {"dev": 68.02}
    assert {result.encoder for result in studies.load_study("poi_net_table4").parameters.printed} == {"ALBERT-base"}


@pytest.mark.parametrize(("env", "larger"), [("small", set()), ("paper", {"plain_xxlarge", "poi_net_xxlarge"})])
def test_rows_over_a_second_encoder_are_run_where_an_environment_gives_the_study_one(parameters, env, larger):
    parameters(env)
    names = {node.short_name for node in pipelines["study_poi_net_table11"].nodes if TRAINS in node.tags}
    assert names == {"plain", "poi_net"} | larger


ENVIRONMENTS = sorted(
    path.name for path in Path("conf").iterdir() if path.is_dir() and path.name not in ("base", "local")
)


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_every_variant_of_an_environment_can_be_trained_as_it_says(parameters, env):
    loaded, resolved = parameters(env), set()
    for name in studies.study_names():
        study, content = studies.load_study(name).parameters, loaded["studies"][name]
        for key, entry in content["variants"].items():
            variant = ReaderParameters.model_validate(entry)
            encoder = EncoderParameters.model_validate(loaded["encoders"][variant.encoder])
            assert encoder.tokenizer in loaded["tokenizers"]
            recurrent = readers.encoder_of(variant.reader) == "recurrent"
            for benchmark in study.benchmarks_of(key):
                settings = BenchmarkParameters.model_validate(content["benchmarks"][benchmark])
                training = training_of(settings, variant, recurrent=recurrent)
                assert training.seeds == content["about"].seeds
                assert study.search is None or training.selection == "held_out"
                head = readers.head_for(variant.reader, settings.answerable, variant.head)
                if (variant.reader, head, repr(variant.options)) not in resolved:
                    readers.resolve(variant.reader, head=head, **variant.options)
                resolved.add((variant.reader, head, repr(variant.options)))


def test_hyper_parameters_are_those_that_the_papers_print(parameters):
    loaded = parameters("paper")

    def trained(study, variant, benchmark):
        entry = ReaderParameters.model_validate(loaded["studies"][study]["variants"][variant])
        settings = BenchmarkParameters.model_validate(loaded["studies"][study]["benchmarks"][benchmark])
        return training_of(settings, entry, recurrent=False)

    for benchmark, epochs in {"dream": 4, "race": 2, "squad_v1": 2, "squad_v2": 2}.items():
        for variant in ("plain", "poi_net"):
            training = trained("poi_net_table3", variant, benchmark)
            assert (training.learning_rate, training.epochs, training.max_length, training.warmup) == (
                1e-5,
                epochs,
                512,
                0.1,
            )
    for benchmark, epochs in {"dream": 2, "race": 3}.items():
        training = trained("duma_tables_2_4", "duma", benchmark)
        assert (training.learning_rate, training.epochs, training.selection) == (1e-5, epochs, "dev")
    assert trained("duma_table9", "p_to_q", "dream").patience == 3
    assert trained("multi_task_coarse_to_fine", "coarse", "dream").epochs == 1
    assert trained("aoa_results_cbt_ne", "aoa_reader", "cbt").embedding_l2 == 1e-4
    assert trained("aoa_results_cbt_ne", "as_reader", "cbt").embedding_l2 == 0
    training = trained("recam_steps", "recam_duma", "recam")
    assert (training.learning_rate, training.epochs, training.clip, training.max_length) == (5e-6, 3, 10, 150)


GLOVE = ("file", "data/01_raw/vectors/glove.840B.300d.txt", False)
WORD2VEC = ("file", "data/01_raw/vectors/word2vec.128.txt")
"""Where vectors come from, from which file, and of GloVe whether they are trained."""


def test_readers_of_words_have_the_vectors_and_the_optimizer_that_their_papers_print(parameters):
    loaded = parameters("paper")

    def options_and_training(study, variant):
        content = loaded["studies"][study]
        entry = ReaderParameters.model_validate(content["variants"][variant])
        (benchmark,) = map(BenchmarkParameters.model_validate, content["benchmarks"].values())
        head = readers.head_for(entry.reader, benchmark.answerable, entry.head)
        training = training_of(benchmark, entry, recurrent=True)
        return readers.resolve(entry.reader, head=head, **entry.options), training

    for study in (name for name in studies.study_names() if name.startswith("dcn_plus")):
        for variant in loaded["studies"][study]["variants"]:
            options, training = options_and_training(study, variant)
            assert (options["vectors"], options["vectors_file"], options["train_vectors"]) == GLOVE
            assert (training.learning_rate, training.weight_decay, training.warmup) == (1e-3, 0, 0)
            assert (options["hidden"], options["iterations"], options["pool"]) == (200, 4, 16)
            assert training.max_length >= 600
            of_plus = not variant.startswith("dcn") or variant == "dcn_plus"
            assert options["word_dropout"] == (0.075 if of_plus else 0)
    for study, (hidden, hops, dropout) in {
        "cnn": (256, 3, 0.2),
        "cbt_ne": (128, 2, 0.4),
        "cbt_cn": (128, 2, 0.4),
    }.items():
        options, training = options_and_training(f"aoa_results_{study}", "ga_reader")
        assert (options["vectors"], options["vectors_file"]) == WORD2VEC
        assert options["train_vectors"] is (study == "cnn")
        assert (options["hidden"], options["hops"], options["hop_dropout"]) == (hidden, hops, dropout)
        expected = (5e-4, 10, 0, 0)
        assert (training.learning_rate, training.clip, training.weight_decay, training.warmup) == expected
    for name, file in {"dcn": GLOVE, "dcn_context": GLOVE, "dcn_plus": GLOVE, "ga_reader": WORD2VEC}.items():
        options = ReaderParameters.model_validate(loaded["readers"][name]).options
        assert (options["vectors"], options["vectors_file"]) == file[:2]


LARGE = [name for name in entries.benchmark_names() if name != "sample"]


def test_a_quick_look_is_quick_for_readers_of_words_and_on_large_benchmarks_too(subtests, quick):
    for name in LARGE:
        with subtests.test(name=name):
            settings = BenchmarkParameters.model_validate(quick["benchmarks"][name])
            for recurrent in (False, True) if settings.trained_on is None else ():
                training = training_of(settings, ReaderParameters(name="any", reader="any"), recurrent=recurrent)
                assert (training.seeds, training.epochs, training.max_questions) == ((0,), 1, 600)
            splits = dict.fromkeys((group.partition("/")[0] for group in settings.published), 0.0)
            for group, numbers in settings.published.items():
                # What a whole split has counts, or else what its subsets have together.
                if "/" not in group or group.partition("/")[0] not in settings.published:
                    splits[group.partition("/")[0]] += settings.scored * numbers.get("questions", 0)
            assert all(count < 2100 for split, count in splits.items() if split in ("dev", "test"))


def test_an_environment_that_asks_a_share_has_tables_of_its_own():
    for env in ENVIRONMENTS:
        file = Path("conf") / env / "parameters.yml"
        if any("scored" in entry for entry in (yaml.safe_load(file.read_text()).get("benchmarks") or {}).values()):
            assert yaml.safe_load(file.with_name("globals.yml").read_text())["tables"] == f"data/{env}", env


def test_a_readers_encoder_can_be_an_environments(parameters):
    parameters("paper")
    assert entries.reader_entry("poi_net")["encoder"] == "albert_base"
    assert tokens_read("training", "dream.poi_net") == {"dream.nltk_penn.albert.tokens"}
    parameters("test")
    assert "encoder" not in entries.reader_entry("poi_net")
    assert tokens_read("training", "dream.poi_net") == {"dream.nltk_penn.minilm.tokens"}


def test_an_environment_changes_nothing_of_a_studys_shape(project, parameters):
    file = project / "conf" / "quick" / "parameters.yml"
    file.write_text(file.read_text() + "studies: { duma_table7: { base: { turns: 2 } } }\n")
    with pytest.raises(CoattendError) as raised:
        parameters("quick")
    assert raised.value.where == "studies.duma_table7.base.turns"


def test_an_environment_may_give_every_variant_of_a_study_other_sizes(project, parameters):
    file = project / "conf" / "quick" / "parameters.yml"
    before = parameters("quick")["studies"]["aoa_results_cbt_ne"]["variants"]
    file.write_text(file.read_text() + "studies: { aoa_results_cbt_ne: { options: { hidden: 16 } } }\n")
    after = parameters("quick")["studies"]["aoa_results_cbt_ne"]["variants"]
    assert {entry.options["hidden"] for entry in before.values()} == {384, 128}
    assert {entry.options["hidden"] for entry in after.values()} == {16}


def test_an_environment_freezes_no_study_of_tags(project, parameters):
    file = project / "conf" / "quick" / "parameters.yml"
    file.write_text(file.read_text() + "studies: { poi_net_table4: { protocol: frozen } }\n")
    with pytest.raises(CoattendError, match="reads other tags") as raised:
        parameters("quick")
    assert raised.value.where == "studies.poi_net_table4"


def test_an_unknown_encoder_of_an_environment_is_refused(project, parameters):
    file = project / "conf" / "quick" / "parameters.yml"
    file.write_text(file.read_text() + "readers: { duma: { encoder: albert_bas } }\n")
    with pytest.raises(CoattendError, match="albert_base") as raised:
        parameters("quick")
    assert raised.value.where == "readers.duma.encoder of the environment"


@pytest.mark.parametrize("wiring", ["encoder: bert_base", "tagging: nltk_penn_lowercase"])
def test_what_an_environment_wires_is_no_mistake_of_a_study(project, parameters, wiring):
    """With it a variant is what its baseline is: a study's file is right or wrong by itself."""
    file = project / "conf" / "quick" / "parameters.yml"
    file.write_text(file.read_text() + f"readers: {{ plain: {{ {wiring} }} }}\n")
    studies.forget_studies()
    assert len(parameters("quick")["studies"]) == len(studies.study_names())
    field, _, name = wiring.partition(": ")
    assert entries.reader_entry("plain")[field] == name


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("readers: { duma: { tagging: nltk_pen } }", "readers.duma.tagging of the environment"),
        ("benchmarks: { dream: { tagging: nltk_pen } }", "benchmarks.dream.tagging of the environment"),
        ("benchmarks: { dream: { encoder: minilmm } }", "benchmarks.dream.encoder of the environment"),
    ],
)
def test_an_unknown_profile_of_an_environment_is_refused(project, parameters, content, where):
    (project / "conf" / "quick" / "parameters_mine.yml").write_text(content)
    with pytest.raises(CoattendError, match=r"Did you mean '(nltk_penn|minilm)'\?") as raised:
        parameters("quick")
        tokens_read("training", "dream.duma")
    assert raised.value.where == where


def test_a_study_that_mixes_readers_has_one_encoder_with_the_papers_sizes(parameters):
    """But for rows that name another one, and what an encoder is compared with."""
    loaded = parameters("paper")["studies"]
    for name, study in loaded.items():
        rows = studies.load_study(name).parameters.variants
        encoders = {
            entry.encoder
            for variant, entry in study["variants"].items()
            if "encoder" not in rows[variant].change and readers.encoder_of(entry.reader) == "transformer"
        }
        assert len(encoders) <= 1, (name, encoders)


MEASURED = {
    **{
        f"{study}.dream": {"frozen": False, "epochs": 1, "learning_rate": 8e-5, "max_questions": None, "held_out": 0.15}
        for study in ("duma_table5", "duma_table6", "duma_table9", "poi_net_table8")
    },
    "recam_steps.recam": {"frozen": True, "epochs": 6, "learning_rate": 5e-4, "max_questions": None},
    "aoa_results_cbt_ne.cbt": {
        "epochs": 2,
        "max_questions": 6000,
        "evaluations": 4,
        "held_out": 0.02,
        "seeds": (0, 1, 2, 3),
    },
    "dcn_plus_table2.squad_v1": {
        "epochs": 1,
        "max_questions": None,
        "learning_rate": 2e-3,
        "tokens_per_batch": 3072,
        "evaluations": 2,
        "held_out": 0.02,
    },
    "poi_net_table3.squad_v2": {"epochs": 2, "max_questions": None, "learning_rate": 1.6e-4, "tokens_per_batch": 3072},
    "poi_net_table4.squad_v1": {
        "epochs": 1,
        "max_questions": None,
        "learning_rate": 1.6e-4,
        "tokens_per_batch": 3072,
        "evaluations": 2,
        "held_out": 0.02,
    },
    "poi_net_table4.race": {"epochs": 1, "max_questions": 120, "evaluations": 1, "held_out": 0.0005},
    "poi_net_table7.race": {"epochs": 1, "max_questions": 40},
    "poi_net_figure4.race": {"frozen": True, "epochs": 2, "max_questions": 600, "held_out": 0.003},
}
"""Study and benchmark to the training that docs/results/ measured it with."""


def test_small_studies_are_trained_as_they_were_measured(parameters):
    loaded = parameters("small")["studies"]
    for name, expected in MEASURED.items():
        study, benchmark = name.split(".")
        settings = BenchmarkParameters.model_validate(loaded[study]["benchmarks"][benchmark])
        for entry in loaded[study]["variants"].values():
            variant = ReaderParameters.model_validate(entry)
            recurrent = readers.encoder_of(variant.reader) == "recurrent"
            training = training_of(settings, variant, recurrent=recurrent)
            measured = {"seeds": (0, 1, 2)} | expected
            assert {field: getattr(training, field) for field in measured} == measured, name
