#include <doctest/doctest.h>

#include "report/export/test_profile.h"
#include "report/export/writers.h"

using namespace shadowprof;

namespace {

std::string exported(std::string_view format, std::string_view table = "functions") {
    const Profile profile = awkward_profile();
    auto symbols = awkward_symbols();
    StringSink sink;
    const ExportFormat* found = find_export_format(format);
    REQUIRE(found != nullptr);
    const auto done = found->write({.profile = profile, .symbols = symbols, .table = table}, sink);
    REQUIRE_MESSAGE(done.has_value(), done.error().message);
    return sink.text();
}

}  // namespace

TEST_CASE("folded stacks keep their separators whatever names hold") {
    CHECK(exported("folded") ==
          "[anon] 5\n"
          "a:b 15\n"
          "a:b;x\"y;<script> 100\n"
          "a:b;x\"y;<script>;new?line 40\n");
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
          "module,address,function,source,instructions,error,entries,back_edges\r\n"
          "\"/no/such/awk,ward\",0x2000,<script>,\"/src/a\"\"b.c:20\",100,,9,0\r\n"
          "\"/no/such/awk,ward\",0x3000,new?line,\"/src/a\"\"b.c:30\",40,,4,0\r\n"
          "\"/no/such/awk,ward\",0x1000,a;b,\"/src/a\"\"b.c:10\",15,,0,0\r\n");
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
          "module,address,function,source,operand,executions,invariance,value,count,error\r\n"
          "\"/no/such/awk,ward\",0x1010,a;b,\"/src/a\"\"b.c:12\",rdi,9,1.0000,7,9,0.5\r\n");
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
    CHECK(choose_module(profile, "cool").error().message.find("more than one") == 0);
    CHECK(choose_module(profile, "none").error().message.find("/a/hot") != std::string::npos);
    profile.edges.clear();
    CHECK(choose_module(profile, "").error().message.find("--profiles") != std::string::npos);
}
