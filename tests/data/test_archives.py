"""Benchmarks inside archives: read without unpacking, and refused where they are not what they should be."""

import gzip
import io
import json
import tarfile
import zipfile

import pytest
from entries import benchmark, dialogue, source

from coattend.data import archives
from coattend.data.archives import members
from coattend.data.ingest import read_benchmark
from coattend.data.raw_files import raw_files, readable_files
from coattend.errors import CoattendError

ARCHIVED = {"files": {"train": ["set/train-*.json"], "dev": ["set/dev.json"]}, "archives": ["*.tar.gz", "*.zip"]}
FILES = {
    "set/train-a.json": json.dumps([dialogue("1")]),
    "set/train-b.json": json.dumps([dialogue("2")]),
    "set/dev.json": json.dumps([dialogue("3")]),
    "set/readme.txt": "Nothing to read.",
    "set/._dev.json": "What an operating system adds.",
}


def tar(path, files=FILES, change=None):
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        folder = tarfile.TarInfo("set")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
        if change is not None:
            # Written as it is: Python 3.13 adds no entry whose header promises more than there is.
            archive.fileobj.write(change.tobuf(archive.format, archive.encoding, archive.errors))
    return path


def rows(entry, folder):
    tables = read_benchmark(entry, raw_files(entry, folder))
    return sorted((row["question_id"], row["split"]) for table in tables.questions for row in table.to_pylist())


@pytest.mark.parametrize("name", ["lamps.tar.gz", "lamps.zip", "folder"])
def test_an_archive_is_read_like_its_folder(tmp_path, name):
    folder = tmp_path / "lamps"
    folder.mkdir()
    if name == "folder":
        (folder / "set").mkdir()
        for path_inside, text in FILES.items():
            (folder / path_inside).write_text(text)
    elif name.endswith(".zip"):
        with zipfile.ZipFile(folder / name, "w") as archive:
            for path_inside, text in FILES.items():
                archive.writestr(path_inside, text)
    else:
        tar(folder / name)
    assert rows(benchmark(source(**ARCHIVED)), tmp_path) == [("1-1", "train"), ("2-1", "train"), ("3-1", "dev")]


def test_an_unpacked_folder_goes_before_its_archive(tmp_path):
    tar(tmp_path / "lamps" / "lamps.tar.gz")
    (tmp_path / "lamps" / "set").mkdir()
    for name in ("train-a", "dev"):
        (tmp_path / "lamps" / "set" / f"{name}.json").write_text(FILES[f"set/{name}.json"])
    assert rows(benchmark(source(**ARCHIVED)), tmp_path) == [("1-1", "train"), ("3-1", "dev")]


def test_an_archive_without_a_split_says_which(tmp_path):
    tar(tmp_path / "lamps" / "lamps.tar.gz", {name: text for name, text in FILES.items() if "dev" not in name})
    entry = benchmark(source(**ARCHIVED))
    with pytest.raises(CoattendError, match="no question of the split 'dev'"):
        read_benchmark(entry, raw_files(entry, tmp_path))


def entry_of(name, entry_type=tarfile.REGTYPE, size=0, link=""):
    entry = tarfile.TarInfo(name)
    entry.type, entry.size, entry.linkname = entry_type, size, link
    return entry


REFUSED = [
    (entry_of("../train-c.json"), "leads out of the archive"),
    (entry_of("/etc/train-c.json"), "leads out of the archive"),
    (entry_of("set/train-c.json", tarfile.SYMTYPE, link="/etc/passwd"), "link or a device"),
    (entry_of("set/train-c.json", tarfile.LNKTYPE, link="set/dev.json"), "link or a device"),
    (entry_of("set/train-c.json", tarfile.CHRTYPE), "link or a device"),
    (entry_of("set/train-c.json", tarfile.FIFOTYPE), "link or a device"),
    (entry_of("set/train-c.json", size=10 * 2**30), "10,737,418,240 bytes"),
    (entry_of("set/train-c.json", tarfile.GNUTYPE_SPARSE, size=2**30), "link or a device"),
    (entry_of("set/train-c.json", tarfile.XHDTYPE, size=2**30), "a header of 1,073,741,824 bytes"),
    (entry_of("set/train-c.json", tarfile.GNUTYPE_LONGNAME, size=2**30), "a header of 1,073,741,824 bytes"),
    (entry_of("set\\..\\train-c.json"), "leads out of the archive"),
]


def test_what_no_benchmark_holds_is_refused(subtests, tmp_path):
    for entry, problem in REFUSED:
        with subtests.test(name=entry.name, problem=problem):
            path = tar(tmp_path / "lamps" / "lamps.tar.gz", change=entry)
            with pytest.raises(CoattendError) as caught:
                for member in members(path):
                    member.read_bytes()
            assert problem in str(caught.value)
            assert str(path) in str(caught.value)


def test_a_zipped_file_is_read_as_it_is_and_not_beyond_the_limit(tmp_path, monkeypatch):
    path = tmp_path / "lamps" / "train.json.gz"
    path.parent.mkdir()
    content = FILES["set/train-a.json"].encode()
    path.write_bytes(gzip.compress(content))
    entry = benchmark(source(files={"train": ["train.json.gz"]}))
    assert rows(entry, tmp_path) == [("1-1", "train")]
    path.write_bytes(gzip.compress(content)[:-9])
    with pytest.raises(CoattendError, match="cannot be read to its end"):
        rows(entry, tmp_path)
    path.write_bytes(gzip.compress(content))
    monkeypatch.setattr(archives, "MAX_MEMBER_BYTES", len(content) - 1)
    with pytest.raises(CoattendError, match="more than any published file"):
        rows(entry, tmp_path)


@pytest.mark.parametrize(
    ("limit", "problem"), [("MAX_TOTAL_BYTES", "holds more than"), ("MAX_IN_MEMORY_BYTES", "at once")]
)
def test_more_than_any_published_archive_holds_is_refused(tmp_path, monkeypatch, limit, problem):
    path = tar(tmp_path / "lamps" / "lamps.tar.gz")
    monkeypatch.setattr(archives, limit, 100)
    with pytest.raises(CoattendError, match=problem):
        for member in members(path):
            member.read_bytes()


def test_a_damaged_header_is_not_the_end(tmp_path):
    path = tmp_path / "lamps.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("a", "b"):
            archive.addfile(entry_of(name))
    content = bytearray(path.read_bytes())
    content[512 + 3] ^= 1
    path.write_bytes(content)
    with pytest.raises(CoattendError, match="bad checksum"):
        list(members(path))


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_an_archive_that_was_cut_off(tmp_path, share):
    long = {f"set/train-{number}.json": json.dumps([dialogue(str(number))]) for number in range(200)}
    path = tar(tmp_path / "lamps" / "lamps.tar.gz", FILES | long)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    entry = benchmark(source(**ARCHIVED))
    with pytest.raises(CoattendError, match=r"not a whole archive|cannot be read to its end"):
        read_benchmark(entry, raw_files(entry, tmp_path))


@pytest.mark.parametrize("content", [b"", b"no archive", gzip.compress(b"no archive", mtime=0)])
def test_a_file_that_is_no_archive(tmp_path, content):
    path = tmp_path / "lamps.tar.gz"
    path.write_bytes(content)
    with pytest.raises(CoattendError, match="is not a whole archive"):
        list(members(path))


def test_a_zip_file_that_python_cannot_unpack(tmp_path):
    path = tmp_path / "lamps.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("dev.json", "text")
    content = bytearray(path.read_bytes())
    for header in (b"PK\x03\x04", b"PK\x01\x02"):
        content[content.index(header) + (6 if header[2] == 3 else 8)] |= 1  # Says that it is encrypted.
    path.write_bytes(content)
    with pytest.raises(CoattendError, match="is not a whole archive"):
        list(members(path))


def test_a_zip_file_whose_header_may_ask_for_any_memory(tmp_path):
    path = tmp_path / "lamps.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("dev.json", "text")
    with pytest.raises(CoattendError, match=r"lamps.zip: dev.json: is packed in a way .* Pack it anew, with deflate"):
        list(members(path))


@pytest.mark.parametrize("name", ["l\udce4mp.txt", "../l\udce4mp.txt"])
def test_a_name_that_is_not_utf_8_is_written_out(tmp_path, name):
    path = tmp_path / "lamps.tar"
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo(name))
    try:
        messages = [member.name for member in members(path)]
    except CoattendError as error:
        messages = [error.message]
    (only,) = messages
    assert r"l\udce4mp.txt" in only
    assert only.encode()


@pytest.mark.slow
def test_published_race_is_read_from_its_archive(raw):
    path = raw / "race" / "RACE.tar.gz"
    if not path.is_file():
        pytest.skip("there is no RACE.tar.gz")
    count = sum(1 for member in members(path) if member.path.match("RACE/dev/middle/*.txt"))
    assert count == 368


def test_a_member_says_where_it_is(tmp_path):
    path = tar(tmp_path / "lamps" / "lamps.tar.gz")
    (first, *_) = raw_files(benchmark(source(**ARCHIVED)), tmp_path)
    member, split = next(readable_files(first))
    assert (str(member), member.name, split) == (f"{path}/set/train-a.json", "train-a.json", "train")
