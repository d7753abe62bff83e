"""``--set``, ``--config`` and the file beside the model."""

import tomllib

import pytest

from shiftlearn.cli.methods import METHODS, available, build, get_method
from shiftlearn.cli.settings import as_toml, parse, read_config


def test_values_are_toml_or_text():
    pairs = ["C=3", "gamma=scale", "tol=1e-4", "fit_intercept=true", "a=[1, 2]", "b=none", "c=x=y"]
    assert parse(pairs) == {
        "C": 3, "gamma": "scale", "tol": 1e-4, "fit_intercept": True, "a": [1, 2], "b": None,
        "c": "x=y",
    }  # fmt: skip


@pytest.mark.parametrize("pair", ["C", "=3", " = 3"])
def test_pairs_without_a_name(pair):
    with pytest.raises(ValueError, match="name=value"):
        parse([pair])


def test_what_is_written_is_read_again(tmp_path):
    document = {
        "source": 'a "b"\n.csv', "label": "kiñd", "target": None, "method": "svc",
        "set": {"C": 3.5, "kernel": "rbf", "estimator__C": 1, "x": True, "l": [1, "a"]},
        "result": {"seconds": 1.0, "rows": {"a": 1}},
    }  # fmt: skip
    path = tmp_path / "a.toml"
    path.write_text(as_toml(document), encoding="utf-8")
    again = read_config(str(path))
    expected = {k: v for k, v in document.items() if k not in ("target", "result")}
    assert again == expected and tomllib.loads(path.read_text(encoding="utf-8"))["result"]


@pytest.mark.parametrize(
    ("content", "words"),
    [("x", "is not TOML"), ("colour = 1", "the key 'colour'"), ("label = 3", "label must be str")],
)
def test_broken_configurations(tmp_path, content, words):
    path = tmp_path / "a.toml"
    path.write_text(content)
    with pytest.raises(ValueError, match=words):
        read_config(str(path))


def test_methods_have_names_lines_and_estimators():
    names = [method.name for method in METHODS]
    assert len(set(names)) == len(names)
    for method in available():
        assert method.rows in ("source", "unlabelled", "labelled", "normal") and method.needs
        assert build(method, {}).get_params()


def test_unknown_methods_and_parameters():
    with pytest.raises(ValueError, match="no method 'svm'"):
        get_method("svm")
    with pytest.raises(ValueError, match=r"svc has no parameter 'D'; --set takes C, "):
        build(get_method("svc"), {"D": 1})
    assert build(get_method("monge"), {"view__shrinkage": 0.5})["view"].shrinkage == 0.5
