"""Crafted files: nothing that they bring is executed, and the error says what is wrong."""

import io
import json
import os
import pickle
import re
import zipfile

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.preprocessing import FunctionTransformer

import shiftlearn
from shiftlearn import SVC, AdaptSVC, load, save
from shiftlearn.files import describe

X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), ["a", "a", "b", "b"]


@pytest.fixture
def model_file(tmp_path):
    return save(SVC().fit(X, Y), tmp_path / "model.skops")


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """Something to be run, and the file that would prove that it was."""
    proof = tmp_path / "it-ran"
    yield f"open({str(proof)!r}, 'w')", proof
    assert not proof.exists(), "code of the file was executed"


def rewritten(path, **changes):
    """A copy of an archive with other entries."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, changes.pop(name, old.read(name)))
        for name, content in changes.items():
            new.writestr(name, content)
    return io.BytesIO(buffer.getvalue())


def with_schema(path, node):
    """The archive with one attribute of its model replaced by a crafted node."""
    with zipfile.ZipFile(path) as archive:
        schema = json.loads(archive.read("schema.json"))
    schema["content"]["content"]["C"] = node
    return rewritten(path, **{"schema.json": json.dumps(schema)})


def json_node(value):
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode",
            "content": json.dumps(value), "is_json": True}  # fmt: skip


def node(loader, module, name, content=None, **more):
    found = {"__class__": name, "__module__": module, "__loader__": loader, **more}
    return found if content is None else {**found, "content": content}


def listed(*items, kind="list"):
    return node(f"{kind.capitalize()}Node", "builtins", kind, list(items))


def dictionary(**items):
    keys = listed(*(node("TypeNode", "builtins", "str") for _ in items))
    return node("DictNode", "builtins", "dict", items, key_types=keys)


class Evil:
    def __init__(self, code):
        self.code = code

    def __reduce__(self):
        return exec, (self.code,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_not_opened(protocol, trap, tmp_path):
    code, _ = trap
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(Evil(code), protocol))
    with pytest.raises(ValueError, match=r"not a model of shiftlearn.*Pickles are not read"):
        load(path)


def test_a_pickle_in_an_array_is_not_opened(model_file, trap):
    code, _ = trap
    buffer = io.BytesIO()
    np.save(buffer, np.array([Evil(code)], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(model_file) as archive:
        arrays = [name for name in archive.namelist() if name.endswith(".npy")]
    crafted = rewritten(model_file, **dict.fromkeys(arrays, buffer.getvalue()))
    with pytest.raises(ValueError, match="damaged"):
        load(crafted)


def crafted_nodes(code):
    text = listed(json_node(code), kind="tuple")
    evaluate = node("FunctionNode", "builtins", "eval")
    nothing = dictionary()
    partial = {"func": evaluate, "args": text, "kwds": nothing, "namespace": nothing}
    model = node("ObjectNode", "shiftlearn.machines.svc", "SVC", nothing)
    return {
        "function": evaluate,
        "system": node("FunctionNode", "os", "system"),
        "partial": node("PartialNode", "functools", "partial", partial),
        "method": node(
            "MethodNode", "shiftlearn.machines.svc", "SVC", {"func": "fit", "obj": model}
        ),
        "operator": node("OperatorFuncNode", "operator", "methodcaller", text, attrs=text),
        "constructor": node("ConstructorFromReduceNode", "subprocess", "Popen", text),
        "constructor of ours": node(
            "ConstructorFromReduceNode", "shiftlearn.machines.svc", "SVC", text
        ),
        "object": node("ObjectNode", "subprocess", "Popen", dictionary(args=json_node(code))),
        "type": node("TypeNode", "subprocess", "Popen"),
        "dict that is none": node("DictNode", "subprocess", "Popen", {}, key_types=listed()),
        "list that is none": node("ListNode", "os", "system", [json_node(code)]),
        "tuple that is none": node("TupleNode", "subprocess", "Popen", [json_node(code)]),
        "array that is none": node("NdArrayNode", "os", "system", type="numpy", file="schema.json"),
        "key type": node(
            "DictNode", "builtins", "dict", {code: json_node(1)},
            key_types=listed(node("TypeNode", "builtins", "eval")),
        ),
        "unknown loader": node("PickleNode", "builtins", "str", code),
        "old loader": node("LossNode", "os", "system", nothing, __reduce__={"args": text}),
        "forest": node(
            "TreeNode", "sklearn.tree._tree", "Tree", nothing, __reduce__={"args": text}
        ),
        "our function": node("ObjectNode", "shiftlearn.machines.svc", "svc_path", nothing),
        "our command line": node("ObjectNode", "shiftlearn.studies.store", "Store", nothing),
        "module by way of ours": node("ObjectNode", "shiftlearn.machines.base", "logging", nothing),
        "trainer": node("FunctionNode", "numpy", "load"),
    }  # fmt: skip


@pytest.mark.parametrize("name", crafted_nodes(""))
def test_a_crafted_archive_is_refused(name, model_file, trap):
    crafted = with_schema(model_file, crafted_nodes(trap[0])[name])
    with pytest.raises(ValueError, match=r"not on the list of harmless parts: model\.C"):
        load(crafted)


@pytest.mark.parametrize("place", [["content"], ["content", "content", "C", "deep"], []])
def test_wherever_it_hides(place, model_file, trap):
    with zipfile.ZipFile(model_file) as archive:
        schema = json.loads(archive.read("schema.json"))
    spot = schema
    for key in place:
        spot = spot.setdefault(key, {})
    spot["beside"] = [{"x": {"y": crafted_nodes(trap[0])["system"]}}]
    with pytest.raises(ValueError, match=r"os\.system"):
        load(rewritten(model_file, **{"schema.json": json.dumps(schema)}))


@pytest.mark.parametrize("protocol", [-1, 0, 1, 2, "2", True, None, 99, 1e9])
def test_other_protocols_do_not_help(protocol, model_file, trap):
    with zipfile.ZipFile(model_file) as archive:
        schema = json.loads(archive.read("schema.json"))
    schema["content"]["content"]["C"] = crafted_nodes(trap[0])["constructor"]
    schema["protocol"] = protocol
    with pytest.raises(ValueError):
        load(rewritten(model_file, **{"schema.json": json.dumps(schema)}))


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"not a zip", b"\x80\x04.", os.urandom(500), b"PK\x05\x06" + bytes(18)],
)
def test_what_is_no_archive(content, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a model of shiftlearn"):
        load(path)
    with pytest.raises(ValueError, match="not a model of shiftlearn"):
        describe(path)


def test_plain_skops_files_are_told_apart(tmp_path):
    import skops.io

    skops.io.dump(SVC(), tmp_path / "plain.skops")
    with pytest.raises(ValueError, match=r"it has no shiftlearn\.json"):
        load(tmp_path / "plain.skops")


def test_compressed_entries_are_refused(model_file, tmp_path):
    bomb = tmp_path / "bomb"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("shiftlearn.json", json.dumps({"format_version": 1}))
        archive.writestr("schema.json", bytes(10_000_000))
    with pytest.raises(ValueError, match="compressed"):
        load(bomb)


@pytest.mark.parametrize("depth", [10_000, 200_000])
def test_deep_nesting_is_no_crash(depth, model_file):
    deep = '{"content": ' * depth + "1" + "}" * depth
    with pytest.raises(ValueError):
        load(rewritten(model_file, **{"schema.json": deep}))


def test_every_damaged_byte_is_an_error_or_harmless(model_file):
    whole = model_file.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(whole), 150, replace=False):
        damaged = bytearray(whole)
        damaged[place] ^= 1 + rng.integers(255)
        try:
            load(io.BytesIO(bytes(damaged)))
        except ValueError:
            continue
    for size in range(0, len(whole), len(whole) // 40):
        with pytest.raises(ValueError):
            load(io.BytesIO(whole[:size]))


def test_a_later_format_says_so(model_file):
    envelope = {**describe(model_file), "format_version": 99, "shiftlearn": "7.0"}
    with pytest.raises(ValueError, match=r"written by shiftlearn 7\.0 in format 99.*newer"):
        load(rewritten(model_file, **{"shiftlearn.json": json.dumps(envelope)}))


@pytest.mark.parametrize("envelope", ["[]", "1", "{}", "nonsense", '{"format_version": "1"}'])
def test_a_broken_envelope(envelope, model_file):
    with pytest.raises(ValueError, match=r"not a model|damaged"):
        load(rewritten(model_file, **{"shiftlearn.json": envelope}))


def home_made(scores):
    return np.zeros(len(scores))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: AdaptSVC(lambda rows: rows[:, 0]).fit(X, Y),
            ["model.source", "<lambda>", "set_source"],
        ),
        (lambda: SVC(callback=lambda event: None), ["callback", "<lambda>", "None"]),
        (lambda: SVC(callback=home_made), ["callback", "home_made"]),
        (lambda: FunctionTransformer(os.system), ["model.func", "posix.system"]),
        (
            lambda: AdaptSVC(HistGradientBoostingClassifier(max_iter=2).fit(X, Y)).fit(X, Y),
            ["source", "TreePredictor", "source=False", "set_source", "trusted="],
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_saved_is_named_with_the_remedy(make, words, tmp_path):
    path = tmp_path / "model.skops"
    path.write_text("what was there before")
    with pytest.raises(ValueError) as caught:
        save(make(), path)
    for word in (*words, "safely"):
        assert word in str(caught.value)
    assert path.read_text() == "what was there before"
    assert [p.name for p in tmp_path.iterdir()] == ["model.skops"]


def test_trusted_classes_on_both_sides(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 2))
    forest = HistGradientBoostingClassifier(max_iter=3).fit(rows, rows[:, 0] > 0)
    with pytest.raises(ValueError) as caught:
        save(forest, tmp_path / "m")
    names = []
    while len(names) < 9:  # each refusal names up to three
        try:
            path = save(forest, tmp_path / "m", trusted=names)
            break
        except ValueError as error:
            names += re.findall(r"'([\w.]+)'", str(error).split("trusted=")[1])
    with pytest.raises(ValueError, match="TreePredictor"):
        load(path)
    assert load(path, trusted=names).predict(rows).tolist() == forest.predict(rows).tolist()
    assert "trusted=" in str(caught.value)


@pytest.fixture
def forest_file(tmp_path):
    rows = np.random.default_rng(0).normal(size=(60, 3))
    forest = RandomForestClassifier(4, random_state=0).fit(rows, rows[:, 0] + rows[:, 1] > 0)
    return save(forest, tmp_path / "forest.skops"), forest, rows


def test_a_forest_comes_back(forest_file):
    path, forest, rows = forest_file
    np.testing.assert_array_equal(load(path).predict_proba(rows), forest.predict_proba(rows))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("left_child", 10**6), ("right_child", -7), ("left_child", 0), ("feature", 3),
        ("feature", -5), ("feature", 10**6),
    ],
)  # fmt: skip
def test_a_tree_that_points_outside_is_refused(forest_file, field, value):
    path, _, _ = forest_file
    with zipfile.ZipFile(path) as archive:
        schema = json.loads(archive.read("schema.json"))
        trees = schema["content"]["content"]["estimators_"]["content"]
        name = trees[2]["content"]["content"]["tree_"]["content"]["content"]["nodes"]["file"]
        table = np.load(io.BytesIO(archive.read(name)))
    table[field][0] = value
    buffer = io.BytesIO()
    np.save(buffer, table)
    with pytest.raises(ValueError, match=r"estimators_\[2\]\.tree_ \(sklearn\.tree\._tree\.Tree\)"):
        load(rewritten(path, **{name: buffer.getvalue()}))


@pytest.mark.parametrize("where", ["forest", "tree", "gone", "arguments", "identity"])
def test_a_forest_that_lies_about_its_width_is_refused(forest_file, where):
    path, _, _ = forest_file
    with zipfile.ZipFile(path) as archive:
        schema = json.loads(archive.read("schema.json"))
    forest = schema["content"]["content"]
    tree = forest["estimators_"]["content"][1]["content"]["content"]
    number = {**json_node(1), "__id__": 77}
    if where == "forest":
        forest["n_features_in_"] = number
    elif where == "tree":
        tree["n_features_in_"] = number
    elif where == "gone":
        del forest["n_features_in_"]
    elif where == "arguments":
        tree["tree_"]["__reduce__"]["args"]["content"][0] = {**json_node(500), "__id__": 78}
    else:  # the first of two nodes with one identity is what a reader takes
        schema["content"]["content"] = {
            "first": {**json_node(1), "__id__": forest["n_features_in_"]["__id__"]}, **forest
        }  # fmt: skip
    with pytest.raises(ValueError, match=r"sklearn\.tree\._tree\.Tree"):
        load(rewritten(path, **{"schema.json": json.dumps(schema)}))


@pytest.mark.parametrize("trusted", [True, "os.system", None])
def test_trust_is_a_list(trusted, model_file):
    with pytest.raises(TypeError, match="trusted must be a list"):
        load(model_file, trusted=trusted)


def test_a_failed_write_leaves_nothing(monkeypatch, tmp_path):
    from pathlib import Path

    def fail(self, content):
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OSError, match="disk"):
        save(SVC(), tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []


def test_missing_skops_names_the_extra(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for call in (lambda: save(SVC(), tmp_path / "m"), lambda: load(tmp_path / "m")):
        with pytest.raises(ImportError, match=r"shiftlearn\[files\]"):
            call()


def test_files_of_earlier_versions_are_read():
    folder = os.path.join(os.path.dirname(__file__), "kept")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".skops"))
    minor = ".".join(shiftlearn.__version__.split(".")[:2])
    assert f"{minor}.skops" in names, "tools/keep_model_file.py writes the file of this version"
    for name in names:
        path = os.path.join(folder, name)
        notes = describe(path)["notes"]
        model = load(path)
        rows = np.array(notes["rows"])
        assert model.predict(rows).tolist() == notes["predictions"]
        scores = model.decision_function(rows)
        np.testing.assert_allclose(scores, notes["scores"], rtol=1e-6)
