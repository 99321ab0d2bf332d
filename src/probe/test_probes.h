// Helpers that the tests of probes share.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "probe/probe.h"

namespace shadowprof {

inline Instruction decoded(std::initializer_list<int> bytes, std::uint64_t address = 0x1000) {
    std::vector<std::byte> raw;
    for (const int b : bytes) raw.push_back(static_cast<std::byte>(b));
    const auto in = Instruction::decode(raw, {address});
    REQUIRE(in);
    return *in;
}

inline ProbeSet probe_set(std::vector<std::string> texts) {
    auto set = ProbeSet::parse(texts);
    REQUIRE_MESSAGE(set.has_value(), set.error().message);
    return std::move(*set);
}

// Memory in which only bytes that were put in can be read.
class SparseMemory final : public MemoryReader {
  public:
    void put(std::uint64_t at, std::uint64_t value, std::size_t bytes = 8) {
        for (std::size_t i = 0; i < bytes; ++i)
            bytes_[at + i] = static_cast<std::byte>(value >> 8 * i);
    }
    bool read(GuestAddress from, std::span<std::byte> to) override {
        for (std::size_t i = 0; i < to.size(); ++i) {
            const auto found = bytes_.find(from.value + i);
            if (found == bytes_.end()) return false;
            to[i] = found->second;
        }
        return true;
    }

  private:
    std::map<std::uint64_t, std::byte> bytes_;
};

// Executes one instruction under one probe.
struct ProbeBench {
    CpuState cpu;
    SparseMemory memory;
    std::optional<std::uint64_t> latency;
    std::uint64_t place_bits = 0;

    std::optional<ProbeEvent> event(const std::string& probe, const Instruction& in) {
        const auto bound = probe_set({probe}).bind(in, place_bits);
        if (bound.empty()) return std::nullopt;
        return evaluate(bound[0], cpu, memory, latency);
    }
    // Returns the recorded value. Nothing if no value is recorded or it is missed.
    std::optional<std::uint64_t> value(const std::string& expression, const Instruction& in) {
        const auto seen = event("true { hotlist(" + expression + ") }", in);
        if (!seen || seen->missed) return std::nullopt;
        return seen->value;
    }
    bool holds(const std::string& condition, const Instruction& in) {
        const auto seen = event(condition + " { count() }", in);
        return seen && !seen->missed;
    }
};

}  // namespace shadowprof
