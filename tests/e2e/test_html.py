"""Pages as people use them: in a browser, with keyboard and links, made from profiles that may
be hostile."""

import json
import re
import shutil
import subprocess
import urllib.parse

from harness import main, once, shared_folder
from pages import HOSTILE, Page


class Report(Page):
    def setUp(self):
        super().setUp()
        self.take_exact_profile()
        made = shared_folder() / "page.html"
        once("page", lambda: shutil.copy(self.make_page(), made))
        shutil.copy(made, self.page_path)

    def make_page(self):
        self.report()
        return self.page_path

    def test_every_view_is_shown_without_errors_or_requests(self):
        browser = self.browser()
        self.open(browser)
        links = self.links_to_views(browser)
        self.assertGreater(len(links), 8, links)
        for link in links:
            self.open(browser, link)
            self.assertGreater(len(browser.text()), 60, link)
            self.assertNotIn("[object", browser.text())
            shown = browser.evaluate("document.querySelector('[aria-current=page]').hash")
            self.assertEqual(shown, link)
        self.assert_calm(browser)

    def test_the_overview_begins_with_what_is_thin(self):
        data = json.loads(self.profile_path.read_text())
        data["sampling"]["exact"]["stopped_early"] = "it runs 32-bit code"
        self.profile_path.write_text(json.dumps(data))
        self.report()
        browser = self.browser()
        self.open(browser)
        self.assertIn("Counts are partial: it runs 32-bit code.", browser.text())
        self.assertNotIn("[object", browser.text())
        self.assert_calm(browser)

    def row(self, browser, name):
        """Returns the cells of the row that begins with, or links to, a name. Cells are exact
        counts, from titles."""
        return browser.evaluate(f"""(() => {{
            const row = [...document.querySelectorAll('#main tbody tr')].find((row) =>
                [...row.querySelectorAll('.name')].some((each) => each.textContent === {json.dumps(name)}));
            return row && [...row.cells].map((cell) =>
                (cell.querySelector('[title]') || cell).title || cell.textContent);
        }})()""")

    def test_functions_have_the_numbers_of_the_profile(self):
        own = sum(stack["instructions"] for stack in self.seen["stacks"]
                  if self.seen.locations[stack["frames"][-1]]["function"] == "edges_run")
        browser = self.browser()
        self.open(browser, "#view=functions")
        cells = [cell.replace("\u2009", "") for cell in self.row(browser, "edges_run")]
        self.assertIn(str(own), cells)

    def test_code_has_executions_and_branches(self):
        browser = self.browser()
        self.open(browser, "#function=edges_run")
        rows = browser.evaluate("""[...document.querySelectorAll('.code-row')].map((row) =>
            [row.cells[0].title.replaceAll('\u2009', ''), row.cells[2].textContent, row.innerText])""")
        executed = {int(address, 16): (count, text) for count, address, text in rows}
        branches = [branch for branch in self.seen["edges"] if branch["kind"] == "taken"
                    and self.seen.locations[branch["from"]].get("function") == "edges_run"]
        self.assertGreater(len(branches), 0)
        for branch in branches:
            address = int(self.seen.locations[branch["from"]]["address"], 16)
            count, text = executed[address]
            left = sum(edge["count"] for edge in self.seen["edges"]
                       if edge["from"] == branch["from"])
            self.assertEqual(int(count), left)
            self.assertIn(f" {100 * branch['count'] / left:.1f}% taken", text)

    def test_links_lead_to_an_instruction(self):
        browser = self.browser()
        self.open(browser, "#view=branches")
        link = browser.evaluate("document.querySelector('td.place a').hash")
        words = urllib.parse.parse_qs(link[1:])
        self.open(browser, link)
        focused = browser.evaluate("document.activeElement.cells[2].textContent")
        self.assertEqual(f"0x{focused}", words["at"][0])
        self.assertEqual(browser.text("h2"), words["function"][0])
        self.open(browser, "#function=no_such_function")
        self.assertIn("no function no_such_function", browser.text())
        self.assert_calm(browser)

    def test_keys(self):
        browser = self.browser()
        self.open(browser)
        browser.press("2")
        self.assertEqual(browser.evaluate("location.hash"), "#view=functions")
        browser.press("j")
        browser.press("j")
        self.assertEqual(browser.evaluate(
            "[...document.querySelectorAll('[data-row]')].indexOf(document.activeElement)"), 1)
        browser.press("k")
        name = browser.evaluate("document.activeElement.querySelector('a.name').textContent")
        browser.press("Enter")
        self.assertEqual(browser.text("h2"), name)
        browser.press("?")
        self.assertTrue(browser.evaluate("document.getElementById('help').open"))
        browser.press("Escape")
        self.assertFalse(browser.evaluate("document.getElementById('help').open"))
        self.assert_calm(browser)

    def test_search_finds_functions(self):
        browser = self.browser()
        self.open(browser)
        browser.press("/")
        browser.type("edges_le")
        self.assertIn("edges_leaf", browser.text("#found"))
        browser.press("Enter")
        self.assertEqual(browser.text("h2"), "edges_leaf")
        browser.press("/")
        browser.type("no such thing")
        self.assertIn("No function", browser.text("#found"))
        browser.press("Escape")
        self.assertTrue(browser.evaluate("document.getElementById('found').hidden"))
        self.assert_calm(browser)

    def test_tables_sort_and_filter(self):
        browser = self.browser()
        self.open(browser, "#view=functions")
        names = "[...document.querySelectorAll('td.place')].map((cell) => cell.innerText)"
        browser.evaluate("[...document.querySelectorAll('th button')]"
                         ".find((each) => each.textContent === 'Function').click()")
        sorted_names = browser.evaluate(names)
        self.assertEqual(sorted_names, sorted(sorted_names))
        browser.press("f")
        browser.type("edges_l")
        self.assertEqual(browser.evaluate(names), ["edges_leaf"])

    def test_flame_graph_goes_by_keyboard(self):
        browser = self.browser()
        self.open(browser, "#view=flame")
        browser.evaluate("document.querySelector('canvas').focus()")
        self.assertIn("100.0%", browser.text(".flame-status"))
        seen = []
        for _ in range(12):
            browser.press("ArrowDown")
            seen.append(browser.text(".flame-status"))
        self.assertTrue(any(text.startswith("edges_run") for text in seen), seen)
        browser.press("Enter")
        browser.press("Escape")
        self.assertTrue(browser.text(".flame-status").startswith("all"))
        browser.press("/")
        browser.type("edges_run")
        self.assertIn("matched", browser.text(".tools"))
        self.assert_calm(browser)

    def test_a_path_is_shown_as_code(self):
        browser = self.browser()
        self.open(browser, "#view=paths")
        path = max(self.seen["paths"], key=lambda each: each["count"] * each["instructions"])
        shown = browser.evaluate("""[...document.querySelectorAll('.path-line .address')]
            .map((each) => each.textContent)""")
        self.assertEqual(len(shown), path["instructions"])
        first = self.seen.locations[path["blocks"][0]]["address"]
        self.assertEqual(f"0x{shown[0]}", first)

    def test_dark_and_light(self):
        for dark in (False, True):
            browser = self.browser(dark=dark)
            self.open(browser)
            colour = browser.evaluate("getComputedStyle(document.body).backgroundColor")
            brightness = sum(map(int, re.findall(r"\d+", colour)[:3]))
            self.assertEqual(brightness < 200, dark, colour)

    def test_output_goes_where_it_is_wanted(self):
        done = self.shadowprof("report", "--html", "-", self.profile_path)
        self.assertEqual(done.stdout, self.page_path.read_bytes())
        done = self.shadowprof("report", "--html", "/no/such/folder/x.html", self.profile_path)
        self.assertEqual((done.code, done.stdout), (125, b""))
        self.assertIn("/no/such/folder", done.stderr)
        done = self.shadowprof("report", "--no-source", self.profile_path)
        self.assertEqual(done.code, 125)


class Hostile(Page):
    def setUp(self):
        super().setUp()
        self.take_exact_profile()
        data = self.seen.data
        names = {}
        for location in data["locations"]:
            name = location.get("function")
            if name and name.startswith("edges"):
                names.setdefault(name, HOSTILE[len(names) % len(HOSTILE)])
                location["function"] = names[name]
        data["notes"] = [*data["notes"], HOSTILE[0]]
        data["run"]["command"] = ["./x", *HOSTILE]
        self.profile_path.write_text(json.dumps(data))
        self.report()

    def test_names_are_text(self):
        browser = self.browser()
        self.open(browser)
        for link in self.links_to_views(browser):
            self.open(browser, link)
            self.assertEqual(browser.evaluate(
                "document.querySelectorAll('main img, main script, header img, header script').length"), 0)
        self.assert_calm(browser)
        self.open(browser, "#view=functions")
        # Lists leave out arguments.
        self.assertIn(HOSTILE[0].partition("(")[0], browser.text())
        self.assertIn(HOSTILE[0], browser.text("h1"))
        self.open(browser, "#" + urllib.parse.urlencode({"function": HOSTILE[1]}))
        self.assertEqual(browser.text("h2"), HOSTILE[1])
        self.assert_calm(browser)

    def test_even_markup_that_gets_into_the_page_is_not_executed(self):
        browser = self.browser()
        self.open(browser)
        browser.evaluate("""document.getElementById('main').innerHTML =
            '<img src="data:," onerror="document.title = 1"><script>document.title = 2</script>'""")
        browser.evaluate("new Promise((done) => setTimeout(done, 100))")
        self.assertNotIn(browser.evaluate("document.title"), ("1", "2"))


class Source(Page):
    SECRET = "a line of another file"

    def setUp(self):
        super().setUp()
        if shutil.which("gcc") is None:
            self.skipTest("gcc is not installed")
        self.take_profile(once("program", self.make_program))

    def make_program(self):
        source = shared_folder() / "program.c"
        source.write_text("""#include <stdio.h>
__attribute__((noinline, noclone)) unsigned work(unsigned n) {
    unsigned sum = 0;
    for (unsigned i = 0; i < n; ++i)
        sum ^= i * n;  /* <b>the body</b> */
    return sum;
}
int main(void) { return printf("%u\\n", work(100000)) < 0; }
""")
        program = shared_folder() / "program"
        subprocess.run(["gcc", "-O2", "-g", source, "-o", program], check=True)
        return program

    def test_source_stands_beside_its_instructions(self):
        self.report()
        browser = self.browser()
        self.open(browser, "#function=work")
        self.assertIn("/* <b>the body</b> */", browser.text())
        browser.press("s")
        line = browser.evaluate("""[...document.querySelectorAll('.line-row')]
            .find((row) => row.innerText.includes('the body')).cells[0].title""")
        self.assertGreaterEqual(int(line.replace("\u2009", "")), 100000)
        self.assert_calm(browser)

    def test_source_can_be_left_out(self):
        self.report("--no-source")
        self.assertNotIn("the body", self.page_path.read_text())
        browser = self.browser()
        self.open(browser, "#function=work")
        self.assertIn("xor", browser.text())

    def test_what_the_profile_names_is_not_read(self):
        secret = self.folder / "secret.c"
        secret.write_text(f"{self.SECRET}\n" * 100)
        for location in self.seen.data["locations"]:
            location["file"] = str(secret)
        self.profile_path.write_text(json.dumps(self.seen.data))
        self.report()
        self.assertNotIn(self.SECRET, self.page_path.read_text())


class Callers(Page):
    """A function with two callers, one of which calls itself."""
    SOURCE = """#include <stdio.h>
#define ALONE __attribute__((noinline, noclone))
ALONE unsigned leaf(unsigned n) {
    unsigned sum = 1;
    for (unsigned i = 0; i < n; ++i) sum = sum * 31 + i;
    return sum;
}
ALONE unsigned straight(unsigned n) { return leaf(n) + 1; }
ALONE unsigned again(unsigned n) { return n == 0 ? 1 : again(n - 1) * 3 + leaf(40 * n); }
int main(void) {
    unsigned sum = 0;
    for (unsigned i = 0; i < 50; ++i) sum += straight(300) + again(6);
    return printf("%u\\n", sum) < 0;
}
"""

    def setUp(self):
        super().setUp()
        if shutil.which("gcc") is None:
            self.skipTest("gcc is not installed")
        self.take_profile(once("callers", self.make_program))
        self.report()

    def make_program(self):
        source = shared_folder() / "callers.c"
        source.write_text(self.SOURCE)
        program = shared_folder() / "callers"
        subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", source, "-o", program],
                       check=True)
        return program

    def truth(self, name):
        """The weights of the function's direct callers and callees, from the profile's stacks: by
        the outermost call of each stack. "" is what it spends itself."""
        callers, callees = {}, {}
        for stack in self.seen["stacks"]:
            frames = [self.seen.locations[frame].get("function") for frame in stack["frames"]]
            if name not in frames:
                continue
            at = frames.index(name)
            caller = frames[at - 1]
            callee = frames[at + 1] if at + 1 < len(frames) else ""
            callers[caller] = callers.get(caller, 0) + stack["instructions"]
            callees[callee] = callees.get(callee, 0) + stack["instructions"]
        return callers, callees

    def shown(self, browser):
        """[{name: instructions}] of the rows of the first level, callers and callees."""
        tables = browser.evaluate("""[...document.querySelectorAll('.call-rows tbody')]
            .map((body) => [...body.querySelectorAll('[aria-level="1"]')].map((row) =>
                [row.dataset.name || row.cells[2].innerText,
                 row.cells[1].title.replaceAll('\u2009', '')]))""")
        return [{name.replace("\u00b7 its own", ""): int(count) for name, count in rows}
                for rows in tables]

    def open_callers(self, browser, name):
        self.open(browser, f"#view=callers&function={name}")
        self.assertEqual(browser.text("h2"), name)

    def test_weights_are_those_of_stacks(self):
        browser = self.browser()
        for name in ("leaf", "straight", "again"):
            self.open_callers(browser, name)
            callers, callees = self.truth(name)
            self.assertGreater(len(callers), 0)
            self.assertEqual(self.shown(browser), [callers, callees], name)
        self.assert_calm(browser)

    def test_recursion_counts_each_stack_once(self):
        browser = self.browser()
        self.open_callers(browser, "again")
        callers, callees = self.shown(browser)
        self.assertEqual(list(callers), ["main"])
        self.assertEqual(set(callees), {"again", "leaf", ""})
        self.assertEqual(sum(callers.values()), sum(callees.values()))

    def test_rows_open_by_keyboard(self):
        browser = self.browser()
        self.open_callers(browser, "leaf")
        level = "document.activeElement.getAttribute('aria-level')"
        name = "document.activeElement.dataset.name"
        browser.press("j")
        self.assertEqual(browser.evaluate(level), "1")
        first = browser.evaluate(name)
        self.assertIn(first, ("again", "straight"))
        browser.press("ArrowRight")
        browser.press("j")
        self.assertEqual(browser.evaluate(level), "2")
        browser.press("k")
        browser.press("ArrowLeft")
        self.assertEqual(browser.evaluate("document.activeElement.getAttribute('aria-expanded')"),
                         "false")
        browser.press("w")
        self.assertEqual(browser.text("h2"), first)
        self.assert_calm(browser)

    def test_a_profile_without_stacks_says_so(self):
        self.take_profile(once("callers", self.make_program), "without stacks",
                          options=("--profiles=edge",))
        self.report()
        browser = self.browser()
        self.open_callers(browser, "leaf")
        self.assertIn("has no call stacks", browser.text())
        self.assert_calm(browser)

    def test_other_views_lead_there(self):
        browser = self.browser()
        self.open(browser, "#view=functions")
        browser.press("j")
        name = browser.evaluate("document.activeElement.querySelector('.name').textContent")
        browser.press("w")
        self.assertEqual(browser.text("h2"), name)
        self.assertIn("view=callers", browser.evaluate("location.hash"))
        browser.press("o")
        self.assertEqual(browser.evaluate("document.querySelector('[aria-current=page]').hash"),
                         "#view=code")
        browser.press("w")
        self.assertIn("view=callers", browser.evaluate("location.hash"))
        self.open(browser, "#view=flame")
        browser.evaluate("document.querySelector('canvas').focus()")
        browser.press("ArrowDown")
        browser.press("w")
        self.assertIn("view=callers", browser.evaluate("location.hash"))
        self.open(browser, "#view=callers&function=no_such")
        self.assertIn("No call stack in this page has a function no_such", browser.text())
        self.assert_calm(browser)


class LongNames(Page):
    """A program whose functions have names of hundreds of characters."""
    SOURCE = """#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>
template <typename Key, typename Value>
struct container_of_associations_with_a_long_name {
    std::map<std::pair<Key, std::string>, std::vector<std::pair<Value, std::string>>> rows;
    __attribute__((noinline, noclone)) unsigned long add(const Key& key, Value value) {
        auto& row = rows[{key, "x"}];
        row.emplace_back(value, "y");
        return row.size();
    }
};
using Longer = std::pair<std::string, std::vector<std::pair<std::string, std::vector<int>>>>;
int main() {
    container_of_associations_with_a_long_name<Longer, unsigned long> names;
    unsigned long sum = 0;
    for (int i = 0; i < 300; ++i) sum += names.add({std::to_string(i % 17), {}}, i);
    std::printf("%lu\\n", sum);
}
"""
    SIZES = ((390, 844), (1000, 800), (1300, 800), (2000, 1000))

    def setUp(self):
        super().setUp()
        if shutil.which("g++") is None:
            self.skipTest("g++ is not installed")
        self.take_profile(once("long names", self.make_program), options=("--profiles=all",))
        made = shared_folder() / "long.html"
        once("page of long names", lambda: shutil.copy(self.make_page(), made))
        shutil.copy(made, self.page_path)

    def make_program(self):
        source = shared_folder() / "long.cc"
        source.write_text(self.SOURCE)
        program = shared_folder() / "long"
        subprocess.run(["g++", "-O1", "-g", source, "-o", program], check=True)
        return program

    def make_page(self):
        self.report()
        return self.page_path

    def long_name(self, browser):
        """The longest name of a function whose code is in the page."""
        return browser.evaluate("""JSON.parse(document.getElementById('data-functions').textContent)
            .functions.rows.filter((row) => row[12]).map((row) => row[0])
            .reduce((a, b) => a.length > b.length ? a : b)""")

    def open_function(self, browser, name):
        self.open(browser, "#" + urllib.parse.urlencode({"function": name}))

    def assert_fits(self):
        for width, height in self.SIZES:
            browser = self.browser(width=width, height=height)
            self.open(browser)
            links = self.links_to_views(browser)
            for link in links:
                self.open(browser, link)
                for element in ("document.documentElement", "document.getElementById('main')"):
                    wide, room = browser.evaluate(f"[{element}.scrollWidth, {element}.clientWidth]")
                    self.assertLessEqual(wide, room, f"{element} of {link} at {width} pixels")
            self.assert_calm(browser)

    def test_nothing_is_wider_than_the_screen(self):
        self.assert_fits()

    def test_nor_is_what_exact_mode_counts(self):
        kinds = "edge,stack,call,hazard,stream,syscall,alloc,call-cost,branch,cache"
        self.take_profile(once("long names", self.make_program),
                          options=("--mode=exact", f"--profiles={kinds}"))
        self.make_page()
        self.assert_fits()

    def test_what_is_known_is_in_sight(self):
        for width, height in self.SIZES:
            browser = self.browser(width=width, height=height)
            self.open(browser)
            for name in ("main", self.long_name(browser)):
                self.open_function(browser, name)
                lefts = browser.evaluate("""
                    [...document.querySelectorAll('td.facts .fact:first-child')]
                    .map((each) => each.getBoundingClientRect().left)""")
                self.assertGreater(len(lefts), 0, name)
                self.assertLess(max(lefts), width - 60, f"{name} at {width} pixels")
                column = browser.evaluate("""(({left, right}) => [left, right])
                    (document.querySelector('th.facts').getBoundingClientRect())""")
                self.assertGreaterEqual(column[0], 0)
                self.assertLessEqual(column[1], width, f"{name} at {width} pixels")

    def test_cut_names_are_shown_in_full(self):
        browser = self.browser(width=1000)
        self.open(browser)
        name = self.long_name(browser)
        self.assertGreater(len(name), 200)
        self.open(browser, "#view=functions")
        browser.press("f")
        browser.type(name[:12])
        browser.evaluate("document.activeElement.blur()")
        browser.press("j")
        shown, title = browser.evaluate("""(({textContent, title}) => [textContent, title])
            (document.activeElement.querySelector('.name'))""")
        full = title.split("\n")[0]
        self.assertLess(len(shown), len(full))
        self.assertIn(full, browser.text("#tooltip"))
        self.open_function(browser, name)
        self.assertLess(len(browser.text("h2")), 200)
        browser.evaluate("document.querySelector('h2 button').click()")
        self.assertIn(name, browser.text("h2"))
        self.assert_calm(browser)

    def test_narrow_lists_have_names_without_arguments(self):
        browser = self.browser(width=1000)
        self.open(browser)
        name = self.long_name(browser)
        self.open_function(browser, name)
        text, title = browser.evaluate("""(({textContent, title}) => [textContent, title])
            (document.querySelector('main select').selectedOptions[0])""")
        self.assertRegex(text, r"% [\w:]+$")
        self.assertIn(name, title)
        self.open(browser, "#view=paths")
        chains = browser.evaluate("""[...document.querySelectorAll('.chain')]
            .map(({textContent, title}) => [textContent, title])""")
        short = [text for text, title in chains if name in title]
        self.assertNotEqual(short, [])
        for text in short:
            self.assertNotRegex(text, "<.*>")

    def test_a_cut_cell_has_its_text_as_title(self):
        browser = self.browser(width=1000)
        self.open(browser, "#view=branches")
        title, text = browser.evaluate("""(() => {
            const cell = [...document.querySelectorAll('#main td.source, #main td.code')]
                .find((each) => each.scrollWidth > each.clientWidth);
            cell.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
            return [cell.title, cell.innerText];
        })()""")
        self.assertEqual(title, text)


class Names(Page):
    BRIEF = {
        "void std::sort<int*>(int*, int*)": "std::sort",
        "std::pair<int, char> (anonymous namespace)::make<int>(int)": "(anonymous namespace)::make",
        "A<&(B::c())>::operator()(int) const &": "A::operator()",
        "std::ostream& operator<< <char>(std::ostream&, char)": "operator<<",
        "Foo::operator bool() const": "Foo::operator bool",
        "void foo<int>(int) [clone .part.0]": "foo [clone .part.0]",
        "net/http.(*conn).serve": "net/http.(*conn).serve",
        "<T as core::fmt::Display>::fmt": "<T as core::fmt::Display>::fmt",
        "LazyCompile:*f (file.js:3)": "LazyCompile:*f",
    }

    def test_functions_to_choose_from_are_named_without_arguments(self):
        self.take_exact_profile()
        data = json.loads(self.profile_path.read_text())
        locations = data["locations"]
        hot = dict.fromkeys(locations[stack["frames"][-1]].get("function") for stack in data["stacks"])
        full_names = dict(zip((name for name in hot if name), self.BRIEF))
        for location in locations:
            if location.get("function") in full_names:
                location["function"] = full_names[location["function"]]
        self.profile_path.write_text(json.dumps(data))
        self.report()
        browser = self.browser()
        seen = {}
        for link in ("#view=callers", "#view=code"):
            self.open(browser, link)
            seen.update({title: text.strip().partition("% ")[2] for title, text in browser.evaluate(
                "[...document.querySelectorAll('main select option')].map((each) => [each.title, each.text])")})
        self.assertEqual({full: seen.get(full) for full in self.BRIEF}, self.BRIEF)


class Large(Page):
    PROGRAM = "my %h; $h{$_ * 7919 % 1000} .= sprintf('%03d,', $_) for 1 .. 2000; print scalar %h"

    def parts(self):
        """The data of the page, by name."""
        return {name: json.loads(text) for name, text in re.findall(
            r'<script type="application/json" id="data-([^"]+)">(.*?)</script>',
            self.page_path.read_text(), re.DOTALL)}

    def test_code_that_was_not_executed_is_summarized(self):
        if shutil.which("perl") is None:
            self.skipTest("perl is not installed")
        self.take_profile("perl", "-e", self.PROGRAM)
        self.report()
        parts = self.parts()
        codes = [part["code"]["rows"] for name, part in parts.items() if name.startswith("code-")]
        self.assertGreater(len(codes), 10)
        summarized = 0
        for rows in codes:
            run = 0
            for row in rows:
                summarized += row[2] if len(row) == 3 else 0
                is_cold = len(row) == 6 and row[2] == 0
                run = run + 1 if is_cold and not row[5] else int(is_cold)
                self.assertLessEqual(run, 16, row)
        self.assertGreater(summarized, sum(len(rows) for rows in codes) / 10)
        browser = self.browser()
        self.open(browser, "#view=code")
        self.assertIn("instructions never executed, 0x", browser.text())
        self.assert_calm(browser)

    def test_a_large_profile_opens(self):
        """Reports how fast it is, but does not test that: it depends on the machine."""
        if shutil.which("perl") is None:
            self.skipTest("perl is not installed")
        self.take_profile("perl", "-e", self.PROGRAM)
        self.report()
        browser = self.browser()
        self.open(browser)
        shown = browser.evaluate("performance.getEntriesByName('shadowprof-shown')[0].startTime")
        megabytes = [path.stat().st_size / 1e6 for path in (self.profile_path, self.page_path)]
        print(f"a profile of {megabytes[0]:.1f} MB is a page of {megabytes[1]:.1f} MB, "
              f"shown after {shown:.0f} ms")
        for link in self.links_to_views(browser):
            self.open(browser, link)
        self.assert_calm(browser)


if __name__ == "__main__":
    main()
