"""The generators give what their recipes say, and known classifiers know their errors on them."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from shiftlearn import datasets


def split(d):
    return d.split()


GENERATORS = [
    datasets.make_mixture_shift,
    datasets.make_programs,
    datasets.make_rotated_moons,
    datasets.make_gaussian_shift,
    datasets.make_covariate_shift,
    datasets.make_isolated,
    datasets.make_striated,
    datasets.make_digit_pair,
    datasets.make_gaussian_tasks,
]


@pytest.mark.parametrize("make", GENERATORS)
def test_a_seed_names_one_data_set(make):
    one, same, other = (make(random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.data, same.data)
    assert one.data.shape != other.data.shape or not np.array_equal(one.data, other.data)
    assert len(one.target) == len(one.data)
    assert one.domain is None or len(one.domain) == len(one.data)


def test_mixture_shift_follows_the_recipe_draw_by_draw():
    rng = np.random.default_rng(7)
    rows = []
    for means in ([(-0.4, 0.5), (0.5, 0.7), (-0.1, -0.6)], [(-0.4, 0.3), (0.5, 0.3), (0, -0.65)]):
        z = rng.integers(0, 3, 100)
        noise = rng.standard_normal((100, 2))
        positives = [np.array(means[k]) + 0.21 * e for k, e in zip(z, noise)]
        negatives = []
        while len(negatives) < 500:
            for x in rng.uniform(-1, 1, (500, 2)):
                if all(np.hypot(*(x - p)) > 0.11 for p in positives):
                    negatives.append(x)
        rows += positives + negatives[:500]
    labelled = set(600 + rng.choice(100, 3, replace=False)) | set(
        700 + rng.choice(500, 17, replace=False)
    )
    d = datasets.make_mixture_shift(7)
    np.testing.assert_array_equal(d.data, np.array(rows))
    assert set(np.flatnonzero(d.ids[600:] == "labelled") + 600) == labelled
    assert np.all(d.ids[:600] == "labelled")


def test_mixture_shift_gives_the_known_errors():
    aux, new = [], []
    for seed in range(100):
        d = datasets.make_mixture_shift(seed)
        Xs, ys, Xt, yt = split(d)
        few = d.ids[600:] == "labelled"
        aux.append(1 - SVC(C=1, gamma=5).fit(Xs, ys).score(Xt, yt))
        new.append(1 - SVC(C=10, gamma=5).fit(Xt[few], yt[few]).score(Xt, yt))
    assert 100 * np.mean(aux) == pytest.approx(20.43, abs=0.1)
    assert 100 * np.mean(new) == pytest.approx(16.12, abs=0.1)


def test_programs():
    d = datasets.make_programs(3, n=2000, random_state=1)
    assert d.data.shape == (6000, 20)
    assert np.mean(d.target == 1) == pytest.approx(0.05, abs=0.015)
    target = d.sample_domain("program 1")
    assert sorted(set(target.tolist())) == [-2, 0, 2]


def test_moons_are_the_rotated_source():
    d = datasets.make_rotated_moons(40, n_per_moon=2000, random_state=2)
    Xs, ys, Xt, yt = split(d)
    turned = (Xs[:, 0] + 1j * Xs[:, 1]) * np.exp(1j * np.radians(40))
    np.testing.assert_allclose(Xt[:, 0] + 1j * Xt[:, 1], turned)
    np.testing.assert_array_equal(ys, yt)
    # Noise of 0.1 about two half circles of radius 1 around (-1/2, -1/4) and (1/2, 1/4).
    for label, middle in ((1, [-0.5, -0.25]), (-1, [0.5, 0.25])):
        radius = np.linalg.norm(Xs[ys == label] - middle, axis=1)
        assert radius.mean() == pytest.approx(1, abs=0.02)
        assert radius.std() == pytest.approx(0.1, abs=0.01)
    assert Xs.mean(0) == pytest.approx([0, 0], abs=0.05)


def test_moons_about_the_origin():
    about = {
        centre: datasets.make_rotated_moons(30, centre=centre, random_state=0)
        for centre in ("centroid", "origin")
    }
    difference = about["origin"].data[:600] - about["centroid"].data[:600]
    np.testing.assert_allclose(difference, np.tile([0.5, 0.25], (600, 1)))
    with pytest.raises(ValueError, match="centre must be"):
        datasets.make_rotated_moons(30, centre="middle")


def test_gaussian_shift_has_the_printed_moments():
    d = datasets.make_gaussian_shift(n_per_class=200_000, random_state=0)
    Xs, ys, Xt, yt = split(d)
    np.testing.assert_allclose(Xs.mean(0), [-0.1345, 2.9497], atol=0.03)
    np.testing.assert_allclose(Xs.var(0), [13.5742, 14.0050], rtol=0.01)
    np.testing.assert_allclose(Xt.mean(0), [0.1419, 2.9497], atol=0.03)
    np.testing.assert_allclose(Xt.var(0), [4.8217, 0.9409], rtol=0.01)
    np.testing.assert_allclose(Xt[yt == 1].mean(0) - Xt[yt == -1].mean(0), [4, 0], atol=0.03)
    np.testing.assert_allclose(Xs[ys == 1].mean(0) - Xs[ys == -1].mean(0), [6, 6], atol=0.03)


def test_covariate_shift_moves_the_inputs_not_the_rule():
    d = datasets.make_covariate_shift(1.5, n_source=50_000, n_target=50_000, random_state=0)
    Xs, ys, Xt, yt = split(d)
    np.testing.assert_allclose(Xt.mean(0), [1.5, 0, 0], atol=0.03)
    np.testing.assert_allclose(Xt.std(0), [0.6, 1, 1], rtol=0.02)
    np.testing.assert_allclose(Xs.std(0), 1, rtol=0.02)
    for X, y in ((Xs, ys), (Xt, yt)):
        score = 3 * (X[:, 1] * np.cos(1.2 * X[:, 0]) + 0.8 * X[:, 2] * np.sin(1.2 * X[:, 0]))
        for low in (-2, 0, 2):
            near = abs(score - low) < 0.2
            assert np.mean(y[near] == 1) == pytest.approx(1 / (1 + np.exp(-low)), abs=0.04)


def test_isolated():
    d = datasets.make_isolated(0)
    assert d.target.tolist() == [0] * 500 + [1] * 300
    means = np.array([[-2.5, -2.5], [2.5, -1.5], [-0.5, 2.5]])
    background = d.data[d.target == 0]
    assert np.linalg.norm(background[:, None] - means, axis=2).min() > 2.4
    assert abs(background).max() <= 5
    for k, mean in enumerate(means):
        cluster = d.data[d.ids == k]
        assert cluster.mean(0) == pytest.approx(mean, abs=0.3)
        assert cluster.std(0) == pytest.approx([0.8, 0.8], abs=0.15)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    quadratic = SVC(kernel="poly", degree=2, gamma=0.5)
    assert cross_val_score(quadratic, d.data, d.target, cv=folds).mean() == pytest.approx(
        0.78, abs=0.02
    )


def test_striated():
    d = datasets.make_striated(0)
    half = np.sqrt(0.5)
    short = d.data @ [half, half]
    for stripe in range(8):
        rows = d.ids == stripe
        assert set(d.target[rows]) == {stripe % 2}
        centre = 10 * (stripe - 3.5)
        assert short[rows].mean() == pytest.approx(centre, abs=0.6)
        assert short[rows].std() == pytest.approx(1.5, abs=0.4)
        assert (d.data[rows] @ [-half, half]).std() == pytest.approx(20, abs=5)


def test_spirals_exactly():
    d = datasets.make_spirals()
    for i in (0, 1, 48, 96):
        a, r = i * np.pi / 16, 6.5 * (104 - i) / 104
        np.testing.assert_allclose(d.data[2 * i], [r * np.sin(a), r * np.cos(a)])
        np.testing.assert_allclose(d.data[2 * i + 1], [-r * np.sin(a), -r * np.cos(a)])
    assert d.target.tolist() == [1, 0] * 97


def test_digit_pair_follows_the_recipe_draw_by_draw():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = X / 16
    rng = np.random.default_rng(5)
    own = rng.permutation(np.flatnonzero(y == 4))
    others = rng.permutation(np.flatnonzero(y != 4))
    m = round(0.1 * len(own))
    sigma = rng.uniform(0, 2 * X.std(0))
    rows = np.concatenate([X[y == 9], X[own[:m]]])
    c = rng.permutation(len(rows))[: round(0.4 * len(rows))]
    rows[c] += sigma * rng.standard_normal((len(c), 64))
    task = datasets.make_digit_pair(4, 9, fraction=0.1, noise=0.4, random_state=5)
    np.testing.assert_array_equal(task.data, rows)
    np.testing.assert_array_equal(task.test[task.test_target == 1], X[own[m:]])
    np.testing.assert_array_equal(task.test[task.test_target == -1], X[others[: len(own) - m]])
    assert np.sum(task.domain == -1) == m
    few = datasets.make_digit_pair(3, 8, fraction=1e-6, random_state=0)
    assert np.sum(few.domain == -1) == 2


def test_gaussian_tasks():
    task = datasets.make_gaussian_tasks(4, 5000, random_state=0)
    train = task.data[task.domain == -1]
    inside, outside = task.test[task.test_target == 1], task.test[task.test_target == -1]
    assert len(inside) == len(outside) == 300 and np.sum(task.domain == 0) == 200
    np.testing.assert_allclose(inside.mean(0), train.mean(0), atol=0.2)
    np.testing.assert_allclose(outside.std(0), 3, rtol=0.15)
    np.testing.assert_allclose(train.std(0), 1, rtol=0.05)


def test_rotation_of_images_is_counter_clockwise():
    image = np.zeros((32, 32))
    image[16, 28] = 1.0  # right of the centre: a quarter turn brings it up
    for angle, corner in ((90, (3, 16)), (180, (15, 3)), (-90, (28, 15))):
        turned = datasets.rotate_images(image.reshape(1, -1), angle).reshape(32, 32)
        assert np.unravel_index(turned.argmax(), (32, 32)) == corner
    np.testing.assert_allclose(datasets.rotate_images(image.reshape(1, -1), 0)[0], image.ravel())
    with pytest.raises(ValueError, match="one square image a row"):
        datasets.rotate_images(np.zeros((2, 10)), 10)


def test_sample_domain_names_what_is_known():
    d = datasets.make_programs(2, n=10)
    assert d.sample_domain(0).tolist() == [-1] * 10 + [1] * 10
    with pytest.raises(ValueError, match=r"target='x' is no domain.*0 \(program 0\)"):
        d.sample_domain("x")
    with pytest.raises(ValueError, match="have no domains"):
        datasets.make_spirals().sample_domain(0)
    assert repr(d) == "<Dataset 20 x 20, 2 classes, 2 domains>"


def test_names_are_imported_on_first_use():
    import subprocess
    import sys

    code = (
        "import sys, shiftlearn.datasets as d; d.data_folder;"
        "assert not {'scipy', 'sklearn'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert set(datasets.__all__) <= set(dir(datasets))
