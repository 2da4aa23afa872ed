import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.data.formats import cbt
from coattend.data.formats.base import PassageRecord, Rejection
from coattend.text.cloze import fill_blank

SENTENCES = [f"Sentence {number} is about the lamp ." for number in range(1, 21)]
CANDIDATES = "attic|cat|dog|hall|house|lamp|man|roof|sea|wall"
QUERY = "The XXXXX was in the hall ."


def block(sentences=SENTENCES, query=QUERY, answer="lamp", candidates=CANDIDATES, end="\n"):
    lines = [f"{number} {sentence}" for number, sentence in enumerate(sentences, 1)]
    return end.join([*lines, f"{len(sentences) + 1} {query}\t{answer}\t\t{candidates}", "", ""])


@pytest.fixture
def read(tmp_path):
    def write_and_read(text, name="cbtest_NE_train.txt", max_characters=10_000):
        (tmp_path / name).write_bytes(text.encode())
        return list(cbt.read(tmp_path / name, max_characters=max_characters))

    return write_and_read


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_question(read, end):
    (passage,) = read(block(end=end))
    assert passage.text == "\n".join(SENTENCES)
    assert passage.turns is None
    (question,) = passage.questions
    assert (question.task, question.subset, question.label) == ("word", "NE", 5)
    assert question.question == "The _ was in the hall ."
    assert question.options == tuple(CANDIDATES.split("|"))
    assert question.question_id.startswith("NE-")


@pytest.mark.parametrize(
    ("name", "subset"), [("cbtest_CN_valid_2000ex.txt", "CN"), ("cbtest_P_train.txt", "P"), ("questions.txt", None)]
)
def test_the_subset_is_in_the_name(read, name, subset):
    (passage,) = read(block(), name)
    assert passage.questions[0].subset == subset


def test_ids_come_from_the_content(read):
    first, second, same = read(block() + block(query="A XXXXX .") + block())
    assert first.passage_id == second.passage_id
    assert first.questions[0].question_id == same.questions[0].question_id != second.questions[0].question_id


def test_the_gap_can_be_filled_beside_italics(read):
    (passage,) = read(block(query="_ Never _ had the XXXXX been _ so _ bright ."))
    assert fill_blank(passage.questions[0].question, "lamp") == " Never  had the lamp been  so  bright ."


def test_questions_need_no_empty_line_between_them(read):
    assert len(read(block().rstrip() + "\n" + block().rstrip())) == 2


BAD = [
    (block(answer="chair"), "'chair' is not among the options"),
    (block(answer="cat"), "the answer 'cat' is not in the passage"),
    (block(candidates=""), "has no options"),
    (block(candidates="lamp||cat"), "option 2 is empty"),
    (block(query="No gap here ."), "0 gaps"),
    (block(query="XXXXX and XXXXX ."), "2 gaps"),
    (block().replace("\tlamp\t\t", "\tlamp\t"), "3 fields"),
    (block(SENTENCES[:19]), "has 20 lines"),
    (block().replace("7 Sentence", "8 Sentence"), "numbered from 1 to 21"),
    (block().replace("7 Sentence", "Sentence"), "numbered from 1 to 21"),
    (block(["..."] * 20), "no words"),
    (block(["x" * 1000] * 20), "more than max_characters"),
]


def test_a_bad_question_is_listed_and_the_rest_goes_on(subtests, read):
    for bad, reason in BAD:
        with subtests.test(reason=reason):
            good, rejected, next_passage = read(block() + bad + block())
            assert isinstance(rejected, Rejection)
            assert rejected.record.startswith("lines 23 to ")
            assert reason in rejected.reason
            assert isinstance(good, PassageRecord)
            assert isinstance(next_passage, PassageRecord)


def test_a_file_that_was_cut_off_loses_its_last_question_only(read):
    text = block() + block()
    first, rejected = read(text[: len(block()) + 300])
    assert isinstance(first, PassageRecord)
    assert "numbered from 1 to 21" in rejected.reason


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", codec="utf-8")), min_size=20, max_size=20))
def test_any_text_is_read_or_listed(tmp_path_factory, sentences):
    path = tmp_path_factory.mktemp("cbt") / "cbtest_NE_train.txt"
    path.write_bytes(block(sentences).encode())
    (record,) = cbt.read(path, max_characters=100_000)
    assert isinstance(record, Rejection) or record.text == "\n".join(sentences)


@pytest.mark.parametrize("subset", ["NE", "CN"])
def test_the_published_format(raw, subset):
    files = sorted((raw / "cbt" / "official-sample").glob(f"cbtest_{subset}_*.txt"))
    if not files:
        pytest.skip("COATTEND_RAW has no cbt/official-sample")
    for file in files:
        (passage,) = cbt.read(file, max_characters=100_000)
        assert len(passage.text.split("\n")) == 20
        assert len(passage.questions[0].options) == 10
