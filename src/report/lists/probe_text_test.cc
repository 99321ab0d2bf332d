#include "report/lists/probe_text.h"

#include <doctest/doctest.h>

namespace shadowprof::probe_text_test {

TEST_CASE("sums are spelled in hexadecimal, whatever their width") {
    const ProbeSum wide = (ProbeSum{0x123} << 64) + 0xabc;
    for (const ProbeSum sum : {ProbeSum{0}, ProbeSum{7}, ProbeSum{-7}, wide, -wide,
                               ProbeSum{~std::uint64_t{0}}, ProbeSum{INT64_MIN}}) {
        const auto text = sum_hex(sum);
        CAPTURE(text);
        const auto read = parse_sum_hex(text);
        REQUIRE(read);
        CHECK(bool(*read == sum));
    }
    CHECK(sum_hex(-wide) == "-0x1230000000000000abc");
    CHECK(parse_sum_hex("0x7fffffffffffffffffffffffffffffff") == std::nullopt);
    for (const char* wrong : {"", "-", "0x", "-0x", "12", "--0x1", "0x1g", "0x-1", "-0x 1"})
        CHECK_MESSAGE(!parse_sum_hex(wrong), wrong);
}

TEST_CASE("buckets are ranges of values") {
    CHECK(bucket_text(0) == "0");
    CHECK(bucket_text(1) == "1");
    CHECK(bucket_text(4) == "8-15");
    CHECK(bucket_text(-1) == "-1");
    CHECK(bucket_text(-4) == "-15..-8");
    CHECK(bucket_text(64) == "0x8000000000000000-0xffffffffffffffff");
}

TEST_CASE("of a histogram the fullest buckets are shown, in their order") {
    CHECK(histogram_text({}, 4).empty());
    CHECK(histogram_text({{1, 10}, {4, 60}, {5, 30}}, 4) == "1 10%, 8-15 60%, 16-31 30%");
    CHECK(histogram_text({{1, 5}, {2, 5}, {4, 60}, {5, 30}}, 2) ==
          "8-15 60%, 16-31 30%, 2 more 10%");
}

TEST_CASE("numbers are as short as they can be read") {
    CHECK(short_probe_number(4095, false) == "4095");
    CHECK(short_probe_number(0x7f0000001000, false) == "0x7f0000001000");
    CHECK(short_probe_number(~std::uint64_t{0}, true) == "-1");
    CHECK(probe_number(~std::uint64_t{0}, false) == "18446744073709551615");
}

}  // namespace shadowprof::probe_text_test
