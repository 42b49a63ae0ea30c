"""Chromium, driven by selenium, for tests of pages."""

import shutil

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NEEDS_CHROMIUM = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver")
IN_BROWSER = [pytest.mark.browser, pytest.mark.slow, NEEDS_CHROMIUM]
SWITCHES = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --window-size=1400,900"
)


def start(profile, *more):
    """A browser with a new profile in a folder, and further switches; its log is kept."""
    selenium = pytest.importorskip("selenium.webdriver", reason="needs the extra 'test'")
    options = selenium.ChromeOptions()
    options.binary_location = CHROMIUM
    for switch in (*SWITCHES.split(), f"--user-data-dir={profile}", *more):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return selenium.Chrome(options=options, service=selenium.ChromeService(DRIVER))
