#include "profile/kinds/values/value_text.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "report/testdata/sample_profile.h"

namespace shadowprof::value_text_test {
namespace {

constexpr auto integer = ValueType::Kind::integer, floating = ValueType::Kind::floating,
               bits = ValueType::Kind::bits;

std::vector<std::byte> of_lanes(std::initializer_list<std::uint64_t> lanes,
                                std::size_t lane_bytes) {
    std::vector<std::byte> value;
    for (const auto lane : lanes)
        for (const auto byte : little_endian(lane, lane_bytes)) value.push_back(byte);
    return value;
}

std::string double_text(double number) {
    return value_text(little_endian(std::bit_cast<std::uint64_t>(number), 8), {floating, 8});
}

TEST_CASE("types have a name each, which is read back") {
    const struct {
        const char* name;
        ValueType type;
        std::uint32_t width_bytes;
    } rows[] = {
        {"u8", {integer, 1}, 1},      {"u16", {integer, 2}, 2},     {"u64", {integer, 8}, 8},
        {"f32", {floating, 4}, 4},    {"f64", {floating, 8}, 8},    {"u32x4", {integer, 4}, 16},
        {"u8x64", {integer, 1}, 64},  {"f64x2", {floating, 8}, 16}, {"f32x8", {floating, 4}, 32},
        {"f64x8", {floating, 8}, 64}, {"v128", {bits, 16}, 16},     {"v512", {bits, 64}, 64},
        {"v80", {bits, 10}, 10},
    };
    for (const auto& row : rows) {
        CAPTURE(row.name);
        CHECK(value_type(row.type, row.width_bytes) == row.name);
        CHECK(value_type_of(row.name) == WideType{row.type, row.width_bytes});
    }
    CHECK(value_type({}, 4) == "u32");
}

TEST_CASE("what is no type is refused") {
    for (const char* wrong : {"",
                              "u",
                              "u7",
                              "u128",
                              "v64",
                              "v1024",
                              "v128 ",
                              "x64",
                              "v-128",
                              "u0x4",
                              "f8",
                              "f16",
                              "f80",
                              "f64x999",
                              "f64x1",
                              "f64x3",
                              "f64x0",
                              "f64x",
                              "f64x02",
                              "u08",
                              "v128x2",
                              "u32x4x2",
                              "f",
                              "u4294967297x4",
                              "u8x4294967297",
                              "u18446744073709551616",
                              "i32"})
        CHECK_MESSAGE(!value_type_of(wrong), wrong);
}

TEST_CASE("values are spelled by their type") {
    CHECK(value_text(little_endian(0xffffffff, 4), {}) == "4294967295");
    CHECK(value_text(of_lanes({1, 2, 0xffffffff, 4}, 4), {integer, 4}) == "1 2 4294967295 4");
    CHECK(value_text(little_endian(0x3ff0000000000000, 16), {bits, 16}) ==
          "0x3ff0000000000000 0x0");
    CHECK(value_text(of_lanes({0x3ff0000000000000, 0x3fb999999999999a}, 8), {floating, 8}) ==
          "1 0.1");
    CHECK(value_text(of_lanes({0x3f800000, 0x3dcccccd, 0xc0000000, 0}, 4), {floating, 4}) ==
          "1 0.1 -2 0");
    CHECK(double_text(0.1 + 0.2) == "0.30000000000000004");
    CHECK(double_text(-0.0) == "-0");
    CHECK(double_text(1e300) == "1e+300");
    CHECK(double_text(std::numeric_limits<double>::infinity()) == "inf");
    CHECK(double_text(std::nan("")) == "nan");
}

TEST_CASE("values are hexadecimal numbers as wide as they are") {
    CHECK(value_hex(little_endian(0, 8)) == "0x0");
    CHECK(value_hex(little_endian(0x1200, 4)) == "0x1200");
    CHECK(value_from_hex("0xabc", 2) == little_endian(0xabc, 2));
    for (const char* wrong : {"", "0x", "12", "0xg", "0x12345", "0x 1"})
        CHECK_MESSAGE(!value_from_hex(wrong, 2), wrong);
}

}  // namespace
}  // namespace shadowprof::value_text_test
