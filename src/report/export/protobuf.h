// Writes the wire format of protocol buffers (protobuf.dev/programming-guides/encoding). A field is
// its number and wire type in a varint, then a varint, or the length and bytes of a string, a
// message or a packed list.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shadowprof {

class ProtobufMessage {
  public:
    // Fields with their default value are left out, as in proto3.
    void number(std::uint32_t field, std::uint64_t value) {
        if (value == 0) return;
        tag(field, varint_type);
        varint(value);
    }
    void flag(std::uint32_t field, bool value) { number(field, value ? 1 : 0); }
    // Elements of repeated fields are always written.
    void string(std::uint32_t field, std::string_view text) {
        tag(field, length_type);
        varint(text.size());
        bytes_ += text;
    }
    void message(std::uint32_t field, const ProtobufMessage& content) {
        string(field, content.bytes_);
    }
    void packed(std::uint32_t field, std::span<const std::uint64_t> values) {
        ProtobufMessage list;
        for (const std::uint64_t value : values) list.varint(value);
        if (!values.empty()) message(field, list);
    }

    const std::string& bytes() const { return bytes_; }

  private:
    static constexpr std::uint32_t varint_type = 0, length_type = 2;

    void tag(std::uint32_t field, std::uint32_t type) { varint(field << 3 | type); }
    // Seven bits a byte, the lowest first. The eighth bit means that more bytes follow.
    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
        bytes_ += static_cast<char>(value);
    }

    std::string bytes_;
};

}  // namespace shadowprof
