"""A real browser without a window, driven by its own driver; it loads nothing from elsewhere."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import InvalidSessionIdException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from support.waiting import PATIENCE

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # the tests may run as root, which chromium's sandbox refuses
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-default-apps",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication",
    "--metrics-recording-only",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


TRIES = 3
"""How often a browser that does not answer is started again."""


def programs() -> tuple[str, str] | None:
    """The browser and its driver, if both are installed."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


class Browser:
    """A browser with the few things that tests do in it; finding something waits until it is there."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        """Go to a page, as large as a laptop's, with an empty log of errors."""
        self.resize(1280, 900)
        self.driver.get_log("browser")
        self.driver.get(address)
        self.script("window.sameLoad = true")

    def resize(self, width: int, height: int) -> None:
        """The size of the window, also below what a window can be."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def script(self, text: str, *arguments: Any) -> Any:
        """Run a script in the page."""
        return self.driver.execute_script(text, *arguments)

    def find(self, selector: str) -> WebElement:
        """The first element that a selector names."""
        return self.until(lambda: next(iter(self.driver.find_elements(By.CSS_SELECTOR, selector)), None), selector)

    def count(self, selector: str) -> int:
        """How many elements a selector names."""
        return len(self.driver.find_elements(By.CSS_SELECTOR, selector))

    def text(self, selector: str) -> str:
        """The text of an element as it is shown."""
        return self.done(selector, lambda element: element.text)

    def attribute(self, selector: str, name: str) -> str | None:
        """An attribute of an element, or its property of that name."""
        return self.done(selector, lambda element: element.get_attribute(name))

    def done(self, selector: str, action: Callable[[WebElement], Any]) -> Any:
        """Do something with an element; one that the page replaces meanwhile is looked for again."""
        return self.until(lambda: [action(self.find(selector))], f"{selector}, and it stays")[0]

    def until(self, ready: Callable[[], Any], what: str = "", seconds: float = PATIENCE) -> Any:
        """Wait for something to be true, and return it; parts of the page may be replaced or moved meanwhile."""
        deadline = time.monotonic() + seconds
        while True:
            trouble = ""
            try:
                found = ready()
            except InvalidSessionIdException:  # the browser itself is gone
                raise
            except WebDriverException as error:  # there are many words for a part that was just replaced
                found, trouble = None, str(error.msg)
            if found:
                return found
            assert time.monotonic() < deadline, f"not there: {what}; {trouble}; the page says:\n{self._said()}"
            time.sleep(0.05)

    def holds(self, script: str, value: Any) -> None:
        """Wait until a script returns a value."""
        self.until(lambda: self.script(script) == value, f"{value!r} of {script}")

    def shows(self, selector: str, text: str) -> None:
        """Wait until an element shows a text."""
        self.until(lambda: text in self.text(selector), f"{text!r} in {selector}")

    def fill(self, selector: str, text: str) -> None:
        """Type into a field, instead of what is in it."""

        def typed(field: WebElement) -> None:
            field.clear()
            field.send_keys(text)

        self.done(selector, typed)

    def click(self, selector: str) -> None:
        """Click on an element, brought into view."""

        def clicked(element: WebElement) -> None:
            self.script("arguments[0].scrollIntoView({block: 'center'})", element)
            element.click()

        self.done(selector, clicked)

    @property
    def not_reloaded(self) -> bool:
        """Whether the page is still the one that was opened."""
        return self.script("return window.sameLoad === true") is True

    def errors(self) -> list[str]:
        """What the browser complained about, such as a script that failed or that the policy forbids."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def _said(self) -> str:
        return str(self.script("return document.body.innerText"))[:3000]


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with a profile of its own in an empty folder."""
    found = programs()
    if found is None:
        raise FileNotFoundError("chromium and chromedriver are not installed")
    # selenium must not look for drivers elsewhere, nor tell anybody that it is used
    os.environ |= {"SE_OFFLINE": "true", "SE_AVOID_STATS": "true"}
    driver = _started(*found, folder)
    try:
        yield Browser(driver)
    finally:
        driver.quit()


def _started(binary: str, driver: str, folder: Path) -> webdriver.Chrome:
    """One that answers: its port may be taken by another program, and a busy machine may not start it in time."""
    for number in range(TRIES):
        with suppress(WebDriverException):
            return _chrome(binary, driver, folder / str(number))
    return _chrome(binary, driver, folder / "last")


def _chrome(binary: str, driver: str, profile: Path) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(executable_path=driver))
