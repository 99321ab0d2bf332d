#include <doctest/doctest.h>

#include <algorithm>

#include "report/export/protobuf.h"
#include "report/export/test_profile.h"
#include "report/export/writers.h"

namespace shadowprof::export_test {
namespace {

std::string exported(std::string_view format, std::string_view table = "functions") {
    const Profile profile = awkward_profile();
    auto symbols = awkward_symbols();
    StringSink sink;
    const auto formats = export_formats();
    const auto found = std::ranges::find(formats, format, &ExportFormat::name);
    REQUIRE(found != formats.end());
    const auto done = found->write({.profile = profile, .symbols = symbols, .table = table}, sink);
    REQUIRE_MESSAGE(done.has_value(), done.error().message);
    return sink.text();
}

}  // namespace

TEST_CASE("folded stacks keep their separators whatever names hold") {
    CHECK(exported("folded") ==
          "[jit] 5\n"
          "a:b 15\n"
          "a:b;x\"y;<script> 100\n"
          "a:b;x\"y;<script>;new?line 40\n");
}

TEST_CASE("stacks are weighed by their time where that is asked for") {
    Profile profile = awkward_profile();
    for (std::size_t i = 0; i < profile.stacks.size(); ++i) profile.stacks[i].time_ns = i;
    auto symbols = awkward_symbols();
    StringSink folded, speedscope;
    REQUIRE(write_folded({.profile = profile, .symbols = symbols, .weight = StackWeight::time},
                         folded));
    CHECK(folded.text() == "[jit] 3\na:b 2\na:b;x\"y;<script>;new?line 1\n");
    REQUIRE(write_speedscope({.profile = profile, .symbols = symbols, .weight = StackWeight::time},
                             speedscope));
    CHECK(speedscope.text().find("\"nanoseconds\"") != std::string::npos);
    keep_hottest(profile, 1, StackWeight::time);
    CHECK(profile.stacks.at(0).time_ns == 3);
}

TEST_CASE("folded stacks without stacks say what collects them") {
    Profile profile = awkward_profile();
    profile.stacks.clear();
    auto symbols = awkward_symbols();
    StringSink sink;
    const auto done = write_folded({.profile = profile, .symbols = symbols}, sink);
    REQUIRE(!done);
    CHECK(done.error().message.find("--profiles") != std::string::npos);
    CHECK(sink.text().empty());
}

TEST_CASE("csv quotes what separates fields") {
    CHECK(exported("csv") ==
          "module,address,function,source,instructions,error,entries,back_edges,"
          "time_ns,time_error_ns\r\n"
          "\"/no/such/awk,ward\",0x2000,<script>,\"/src/a\"\"b.c:20\",100,,9,0,,\r\n"
          "\"/no/such/awk,ward\",0x3000,new?line,\"/src/a\"\"b.c:30\",40,,4,0,,\r\n"
          "\"/no/such/awk,ward\",0x1000,a;b,\"/src/a\"\"b.c:10\",15,,0,0,,\r\n");
    CHECK(exported("csv", "edges") ==
          "from_module,from_address,from_function,from_source,to_module,to_address,to_function,"
          "to_source,kind,count,error\r\n"
          "\"/no/such/awk,ward\",0x1010,a;b,\"/src/a\"\"b.c:12\",\"/no/such/awk,ward\",0x2000,"
          "<script>,\"/src/a\"\"b.c:20\",call,9,1.5\r\n"
          "\"/no/such/awk,ward\",0x2010,<script>,\"/src/a\"\"b.c:22\",\"/no/such/awk,ward\",0x1015,"
          "a;b,\"/src/a\"\"b.c:13\",return,9,\r\n"
          "\"/no/such/awk,ward\",0x2008,<script>,\"/src/a\"\"b.c:21\",\"/no/such/awk,ward\",0x3000,"
          "new?line,\"/src/a\"\"b.c:30\",call,4,\r\n");
    CHECK(exported("csv", "values") ==
          "module,address,function,source,operand,executions,invariance,value,count,error,"
          "type,invariance_lower_bound\r\n"
          "\"/no/such/awk,ward\",0x1010,a;b,\"/src/"
          "a\"\"b.c:12\",rdi,9,1.0000,7,9,0.5,u64,1.0000\r\n");
    CHECK(exported("csv", "probes") ==
          "probe,reducer,key,key_module,key_address,key_function,key_source,value,value_module,"
          "value_address,value_function,value_source,count,error\r\n"
          "\"a,b\",hotlist,-1,,,,,,\"/no/such/awk,ward\",0x2000,<script>,\"/src/"
          "a\"\"b.c:20\",3,0.5\r\n"
          "sizes,histogram,,\"/no/such/awk,ward\",0x2000,<script>,\"/src/a\"\"b.c:20\",0,,,,,1,\r\n"
          "sizes,histogram,,\"/no/such/awk,ward\",0x2000,<script>,\"/src/"
          "a\"\"b.c:20\",8-15,,,,,4,\r\n"
          "sum,sum,,,,,,-40,,,,,5,\r\n");
}

TEST_CASE("csv of streams has a row for each reference") {
    Profile profile = awkward_profile();
    profile.streams = {{{{{0, 0x2008}, 0x5000}, {{0, 0x1010}, 0x7fff0008}}, 6}};
    auto symbols = awkward_symbols();
    StringSink sink;
    REQUIRE(write_csv({.profile = profile, .symbols = symbols, .table = "streams"}, sink));
    CHECK(sink.text() ==
          "stream,heat,length,occurrences,position,module,address,function,source,data_address\r\n"
          "0,12,2,6,0,\"/no/such/awk,ward\",0x2008,<script>,\"/src/a\"\"b.c:21\",0x5000\r\n"
          "0,12,2,6,1,\"/no/such/awk,ward\",0x1010,a;b,\"/src/a\"\"b.c:12\",0x7fff0008\r\n");
}

TEST_CASE("csv has a table of each kind, with a row of each record") {
    const CodeLocation branch{0, 0x2008}, callee{0, 0x1010};
    Profile profile = awkward_profile();
    profile.hazards = {{HazardKind::aliased, branch, callee, 5, 9},
                       {HazardKind::line_split, branch, branch, 4, 9}};
    profile.addresses = {{branch, {.constant = 1, .irregular = 2, .strides = {{8, 7}, {-8, 3}}}}};
    profile.latency = {{.at = branch, .timed = 2, .histogram = {{60, 2}}, .levels = {{"L1", 2}}}};
    profile.threads = {{7, 8, "a,b", 2, 100, 0}};
    profile.paths = {{{branch, callee}, 12, 5}};
    profile.streams = {{{{branch, 0x5000}, {callee, 0x6000}}, 6}};
    profile.system_calls = {{branch, "read", {callee}, 6}};
    profile.waits = {{"read", branch, "a,b", {callee}, 6, 1000}};
    profile.allocations = {{callee, {branch}, 4, 64}};
    profile.cache = {{branch, 6, 3, 2, 1, {3, 2, 1, 1}}};
    profile.call_costs = {{callee, branch, 3, 90}};
    profile.branches = {{branch, BranchKind::ret, 6, 6, 1}};
    profile.times = {{branch, 3, 1000}};
    auto symbols = awkward_symbols();
    for (const std::string_view name : csv_tables()) {
        CAPTURE(name);
        StringSink sink;
        REQUIRE(write_csv({.profile = profile, .symbols = symbols, .table = name}, sink));
        CHECK(std::ranges::count(sink.text(), '\n') >= 2);
    }
    StringSink sink;
    REQUIRE(write_csv({.profile = profile, .symbols = symbols, .table = "hazards"}, sink));
    CHECK(sink.text() ==
          "kind,store_module,store_address,store_function,store_source,load_module,load_address,"
          "load_function,load_source,module,address,function,source,count,executions\r\n"
          "4k-aliasing,\"/no/such/awk,ward\",0x2008,<script>,\"/src/a\"\"b.c:21\","
          "\"/no/such/awk,ward\",0x1010,a;b,\"/src/a\"\"b.c:12\",,,,,5,9\r\n"
          "line-split,,,,,,,,,\"/no/such/awk,ward\",0x2008,<script>,\"/src/a\"\"b.c:21\",4,9\r\n");
}

TEST_CASE("the hottest of each list that a table is made of are kept") {
    Profile profile = awkward_profile();
    profile.streams = {{{{{0, 0x2008}, 1}}, 6}, {{{{0, 0x2008}, 2}}, 5}, {{{{0, 0x2008}, 3}}, 4}};
    profile.methods.resize(3);
    keep_hottest(profile, 1, StackWeight::instructions);
    CHECK(profile.edges.size() == 1);
    CHECK(profile.stacks.size() == 1);
    CHECK(profile.calls.size() == 1);
    CHECK(profile.values.size() == 1);
    CHECK(profile.methods.size() == 1);
    REQUIRE(profile.streams.size() == 1);
    CHECK(profile.streams[0].occurrences == 6);
    for (const ProbeProfile& probe : profile.probes) CHECK(probe.entries.size() == 1);
}

TEST_CASE("callgrind without the program's file has what stacks say, at the starts of functions") {
    CHECK(
        exported("callgrind") ==
        "# callgrind format\n"
        "version: 1\n"
        "creator: shadowprof-" SHADOWPROF_VERSION
        "\n"
        "pid: 7\n"
        "cmd: ./awk?ward --x\n"
        "part: 1\n"
        "desc: Mode: shadow; 160 instructions followed\n"
        "desc: Note: only by function, from call stacks: cannot read '/no/such/awk,ward', which "
        "was profiled: open: No such file or directory; export where the file is, or put it back\n"
        "desc: Note: only by function, from call stacks: '[jit]' is code without a file\n"
        "positions: instr line\n"
        "event: Ir : Instructions executed\n"
        "events: Ir\n"
        "summary: 160\n"
        "\n"
        "ob=(1) /no/such/awk,ward\n"
        "fl=(1) /src/a\"b.c\n"
        "fn=(1) a;b\n"
        "0x1000 10 15\n"
        "cfi=(1)\n"
        "cfn=(2) <script>\n"
        "calls=9 0x2000 20\n"
        "0x1010 12 140\n"
        "\n"
        "ob=(1)\n"
        "fl=(1)\n"
        "fn=(2)\n"
        "0x2000 20 100\n"
        "cfi=(1)\n"
        "cfn=(3) new?line\n"
        "calls=4 0x3000 30\n"
        "0x2008 21 40\n"
        "\n"
        "ob=(1)\n"
        "fl=(1)\n"
        "fn=(3)\n"
        "0x3000 30 40\n"
        "\n"
        "ob=(2) [jit]\n"
        "fl=(2) ???\n"
        "fn=(4) [jit]\n"
        "0x7f0000001000 0 5\n"
        "\n"
        "totals: 160\n");
}

TEST_CASE("speedscope has each frame once and weights of instructions") {
    CHECK(exported("speedscope") ==
          "{\n"
          "  \"$schema\": \"https://www.speedscope.app/file-format-schema.json\",\n"
          "  \"exporter\": \"shadowprof@" SHADOWPROF_VERSION
          "\",\n"
          "  \"name\": \"awk?ward: instructions\",\n"
          "  \"activeProfileIndex\": 0,\n"
          "  \"shared\": {\n"
          "    \"frames\": [{\"name\": \"a;b\", \"file\": \"/src/a\\\"b.c\", \"line\": 11}, "
          "{\"name\": \"x\\\"y\", \"file\": \"/src/a\\\"b.c\", \"line\": 12}, {\"name\": "
          "\"<script>\", \"file\": \"/src/a\\\"b.c\", \"line\": 20}, {\"name\": \"<script>\", "
          "\"file\": \"/src/a\\\"b.c\", \"line\": 21}, {\"name\": \"new?line\", \"file\": "
          "\"/src/a\\\"b.c\", \"line\": 30}, {\"name\": \"a;b\", \"file\": \"/src/a\\\"b.c\", "
          "\"line\": 10}, {\"name\": \"[jit]\"}]\n"
          "  },\n"
          "  \"profiles\": [\n"
          "    {\"type\": \"sampled\", \"name\": \"awk?ward: instructions\", \"unit\": \"none\", "
          "\"startValue\": 0, \"endValue\": 160, \"samples\": [[0, 1, 2], [0, 1, 3, 4], [5], [6]], "
          "\"weights\": [100, 40, 15, 5]}\n"
          "  ]\n"
          "}\n");
}

TEST_CASE("protobuf fields are encoded as its specification's examples are") {
    ProtobufMessage inner, outer;
    inner.number(1, 150);
    CHECK(inner.bytes() == "\x08\x96\x01");
    outer.string(2, "testing");
    CHECK(outer.bytes() == "\x12\x07testing");
    outer.message(3, inner);
    CHECK(outer.bytes() == "\x12\x07testing\x1a\x03\x08\x96\x01");
    ProtobufMessage packed;
    packed.number(1, 0);
    packed.packed(4, std::array<std::uint64_t, 3>{3, 270, 86942});
    CHECK(packed.bytes() == "\"\x06\x03\x8e\x02\x9e\xa7\x05");
}

TEST_CASE("a module is chosen by its weight, its path or its name") {
    Profile profile;
    profile.modules = {
        {"/a/cool", "", 1}, {"/a/hot", "", 1}, {"[anon]", "", 0}, {"/b/cool", "", 1}};
    profile.edges = {{{2, 1}, {2, 2}, EdgeKind::jump, 100},
                     {{1, 1}, {1, 2}, EdgeKind::jump, 10},
                     {{0, 1}, {1, 2}, EdgeKind::jump, 5}};
    CHECK(choose_module(profile, "").value() == 1);
    CHECK(choose_module(profile, "/b/cool").value() == 3);
    CHECK(choose_module(profile, "hot").value() == 1);
    CHECK(choose_module(profile, "cool").error().message.find("more than one") !=
          std::string::npos);
    CHECK(choose_module(profile, "none").error().message.find("/a/hot") != std::string::npos);
    profile.edges.clear();
    CHECK(choose_module(profile, "").error().message.find("--profiles") != std::string::npos);
}

}  // namespace shadowprof::export_test
