// The text that JsonWriter makes of long documents.
#include "report/profile_file/json_writer.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace shadowprof::json_writer_test {
namespace {

class FailingSink final : public ByteSink {
  public:
    Result<void> write(std::string_view) override {
        ++writes;
        return Error{ErrorCode::system, ENOSPC, "full"};
    }
    int writes = 0;
};

}  // namespace

TEST_CASE("texts of any length come out whole, wherever the buffer ends") {
    for (std::size_t before = 65'500; before < 65'540; ++before) {
        CAPTURE(before);
        StringSink sink;
        JsonWriter json(sink);
        json.begin_array();
        json.value(std::string(before, 'a'));
        json.value("");
        json.value(std::uint64_t{12345});
        json.value(std::string(200'000, 'b'));
        json.value("\"quoted\"");
        json.value("");
        json.end_array();
        CHECK(json.bytes() > before + 200'000);
        REQUIRE(json.finish());
        CHECK(json.bytes() == sink.text().size());
        const auto read = nlohmann::json::parse(sink.text());
        REQUIRE(read.size() == 6);
        CHECK_MESSAGE((read[0] == std::string(before, 'a')), "the first text is another");
        CHECK(read[2] == 12345);
        CHECK_MESSAGE((read[3] == std::string(200'000, 'b')), "the long text is another");
        CHECK(read[4] == "\"quoted\"");
    }
}

TEST_CASE("dense documents have no blanks but those in texts") {
    StringSink sink;
    JsonWriter json(sink, JsonLayout::dense);
    json.begin_object();
    json.member("a b", 1);
    json.array("list", std::vector<int>{1, 2}, [&](int each) {
        json.begin_array();
        json.value(each);
        json.value("x, y: z");
        json.end_array();
    });
    json.end_object();
    REQUIRE(json.finish());
    CHECK(sink.text() == "{\"a b\":1,\"list\":[[1,\"x, y: z\"],[2,\"x, y: z\"]]}\n");
}

TEST_CASE("after the sink has failed, it is not written to, and lists end early") {
    FailingSink sink;
    JsonWriter json(sink);
    json.begin_object();
    const std::vector<std::string> items(10, std::string(30'000, 'a'));
    std::size_t written = 0;
    json.array("items", items, [&](const std::string& item) {
        ++written;
        json.value(item);
    });
    json.end_object();
    const auto done = json.finish();
    REQUIRE_FALSE(done);
    CHECK(done.error().sys_errno == ENOSPC);
    CHECK(sink.writes == 1);
    CHECK(written == 3);
}

}  // namespace shadowprof::json_writer_test
