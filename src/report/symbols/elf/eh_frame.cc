#include "report/symbols/elf/eh_frame.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace shadowprof {
namespace {

// Pointer encodings, DW_EH_PE_* of the Linux Standard Base.
enum : std::uint8_t {
    pe_format_mask = 0x0f,
    pe_absptr = 0x00,
    pe_udata2 = 0x02,
    pe_udata4 = 0x03,
    pe_udata8 = 0x04,
    pe_sdata2 = 0x0a,
    pe_sdata4 = 0x0b,
    pe_sdata8 = 0x0c,
    pe_application_mask = 0x70,
    pe_pcrel = 0x10,
};

// Reads untrusted bytes in order. After running off the end it stays failed, and all values read
// are 0.
class Cursor {
  public:
    Cursor(std::span<const std::byte> bytes, std::uint64_t address)
        : bytes_(bytes), address_(address) {}

    bool failed() const { return failed_; }
    std::size_t offset() const { return offset_; }
    std::uint64_t address() const { return address_ + offset_; }
    std::size_t left() const { return bytes_.size() - offset_; }

    template <typename T>
    T fixed() {
        T value{};
        if (left() < sizeof value) return fail(), T{};
        std::memcpy(&value, bytes_.data() + offset_, sizeof value);
        offset_ += sizeof value;
        return value;
    }
    std::uint64_t uleb128() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            auto byte = fixed<std::uint8_t>();
            value |= std::uint64_t{byte & 0x7fu} << shift;
            if ((byte & 0x80) == 0) return value;
        }
        fail();
        return 0;
    }
    std::string_view string() {
        if (left() == 0) return fail(), std::string_view{};
        const char* text = reinterpret_cast<const char*>(bytes_.data() + offset_);
        std::size_t length = ::strnlen(text, left());
        if (length == left()) return fail(), std::string_view{};
        offset_ += length + 1;
        return {text, length};
    }
    void skip(std::uint64_t count) {
        if (count > left()) return fail();
        offset_ += count;
    }
    // Returns the next `count` bytes as a cursor of their own.
    Cursor take(std::uint64_t count) {
        std::uint64_t at = address();
        std::size_t from = offset_;
        skip(count);
        return failed_ ? Cursor({}, at) : Cursor(bytes_.subspan(from, count), at);
    }

  private:
    void fail() {
        failed_ = true;
        offset_ = bytes_.size();
    }

    std::span<const std::byte> bytes_;
    std::uint64_t address_;
    std::size_t offset_ = 0;
    bool failed_ = false;
};

// Reads a pointer field in `format`, extended to 64 bits; nothing for formats that no x86-64 tool
// writes.
std::optional<std::uint64_t> read_format(Cursor& in, std::uint8_t format) {
    switch (format) {
        case pe_absptr:
        case pe_udata8:
        case pe_sdata8:
            return in.fixed<std::uint64_t>();
        case pe_udata2:
            return in.fixed<std::uint16_t>();
        case pe_udata4:
            return in.fixed<std::uint32_t>();
        case pe_sdata2:
            return static_cast<std::uint64_t>(std::int64_t{in.fixed<std::int16_t>()});
        case pe_sdata4:
            return static_cast<std::uint64_t>(std::int64_t{in.fixed<std::int32_t>()});
        default:
            return std::nullopt;
    }
}

// Returns the encoding of code pointers in a common information entry; `in` is behind the entry's
// id.
std::optional<std::uint8_t> read_cie_encoding(Cursor in) {
    in.skip(1);  // version
    std::string_view augmentation = in.string();
    if (augmentation.empty()) return in.failed() ? std::nullopt : std::optional{std::uint8_t{0}};
    if (augmentation[0] != 'z') return std::nullopt;
    in.uleb128();  // code alignment
    in.uleb128();  // data alignment: signed, but of the same length
    in.uleb128();  // return address register
    in.uleb128();  // length of the augmentation data
    for (char c : augmentation.substr(1)) {
        if (c == 'R') {
            auto encoding = in.fixed<std::uint8_t>();
            return in.failed() ? std::nullopt : std::optional{encoding};
        }
        if (c == 'L') in.skip(1);
        if (c == 'P' && !read_format(in, in.fixed<std::uint8_t>() & pe_format_mask))
            return std::nullopt;
    }
    return pe_absptr;
}

std::optional<AddressRange> read_fde(Cursor& in, std::uint8_t encoding) {
    std::uint64_t base = 0;
    if ((encoding & pe_application_mask) == pe_pcrel)
        base = in.address();
    else if ((encoding & pe_application_mask) != 0)
        return std::nullopt;
    std::uint8_t format = encoding & pe_format_mask;
    auto start = read_format(in, format);
    // The length has the pointer's size and is unsigned.
    auto length = read_format(in, format);
    if (!start || !length || in.failed()) return std::nullopt;
    if (format == pe_sdata4) *length &= 0xffffffff;
    if (format == pe_sdata2) *length &= 0xffff;
    std::uint64_t first = base + *start;
    if (*length == 0 || first + *length < first) return std::nullopt;
    return AddressRange{first, first + *length};
}

}  // namespace

std::vector<AddressRange> eh_frame_ranges(std::span<const std::byte> section,
                                          std::uint64_t address) {
    std::vector<AddressRange> ranges;
    std::unordered_map<std::size_t, std::optional<std::uint8_t>> encodings;  // by offset of CIE
    Cursor in(section, address);
    while (in.left() >= 4) {
        std::size_t record = in.offset();
        std::uint64_t length = in.fixed<std::uint32_t>();
        if (length == 0) continue;  // a terminator; linkers may leave several
        if (length == 0xffffffff) length = in.fixed<std::uint64_t>();
        std::size_t id_offset = in.offset();
        Cursor body = in.take(length);
        auto id = body.fixed<std::uint32_t>();
        if (in.failed() || body.failed()) break;
        if (id == 0) {
            encodings[record] = read_cie_encoding(body);
            continue;
        }
        auto cie = encodings.find(id_offset - id);
        if (id > id_offset || cie == encodings.end() || !cie->second) continue;
        if (auto range = read_fde(body, *cie->second)) ranges.push_back(*range);
    }
    return ranges;
}

}  // namespace shadowprof
