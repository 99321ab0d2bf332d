"""The page of `diff --html`: its numbers, limits and safety."""

import json
import re

from harness import main, once, shared_folder, victim
from pages import HOSTILE, Page

EXCEEDED, USAGE = 3, 2


class DiffPage(Page):
    def setUp(self):
        super().setUp()
        self.base, self.next = (self.profile_of(eights) for eights in (1000, 1300))

    def profile_of(self, eights):
        def make():
            path = shared_folder() / f"edges{eights}.json"
            done = self.shadowprof("run", "-q", "--mode=exact", "-o", path, "--", victim("edges"),
                                   str(eights))
            self.assertEqual(done.code, 0, done.stderr)
            return path

        return once(f"edges {eights}", make)

    def diff(self, *options, base=None, new=None, code=0):
        done = self.shadowprof("diff", "--html", self.page_path, *options, base or self.base,
                               new or self.next)
        self.assertEqual((done.code, done.stderr), (code, ""))
        return done.stdout

    def truth(self, *options):
        done = self.shadowprof("diff", "--format=json", "--top=0", *options, self.base, self.next)
        return json.loads(done.stdout)

    def rows(self, browser):
        return browser.evaluate("""[...document.querySelectorAll('#main tbody tr[data-row]')]
            .map((row) => [...row.cells].map((cell) => cell.innerText.replaceAll('\\u2009', '')))""")

    def test_every_view_is_shown_without_errors_or_requests(self):
        self.assertEqual(self.diff(), b"")
        for dark in (False, True):
            browser = self.browser(dark=dark)
            self.open(browser)
            links = self.links_to_views(browser)
            self.assertIn("#view=functions", links)
            self.assertIn("#view=edges", links)
            for link in links:
                self.open(browser, link)
                self.assertGreater(len(browser.text()), 60, link)
                self.assertNotIn("[object", browser.text())
                self.assertNotIn("undefined", browser.text())
            self.assert_calm(browser)

    def test_numbers_are_those_of_the_other_formats(self):
        self.diff()
        browser = self.browser()
        self.open(browser, "#view=functions")
        truth = self.truth()["functions"]["entries"]
        seen = [(row[0], *row[4:6], row[2].replace("\u2212", "-").strip())
                for row in self.rows(browser)]
        words = {"same": "the same", "unjudged": "error not known"}
        expected = [(words.get(each["finding"], each["finding"]),
                     *(f"{(each[side] or {'value': 0})['value']:.0f}" for side in ("base", "new")),
                     f"{each['difference']:+.0f}" if each["difference"] else "0") for each in truth]
        self.assertEqual(seen[:20], expected[:20])
        self.assertTrue(any(row[0] == "changed" for row in seen))

    def test_colours_are_of_changes_alone(self):
        self.diff()
        browser = self.browser()
        self.open(browser, "#view=functions")
        kinds = browser.evaluate("""[...document.querySelectorAll('#main tbody tr[data-row]')]
            .map((row) => [row.cells[0].innerText, row.cells[0].firstElementChild.className,
                           row.cells[2].innerText])""")
        for finding, kind, change in kinds:
            expected = "faint" if finding in ("the same", "noise") else \
                "more" if change.strip().startswith("+") else "less"
            self.assertEqual(kind, expected, finding)

    def test_tables_sort_filter_and_open(self):
        self.diff()
        browser = self.browser()
        self.open(browser, "#view=functions")
        browser.press("f")
        browser.type("edges_run")
        rows = self.rows(browser)
        self.assertEqual([row[6] for row in rows], ["edges_run"])
        browser.evaluate("document.activeElement.blur()")
        browser.press("j")
        browser.press("Enter")
        self.assertIn("Compared by", browser.text("tr.details"))
        browser.press("Escape")
        browser.evaluate("document.querySelector('.filter').value = '';"
                         "document.querySelector('.filter').dispatchEvent(new Event('input'))")
        browser.evaluate("[...document.querySelectorAll('th button')]"
                         ".find((each) => each.textContent === 'New').click()")
        counts = [int(row[5]) for row in self.rows(browser)]
        self.assertEqual(counts, sorted(counts, reverse=True))
        self.assert_calm(browser)

    def test_limits_are_in_the_page_and_in_the_status(self):
        limit = "instructions>+1%"
        self.diff(f"--fail-if={limit}", code=EXCEEDED)
        browser = self.browser()
        self.open(browser)
        self.assertIn(limit, browser.text())
        self.assertIn("exceeded", browser.text())

    def test_the_text_is_printed_if_it_is_asked_for(self):
        self.assertIn(b"Functions, by", self.diff("--format=text"))
        done = self.shadowprof("diff", "--html=-", self.base, self.next)
        self.diff()
        self.assertEqual(done.stdout, self.page_path.read_bytes())
        done = self.shadowprof("diff", "--html=-", "--format=json", self.base, self.next)
        self.assertEqual((done.code, done.stdout), (USAGE, b""))
        done = self.shadowprof("diff", "--html=/no/such/folder/x", self.base, self.next)
        self.assertEqual((done.code, done.stdout), (1, b""))
        self.assertIn("/no/such/folder", done.stderr)

    def test_hostile_names_are_text(self):
        data = json.loads(self.base.read_text())
        names = {}
        for location in data["locations"]:
            name = location.get("function")
            if name and name.startswith("edges"):
                location["function"] = names.setdefault(name, HOSTILE[len(names) % len(HOSTILE)])
        hostile = self.folder / f"{HOSTILE[1].replace('/', '')}.json"
        hostile.write_text(json.dumps(data))
        self.diff(base=hostile)
        page = self.page_path.read_text()
        self.assertEqual(len(re.findall("<script", page)), 3)
        browser = self.browser()
        self.open(browser)
        for link in self.links_to_views(browser):
            self.open(browser, link)
            self.assertEqual(browser.evaluate(
                "document.querySelectorAll('main img, main script, main svg, header img').length"), 0)
        self.assert_calm(browser)

    def test_control_characters_are_made_visible(self):
        data = json.loads(self.next.read_text())
        for location in data["locations"]:
            if location.get("function") == "edges_run":
                location["function"] = "edges\x1b[31m\x85\x7frun"
        odd = self.folder / "odd\x07.json"
        odd.write_text(json.dumps(data))
        self.diff(new=odd)
        browser = self.browser()
        self.open(browser)
        self.assertIn("odd?.json", browser.text())
        self.open(browser, "#view=functions")
        self.assertIn("edges?[31m??run", browser.text())
        for link in self.links_to_views(browser):
            self.open(browser, link)
            self.assertNotRegex(browser.text(), "[\x00-\x08\x0b-\x1f\x7f-\x9f]")
        self.assert_calm(browser)

    def test_links_to_tables_lead_to_views(self):
        data = json.loads(self.base.read_text())
        at = next(i for i, each in enumerate(data["locations"])
                  if each.get("function") == "edges_run")
        data["values"] = [{"at": at, "operand": "rcx", "type": "u64", "count": 0, "top": []}]
        path = self.folder / "without-values.json"
        path.write_text(json.dumps(data))
        self.diff(base=path, new=path)
        browser = self.browser()
        self.open(browser)
        words = browser.evaluate("JSON.parse(document.getElementById('data-words').textContent)")
        compared = [f"#view={table['name']}" for table in words["tables"] if not table["missing"]]
        links = browser.evaluate("[...document.querySelectorAll('#main a')].map((a) => a.hash)")
        self.assertEqual(links, [link for link in compared if link != "#view=values"])
        self.assertIn("#view=values", compared)
        self.assertLessEqual(set(links), set(self.links_to_views(browser)))
        self.assert_calm(browser)

    def test_nothing_is_wider_than_the_screen(self):
        self.diff()
        for width, height in ((390, 844), (1000, 800), (1300, 800), (2000, 1000)):
            browser = self.browser(width=width, height=height)
            self.open(browser)
            for link in self.links_to_views(browser):
                self.open(browser, link)
                wide, room = browser.evaluate(
                    "(({scrollWidth, clientWidth}) => [scrollWidth, clientWidth])"
                    "(document.getElementById('main'))")
                self.assertLessEqual(wide, room, f"{link} at {width} pixels")


if __name__ == "__main__":
    main()
