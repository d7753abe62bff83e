"""The published files hold what their catalogue says; skipped where they are not present."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from shiftlearn import datasets
from shiftlearn.datasets.catalogue import FILES
from shiftlearn.datasets.folder import locate

FOLDER = os.environ.get("SHIFTLEARN_DATA", "")
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not (FOLDER and Path(FOLDER).is_dir()), reason="SHIFTLEARN_DATA names no data folder"
    ),
]


@pytest.mark.parametrize("path", FILES)
def test_every_file_is_the_published_one(path):
    assert locate(FILES[path], download=False, verify=True).is_file()


def test_glass():
    d = datasets.load_glass()
    assert d.data.shape == (214, 9)
    assert Counter(d.target.tolist()) == {1: 70, 2: 76, 3: 17, 5: 13, 6: 9, 7: 29}
    assert d.data[0].tolist() == [1.52101, 13.64, 4.49, 1.10, 71.78, 0.06, 8.75, 0.0, 0.0]
    assert len(d.feature_names) == 9


def test_vehicle():
    d = datasets.load_vehicle()
    assert d.data.shape == (846, 18)
    assert Counter(d.target.tolist()) == {"opel": 212, "saab": 217, "bus": 218, "van": 199}


def test_segment():
    d = datasets.load_segment()
    assert d.data.shape == (2310, 19)
    assert set(Counter(d.target.tolist()).values()) == {330}
    assert Counter(d.ids.tolist()) == {"data": 210, "test": 2100}
    assert np.all(d.data[:, d.feature_names.index("REGION-PIXEL-COUNT")] == 9)


def test_iris():
    d = datasets.load_iris()
    assert d.data.shape == (150, 4)
    assert set(Counter(d.target.tolist()).values()) == {50}


def test_mushroom():
    d = datasets.load_mushroom()
    assert d.data.shape == (8124, 22)
    assert Counter(zip(d.target.tolist(), d.domain.tolist())) == {
        ("e", 0): 1616,
        ("e", 1): 2592,
        ("p", 0): 1900,
        ("p", 1): 2016,
    }
    one_hot = datasets.load_mushroom(one_hot=True)
    assert np.all(one_hot.data.sum(1) == 21)
    assert not any(name.startswith("stalk-shape=") for name in one_hot.feature_names)
    assert len(one_hot.feature_names) == one_hot.data.shape[1]


def test_isolet():
    d = datasets.load_isolet()
    assert d.data.shape == (7797, 617)
    assert Counter(d.domain.tolist()) == {0: 1560, 1: 1560, 2: 1560, 3: 1558, 4: 1559}
    counts = Counter(d.target.tolist())
    assert counts.pop("F") == 298 and counts.pop("M") == 299
    assert len(counts) == 24 and set(counts.values()) == {300}
    assert abs(d.data).max() <= 1


def test_ldpa():
    d = datasets.load_ldpa()
    assert d.data.shape == (16486, 8)
    assert Counter(d.domain.tolist()) == {0: 5830, 1: 5691, 2: 4965}
    counts = Counter(d.target.tolist())
    assert counts["walking"] == 2281 and counts["standing up from sitting on the ground"] == 262
    assert len(counts) == 11
    assert np.all(d.data[:, :4].sum(1) == 1)
    assert np.all(d.data[:, 4] >= 0) and d.data[1, 4] == pytest.approx(0.0540584)


@pytest.mark.parametrize(("load", "rows", "persons"), [("yale", 165, 15), ("orl", 400, 40)])
def test_faces(load, rows, persons):
    d = getattr(datasets, f"load_{load}_faces")()
    assert d.data.shape == (rows, 1024)
    assert d.data.min() >= 0 and d.data.max() <= 1
    assert set(Counter(d.target.tolist()).values()) == {rows // persons}
    # A face is darker at the eyes than on the cheeks, in lines: an image read in the wrong order
    # varies more from pixel to pixel along a line than an upright one does down a column.
    mean = d.data.mean(0).reshape(32, 32)
    assert np.abs(mean - mean[:, ::-1]).mean() < np.abs(mean - mean[::-1]).mean()


def test_landmine():
    d = datasets.load_landmine()
    assert d.data.shape == (14820, 9)
    assert d.target.sum() == 904
    sizes = np.bincount(d.domain)
    assert len(sizes) == 29 and sizes.min() == 445 and sizes.max() == 690


def test_spam():
    d = datasets.load_spam()
    assert d.data.shape == (7500, 206908)
    assert Counter(zip(d.domain.tolist(), d.target.tolist())) == {
        (inbox, label): 1250 for inbox in range(3) for label in (-1, 1)
    }
    assert d.data[0, 0] == 10 and d.data[0, 15] == 16  # 1:10 and 16:16 of the first line


@pytest.mark.parametrize(
    ("name", "rows", "columns", "negative"),
    [("a9a", 32561, 123, 24720), ("a9a.t", 16281, 123, 12435), ("w8a", 49749, 300, 48270)],
)
def test_libsvm(name, rows, columns, negative):
    d = datasets.load_libsvm(name)
    assert d.data.shape == (rows, columns)
    assert Counter(d.target.tolist()) == {-1: negative, 1: rows - negative}
    assert d.data.nnz == {"a9a": 451592, "a9a.t": 225732, "w8a": 579586}[name]


def test_heart_scale():
    d = datasets.load_libsvm("heart_scale")
    assert d.data.shape == (270, 13)
    assert Counter(d.target.tolist()) == {-1: 150, 1: 120}


@pytest.mark.parametrize(
    ("task", "terms", "source", "target"),
    [
        ("org_vs_people", 4771, (649, 588), (621, 587)),
        ("org_vs_place", 4415, (588, 428), (587, 456)),
        ("people_vs_place", 4562, (649, 428), (621, 456)),
    ],
)
def test_reuters_cross_domain(task, terms, source, target):
    d = datasets.load_reuters_cross_domain(task)
    assert d.data.shape == (sum(source) + sum(target), terms)
    for domain, counts in ((0, source), (-1, target)):
        labels = d.target[d.domain == domain]
        assert (np.sum(labels == -1), np.sum(labels == 1)) == counts
    exchanged = datasets.load_reuters_cross_domain(task, 2)
    first = d.data[d.domain == 0]
    assert (first != exchanged.data[exchanged.domain == -1]).nnz == 0


@pytest.mark.parametrize("top", ["comp", "rec", "sci", "talk"])
def test_newsgroups_counts(top):
    d = datasets.load_newsgroups_counts(top)
    expected = {
        "comp": (970, 963, 979, 958),
        "rec": (987, 993, 991, 997),
        "sci": (989, 984, 987, 985),
        "talk": (909, 940, 774, 627),
    }[top]
    assert d.data.shape == (sum(expected), 25804)
    assert tuple(Counter(d.target.tolist()).values()) == expected


def test_newsgroups_18828():
    d = datasets.load_newsgroups("18828")
    counts = Counter(d.target.tolist())
    assert len(d.data) == 18828 and len(counts) == 20
    assert counts["alt.atheism"] == 799 and counts["comp.sys.mac.hardware"] == 961
    assert counts["talk.religion.misc"] == 628 and counts["rec.sport.hockey"] == 999


def test_newsgroups_19997():
    d = datasets.load_newsgroups("19997")
    counts = Counter(d.target.tolist())
    assert counts.pop("soc.religion.christian") == 997
    assert len(counts) == 19 and set(counts.values()) == {1000}
    assert sum(not text.isascii() for text in d.data) == 73
    # Of the header nothing but the subject is left.
    for raw in d.data[::1000]:
        assert "Newsgroups:" in raw
        assert "Newsgroups:" not in datasets.article_text(raw).splitlines()[0]


def test_newsgroups_bydate():
    d = datasets.load_newsgroups("bydate")
    assert Counter(d.domain.tolist()) == {0: 11314, -1: 7532}


@pytest.mark.parametrize(
    ("task", "counts"),
    [
        (4, (1958, 1972, 2923, 1977)),
        (5, (1993, 1568, 1984, 1685)),
        (6, (1984, 1977, 1993, 1972)),
        (7, (1971, 1403, 1978, 1850)),
        (8, (2914, 1568, 1967, 1685)),
    ],
)
def test_newsgroups_tasks(task, counts):
    d = datasets.load_newsgroups_task(task)
    found = Counter(zip(d.domain.tolist(), d.target.tolist()))
    assert tuple(found[key] for key in ((0, 1), (0, -1), (-1, 1), (-1, -1))) == counts


def test_reuters():
    articles = datasets.load_reuters()
    assert [article.number for article in articles[:3]] == [1, 2, 3]
    assert Counter(article.split for article in articles) == {
        "TRAIN": 14668,
        "TEST": 6188,
        "NOT-USED": 722,
    }
    for name, count in {
        "topics": 11367,
        "places": 18798,
        "people": 1156,
        "orgs": 881,
        "exchanges": 482,
    }.items():
        assert sum(bool(getattr(article, name)) for article in articles) == count
    assert sum(bool(article.body) for article in articles) == 19043
    first = articles[0]
    assert first.title == "BAHIA COCOA REVIEW" and first.places == ("el-salvador", "usa", "uruguay")
    assert first.body.startswith("Showers continued throughout the week")
    assert not any("&lt;" in article.body for article in articles)
