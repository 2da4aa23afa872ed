"""Study files: those that are here load, and mistakes in one are told with file, line and the nearest right name."""

import re
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from coattend import readers, studies
from coattend.config import ReaderParameters, StudySettings, entries, source
from coattend.errors import CoattendError

FILES = sorted((Path(__file__).parents[2] / "conf/base/studies").glob("*.yml"))

GOOD = """\
paper: { title: A paper, authors: [A. Nobody], year: 2022, venue: none, key: nobody2022 }
studies:
  table1:
    title: Turns
    source: A paper, table 1
    benchmarks: [dream]
    seeds: [0, 1]
    base: { reader: poi_net }
    baseline: plain
    variants:
      plain: { title: Baseline, change: { reader: plain } }
      poi_net: { title: POI-Net }
      turns_1: { title: 1 turn, change: { turns: 1 } }
    printed:
      - { encoder: ALBERT-base, numbers: { poi_net: { dream: { dev: 68.6 } } } }
"""


def written(folder, text):
    file = folder / "mine.yml"
    file.write_text(text)
    return file


def test_every_study_loads_and_names_are_those_of_file_and_entry():
    assert {"duma", "poi_net", "recam", "aoa", "dcn_plus", "multi_task"} <= {file.stem for file in FILES}
    entries = {file.stem: yaml.safe_load(file.read_text())["studies"] for file in FILES}
    names = {entry if entry == paper else f"{paper}_{entry}" for paper in entries for entry in entries[paper]}
    assert names == set(studies.study_names())


def test_every_variant_is_a_readers_entry():
    for file in FILES:
        from coattend import readers

        for study in studies.read_studies(file):
            for variant in study.parameters.variants:
                entry = ReaderParameters.model_validate(study.entry(variant))
                assert entry.training["seeds"] == list(study.parameters.seeds)
                for benchmark in study.parameters.benchmarks_of(variant):
                    head = readers.head_for(entry.reader, entries.benchmark(benchmark).answerable, entry.head)
                    assert readers.resolve(entry.reader, head=head, **entry.options)


def test_dumas_interactions_are_tested_against_a_baseline_that_pools_the_mean_as_they_do():
    names = [name for name in studies.study_names() if name.startswith("duma_")]
    assert len(names) == 10
    for name in names:
        study = studies.load_study(name)
        entries_of = {variant: study.entry(variant) for variant in study.parameters.variants}
        baselines = {variant for variant, entry in entries_of.items() if entry["reader"] == "plain"}
        assert "plain_mean" in baselines, name
        for variant, entry in entries_of.items():
            against = study.parameters.baseline_of(variant)
            if name == "duma_figure4":
                assert against in ("layers_1", "blocks_1")
            elif variant not in baselines:
                assert entries_of[against]["pooling"] == "mean", (name, variant)
                assert entries_of[against].get("encoder") == entry.get("encoder"), (name, variant)
        # The papers' count has a pooler: what they print stands at the pooled [CLS].
        printed = {variant for block in study.parameters.printed for variant in block.numbers} & baselines
        assert all(entries_of[variant]["pooling"] == "cls_pooler" for variant in printed), name


def test_cloze_readers_are_those_whose_numbers_the_slides_quote():
    for name in studies.study_names():
        if name.startswith(("aoa_results", "aoa_ensembles")):
            study = studies.load_study(name)
            assert study.entry("ga_reader")["gate"] == "query"
            if "cas_reader" in study.parameters.variants:
                assert study.entry("cas_reader")["merge"] == "average"


def test_recams_steps_differ_in_the_order_alone():
    study = studies.load_study("recam_steps")
    improved, at_once = study.entry("recam_duma"), study.entry(study.parameters.baseline_of("recam_duma"))
    assert at_once.pop("order") == "both"
    assert improved | {"name": "duma"} == at_once


def test_every_paper_can_be_cited():
    keys = set(re.findall(r"^@\w+\{(\w+),", (Path(__file__).parents[2] / "CITATION.bib").read_text(), re.MULTILINE))
    assert {studies.load_study(name).paper.key for name in studies.study_names()} <= keys


def test_a_variant_of_another_reader_takes_the_bases_training_and_not_its_options(tmp_path):
    text = GOOD.replace("{ reader: poi_net }", "{ reader: poi_net, turns: 4, training: { epochs: 3 } }")
    (study,) = studies.read_studies(written(tmp_path, text))
    plain, poi_net = study.entry("plain"), study.entry("poi_net")
    assert "turns" not in plain
    assert poi_net["turns"] == 4
    assert study.entry("turns_1")["turns"] == 1
    assert plain["training"]["epochs"] == poi_net["training"]["epochs"] == 3


def test_a_variant_may_be_a_reader_that_is_called_by_its_parts(tmp_path):
    joined = "{ reader: transformer+gated, head: options, hops: 2 }"
    (study,) = studies.read_studies(written(tmp_path, GOOD.replace("{ turns: 1 }", joined)))
    entry = ReaderParameters.model_validate(study.entry("turns_1"))
    assert (entry.name, entry.reader, entry.head) == ("turns_1", "transformer+gated", "options")
    assert entry.options == {"hops": 2}
    changed = {"transformer+gated": {"reader": "transformer+gated", "hops": 4, "hop_dropout": 0.5}}
    assert ReaderParameters.model_validate(study.entry("turns_1", changed)).options == {"hops": 2, "hop_dropout": 0.5}


def test_seeds_are_the_studys_whatever_an_environment_trains_a_reader_with(tmp_path):
    (study,) = studies.read_studies(written(tmp_path, GOOD))
    environment = {"poi_net": {"reader": "poi_net", "training": {"seeds": [0, 1, 2, 3], "epochs": 5}}}
    training = study.entry("poi_net", environment)["training"]
    assert (training["seeds"], training["epochs"]) == ([0, 1], 5)


MISSPELT = [
    ("reader: plain }", "reader: plane }", 11, "'plain'"),
    ("reader: plain }", "reader: recurent+coattention }", 11, "'recurrent'"),
    ("reader: plain }", "reader: recurrent+coatention }", 11, "'coattention'"),
    ("{ turns: 1 }", "{ reader: transformer+gated, hop: 2 }", 13, "'hops'"),
    ("{ turns: 1 }", "{ turnz: 1 }", 13, "'turns'"),
    ("{ turns: 1 }", "{ training: { train_on: { race: hihg } } }", 13, "'high'"),
    ("seeds: [0, 1]", "seeds: [0, 1]\n    metric: acuracy", 8, "'accuracy'"),
    ("{ turns: 1 }", "{ training: { epoch: 1 } }", 13, "'epochs'"),
    ("[dream]", "[draem]", 6, "'dream'"),
    ("[0, 1]", "[0, 1]\n    training: { draem: { epochs: 1 } }", 8, "'dream'"),
    ("[0, 1]", "[0, 1]\n    training: { dream: { epoch: 1 } }", 8, "'epochs'"),
    ("{ turns: 1 }", "{ training: { train_on: { raec: [] } } }", 13, "'race'"),
    ("{ dev: 68.6 }", "{ dev: { acuracy: 68.6 } }", 15, "'accuracy'"),
    ("{ dev: 68.6 }", "{ dve: 68.6 }", 15, "'dev'"),
    ("numbers: { poi_net:", "numbers: { poinet:", 15, "'poi_net'"),
    ("baseline: plain", "baseline: plan", 9, "'plain'"),
    ("baseline: plain", "baselne: plain", 9, "'baseline'"),
    ("{ turns: 1 }", "{ encoder: minilmm }", 13, "'minilm'"),
    ("{ turns: 1 }", "{ tagging: nltk_pen }", 13, "'nltk_penn'"),
]


def check_refusals(folder, text, mistakes):
    """Check that a text with each mistake is refused with its line and a part of the message.

    Args:
        folder: A folder for the files.
        text: A right text.
        mistakes: What is replaced, by what, the line (None: any line, or none) and the part of the message.
    """
    for right, wrong, line, part in mistakes:
        assert right in text
        file = written(folder, text.replace(right, wrong))
        with pytest.raises(CoattendError) as refusal:
            studies.read_studies(file)
        message = refusal.value.message
        assert part in message, (wrong, message)
        assert line is None or re.search(rf"{re.escape(str(file))}, line {line}\b", message), (wrong, message)


def test_a_misspelt_name_is_told_with_its_line_and_the_nearest_one(tmp_path):
    check_refusals(tmp_path, GOOD, MISSPELT)


WRONG = [
    ("poi_net: { title: POI-Net }", "plain: { title: POI-Net }", 12, "'plain' is there twice"),
    ("[0, 1]", "[0, 1, 0]", 7, "the seed 0 is there twice"),
    ("{ turns: 1 }", "{ reader: plain }", 13, "is what its baseline 'plain' is"),
    ("{ turns: 1 }", "{ reader: plain, head: options }", 13, "is what its baseline 'plain' is"),
    ("{ turns: 1 }", "{ reader: plain, training: { reads: all } }", 13, "is what its baseline 'plain' is"),
    ("{ turns: 1 }", "{ reader: plain, training: { train_on: { dream: [] } } }", 13, "is what its baseline"),
    ("{ turns: 1 }", "{ training: { seeds: [5, 5] } }", 13, "seeds are the study's"),
    ("{ turns: 1 }", "{ training: { epochs: -1 } }", 13, "epochs cannot be -1: Input should be greater than 0"),
    ("{ reader: poi_net }", "{ reader: poi_net, training: { seeds: [5] } }", 8, "seeds are the study's"),
    ("[0, 1]", "[0, 1]\n    training: { dream: { warmup: 2 } }", 8, "warmup cannot be 2"),
    ("[0, 1]", "[0, 1]\n    metric: f1", 8, "no benchmark of the study is scored by 'f1'. Known: accuracy"),
    ("    source: A paper, table 1\n", "", 3, "Field required"),
    ("base: { reader: poi_net }", "base: { turns: 3 }", 8, "must name a reader, as in base: { reader: plain }"),
    ("{ dev: 68.6 }", '{ dev: "68,6" }', 15, "must be a number, not '68,6'"),
    ("{ dev: 68.6 }", "{ dev: { f1: 68.6 } }", 15, "dream is not scored by f1"),
    ("{ dev: 68.6 }", "{ dev: { 400: { accuracy: high } } }", 15, "must be a number, not 'high'"),
    ("dream: { dev: 68.6 }", "dream: { dev: true }", 15, "must be a number, not True"),
    ("{ title: 1 turn,", "{ title: POI-Net,", 13, "'poi_net' has the title 'POI-Net' too"),
    ("title: Turns", "title: [", None, "is not YAML"),
]


def test_what_is_said_twice_or_is_missing_is_told(tmp_path):
    check_refusals(tmp_path, GOOD, WRONG)


@pytest.mark.parametrize("mistake", ["readers:\n  mine: [", "readers:\n  mine: { encoder: nothing }"])
def test_a_mistake_in_a_file_of_readers_is_not_a_studys(tmp_path, monkeypatch, mistake):
    base = tmp_path / "conf/base"
    (base / "studies").mkdir(parents=True)
    written(base / "studies", GOOD)
    (base / "parameters.yml").write_text("encoders: { minilm: {} }\ntaggings: { nltk_penn: {} }\n")
    (base / "parameters_mine.yml").write_text(mistake)
    monkeypatch.chdir(tmp_path)
    source.enter("conf", None)
    with pytest.raises(CoattendError, match=rf"^{base}/parameters_mine.yml, line "):
        studies.study_names()


SEARCH = GOOD.replace(
    "    base:",
    """\
    search:
      trials: 4
      space:
        learning_rate: { low: 2e-5, high: 3.0e-4, log: true }
        epochs: { choices: [1, 2] }
    base:""",
)
RATE = "{ low: 2e-5, high: 3.0e-4, log: true }"


def test_a_search_is_the_studys_and_not_its_variants(tmp_path):
    (plain,), (searched,) = (studies.read_studies(written(tmp_path, text)) for text in (GOOD, SEARCH))
    assert plain.parameters.search is None
    assert searched.parameters.search.trials == 4
    assert searched.entry("poi_net") == plain.entry("poi_net")


WRONG_SEARCHES = [
    ("learning_rate:", "learning_rat:", 11, "Did you mean 'learning_rate'?"),
    ("epochs:", "held_out:", 12, "'held_out' is not how a reader learns"),
    ("trials: 4", "trails: 4", 9, "Did you mean 'trials'?"),
    ("low: 2e-5", "lwo: 2e-5", 11, "Did you mean 'low'?"),
    ("trials: 4", "trials: 1", 9, "greater than or equal to 2"),
    (RATE, "{ low: 2e-5 }", 11, "needs low and high, or choices"),
    (RATE, "{ low: 3.0e-4, high: 2e-5 }", 11, "low must be less than high"),
    (RATE, "{ low: 0, high: 2e-5, log: true }", 11, "must begin above 0"),
    (RATE, "{ low: 0, high: 2e-5 }", 11, "learning_rate cannot be 0: Input should be greater than 0"),
    (RATE, "{ low: 1e-5, choices: [1e-4] }", 11, "has choices, and so neither low nor high nor log"),
    ("[1, 2]", "[1, 0]", 12, "epochs cannot be 0"),
    ("[1, 2]", "[1, many]", 12, "valid number"),
    (f"learning_rate: {RATE}", "accumulate: { low: 1, high: 1.5 }", 11, "accumulate cannot be 1.5"),
    (RATE, "{ choices: [1.0e-4] }", 9, "4 configurations are asked for, and the space holds 2"),
]


def test_what_is_wrong_with_a_search_is_told_with_its_line(tmp_path):
    check_refusals(tmp_path, SEARCH, WRONG_SEARCHES)


def test_what_is_trained_on_must_ask_for_the_same_as_what_is_scored_on(tmp_path):
    file = written(tmp_path, GOOD.replace("{ turns: 1 }", "{ training: { train_on: { squad_v1: [] } } }"))
    with pytest.raises(CoattendError, match=r"line 13.*cannot answer what is asked for: span"):
        studies.read_studies(file)


def test_variants_that_answer_different_questions_of_a_benchmark_are_refused(tmp_path):
    text = GOOD.replace("[dream]", "[sample]").replace("{ dream:", "{ sample:")
    heads = text.replace("reader: poi_net }", "reader: poi_net, head: span }")
    file = written(tmp_path, heads.replace("reader: plain }", "reader: plain, head: options }"))
    with pytest.raises(CoattendError, match="'poi_net' answers span on sample, and 'plain' options") as refusal:
        studies.read_studies(file)
    assert f"{file}, line 12" in refusal.value.message
    # Without a head of its own it answers what it is asked for, and candidates for a word are options, too.
    assert studies.read_studies(written(tmp_path, heads))
    assert studies.read_studies(
        written(tmp_path, text.replace("sample", "cbt").replace("{ turns: 1 }", "{ head: word }"))
    )


def test_a_printed_subset_is_one_that_the_benchmark_has(tmp_path):
    text = GOOD.replace("[dream]", "[race]").replace("{ dream: { dev:", "{ race: { dev/high:")
    assert studies.read_studies(written(tmp_path, text))
    with pytest.raises(CoattendError, match=r"line 15.*no subset of race 'hihg'.*Did you mean 'high'\?"):
        studies.read_studies(written(tmp_path, text.replace("dev/high", "dev/hihg")))


def test_a_study_asks_about_subsets_that_its_benchmarks_have(tmp_path):
    text = GOOD.replace("[dream]", "[race]").replace("{ dream: { dev:", "{ race: { dev:")
    asking = text.replace("    base:", "    asks: { race: [high] }\n    base:")
    assert studies.read_studies(written(tmp_path, asking))[0].parameters.asks == {"race": ("high",)}
    with pytest.raises(CoattendError, match=r"no subset of race 'hihg'.*Did you mean 'high'\?"):
        studies.read_studies(written(tmp_path, asking.replace("[high]", "[hihg]")))
    with pytest.raises(CoattendError, match=r"'rac'.*Did you mean 'race'\?"):
        studies.read_studies(written(tmp_path, asking.replace("asks: { race", "asks: { rac")))


def test_a_study_says_by_which_metric_its_variants_are_judged(tmp_path):
    text = GOOD.replace("[dream]", "[dream, squad_v1]").replace("    base:", "    metric: exact\n    base:")
    assert studies.read_studies(written(tmp_path, text))[0].parameters.metric == "exact"


FROZEN = GOOD.replace("    base:", "    protocol: frozen\n    base:")
OTHER_TAGS = "reads other tags than 'plain'"


def test_other_tags_over_a_frozen_encoder_are_refused(tmp_path):
    changes = (
        "{ reader: plain }",
        "{ tag_embedding: false }",
        "{ tagging: nltk_penn_lowercase }",
        "{ training: { tag_noise: 0.1 } }",
        "{ reader: poi_net_no_pos }",
    )
    check_refusals(tmp_path, FROZEN, [("{ reader: plain }", change, 13, OTHER_TAGS) for change in changes])
    check_refusals(tmp_path, FROZEN, [("{ reader: plain }", change, 13, "tag_embedding: false") for change in changes])


def test_the_same_tags_over_a_frozen_encoder_are_not(tmp_path):
    for right, wrong in (
        ("{ reader: plain }", "{ reader: poi_net_no_co_attention }"),
        ("{ reader: plain }", "{ reader: multi_head_block }"),
        ("    base:", "    options: { tag_embedding: false }\n    base:"),
        ("protocol: frozen", "protocol: finetuned"),
    ):
        assert studies.read_studies(written(tmp_path, FROZEN.replace(right, wrong)))


def test_studies_that_belong_together_are_one_pipeline_too():
    from coattend.pipeline_registry import register_pipelines

    pipelines = register_pipelines()
    members = ["aoa_results_cbt_cn", "aoa_results_cbt_ne", "aoa_results_cnn"]
    assert studies.study_groups()["aoa_results"] == members
    nodes = {node.name for node in pipelines["study_aoa_results"].nodes}
    assert nodes == {node.name for name in members for node in pipelines[f"study_{name}"].nodes}
    # Table 4's additions begin with its name, which is its own.
    assert "poi_net_table4" not in studies.study_groups()


def test_no_study_of_a_paper_reads_passages_apart():
    papers = [
        name for name in studies.study_names() if name.startswith(("aoa_", "dcn_plus_", "duma_", "poi_net_", "recam_"))
    ]
    assert len(papers) > 40
    for study in map(studies.load_study, papers):
        for variant in study.parameters.variants:
            entry = ReaderParameters.model_validate(study.entry(variant))
            options = readers.resolve(entry.reader, head=entry.head, **entry.options)
            assert options.get("passage", "joint") == "joint", (study.name, variant)


def test_an_unknown_study_is_told_the_nearest_one():
    with pytest.raises(CoattendError, match="poi_net_table4"):
        studies.load_study("poinet_table4")


def test_environments_change_values_and_not_the_shape(tmp_path):
    (study,) = studies.read_studies(written(tmp_path, GOOD))
    assert study.changed({"seeds": [7]}).entry("plain")["training"]["seeds"] == [7]
    assert study.changed({"protocol": "frozen"}).entry("plain")["training"]["frozen"] is True
    with pytest.raises(CoattendError, match="values only"):
        study.changed({"variants": {}})


REPEATED = GOOD.replace(
    "    printed:\n",
    "      plain_large: { title: Large baseline, repeats: plain, change: { reader: plain, encoder: albert_xxlarge } }\n"
    "    printed:\n      - { encoder: ALBERT-xxlarge, numbers: { plain_large: { dream: { dev: 88.7 } } } }\n",
)
"""The study with its baseline over a second encoder."""


def test_a_row_over_a_second_encoder_is_run_where_the_base_names_an_encoder(tmp_path):
    (study,) = studies.read_studies(written(tmp_path, REPEATED))
    whole = study.changed({"base": {"encoder": "albert_base"}})
    encoders = {name: whole.entry(name)["encoder"] for name in whole.parameters.variants}
    assert encoders == dict.fromkeys(study.changed({}).parameters.variants, "albert_base") | {
        "plain_large": "albert_xxlarge"
    }
    assert whole.parameters.printed == study.parameters.printed


@pytest.mark.parametrize("values", [{}, {"seeds": [7]}])
def test_elsewhere_its_numbers_stand_beside_the_row_that_it_repeats(values, tmp_path):
    (study,) = studies.read_studies(written(tmp_path, REPEATED))
    changed = study.changed(values).parameters
    assert "plain_large" not in changed.variants and len(changed.variants) == len(study.parameters.variants) - 1
    assert [block.numbers for block in changed.printed if block.encoder == "ALBERT-xxlarge"] == [
        {"plain": {"dream": {"dev": 88.7}}}
    ]


def test_a_seed_that_an_environment_names_twice_is_refused():
    with pytest.raises(ValidationError, match="the seed 0 is there twice"):
        StudySettings(seeds=[0, 0])
