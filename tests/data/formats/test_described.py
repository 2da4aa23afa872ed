"""Benchmarks that no data is at hand of: a few records in the form that their publishers describe."""

import gzip
import json

import pytest

from coattend.config import entries
from coattend.data.formats import cmrc2017, format_reader, mctest
from coattend.data.formats.base import PassageRecord, Rejection
from coattend.data.raw_files import RawFile, readable_files
from coattend.errors import CoattendError

TEXT = "Anna carried the lamp to the hall."
CHOICES = ["at sea", "in the hall", "in a box", "at home"]
LABELLED = [{"text": text, "label": label} for text, label in zip(CHOICES, "ABCD", strict=True)]
SPAN = {"text": "the hall", "answer_start": 25}
SQUAD = {"id": "q-turk0", "question": "Where?", "answers": [SPAN, SPAN]}
MRQA = [
    {"header": {"dataset": "NewsQA", "split": "train"}},
    {
        "id": "",
        "context": TEXT,
        "context_tokens": [["Anna", 0]],
        "qas": [
            {
                "qid": "q",
                "question": "Where?",
                "question_tokens": [["Where", 0]],
                "detected_answers": [{"text": "Hall", "char_spans": [[29, 32]], "token_spans": [[6, 6]]}],
                "answers": ["Hall"],
            }
        ],
    },
]
QUALITY = {
    "article_id": "1",
    "article": TEXT,
    "questions": [{"question": "Where?", "question_unique_id": "1_1", "options": CHOICES, "gold_label": 2}],
}
SCIENCE = {"id": "q", "question": {"stem": "Where?", "choices": LABELLED}, "answerKey": "B"}
NUMBERED = [{"text": text, "label": str(number)} for number, text in enumerate(CHOICES, 1)]

RECORDS = {
    "reclor": ("val.json", [{"context": TEXT, "question": "Where?", "answers": CHOICES, "label": 1, "id_string": "q"}]),
    "arc": (
        "ARC-Easy-Dev.jsonl",
        [SCIENCE, {**SCIENCE, "question": {"stem": "Who?", "choices": NUMBERED}, "answerKey": "2", "id": "r"}],
    ),
    "openbookqa": ("dev_complete.jsonl", [SCIENCE | {"fact1": TEXT}]),
    "boolq": ("dev.jsonl", [{"question": "is the lamp there", "title": "Lamp", "answer": False, "passage": TEXT}]),
    "quality": ("QuALITY.v1.0.1.htmlstripped.dev", [QUALITY]),
    "newsqa": ("NewsQA.jsonl.gz", MRQA),
    "triviaqa": ("TriviaQA-web.jsonl.gz", MRQA),
    "hotpotqa": ("HotpotQA.jsonl.gz", MRQA),
    "natural_questions": ("NaturalQuestionsShort.jsonl.gz", MRQA),
    "squad_adversarial": (
        "sample1k-HCVerifyAll.json",
        {"data": [{"title": "Anna", "paragraphs": [{"context": TEXT, "qas": [SQUAD]}]}]},
    ),
    "drcd": (
        "DRCD_dev.json",
        {"data": [{"title": "Anna", "id": "1", "paragraphs": [{"context": TEXT, "id": "1-1", "qas": [SQUAD]}]}]},
    ),
    "race_c": (
        "1.txt",
        {"id": "1.txt", "article": TEXT, "questions": ["Where?"], "options": [CHOICES], "answers": ["B"]},
    ),
}


def test_records_as_described(subtests, tmp_path):
    for name in RECORDS:
        with subtests.test(name=name):
            file, content = RECORDS[name]
            rows = content if isinstance(content, list) and not file.endswith(".json") else [content]
            text = "\n".join(map(json.dumps, rows)).encode()
            (tmp_path / file).write_bytes(gzip.compress(text) if file.endswith(".gz") else text)
            benchmark = entries.benchmark(name)
            source = benchmark.sources[0]
            read = format_reader(source.format, source.options, source.fields)
            records = [
                record
                for path, _ in readable_files(RawFile(tmp_path / file, "dev", source))
                for record in read(path, max_characters=1000)
            ]
            assert not [record for record in records if isinstance(record, Rejection)]
            first = records[0].questions[0]
            assert first.task in benchmark.tasks
            assert first.question.lower().startswith(("where", "is the lamp there"))
            assert records[0].text == (first.question if name == "arc" else TEXT)
            if first.task == "span":
                assert set(first.answers) == {("hall", 29)} if content is MRQA else {("the hall", 25)}
            elif name == "boolq":
                assert (first.options, first.label) == (("yes", "no"), 1)
            else:
                labels = [question.label for record in records for question in record.questions]
                assert (first.options, set(labels)) == (tuple(CHOICES), {1})


def mctest_line(name="mc160.dev.0", kind="one"):
    questions = [cell for number in range(4) for cell in (f"{kind}: Who is {number}?", *"wxyz")]
    return "\t".join([name, "Author: 1", "Anna sang.\\newlineBen left.", *questions]) + "\n"


def test_stories_of_mctest(tmp_path):
    (tmp_path / "dev.tsv").write_text(mctest_line() + mctest_line("mc160.dev.1", "two") + mctest_line("mc160.dev.2"))
    (tmp_path / "dev.ans").write_text("A\tC\tD\tE\nA\tB\tC\tD\nA\tB\tC\n\n")
    records = list(mctest.read(tmp_path / "dev.tsv", max_characters=1000))
    story = next(record for record in records if isinstance(record, PassageRecord))
    assert (story.passage_id, story.text) == ("mc160.dev.0", "Anna sang.\nBen left.")
    assert [(question.question_id, question.label) for question in story.questions] == [
        ("mc160.dev.0-1", 0),
        ("mc160.dev.0-2", 2),
        ("mc160.dev.0-3", 3),
    ]
    assert story.questions[0].question == "Who is 0?"
    assert story.questions[0].question_types == ("one",)
    reasons = [f"{record.record}: {record.reason}" for record in records if isinstance(record, Rejection)]
    assert reasons[0] == "mc160.dev.0-4: the answer 'E' is not a letter from A to D"
    assert "begins with neither" in reasons[1]
    assert reasons[-1] == "line 3: has 23 cells and 3 answers instead of 23 and 4"
    assert list(mctest.read(tmp_path / "dev.ans", max_characters=1000)) == []


@pytest.mark.parametrize(("answers", "problem"), [(None, "has no dev.ans beside it"), ("A\n", "1 stories.*2 lines")])
def test_stories_need_their_answers(tmp_path, answers, problem):
    (tmp_path / "dev.tsv").write_text(mctest_line())
    if answers is not None:
        (tmp_path / "dev.ans").write_text(answers * 2)
    with pytest.raises(CoattendError, match=problem):
        list(mctest.read(tmp_path / "dev.tsv", max_characters=1000))


def test_clozes_of_cmrc(tmp_path):
    document = "1 ||| 小猫 爱 鱼 ， 小狗 爱 XXXXX 。\n2 ||| 骨头 很 大 。\n"
    queries = ["<qid_0> ||| 小狗 爱 XXXXX 。\n", "<qid_1> ||| 小狗 爱 XXXXX 。\n", "<qid_2> ||| 小狗 爱 。\n"]
    (tmp_path / "cloze.valid.doc_query").write_text("".join(document + query for query in queries), encoding="utf-8")
    (tmp_path / "cloze.valid.answer").write_text("<qid_0> ||| 骨头\n<qid_1> ||| 肉\n<qid_2> ||| 鱼\n", encoding="utf-8")
    record, *rejected = cmrc2017.read(tmp_path / "cloze.valid.doc_query", max_characters=1000)
    (question,) = record.questions
    assert question.options == ("小猫", "爱", "鱼", "小狗", "骨头", "很", "大")
    assert (question.question_id, question.question, question.label) == ("cloze.valid-qid_0", "小狗 爱 _ 。", 4)
    assert ["'肉' is not among" in rejected[0].reason, "has 0 gaps" in rejected[1].reason] == [True, True]


def test_answers_of_clozes_are_told_by_their_own_file_and_line(tmp_path):
    (tmp_path / "cloze.valid.doc_query").write_text("1 ||| 小猫 。\n<qid_0> ||| XXXXX 。\n", encoding="utf-8")
    for answers, problem in (
        ("<qid_0> ||| 小猫\nqid_1 骨头\n", r"cloze\.valid\.answer, line 2: is not a number or <qid_N>"),
        ("<qid_0> ||| 小猫\n<qid_0> ||| 鱼\n", r"cloze\.valid\.answer, line 2: answers <qid_0> again"),
    ):
        (tmp_path / "cloze.valid.answer").write_text(answers, encoding="utf-8")
        with pytest.raises(CoattendError, match=problem):
            list(cmrc2017.read(tmp_path / "cloze.valid.doc_query", max_characters=1000))


def test_clozes_in_another_form(tmp_path):
    for name in ("cloze.valid.doc_query", "cloze.valid.answer"):
        (tmp_path / name).write_text("1 小猫\n", encoding="utf-8")
    with pytest.raises(CoattendError, match="is not a number or <qid_N>"):
        list(cmrc2017.read(tmp_path / "cloze.valid.doc_query", max_characters=1000))
