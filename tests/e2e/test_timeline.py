"""The run in time: in profiles, and in the page, where a stretch of it can be chosen."""

import atexit
import json
import shutil
import uuid

from browser import Browser, require_chromium
from harness import DENSE, WORK_FACTORS, Profile, TestCase, main, once, shared_folder, victim

# As many samples must be in each stage of the victim.
SAMPLES = 3


class Samples:
    """The samples of a profile's timeline, with the functions that each executed."""

    def __init__(self, profile):
        self.timeline = profile["timeline"]
        self.columns = self.timeline["samples"]
        self.starts = [us / 1e6 for us in self.columns["start_us"]]
        self.functions = []
        row = 0
        for count in self.columns["stacks"]:
            nodes = self.timeline["stacks"]["node"][row:row + count]
            self.functions.append({self.function(profile, node) for node in nodes})
            row += count

    def function(self, profile, node):
        return profile.locations[self.timeline["frames"][node - 1]].get("function")

    def of(self, name):
        """Returns the samples in which a function executed, and none but it."""
        return [i for i, functions in enumerate(self.functions) if functions == {name}]

    def with_any(self, name):
        return [i for i, functions in enumerate(self.functions) if name in functions]


class TimelineCase(TestCase):
    def stages(self):
        """Returns a profile of a program that runs first_stage and then second_stage."""
        def make():
            path = shared_folder() / f"{uuid.uuid4()}.json"
            for factor in WORK_FACTORS:
                done = self.shadowprof("run", "-q", DENSE, "-o", path, "--", victim("stages"),
                                       str(factor))
                self.assertEqual(done.code, 0, done.stderr)
                samples = Samples(Profile(json.loads(path.read_text())))
                if all(len(samples.of(each)) >= SAMPLES for each in ("first_stage", "second_stage")):
                    break
            return path

        shutil.copy(once("stages", make), self.profile_path)
        return self.read_profile()


class InProfiles(TimelineCase):
    def test_samples_add_up_to_the_profile(self):
        profile = self.stages()
        samples = profile["timeline"]["samples"]
        sampling = profile["sampling"]
        self.assertEqual(profile["timeline"]["stride"], 1)
        self.assertEqual(len(samples["start_us"]),
                         sampling["samples"] - self.of_nothing(profile))
        self.assertEqual(sum(samples["instructions"]), sampling["instructions"])
        whole = sum(stack["instructions"] for stack in profile["stacks"])
        # Each sample is rounded by itself.
        self.assertAlmostEqual(sum(samples["counted"]), whole,
                               delta=len(samples["counted"]) + len(profile["stacks"]))

    @staticmethod
    def of_nothing(profile):
        """Returns how many samples met no thread that ran. Those that ended as idle had one."""
        words = profile["timeline"]["ends"]
        ended = profile["timeline"]["samples"]["end"]
        listed = sum(words[end] == "idle" for end in ended)
        return profile["sampling"]["ended"].get("idle", 0) - listed

    def test_how_samples_ended_is_what_the_profile_counts(self):
        profile = self.stages()
        timeline = profile["timeline"]
        ended = {}
        for end in timeline["samples"]["end"]:
            ended[timeline["ends"][end]] = ended.get(timeline["ends"][end], 0) + 1
        ended["idle"] = ended.get("idle", 0) + self.of_nothing(profile)
        self.assertEqual({word: count for word, count in ended.items() if count},
                         profile["sampling"]["ended"])

    def test_stages_follow_each_other(self):
        samples = Samples(self.stages())
        first, second = samples.of("first_stage"), samples.of("second_stage")
        self.assertGreaterEqual(min(len(first), len(second)), SAMPLES)
        self.assertLess(max(samples.starts[i] for i in first),
                        min(samples.starts[i] for i in second))

    def test_threads_have_begins_and_ends(self):
        profile = self.stages()
        timeline = profile["timeline"]
        threads = {thread["name"]: thread for thread in timeline["threads"]}
        main_thread = next(thread for thread in timeline["threads"]
                           if thread["tid"] == profile["run"]["pid"])
        second = threads["second"]
        self.assertLess(main_thread["start_us"], second["start_us"])
        self.assertLess(second["start_us"], second["end_us"])
        self.assertLessEqual(second["end_us"], main_thread["end_us"])
        self.assertLessEqual(main_thread["end_us"], profile["run"]["seconds"] * 1e6 + 1)
        for start, thread in zip(timeline["samples"]["start_us"], timeline["samples"]["thread"]):
            self.assertGreaterEqual(start, timeline["threads"][thread]["start_us"])
            self.assertLessEqual(start, timeline["threads"][thread]["end_us"])

    def test_exact_mode_has_threads_and_no_samples(self):
        _, profile = self.profile(victim("threads"), "2", "10", options=("--mode=exact",))
        timeline = profile["timeline"]
        self.assertEqual(timeline["samples"]["start_us"], [])
        self.assertGreater(len(timeline["threads"]), 1)
        for thread in timeline["threads"]:
            self.assertLessEqual(thread["start_us"], thread["end_us"])

    def test_merged_profiles_have_none_and_say_so(self):
        self.stages()
        sum_path = self.folder / "sum.json"
        done = self.shadowprof("merge", "-q", "-o", sum_path, self.profile_path, self.profile_path)
        self.assertEqual(done.code, 0, done.stderr)
        data = json.loads(sum_path.read_text())
        self.assertNotIn("timeline", data)
        self.assertEqual(sum("timeline" in note for note in data["notes"]), 1)

    def test_phases_share_the_samples(self):
        out = self.folder / "run.json"
        done = self.shadowprof("run", "-q", DENSE, "--dump-every=100ms", "-o", out, "--",
                               victim("stages"), "4")
        self.assertEqual(done.code, 0, done.stderr)
        starts = []
        for path in sorted(self.folder.glob("run.0*.json")):
            starts += json.loads(path.read_text())["timeline"]["samples"]["start_us"]
        whole = json.loads(out.read_text())["timeline"]["samples"]["start_us"]
        self.assertEqual(sorted(starts), whole)

    def test_a_small_profile_has_a_small_timeline(self):
        out = self.folder / "small.json"
        done = self.shadowprof("run", "-q", DENSE, "--max-size=1M", "-o", out, "--",
                               victim("stages"), "4")
        self.assertEqual(done.code, 0, done.stderr)
        timeline = json.loads(out.read_text())["timeline"]
        self.assertLess(len(json.dumps(timeline)), 1e6 / 16 + 10_000)


class InPage(TimelineCase):
    def setUp(self):
        super().setUp()
        require_chromium()
        self.page_path = self.folder / "page.html"

    def report(self):
        # A stretch has the samples in it, and no looks.
        done = self.shadowprof("report", "--weight=instructions", "--html", self.page_path,
                               self.profile_path)
        self.assertEqual((done.code, done.stderr), (0, ""))

    def browser(self, **options):
        def start():
            browser = Browser()
            atexit.register(browser.close)
            return browser

        browser = once("browser", start)
        browser.new_page(**options)
        return browser

    def open(self, browser, link):
        browser.open(f"{self.page_path.as_uri()}{link}")

    def assert_calm(self, browser):
        self.assertEqual(browser.errors + browser.console, [])

    def functions(self, browser):
        return browser.evaluate(
            "[...document.querySelectorAll('#main tbody .name')].map((each) => each.textContent)")

    def stretch_of(self, samples, name):
        """Returns words of an address with the samples of one function alone."""
        chosen = [samples.starts[i] for i in samples.of(name)]
        return f"&from={min(chosen):.6f}&to={max(chosen) + 1e-6:.6f}"

    def test_a_stretch_has_its_functions_alone(self):
        samples = Samples(self.stages())
        self.report()
        browser = self.browser()
        self.open(browser, "#view=functions")
        whole = self.functions(browser)
        for name, other in (("first_stage", "second_stage"), ("second_stage", "first_stage")):
            self.assertIn(name, whole)
            self.open(browser, f"#view=functions{self.stretch_of(samples, name)}")
            shown = self.functions(browser)
            self.assertIn(name, shown)
            self.assertNotIn(other, shown)
            self.assertIn("Whole run", browser.text("#stretch"))
        browser.evaluate("document.querySelector('#stretch button').click()")
        browser.wait_for("document.querySelector('#stretch').hidden")
        self.assertEqual(self.functions(browser), whole)
        self.assert_calm(browser)

    def test_the_whole_page_is_by_time_or_by_instructions(self):
        self.stages()
        done = self.shadowprof("report", "--html", self.page_path, self.profile_path)
        self.assertEqual((done.code, done.stderr), (0, ""))
        browser = self.browser()
        shown = """Object.fromEntries([...document.querySelectorAll('#main tbody tr')].map(
            (row) => [row.querySelector('.name').textContent,
                      row.cells[0].textContent.match(/[\\d.]+%/)[0]]))"""

        def assert_shares(weight):
            self.assertIn(f"by {weight}", browser.text())
            listed = self.shadowprof("report", "--json", "--by=function", "--top=1000",
                                     f"--weight={weight}", self.profile_path)
            of_page = browser.evaluate(shown)
            entries = json.loads(listed.stdout)["lists"][0]["entries"]
            stages = {each["at"]["function"]: each["share"] for each in entries
                      if (each["at"]["function"] or "").endswith("_stage")}
            self.assertGreater(len(stages), 1)
            for name, share in stages.items():
                self.assertAlmostEqual(float(of_page[name][:-1]), 100 * share, delta=0.06)

        self.open(browser, "#view=functions")
        assert_shares("time")
        browser.press("y")
        browser.wait_for("document.querySelector('#unit').value === 'instructions'")
        self.assertEqual(browser.evaluate("location.hash"), "#view=functions&by=instructions")
        browser.wait_for("document.querySelector('#main').innerText.includes('by instructions')")
        assert_shares("instructions")
        # Links keep it.
        browser.evaluate("document.querySelector('#views a[href$=flame]').click()")
        browser.wait_for("document.querySelector('#main').innerText.includes('by call stack')")
        self.assertIn("instructions by call stack", browser.text())
        browser.evaluate("""(() => { const unit = document.querySelector('#unit');
            unit.value = 'time'; unit.dispatchEvent(new Event('change')); })()""")
        browser.wait_for("document.querySelector('#main').innerText.includes('time by call stack')")
        self.assertEqual(browser.evaluate("location.hash"), "#view=flame")
        self.assert_calm(browser)

    def test_the_whole_run_as_a_stretch_is_the_whole_run(self):
        self.stages()
        self.report()
        browser = self.browser()
        shares = """[...document.querySelectorAll('#main tbody tr')].filter(
            (row) => row.querySelector('.name').textContent.endsWith('_stage')).map(
            (row) => row.cells[0].textContent.match(/[\\d.]+%/)[0]).sort()"""
        self.open(browser, "#view=functions")
        whole = browser.evaluate(shares)
        self.open(browser, "#view=functions&from=0&to=1e9")
        # Each share is rounded to tenths.
        for one, other in zip(whole, browser.evaluate(shares), strict=True):
            self.assertAlmostEqual(float(one[:-1]), float(other[:-1]), delta=0.2)

    def test_a_stretch_has_its_flame_graph_alone(self):
        samples = Samples(self.stages())
        self.report()
        browser = self.browser()
        self.open(browser, f"#view=flame{self.stretch_of(samples, 'first_stage')}")
        search = """document.querySelector('#search').value = 'NAME',
            document.querySelector('#search').dispatchEvent(new Event('input')),
            document.querySelector('.flame-view .count').textContent"""
        self.assertIn("nothing matched", browser.evaluate(search.replace("NAME", "second_stage")))
        self.assertIn("% matched", browser.evaluate(search.replace("NAME", "first_stage")))
        self.assert_calm(browser)

    def test_a_stretch_has_its_callers_alone(self):
        samples = Samples(self.stages())
        self.report()
        browser = self.browser()
        heading = "document.querySelector('#main h2').textContent"
        for name, other in (("first_stage", "second_stage"), ("second_stage", "first_stage")):
            stretch = self.stretch_of(samples, name)
            self.open(browser, f"#view=callers{stretch}")
            self.assertEqual(browser.evaluate(heading), name)
            self.assertNotIn(other, browser.text("main select"))
            self.assertNotIn("too small", browser.text())
            self.open(browser, f"#view=callers&function={other}{stretch}")
            self.assertIn(f"No call stack in this stretch has a function {other}", browser.text())
        self.open(browser, "#view=callers&from=1e9&to=2e9")
        self.assertIn("There are no call stacks in this stretch", browser.text())
        self.assert_calm(browser)

    def test_ways_to_callers_and_functions_keep_the_stretch(self):
        samples = Samples(self.stages())
        self.report()
        browser = self.browser()
        stretch = self.stretch_of(samples, "first_stage")
        bounds = "['from', 'to'].map((word) => new URLSearchParams(location.hash).get(word))"

        def assert_kept(view, way):
            self.open(browser, f"#{view}{stretch}")
            expected = browser.evaluate(f"{bounds}.map(Number)")
            before = browser.evaluate("location.hash")
            browser.evaluate(way)
            browser.wait_for(f"location.hash !== {json.dumps(before)}")
            self.assertEqual(browser.evaluate(f"{bounds}.map(Number)"), expected, view)

        press = """document.querySelector('FOCUS').focus(), document.activeElement.dispatchEvent(
            new KeyboardEvent('keydown', {key: 'KEY', bubbles: true, cancelable: true}))"""
        flame = press.replace("FOCUS", "[data-flame]")
        assert_kept("view=flame", f"{flame.replace('KEY', 'ArrowDown')}, "
                                  f"{flame.replace('KEY', 'w')}")
        assert_kept("view=callers",
                    press.replace("FOCUS", "#main [data-name]").replace("KEY", "w"))
        assert_kept("view=callers&function=first_stage", """(() => {
            const list = document.querySelector('#main select');
            list.selectedIndex = [...list.options].findIndex((each) => !each.selected);
            list.dispatchEvent(new Event('change'));
        })()""")
        assert_kept("function=first_stage",
                    press.replace("FOCUS", "#main [data-row]").replace("KEY", "w"))
        self.assert_calm(browser)

    def test_times_of_any_size_can_be_shown(self):
        self.stages()
        data = json.loads(self.profile_path.read_text())
        latest = 2**64 - 1
        for thread in data["timeline"]["threads"]:
            thread["start_us"] = thread["end_us"] = None
        count = len(data["timeline"]["samples"]["start_us"])
        data["timeline"]["samples"]["start_us"] = [latest - 4096] + [latest] * (count - 1)
        self.profile_path.write_text(json.dumps(data))
        self.report()
        browser = self.browser()
        for words in ("", "&from=0&to=1e-200", "&from=0&to=1e-6", "&from=0&to=1e300"):
            self.open(browser, f"#view=timeline{words}")
            browser.evaluate("document.querySelector('[data-timeline]').focus()")
            browser.press("z")
            self.assertIn("samples", browser.text(".flame-status"))
            self.assert_calm(browser)

    def coloured_pixels(self, browser, name):
        """Returns how many pixels of the timeline have a colour of the style."""
        return browser.evaluate("""(() => {
            const canvas = document.querySelector('[data-timeline]');
            const style = getComputedStyle(document.documentElement);
            const sample = document.createElement('canvas').getContext('2d');
            sample.fillStyle = style.getPropertyValue('--NAME').trim();
            sample.fillRect(0, 0, 1, 1);
            const [red, green, blue] = sample.getImageData(0, 0, 1, 1).data;
            const {data} =
                canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            let count = 0;
            for (let i = 0; i < data.length; i += 4)
                count += data[i] === red && data[i + 1] === green && data[i + 2] === blue;
            return count;
        })()""".replace("NAME", name))

    def test_threads_of_unknown_times_have_no_line(self):
        self.stages()
        self.report()
        browser = self.browser()
        self.open(browser, "#view=timeline")
        self.assertGreater(self.coloured_pixels(browser, "cool"), 500)
        data = json.loads(self.profile_path.read_text())
        for thread in data["timeline"]["threads"]:
            thread["start_us"] = thread["end_us"] = None
        self.profile_path.write_text(json.dumps(data))
        self.report()
        self.open(browser, "#view=timeline")
        self.assertEqual(self.coloured_pixels(browser, "cool"), 0)
        self.assert_calm(browser)

    def test_other_views_say_that_they_are_of_the_whole_run(self):
        self.stages()
        self.report()
        browser = self.browser()
        self.open(browser, "#view=overview&from=0&to=1")
        self.assertIn("of the whole run", browser.text("#stretch"))
        browser.evaluate("document.querySelector('#views a[data-view=functions]').click()")
        browser.wait_for("location.hash.includes('view=functions')")
        self.assertIn("from=0&to=1", browser.evaluate("location.hash"))
        self.assertNotIn("of the whole run", browser.text("#stretch"))
        self.assert_calm(browser)

    def test_words_that_are_no_stretch_are_ignored(self):
        self.stages()
        self.report()
        browser = self.browser()
        for words in ("from=1", "from=x&to=2", "from=2&to=1", "from=0&to=NaN"):
            self.open(browser, f"#view=functions&{words}")
            self.assertTrue(browser.evaluate("document.querySelector('#stretch').hidden"), words)
        self.open(browser, "#view=functions&from=1e9&to=2e9")
        self.assertEqual(self.functions(browser), [])
        self.assert_calm(browser)

    def test_keys_choose_a_stretch(self):
        samples = Samples(self.stages())
        self.report()
        browser = self.browser()
        self.open(browser, "#view=timeline")
        browser.evaluate("document.querySelector('[data-timeline]').focus()")
        browser.press("ArrowRight")
        browser.press("ArrowRight")
        browser.press("[")
        self.assertIn("from=", browser.evaluate("location.hash"))
        browser.press("ArrowRight")
        browser.press("]")
        self.assertIn("2 samples", browser.text("#stretch"))
        self.assertIn("instructions", browser.text(".flame-status"))
        browser.press("z")
        browser.press("Escape")
        self.assertTrue(browser.evaluate("document.querySelector('#stretch').hidden"))
        self.assertGreaterEqual(len(samples.starts), 2 * SAMPLES)
        self.assert_calm(browser)

    def drag(self, browser, start, end):
        """Drags between two places of the canvas, in parts of its width."""
        box = browser.evaluate("""(() => {
            const box = document.querySelector('[data-timeline]').getBoundingClientRect();
            return [box.left, box.top, box.width];
        })()""")
        for kind, part in (("mouseMoved", start), ("mousePressed", start), ("mouseMoved", end),
                           ("mouseReleased", end)):
            browser.call("Input.dispatchMouseEvent", type=kind, x=box[0] + part * box[2],
                         y=box[1] + 30, button="none" if kind == "mouseMoved" else "left",
                         buttons=0 if kind == "mouseReleased" else 1, clickCount=1)

    def test_dragging_chooses_a_stretch(self):
        self.stages()
        self.report()
        browser = self.browser()
        self.open(browser, "#view=timeline")
        self.drag(browser, 0.4, 0.7)
        self.assertRegex(browser.evaluate("location.hash"), r"from=[\d.]+&to=[\d.]+")
        self.assertFalse(browser.evaluate("document.querySelector('#stretch').hidden"))
        self.assert_calm(browser)

    def test_narrow_and_wide_pages_show_all_of_it(self):
        self.stages()
        self.report()
        for width in (390, 1300, 2000):
            for dark in (False, True):
                browser = self.browser(width=width, height=800, dark=dark)
                self.open(browser, "#view=timeline&from=0&to=0.1")
                self.assertLessEqual(
                    browser.evaluate("document.documentElement.scrollWidth"), width)
                box = browser.evaluate(
                    "document.querySelector('[data-timeline]').getBoundingClientRect().right")
                self.assertLessEqual(box, width)
                self.assert_calm(browser)

    def test_hostile_names_are_text(self):
        self.stages()
        data = json.loads(self.profile_path.read_text())
        hostile = "</script><img src=x onerror=alert(1)>"
        for thread in data["timeline"]["threads"]:
            thread["name"] = hostile
        data["timeline"]["kinds"] = [hostile] * len(data["timeline"]["kinds"])
        data["timeline"]["ends"] = [hostile] * len(data["timeline"]["ends"])
        self.profile_path.write_text(json.dumps(data))
        self.report()
        browser = self.browser()
        self.open(browser, "#view=timeline")
        self.assertEqual(browser.evaluate("document.querySelectorAll('main img').length"), 0)
        self.assertIn(hostile, browser.text(".timeline-legend"))
        self.assert_calm(browser)

    def test_the_view_is_left_out_where_there_is_nothing_to_show(self):
        self.stages()
        data = json.loads(self.profile_path.read_text())
        del data["timeline"]
        self.profile_path.write_text(json.dumps(data))
        self.report()
        browser = self.browser()
        self.open(browser, "#view=timeline")
        self.assertFalse(browser.evaluate("!!document.querySelector('#views [data-view=timeline]')"))
        self.assert_calm(browser)


if __name__ == "__main__":
    main()
