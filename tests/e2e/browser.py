"""Opens pages in a headless Chromium, through its debugging protocol over a pipe."""

import base64
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

# Longer than any page takes on a busy machine.
HANG_SECONDS = 60
FLAGS = ("--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
         "--disable-dev-shm-usage",
         "--disable-background-networking", "--disable-extensions", "--hide-scrollbars")


def require_chromium():
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        raise unittest.SkipTest("chromium is not installed (./setup test installs it)")
    return path


def above(fd):
    """Moves a descriptor to a higher number, and returns that."""
    number = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(fd)
    return number


class Browser:
    """A browser with one page at a time, each in the state of a new installation. Console
    messages, errors and requests are kept."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="shadowprof-chromium-")
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # Moves the ends beyond the descriptors 3 and 4, which the shell sets below.
        to_browser, from_browser = (above(fd) for fd in (to_browser, from_browser))
        # Chromium does not sandbox itself as root.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        # Chromium reads from descriptor 3 and writes to descriptor 4.
        shell = f"exec \"$@\" 3<&{to_browser} 4>&{from_browser}"
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", require_chromium(), *FLAGS, *sandbox,
             f"--user-data-dir={self.folder}", "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._last_id = 0
        self._events = []
        self._context = self._session = None
        self._forget()

    def close(self):
        for fd in (self._out, self._in):
            with contextlib.suppress(OSError):
                os.close(fd)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _forget(self):
        self.console, self.errors, self.requests = [], [], []
        self._events.clear()

    def new_page(self, width=1440, height=900, dark=False):
        """Closes the previous page and discards its state."""
        self._session = None
        if self._context:
            self.call("Target.disposeBrowserContext", browserContextId=self._context)
        self._context = self.call("Target.createBrowserContext")["browserContextId"]
        page = self.call("Target.createTarget", url="about:blank", width=width, height=height,
                         browserContextId=self._context)["targetId"]
        answer = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._forget()
        self._session = answer["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def call(self, method, **parameters):
        """Sends a command of the protocol, and returns its answer."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == message["id"]:
                break
            self._note(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _receive(self):
        while b"\0" not in self._buffer:
            got = os.read(self._in, 1 << 20)
            if not got:
                raise RuntimeError("chromium has ended")
            self._buffer += got
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        if event.get("sessionId") != self._session:
            return
        name, values = event.get("method", ""), event.get("params", {})
        self._events.append(name)
        if name == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(each.get("value", each.get("description")))
                                         for each in values["args"]))
        elif name == "Runtime.exceptionThrown":
            details = values["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif name == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.errors.append(values["entry"]["text"])
        elif name == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"])
        elif name == "Page.javascriptDialogOpening":
            self.errors.append(f"a dialog opened: {values['message']}")
            self._session and self.call("Page.handleJavaScriptDialog", accept=True)

    def open(self, url):
        """Loads a page, and waits until it is shown."""
        self._events.clear()
        self.call("Page.navigate", url="about:blank")
        self.requests.clear()
        self._events.clear()
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete'")

    def evaluate(self, expression):
        """Returns the value of an expression of JavaScript, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait_for(self, expression):
        deadline = time.monotonic() + HANG_SECONDS
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                raise RuntimeError(f"never true: {expression}")
            time.sleep(0.02)

    def text(self, selector="#main"):
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    def press(self, key):
        """Presses a key: a character, or a name such as Enter."""
        codes = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowRight": 39,
                 "ArrowLeft": 37, "Tab": 9}
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        event = {"key": key, "windowsVirtualKeyCode": codes.get(key, 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)
        self.evaluate("new Promise((done) => setTimeout(done, 0))")

    def type(self, text):
        for character in text:
            self.press(character)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
