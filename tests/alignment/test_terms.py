"""The mean and scatter terms and their metric against products written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from shiftlearn.alignment.metric import Spectrum
from shiftlearn.alignment.terms import DomainMoments, contrasts
from shiftlearn.solvers.operators import LowRankSum


def two_sources(seed=0, n=(9, 7, 11), columns=5):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(sum(n), columns)) * np.arange(1, columns + 1) + 1
    return Z, np.repeat([0, 3, -1], n)


def spectral_abs(A):
    e, U = np.linalg.eigh(A)
    return (U * np.abs(e)) @ U.T


def test_printed_mean_term_is_rank_one():
    rng = np.random.default_rng(0)
    n, m = 6, 4
    R = rng.normal(size=(n + m, 20))
    K = R @ R.T
    Ks, Kt = K[:, :n], K[:, n:]
    one_s, one_t = np.ones((n, 1)), np.ones((m, 1))
    printed = (
        Ks @ one_s @ one_s.T @ Ks.T / n**2
        + Kt @ one_t @ one_t.T @ Kt.T / m**2
        - (Ks @ one_s @ one_t.T @ Kt.T + Kt @ one_t @ one_s.T @ Ks.T) / (n * m)
    )
    g = contrasts(np.repeat([0, -1], [n, m])).weights[:, 0]
    assert_allclose(np.outer(K @ g, K @ g), printed, atol=1e-12)
    squared = Ks[:n].mean() + Kt[n:].mean() - 2 * Kt[:n].mean()
    assert g @ K @ g == pytest.approx(squared)


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("sources", ["separate", "pooled"])
def test_contrasts_and_moments_agree(centered, sources):
    Z, domain = two_sources()
    weights = np.random.default_rng(1).uniform(0.5, 2, len(Z))
    rows = contrasts(domain, weights, sources=sources, centered=centered)
    terms = DomainMoments.of(Z, domain, weights).terms(sources=sources, centered=centered)
    assert_allclose(terms.differences, Z.T @ rows.weights, atol=1e-12)
    assert_allclose(terms.shares, rows.shares)
    for r, scatter in enumerate(terms.scatters):
        assert_allclose(scatter, Z.T @ rows.scatter(r, Z), atol=1e-10)
    assert_allclose(terms.second_moment, (Z * weights[:, None]).T @ Z, atol=1e-10)


def test_uncentred_and_centred_second_moments_are_the_textbook_ones():
    Z, domain = two_sources()
    Zs, Zt = Z[domain >= 0], Z[domain < 0]
    pooled = {"sources": "pooled"}
    plain = DomainMoments.of(Z, domain).terms(**pooled).scatters[0]
    assert_allclose(plain, Zs.T @ Zs / len(Zs) - Zt.T @ Zt / len(Zt), atol=1e-10)
    centred = DomainMoments.of(Z, domain).terms(centered=True, **pooled).scatters[0]
    expected = np.cov(Zs.T, bias=True) - np.cov(Zt.T, bias=True)
    assert_allclose(centred, expected, atol=1e-10)


def test_blocks_and_order_do_not_matter():
    Z, domain = two_sources(n=(40, 30, 50))
    whole = DomainMoments().update(Z, domain).terms()
    cuts = np.split(np.random.default_rng(0).permutation(120), [1, 5, 30, 31, 80, 100])
    parts = DomainMoments()
    for rows in cuts:
        parts.merge(DomainMoments().update(sparse.csr_array(Z[rows]), domain[rows]))
    for a, b in zip(whole.scatters, parts.terms().scatters, strict=True):
        assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    assert_allclose(whole.differences, parts.terms().differences, atol=1e-10)


@pytest.mark.parametrize("sources", ["separate", "pooled"])
@pytest.mark.parametrize("balance", [0.0, 0.3, 1.0])
def test_whitening_makes_the_metric_the_identity(balance, sources):
    Z, domain = two_sources()
    terms = DomainMoments.of(Z, domain).terms(sources=sources)
    mu = 7.0
    M = np.eye(5)
    for share, d, scatter in zip(terms.shares, terms.differences.T, terms.scatters, strict=True):
        M += mu * share * ((1 - balance) * np.outer(d, d) + balance * spectral_abs(scatter))
    spectrum = Spectrum.of(terms, scatter=balance > 0)
    whitening = spectrum.whitening(balance, mu)
    T = spectrum.matrix(whitening)
    assert_allclose(T.T @ M @ T, np.eye(5), atol=1e-10)
    assert_allclose(whitening.rows(spectrum.rotate(Z)), Z @ T, atol=1e-10)


def test_the_scatter_term_majorises_every_change_of_second_moment():
    Z, domain = two_sources()
    spectrum = Spectrum.of(DomainMoments.of(Z, domain).terms(sources="pooled"))
    U, e = spectrum.parts[0]
    directions = np.random.default_rng(0).normal(size=(200, 5))
    change = np.einsum("ij,jk,ik->i", directions, (U * e) @ U.T, directions)
    bound = np.einsum("ij,jk,ik->i", directions, (U * np.abs(e)) @ U.T, directions)
    assert (bound >= np.abs(change) - 1e-10).all() and (np.abs(change) < 0.99 * bound).any()


def test_low_rank_sum_takes_signed_weights():
    rng = np.random.default_rng(0)
    R, F = rng.normal(size=(6, 6)), rng.normal(size=(6, 2))
    K = R @ R.T
    from shiftlearn.kernels import MatrixOperator

    operator = LowRankSum(MatrixOperator(K), F, np.array([-0.5, 2.0]))
    dense = K + F @ np.diag([-0.5, 2.0]) @ F.T
    rows = np.array([4, 1])
    assert_allclose(operator.diagonal(), np.diag(dense))
    assert_allclose(operator.block(rows, None, np.float64), dense[rows])
    coef = rng.normal(size=2)
    assert_allclose(operator.product(rows, coef, np.float64), dense[:, rows] @ coef)
    several = rng.normal(size=(2, 3))
    assert_allclose(operator.product(rows, several, np.float64), dense[:, rows] @ several)
    assert_allclose(operator.restrict(rows).block(np.arange(2), None, np.float64),
                    dense[np.ix_(rows, rows)])  # fmt: skip
