"""A browser for the tests of what is looked at in one, where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip


@contextmanager
def chromium() -> Iterator[Any]:
    """A running browser; without one, the test is skipped."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    if CHROMIUM is None:
        pytest.skip("no Chromium or Chrome is installed")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()
