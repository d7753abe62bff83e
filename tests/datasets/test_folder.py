"""Where files are looked for, how they are checked and fetched; no network is used."""

import hashlib
import os
import tarfile
import zipfile

import pytest

from shiftlearn import datasets
from shiftlearn.datasets import base, catalogue, folder, signals
from shiftlearn.datasets.folder import Published, cache_folder, data_folder, locate
from shiftlearn.errors import DataNotFoundError


def digest(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("SHIFTLEARN_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def put(home, path, content):
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    (home / path).write_bytes(content)


def test_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("SHIFTLEARN_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.delenv("SHIFTLEARN_DATA")
    assert data_folder() == cache_folder() / "data"


def test_missing_file_names_file_folder_variable_and_publisher(home):
    with pytest.raises(DataNotFoundError) as error:
        locate(Published("iris/iris.data", "0" * 64, "https://example.org/iris"), download=False)
    for word in ("iris/iris.data", str(home), "SHIFTLEARN_DATA", "https://example.org/iris"):
        assert word in str(error.value)
    with pytest.raises(DataNotFoundError, match="no publisher serves it any more"):
        datasets.load_spam()


def test_no_network_is_a_clear_error(home, tmp_path):
    gone = (tmp_path / "nowhere").as_uri()
    with pytest.raises(DataNotFoundError, match=r"a could not be downloaded from file.*Put it"):
        locate(Published("a", "0" * 64, gone))
    assert not list(home.rglob("*.tmp")) and not (home / "a").exists()


def test_download_checks_and_keeps(home, tmp_path):
    (tmp_path / "published").write_bytes(b"right")
    url = (tmp_path / "published").as_uri()
    assert locate(Published("x/a.csv", digest(b"right"), url)).read_bytes() == b"right"
    with pytest.raises(ValueError, match="no longer serves the published file"):
        locate(Published("x/b.csv", digest(b"other"), url))
    assert os.listdir(home / "x") == ["a.csv"]


def test_download_of_the_publishers_own_form(home, tmp_path):
    (tmp_path / "raw").write_bytes(b"raw")
    own = Published("a.xz", digest(b"packed"), (tmp_path / "raw").as_uri(), "a", digest(b"raw"))
    assert locate(own) == home / "a"
    assert locate(own, download=False) == home / "a"
    put(home, "a.xz", b"packed")
    assert locate(own) == home / "a.xz"


def test_member_of_a_zip_archive(home, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("deep/Data.mat", b"matrix")
    url = (tmp_path / "a.zip").as_uri()
    found = locate(Published("Data.mat", digest(b"matrix"), url, member="Data.mat"))
    assert found.read_bytes() == b"matrix"
    with pytest.raises(ValueError, match="holds no file named"):
        locate(Published("Else.mat", digest(b"matrix"), url, member="Else.mat"))


def test_wrong_content_is_refused(home):
    put(home, "a", b"wrong")
    with pytest.raises(ValueError, match="is not the published file"):
        locate(Published("a", digest(b"right")))


def test_a_file_is_hashed_once(home, monkeypatch):
    put(home, "a", b"right")
    published, calls = Published("a", digest(b"right")), []
    count = folder.sha256
    monkeypatch.setattr(folder, "sha256", lambda path: calls.append(path) or count(path))
    for _ in range(3):
        locate(published)
    assert len(calls) == 1
    locate(published, verify=True)
    assert len(calls) == 2
    put(home, "a", b"wrong")
    os.utime(home / "a", ns=(1, 1))
    with pytest.raises(ValueError, match="is not the published file"):
        locate(published)


def test_write_is_atomic(tmp_path):
    target = tmp_path / "deep" / "a.json"
    folder.write_atomically(target, lambda path: path.write_text("old"))

    def fail(path):
        path.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        folder.write_atomically(target, fail)
    assert target.read_text() == "old"
    assert os.listdir(target.parent) == ["a.json"]


def test_incomplete_file_is_refused(home, monkeypatch):
    content = b"1,1.5,13,4,1,71,0,8,0,0,1\n"
    put(home, "glass/glass.data", content)
    one = Published("glass/glass.data", digest(content))
    monkeypatch.setitem(catalogue.FILES, "glass/glass.data", one)
    with pytest.raises(ValueError, match="holds 1 rows, the published file has 214"):
        datasets.load_glass()
    base.check_count("x", 3, 3)


def test_text_archives_are_read_in_either_form(home, monkeypatch, tmp_path):
    article = b"Newsgroups: sci.med\nSubject: caf\xe9\n\nBody."
    (tmp_path / "49960").write_bytes(article)
    path = home / "20newsgroups" / "20news-19997.tar.gz"
    path.parent.mkdir(parents=True)
    with tarfile.open(path, "w:gz") as archive:
        archive.add(tmp_path / "49960", "20_newsgroups/sci.med/49960")
    monkeypatch.setattr("shiftlearn.datasets.text._VERSION_ROWS", {"19997": 1})
    d = datasets.load_newsgroups("19997")
    assert d.target.tolist() == ["sci.med"] and d.ids.tolist() == ["49960"]
    assert datasets.article_text(d.data[0]) == "café\nBody."


def test_written_files_can_be_read_by_others(tmp_path):
    (tmp_path / "plain").touch()
    folder.write_atomically(tmp_path / "a", lambda path: path.write_text("a"))
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_the_whole_ldpa_file_is_preferred(home, monkeypatch):
    lines = (
        "B02,010-000-024-033,633790226051280329,27.05.2009 14:03:25:127,4.0,1.5,0.5,walking\n"
        "A01,020-000-033-111,633790226051820913,27.05.2009 14:03:25:183,4.5,1.0,1.5,falling\n"
        "B02,020-000-032-221,633790226061280329,27.05.2009 14:03:26:127,4.0,2.5,0.5,walking\n"
    )
    put(home, "ldpa/ConfLongDemo_JSI.txt", lines.encode())
    monkeypatch.setitem(signals._LDPA_ROWS, "whole", 3)
    d = datasets.load_ldpa()
    assert d.domain_names == {0: "A01", 1: "B02"} and d.domain.tolist() == [1, 0, 1]
    assert d.target.tolist() == ["walking", "falling", "walking"]
    assert d.data.tolist() == [
        [1, 0, 0, 0, 0.0, 4.0, 1.5, 0.5],
        [0, 0, 0, 1, 0.0, 4.5, 1.0, 1.5],
        [0, 0, 1, 0, 1.0, 4.0, 2.5, 0.5],
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.load_newsgroups("2000"), "version must be one of"),
        (lambda: datasets.load_newsgroups_task(3), "task must be one of"),
        (lambda: datasets.load_newsgroups_counts("alt"), "top must be one of"),
        (lambda: datasets.load_reuters_cross_domain("a_vs_b"), "task must be one of"),
        (lambda: datasets.load_libsvm("a1a"), "name must be one of"),
    ],
)
def test_unknown_names_say_which_are_known(call, message):
    with pytest.raises(ValueError, match=message):
        call()
