"""A real browser, driven over its own protocol (DevTools) through a pair of pipes.

Nothing is installed for it but Chromium itself, and it opens no port.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 30.0

# Puts the two pipes where the browser looks for them.
_START = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""

_KEYS = {
    "Enter": (13, "\r"),
    "Tab": (9, ""),
    "Escape": (27, ""),
    " ": (32, " "),
    "ArrowDown": (40, ""),
}


def find_chromium() -> str | None:
    """The browser's program, if there is one."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Chromium:
    """The browser; `page` opens tabs. Close it in the end."""

    def __init__(self, program: str, folder: Path) -> None:
        to_browser, self._write = _pipe()
        self._read, from_browser = _pipe()
        flags = ["--headless=new", "--remote-debugging-pipe", f"--user-data-dir={folder}"]
        flags += ["--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage"]
        flags += ["--disable-background-networking", "--disable-component-update", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, str(to_browser), str(from_browser), program, *flags],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._bytes = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer}"
                return dict(answer["result"])
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._bytes:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            read = os.read(self._read, 1 << 20)
            assert read, "the browser has gone"
            self._bytes += read
        line, _, self._bytes = self._bytes.partition(b"\0")
        return dict(json.loads(line))

    def page(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> Page:
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, target, session)
        for part in ("Page", "Runtime", "Network", "Log"):
            page.send(f"{part}.enable")
        page.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.send("Emulation.setEmulatedMedia", features=[scheme])
        page.go(url)
        return page

    def close(self) -> None:
        try:
            self.send("Browser.close")
        except (AssertionError, OSError):
            self._process.kill()
        self._process.wait(PATIENCE)
        os.close(self._write)
        os.close(self._read)


class Page:
    """A tab."""

    def __init__(self, browser: Chromium, target: str, session: str) -> None:
        self._browser = browser
        self._target = target
        self._session = session

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.send(method, self._session, **parameters)

    def go(self, url: str) -> None:
        self.send("Page.navigate", url=url)
        url = url.partition("#")[0]  # the page may write what comes after it
        self.wait(f"location.href.startsWith({json.dumps(url)}) && document.readyState=='complete'")

    def evaluate(self, code: str) -> Any:
        answer = self.send(
            "Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, f"{code}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def wait(self, code: str) -> None:
        end = time.monotonic() + PATIENCE
        while not self.evaluate(code):
            assert time.monotonic() < end, f"never true: {code}"
            time.sleep(0.02)

    def texts(self, selector: str) -> list[str]:
        """What elements say, as they are rendered; of those that are."""
        code = (
            f"[...document.querySelectorAll({json.dumps(selector)})]"
            ".filter((n) => n.tagName == 'OPTION' || n.checkVisibility()).map((n) => n.innerText)"
        )
        return list(self.evaluate(code))

    def focus(self, selector: str) -> None:
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")

    def click(self, selector: str) -> None:
        """With the pointer, in the element's middle: what lies over it gets the click."""
        code = (
            f"(() => {{ const n = document.querySelector({json.dumps(selector)});"
            "n.scrollIntoView({block: 'center', inline: 'nearest'});"
            "const r = n.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        x, y = self.evaluate(code)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def choose(self, selector: str, value: str) -> None:
        """An option of a select, as a person's choice is told to the page."""
        self.evaluate(
            f"(() => {{ const n = document.querySelector({json.dumps(selector)});"
            f"n.value = {json.dumps(value)}; n.dispatchEvent(new Event('change')); }})()"
        )

    def press(self, key: str) -> None:
        code, text = _KEYS[key]
        told: dict[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **told)
        self.send("Input.dispatchKeyEvent", type="keyUp", **told)

    def _events(self, *methods: str) -> list[dict[str, Any]]:
        return [
            event["params"]
            for event in self._browser.events
            if event.get("sessionId") == self._session and event.get("method") in methods
        ]

    def complaints(self) -> list[dict[str, Any]]:
        """Exceptions, errors and warnings in the console, and what the policy refused."""
        said = self._events("Runtime.exceptionThrown", "Log.entryAdded")
        calls = self._events("Runtime.consoleAPICalled")
        return said + [call for call in calls if call["type"] in ("error", "warning", "assert")]

    def forget(self) -> None:
        """All that this page did so far: it was meant to complain."""
        events = self._browser.events
        events[:] = [event for event in events if event.get("sessionId") != self._session]

    def requests(self) -> list[str]:
        """Addresses asked for, the page's own included; its inlined icon is none."""
        asked = [event["request"]["url"] for event in self._events("Network.requestWillBeSent")]
        return [url for url in asked if not url.startswith("data:")]

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        self._browser.send("Target.closeTarget", targetId=self._target)


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are above 9, so that none is one of the two the browser wants."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
