"""What counts as the text of an article, and how articles of Reuters are read."""

import numpy as np

from shiftlearn.datasets import article_text, tfidf
from shiftlearn.datasets.text import _articles

RAW = """Newsgroups: sci.med
Path: news!from
Subject: Re: sleep
\tand dreams
Organization: Subject of another kind

First line.
Subject: this one belongs to the body

Second paragraph."""

SGML = """<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="7">
<DATE> 26-FEB-1987 15:01:01.79</DATE>
<TOPICS><D>cocoa</D><D>sugar</D></TOPICS>
<PLACES></PLACES>
<TEXT>&#2;
<TITLE>A &lt;B> C</TITLE>
<BODY>One
two.</BODY></TEXT>
</REUTERS>
<REUTERS LEWISSPLIT="NOT-USED" NEWID="8">
<DATE>1</DATE><TEXT TYPE="BRIEF"><TITLE>Only a title</TITLE></TEXT></REUTERS>"""


def test_article_text_keeps_subject_and_body_only():
    text = article_text(RAW)
    assert text.startswith("Re: sleep\n\tand dreams\nFirst line.")
    assert text.endswith("\n\nSecond paragraph.")
    for word in ("Newsgroups", "Path", "Organization"):
        assert word not in text


def test_article_text_with_carriage_returns_and_without_parts():
    assert article_text(RAW.replace("\n", "\r\n")) == article_text(RAW)
    assert article_text("From: a\n\nbody") == "\nbody"
    assert article_text("Subject: only") == "only\n"
    assert article_text("") == "\n"


def test_reuters_articles():
    first, second = _articles(SGML)
    assert (first.number, first.split, first.title) == (7, "TRAIN", "A <B> C")
    assert first.topics == ("cocoa", "sugar") and first.places == () and first.body == "One\ntwo."
    assert first.date == "26-FEB-1987 15:01:01.79"
    assert (second.title, second.body, second.topics) == ("Only a title", "", ())


def test_tfidf_rows_have_unit_length():
    X, vectorizer = tfidf(["red apple", "green apple tree", "the red tree"])
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(1)), 1)
    assert vectorizer.get_feature_names_out().tolist() == ["apple", "red", "tree"]
    assert vectorizer.transform(["the pear"]).nnz == 0
