"""The page in a real browser: it renders, its tabs work, it asks the network for nothing."""

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from shiftlearn import shift_report

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))),
    None,
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium")

# Walks through the tabs by mouse and keys, and writes down what a reader would meet.
PROBE = """
<script>
window.found = { errors: window.early || [] };
window.addEventListener("load", function () {
  var tabs = Array.from(document.querySelectorAll("[role=tab]"));
  function visible() {
    return Array.from(document.querySelectorAll("[role=tabpanel]"))
      .filter(function (p) { return p.offsetParent !== null; }).map(function (p) { return p.id; });
  }
  found.first = visible();
  found.clicked = tabs.map(function (t) { t.click(); return visible().join(); });
  tabs[0].click(); tabs[0].focus();
  var press = function (key) {
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: key, bubbles: true }));
    return document.activeElement.id + ":" + visible().join();
  };
  found.keys = ["ArrowRight", "ArrowLeft", "ArrowLeft", "Home", "End"].map(press);
  found.names = tabs.map(function (t) { return t.textContent.trim(); });
  found.unnamed = Array.from(document.querySelectorAll("svg"))
    .filter(function (s) { return !s.getAttribute("aria-label"); }).length;
  found.pictures = document.querySelectorAll("svg").length;
  found.requests = performance.getEntriesByType("resource").map(function (e) { return e.name; });
  found.background = getComputedStyle(document.body).backgroundColor;
  found.wide = document.documentElement.scrollWidth > window.innerWidth;
  found.facts = JSON.parse(document.getElementById("facts").textContent).shift.moved;
  var out = document.createElement("pre");
  out.id = "probe"; out.textContent = JSON.stringify(found); document.body.appendChild(out);
});
</script>
"""
EARLY = """<script>window.early = [];
["error", "securitypolicyviolation", "unhandledrejection"].forEach(function (kind) {
  window.addEventListener(kind, function (e) {
    early.push(kind + " " + (e.message || e.blockedURI));
  });
});</script>
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline';
  img-src data:">"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    rng = np.random.default_rng(0)
    X, Y = (
        pd.DataFrame(
            {"age": rng.normal(m, 1, 80), "kind": rng.choice(["a", "b"], 80), "x" * 90: 1.0}
        )
        for m in (0, 2)
    )
    path = tmp_path_factory.mktemp("page") / "report.html"
    y = np.array(["no", "yes"])[(X["age"] > 0).to_numpy() * 1]
    shift_report(X, Y, y, path=path, test_rows=80, n_permutations=40)
    return path


def browse(page, *flags):
    text = page.read_text(encoding="utf-8")
    probed = page.with_name("probed.html")
    probed.write_text(
        text.replace("<head>", "<head>" + EARLY, 1).replace("</body>", PROBE + "</body>"), "utf-8"
    )
    profile = page.parent / "profile"
    command = [
        BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
        "--enable-logging=stderr", "--virtual-time-budget=3000", *flags, "--dump-dom",
        probed.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.S)
    assert found, done.stderr[-2000:]
    return json.loads(html.unescape(found.group(1))), done.stderr


PARTS = ["overview", "features", "kind", "model", "advice", "settings"]


@pytest.mark.parametrize(("width", "scheme"), [(1200, 1), (360, 0)])
def test_in_a_browser(page, width, scheme):
    found, log = browse(
        page, f"--window-size={width},900", f"--blink-settings=preferredColorScheme={scheme}"
    )
    assert found["errors"] == [] and found["requests"] == []
    assert "CONSOLE" not in log
    assert found["first"] == ["overview"] and found["clicked"] == PARTS
    assert found["keys"] == [
        "tab-features:features", "tab-overview:overview", "tab-settings:settings",
        "tab-overview:overview", "tab-settings:settings",
    ]  # fmt: skip
    assert found["unnamed"] == 0 and found["pictures"] >= 5 and found["facts"] is True
    assert found["background"] == ("rgb(251, 251, 250)" if scheme else "rgb(20, 23, 26)")
    assert not found["wide"]


def test_prints_every_part(page, tmp_path):
    target = tmp_path / "page.pdf"
    command = [
        BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}", f"--print-to-pdf={target}", page.as_uri(),
    ]  # fmt: skip
    subprocess.run(command, capture_output=True, timeout=120, check=True)
    assert target.read_bytes().startswith(b"%PDF")
    assert target.read_bytes().count(b"/Type /Page\n") >= 2 or target.stat().st_size > 30_000
