"""Threads, processes and Ctrl-C around the plain machines."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import make_classification

from shiftlearn import LSSVC, SVC, OneClassSVM

MACHINES = [SVC(C=3.0), SVC(kernel="linear"), OneClassSVM(0.2), LSSVC()]


def data(n=1200, seed=0):
    return make_classification(n, 10, n_informative=5, flip_y=0.1, random_state=seed)


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_eight_threads_give_the_serial_answers(machine):
    jobs = [data(seed=seed) for seed in range(8)]
    alone = [type(machine)(**machine.get_params()).fit(X, y).decision_function(X) for X, y in jobs]

    def fit(job):
        X, y = job
        return type(machine)(**machine.get_params()).fit(X, y).decision_function(X)

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(fit, jobs))
    for left, right in zip(alone, together, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)


def test_same_call_same_bytes():
    X, y = data()
    first, second = (SVC(C=3.0, n_jobs=2).fit(X, y) for _ in range(2))
    assert first.dual_coef_.tobytes() == second.dual_coef_.tobytes()
    assert first.decision_function(X).tobytes() == second.decision_function(X).tobytes()


def test_number_of_threads_changes_nothing_beyond_the_certificate():
    X, y = data()
    one, two = SVC(C=3.0, n_jobs=1).fit(X, y), SVC(C=3.0, n_jobs=2).fit(X, y)
    difference = abs(one.certificate_.objective - two.certificate_.objective)
    assert difference <= one.certificate_.gap + two.certificate_.gap + 1e-9


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fit_fork_fit():
    X, y = data()
    before = SVC().fit(X, y).decision_function(X)
    child = os.fork()
    if child == 0:
        same = np.allclose(SVC().fit(X, y).decision_function(X), before, rtol=1e-9, atol=1e-9)
        os._exit(0 if same else 1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.02)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("fit hung after fork")
    assert os.waitstatus_to_exitcode(status) == 0
    np.testing.assert_array_equal(SVC().fit(X, y).decision_function(X), before)


SEARCH = """
import numpy as np
from joblib import parallel_backend
from sklearn.model_selection import GridSearchCV
from shiftlearn import SVC
from shiftlearn.resources import n_threads

class CountsThreads(SVC):
    def score(self, X, y, sample_weight=None, *, sample_domain=None, allow_source=True):
        return float(n_threads(self.n_jobs))

rng = np.random.default_rng(0)
X, y = rng.normal(size=(200, 5)), np.arange(200) % 2
search = GridSearchCV(CountsThreads(), {{"C": [0.1, 1.0]}}, cv=2, n_jobs=2, refit=False)
with parallel_backend("{backend}"):
    search.fit(X, y)
print(set(search.cv_results_["mean_test_score"].tolist()))
"""


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_of_a_search_use_one_thread_each(backend):
    script = SEARCH.format(backend=backend)  # in __main__, whose classes travel to workers by value
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "{1.0}", done.stderr


INTERRUPTED = """
import sys, time
import numpy as np
import shiftlearn
X = np.random.default_rng(0).normal(size=({n}, 40))
y = np.random.default_rng(1).integers(0, {classes}, size={n})
model = {model}
model.fit(X[:60], y[:60])
before = {{name: value for name, value in vars(model).items()}}
print("ready", flush=True)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    now = time.monotonic()
    same = before.keys() == vars(model).keys() and all(before[k] is vars(model)[k] for k in before)
    print("interrupted", now, same, flush=True)
else:
    print("finished", 0, False, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
@pytest.mark.parametrize(
    ("model", "n", "classes"),
    [
        ("shiftlearn.SVC(C=100.0)", 40_000, 2),
        ("shiftlearn.SVC(C=100.0)", 40_000, 4),
        ("shiftlearn.SVC(C=1e4, gamma=1e-3, tol=1e-6)", 1_500, 2),
        ("shiftlearn.SVC(kernel='linear', C=1e3, tol=1e-9)", 200_000, 2),
        ("shiftlearn.OneClassSVM(0.5)", 60_000, 2),
    ],
)
def test_interrupt_is_heard_and_changes_nothing(model, n, classes):
    script = INTERRUPTED.format(model=model, n=n, classes=classes)
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script], stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        assert child.stdout.readline().strip() == "ready"
        time.sleep(0.7)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        word, heard, same = child.communicate(timeout=60)[0].split()
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
    assert word == "interrupted" and same == "True"
    assert float(heard) - sent < 0.5 * patience()


def patience():
    """How much slower this machine answers than an idle one: the load for each CPU."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
