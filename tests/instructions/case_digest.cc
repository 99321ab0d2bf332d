// The part of a case that is the same on every host, and its adaptation to this one.
#include <cstring>

#include "base/xsave_layout.h"
#include "case.h"
#include "generate.h"
#include "random.h"

namespace shadowprof {
namespace {

class Digest {
  public:
    void add(std::uint64_t value) { value_ = Random::mix(value_ * 31 + value + 1); }
    template <typename Values>
    void add_all(const Values& values) {
        for (const auto value : values) add(static_cast<std::uint64_t>(value));
    }
    std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = 0;
};

}  // namespace

std::uint64_t digest(const Case& test) {
    // x87, MXCSR and XMM0 to XMM15. The later parts have different places on each host; `drawn`
    // shows that equally many numbers were drawn for them.
    constexpr std::size_t legacy_bytes = 512;
    const auto& cpu = test.start;
    Digest digest;
    digest.add_all(cpu.gpr);
    for (const auto value : {cpu.rflags, cpu.fs_base, cpu.gs_base, test.drawn, test.instance})
        digest.add(value);
    for (const auto value : {test.pool_at, test.code_at, test.undefined_flags, test.unknown_gprs,
                             test.unknown_memory_at, test.unknown_memory_bytes})
        digest.add(value);
    digest.add(test.placement);
    digest.add(test.assigned);
    digest.add_all(std::span(cpu.xsave).first(legacy_bytes));
    digest.add_all(test.code_span());
    for (std::size_t i = 0; i < test.patches; ++i) {
        digest.add(test.patch[i].offset);
        digest.add(test.patch[i].value);
    }
    return digest.value();
}

void adapt_to_host(Case& test) {
    if (test.component_patch < test.patches)
        test.patch[test.component_patch].value &= host_xsave_components();
}

void blank(Case& test, const Sequence::Part& part) {
    // nop [rax + rax + displacement], with as many prefixes as needed (Intel SDM vol. 2, NOP);
    // short ones are rows of single bytes.
    constexpr std::array<std::uint8_t, 8> long_nop = {0x0f, 0x1f, 0x84};
    auto* const at = &test.code[part.at];
    if (part.length < long_nop.size()) {
        std::memset(at, 0x90, part.length);
        return;
    }
    const auto prefixes = part.length - long_nop.size();
    std::memset(at, 0x66, prefixes);
    std::memcpy(at + prefixes, long_nop.data(), long_nop.size());
}

}  // namespace shadowprof
