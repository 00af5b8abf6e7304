"""Headless Chromium for tests of pages: what a page logs, what it asks the network for, what its
scripts return, and how it looks. The tests talk to it through two pipes, so no port is opened."""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
from typing import Any, Optional, Union

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
ABSENT = "Chromium is not installed (tools/dev/setup.sh browser)"
_SECONDS = 120  # to wait for an answer; a busy machine is slow


def _moved(file: int) -> int:
    """The same file under a number from 10 on."""
    moved = fcntl.fcntl(file, fcntl.F_DUPFD, 10)
    os.close(file)
    return moved


class Browser:
    """One page. `problems` holds errors of scripts and of the console, `requests` all addresses that
    the page asked for."""

    def __init__(self, width: int = 1400, height: int = 1000, dark: bool = False) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="scanloom-browser-", ignore_cleanup_errors=True)
        self.problems: list[str] = []
        self.requests: list[str] = []
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        # The program reads file 3 and writes file 4; others must not be in the way.
        commands, answers = (_moved(each) for each in (commands, answers))
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", f'exec "$0" "$@" 3<&{commands} 4>&{answers}', str(PROGRAM),
             "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--remote-debugging-pipe",
             f"--user-data-dir={self._folder.name}", f"--window-size={width},{height}", "about:blank"],
            pass_fds=(commands, answers), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self._numbers = itertools.count(1)
        self._rest = b""
        self._session: Union[str, None] = None
        page = self._target("page")
        self._session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)
        if dark:
            self.ask("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def _target(self, kind: str) -> str:
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            for target in self.ask("Target.getTargets")["targetInfos"]:
                if target["type"] == kind:
                    return str(target["targetId"])
            time.sleep(0.1)
        raise TimeoutError(f"Chromium opened no {kind}")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=_SECONDS)
        os.close(self._commands)
        os.close(self._answers)
        self._folder.cleanup()

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._answers, 1 << 20)
            if not part:
                raise EOFError("Chromium has ended")
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        read: dict[str, Any] = json.loads(message)
        return read

    def _note(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(told["exceptionDetails"])[:2000])
        elif event.get("method") == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning"):
            self.problems.append(json.dumps(told["args"])[:2000])
        elif event.get("method") == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.problems.append(told["entry"]["text"])
        elif event.get("method") == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") != number:
                self._note(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                result: dict[str, Any] = answer["result"]
                return result

    def run(self, script: str) -> Any:
        """The value of an expression."""
        told = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            raise RuntimeError(json.dumps(told["exceptionDetails"])[:2000])
        return told["result"].get("value")

    def open(self, path: pathlib.Path) -> None:
        """Opens a report and waits until it is drawn."""
        self.ask("Page.navigate", url=path.resolve().as_uri())
        self._wait_until_drawn()

    def open_frame(self, address: str) -> None:
        """Opens a page with a report in a frame, as a notebook shows one, waits until it is drawn, and
        clicks into it. From now on, this object is the page in the frame."""
        self.ask("Page.navigate", url=address)
        around = self._session
        self._session = self.ask("Target.attachToTarget", targetId=self._target("iframe"), flatten=True)["sessionId"]
        self.ask("Runtime.enable")
        self._wait_until_drawn()
        self._click_into_frame(around)

    def _click_into_frame(self, around: Optional[str]) -> None:
        """Clicks the corner of the frame until it has the focus. The script's focus() moves the focus
        within a frame, but a frame of another process gets keys only when its user turns to it."""
        frame = self._session
        deadline = time.monotonic() + _SECONDS
        while not self.run("document.hasFocus()"):
            if time.monotonic() > deadline:
                raise AssertionError("the frame has not got the focus")
            self._session = around
            left, top = self.run("(() => { const box = document.querySelector('iframe').getBoundingClientRect();"
                                 " return [box.left + 3, box.top + 3]; })()")
            for kind in ("mousePressed", "mouseReleased"):
                self.ask("Input.dispatchMouseEvent", type=kind, x=left, y=top, button="left", clickCount=1)
            self._session = frame
            time.sleep(0.05)

    def _wait_until_drawn(self) -> None:
        deadline = time.monotonic() + _SECONDS
        while self.run("document.documentElement?.dataset.ready") != "yes":
            if self.problems or time.monotonic() > deadline:
                raise AssertionError(self.problems or "the page is not ready")
            time.sleep(0.05)

    def press(self, key: str) -> None:
        codes = {"Enter": 13, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39}
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                     windowsVirtualKeyCode=codes[key])

    def wait_for(self, condition: str) -> None:
        """Waits until the expression is true."""
        deadline = time.monotonic() + _SECONDS
        while not self.run(condition):
            if time.monotonic() > deadline:
                raise AssertionError(f"{condition} has not become true")
            time.sleep(0.05)

    def screenshot(self, path: pathlib.Path, whole: bool = False) -> None:
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        return base64.b64decode(self.ask("Page.printToPDF")["data"])
