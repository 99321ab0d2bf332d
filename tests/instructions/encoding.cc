#include "encoding.h"

#include <cstring>

namespace shadowprof {
namespace {

class Writer {
  public:
    explicit Writer(const Encoding& e) : e_(e) {}
    Assembled run() {
        prefixes();
        if (e_.has_modrm) modrm();
        out_.tail_at = out_.length;
        for (std::size_t i = 0; i < e_.tail_bytes; ++i) put(e_.tail[i]);
        return out_;
    }

  private:
    void put(unsigned byte) { out_.bytes[out_.length++] = static_cast<std::uint8_t>(byte); }
    bool has_sib() const {
        return e_.memory && e_.address.mode != AddressFields::Mode::rip && e_.address.with_sib;
    }
    // The bits that extend ModRM.reg, the index, and the base or ModRM.rm.
    unsigned r() const { return e_.reg >> 3 & 1; }
    unsigned x() const {
        if (!e_.has_modrm) return 0;
        if (!e_.memory) return e_.kind == Encoding::Kind::evex ? e_.rm >> 4 & 1 : 0;
        return has_sib() ? e_.address.index >> 3 & 1 : 0;
    }
    unsigned b() const {
        if (e_.has_modrm && e_.memory)
            return e_.address.mode == AddressFields::Mode::sib ? e_.address.base >> 3 & 1 : 0;
        return e_.rm >> 3 & 1;
    }
    void prefixes();
    void legacy_opcode();
    void vex();
    void evex();
    void modrm();

    const Encoding& e_;
    Assembled out_;
};

void Writer::prefixes() {
    if (e_.segment) put(e_.segment);
    if (e_.address_size) put(0x67);
    if (e_.operand_size) put(0x66);
    if (e_.repeat) put(e_.repeat);
    if (e_.lock) put(0xf0);
    switch (e_.kind) {
        case Encoding::Kind::legacy:
            return legacy_opcode();
        case Encoding::Kind::vex:
        case Encoding::Kind::xop:
            return vex();
        case Encoding::Kind::evex:
            return evex();
    }
}

void Writer::legacy_opcode() {
    const unsigned rex = 0x40u | (e_.w ? 8u : 0u) | r() << 2 | x() << 1 | b();
    if (rex != 0x40 || e_.force_rex) put(rex);
    if (e_.map) put(0x0f);
    if (e_.map >= 2) put(e_.map == 2 ? 0x38 : 0x3a);
    // A register in the opcode is `rm`.
    put(e_.has_modrm ? e_.opcode : e_.opcode | (e_.rm & 7u));
}

void Writer::vex() {
    const unsigned low = (~e_.vvvv & 15u) << 3 | (e_.length & 1u) << 2 | e_.pp;
    if (e_.kind == Encoding::Kind::vex && e_.short_vex && !e_.w && !x() && !b() && e_.map == 1) {
        put(0xc5);
        put((r() ^ 1) << 7 | low);
    } else {
        put(e_.kind == Encoding::Kind::vex ? 0xc4 : 0x8f);
        put((r() ^ 1) << 7 | (x() ^ 1) << 6 | (b() ^ 1) << 5 | e_.map);
        put((e_.w ? 0x80u : 0u) | low);
    }
    put(e_.opcode);
}

void Writer::evex() {
    const bool vector_index = e_.memory && has_sib() && e_.address.index >= 16;
    const unsigned v2 = (e_.vvvv >> 4 & 1) | (vector_index ? 1u : 0u);
    put(0x62);
    put((r() ^ 1) << 7 | (x() ^ 1) << 6 | (b() ^ 1) << 5 | ((e_.reg >> 4 & 1u) ^ 1) << 4 | e_.map);
    put((e_.w ? 0x80u : 0u) | (~e_.vvvv & 15u) << 3 | 4u | e_.pp);
    put((e_.zeroing ? 0x80u : 0u) | (e_.length & 3u) << 5 | (e_.b ? 0x10u : 0u) | (v2 ^ 1) << 3 |
        (e_.mask & 7u));
    put(e_.opcode);
}

void Writer::modrm() {
    const unsigned reg = (e_.reg & 7u) << 3;
    if (!e_.memory) return put(0xc0 | reg | (e_.rm & 7u));
    const auto& a = e_.address;
    std::uint8_t displacement_bytes = a.displacement_bytes;
    if (a.mode == AddressFields::Mode::rip) {
        put(reg | 5);
        displacement_bytes = 4;
    } else {
        const bool absolute = a.mode == AddressFields::Mode::absolute;
        const unsigned base = absolute ? 5u : a.base & 7u;
        if (absolute) displacement_bytes = 4;
        if (!absolute && base == 5 && displacement_bytes == 0) displacement_bytes = 1;
        const unsigned mod = absolute || !displacement_bytes ? 0 : displacement_bytes == 1 ? 1 : 2;
        put(mod << 6 | reg | (a.with_sib ? 4u : base));
        if (a.with_sib) put(unsigned{a.scale} << 6 | (a.index & 7u) << 3 | base);
    }
    out_.displacement_at = out_.length;
    std::memcpy(&out_.bytes[out_.length], &a.displacement, displacement_bytes);
    out_.length += displacement_bytes;
}

}  // namespace

Assembled assemble(const Encoding& encoding) {
    return Writer(encoding).run();
}

}  // namespace shadowprof
