#include "decoder/result_type.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace shadowprof::result_type_test {
namespace {

constexpr auto integer = ValueType::Kind::integer, floating = ValueType::Kind::floating,
               bits = ValueType::Kind::bits;

struct Row {
    const char* text;
    std::vector<std::uint8_t> bytes;
    ValueType::Kind kind;
    std::uint8_t lane_bytes;
    std::uint8_t width_bytes;
};

const Row rows[] = {
    {"mov rax, rbx", {0x48, 0x89, 0xd8}, integer, 8, 8},
    {"mov ax, bx", {0x66, 0x89, 0xd8}, integer, 2, 2},
    {"cvttsd2si eax, xmm1", {0xf2, 0x0f, 0x2c, 0xc1}, integer, 4, 4},
    {"movmskps eax, xmm1", {0x0f, 0x50, 0xc1}, integer, 4, 4},
    {"addsd xmm1, xmm2", {0xf2, 0x0f, 0x58, 0xca}, floating, 8, 8},
    {"vaddsd xmm1, xmm2, xmm3", {0xc5, 0xeb, 0x58, 0xcb}, floating, 8, 8},
    {"vaddsd xmm17, xmm2, xmm3", {0x62, 0xe1, 0xef, 0x08, 0x58, 0xcb}, floating, 8, 8},
    {"movsd xmm1, [rax]", {0xf2, 0x0f, 0x10, 0x08}, floating, 8, 8},
    {"movss xmm1, xmm2", {0xf3, 0x0f, 0x10, 0xca}, floating, 4, 4},
    {"cvtsi2sd xmm1, eax", {0xf2, 0x0f, 0x2a, 0xc8}, floating, 8, 8},
    {"cvtsd2ss xmm1, xmm2", {0xf2, 0x0f, 0x5a, 0xca}, floating, 4, 4},
    {"sqrtss xmm1, xmm2", {0xf3, 0x0f, 0x51, 0xca}, floating, 4, 4},
    {"roundsd xmm1, xmm2, 1", {0x66, 0x0f, 0x3a, 0x0b, 0xca, 0x01}, floating, 8, 8},
    {"vfmadd213sd xmm1, xmm2, xmm3", {0xc4, 0xe2, 0xe9, 0xa9, 0xcb}, floating, 8, 8},
    {"cmpsd xmm1, xmm2, 1", {0xf2, 0x0f, 0xc2, 0xca, 0x01}, integer, 8, 8},
    {"cmpps xmm1, xmm2, 1", {0x0f, 0xc2, 0xca, 0x01}, integer, 4, 16},
    {"addps xmm1, xmm2", {0x0f, 0x58, 0xca}, floating, 4, 16},
    {"vaddpd ymm1, ymm2, ymm3", {0xc5, 0xed, 0x58, 0xcb}, floating, 8, 32},
    {"vaddpd zmm1, zmm2, zmm3", {0x62, 0xf1, 0xed, 0x48, 0x58, 0xcb}, floating, 8, 64},
    {"cvtps2dq xmm1, xmm2", {0x66, 0x0f, 0x5b, 0xca}, integer, 4, 16},
    {"cvtdq2pd xmm1, xmm2", {0xf3, 0x0f, 0xe6, 0xca}, floating, 8, 16},
    {"cvtpi2ps xmm1, mm2", {0x0f, 0x2a, 0xca}, floating, 4, 16},
    {"vcvtps2ph xmm1, ymm2, 0", {0xc4, 0xe3, 0x7d, 0x1d, 0xd1, 0x00}, bits, 16, 16},
    {"paddb xmm1, xmm2", {0x66, 0x0f, 0xfc, 0xca}, integer, 1, 16},
    {"paddq xmm1, xmm2", {0x66, 0x0f, 0xd4, 0xca}, integer, 8, 16},
    {"vpaddw ymm1, ymm2, ymm3", {0xc5, 0xed, 0xfd, 0xcb}, integer, 2, 32},
    {"pabsd xmm1, xmm2", {0x66, 0x0f, 0x38, 0x1e, 0xca}, integer, 4, 16},
    {"pminsd xmm1, xmm2", {0x66, 0x0f, 0x38, 0x39, 0xca}, integer, 4, 16},
    {"pmuludq xmm1, xmm2", {0x66, 0x0f, 0xf4, 0xca}, integer, 8, 16},
    {"pmaddwd xmm1, xmm2", {0x66, 0x0f, 0xf5, 0xca}, integer, 4, 16},
    {"packuswb xmm1, xmm2", {0x66, 0x0f, 0x67, 0xca}, integer, 1, 16},
    {"pcmpeqd xmm1, xmm2", {0x66, 0x0f, 0x76, 0xca}, integer, 4, 16},
    {"vpdpbusds zmm1, zmm2, zmm3", {0x62, 0xf2, 0x6d, 0x48, 0x51, 0xcb}, integer, 4, 64},
    {"vgatherdps ymm1, [rax+ymm2*4], ymm3", {0xc4, 0xe2, 0x65, 0x92, 0x0c, 0x90}, floating, 4, 32},
    {"movaps xmm1, xmm2", {0x0f, 0x28, 0xca}, bits, 16, 16},
    {"vmovups ymm1, [rax]", {0xc5, 0xfc, 0x10, 0x08}, bits, 32, 32},
    {"movhps xmm1, [rax]", {0x0f, 0x16, 0x08}, bits, 16, 16},
    {"movq xmm1, rax", {0x66, 0x48, 0x0f, 0x6e, 0xc8}, bits, 16, 16},
    {"pxor xmm1, xmm2", {0x66, 0x0f, 0xef, 0xca}, bits, 16, 16},
    {"andpd xmm1, xmm2", {0x66, 0x0f, 0x54, 0xca}, bits, 16, 16},
    {"pshufd xmm1, xmm2, 1", {0x66, 0x0f, 0x70, 0xca, 0x01}, bits, 16, 16},
    {"punpcklqdq xmm1, xmm2", {0x66, 0x0f, 0x6c, 0xca}, bits, 16, 16},
    {"psrldq xmm1, 4", {0x66, 0x0f, 0x73, 0xd9, 0x04}, bits, 16, 16},
    {"vbroadcastss ymm1, xmm2", {0xc4, 0xe2, 0x7d, 0x18, 0xca}, bits, 32, 32},
    {"vperm2f128 ymm1, ymm2, ymm3, 1", {0xc4, 0xe3, 0x6d, 0x06, 0xcb, 0x01}, bits, 32, 32},
    {"vpternlogd zmm1, zmm2, zmm3, 1", {0x62, 0xf3, 0x6d, 0x48, 0x25, 0xcb, 0x01}, bits, 64, 64},
    {"aesenc xmm1, xmm2", {0x66, 0x0f, 0x38, 0xdc, 0xca}, bits, 16, 16},
    {"pclmulqdq xmm1, xmm2, 1", {0x66, 0x0f, 0x3a, 0x44, 0xca, 0x01}, bits, 16, 16},
};

}  // namespace

TEST_CASE("each instruction's result is a number of its kind") {
    for (const Row& row : rows) {
        CAPTURE(row.text);
        const auto in = Instruction::decode(std::as_bytes(std::span(row.bytes)), {0x1000});
        REQUIRE(in.has_value());
        const auto result = result_type(*in, in->operands()[0]);
        CHECK(static_cast<int>(result.type.kind) == static_cast<int>(row.kind));
        CHECK(int{result.type.lane_bytes} == int{row.lane_bytes});
        CHECK(int{result.width_bytes} == int{row.width_bytes});
    }
}

TEST_CASE("a type has one form for each width") {
    CHECK(canonical({integer, 8}, 4) == ValueType{integer, 4});
    CHECK(canonical({integer, 2}, 16) == ValueType{integer, 2});
    CHECK(canonical({integer, 16}, 16) == ValueType{bits, 16});
    CHECK(canonical({floating, 8}, 4) == ValueType{integer, 4});
    CHECK(canonical({floating, 2}, 16) == ValueType{bits, 16});
    CHECK(canonical({bits, 3}, 8) == ValueType{integer, 8});
    CHECK(canonical({bits, 3}, 32) == ValueType{bits, 32});
    CHECK(canonical({integer, 0}, 10) == ValueType{bits, 10});
    CHECK(canonical({static_cast<ValueType::Kind>(77), 8}, 64) == ValueType{bits, 64});
}

}  // namespace shadowprof::result_type_test
