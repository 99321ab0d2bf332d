"""What tests of pages share: profiles, pages of them, and a browser."""

import atexit
import json
import shutil
import uuid

from browser import Browser, require_chromium
from harness import Profile, TestCase, once, shared_folder, victim

HOSTILE = ("</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>",
           "<!--<script>\"'&amp;\u2028", "<svg onload=alert(3)>")
EIGHTS = 1000


class Page(TestCase):
    def setUp(self):
        super().setUp()
        require_chromium()
        self.page_path = self.folder / "page.html"

    # Such profiles are validated against the schema elsewhere; it would take most of the time here.
    def take_profile(self, *command, options=()):
        """Returns a profile that the test may change."""
        def make():
            path = shared_folder() / f"{uuid.uuid4()}.json"
            done = self.shadowprof("run", "-q", "--mode=exact", *options, "-o", path, "--", *command)
            self.assertEqual(done.code, 0, done.stderr)
            return path

        shutil.copy(once((command, tuple(options)), make), self.profile_path)
        self.seen = Profile(json.loads(self.profile_path.read_text()))

    def take_exact_profile(self):
        self.take_profile(victim("edges"), str(EIGHTS), options=("--profiles=all",))

    def report(self, *options):
        done = self.shadowprof("report", "--html", self.page_path, *options, self.profile_path)
        self.assertEqual((done.code, done.stderr), (0, ""))

    def browser(self, **options):
        browser = once("browser", self.start_browser)
        browser.new_page(**options)
        return browser

    @staticmethod
    def start_browser():
        browser = Browser()
        atexit.register(browser.close)
        return browser

    def open(self, browser, link=""):
        browser.open(f"{self.page_path.as_uri()}{link}")

    def assert_calm(self, browser):
        """Checks that the page's script did not fail, and that nothing from the profile was
        executed or loaded."""
        self.assertEqual(browser.errors + browser.console, [])
        self.assertEqual([url for url in browser.requests
                          if not url.startswith(self.page_path.as_uri())], [])

    def links_to_views(self, browser):
        return browser.evaluate("[...document.querySelectorAll('#views a')].map(a => a.hash)")
