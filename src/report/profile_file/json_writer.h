// Writes JSON as a stream, so that a profile of a million entries is never in memory as text.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/files/byte_sink.h"
#include "base/text/hex_text.h"

namespace shadowprof {

// `readable`: members of the outermost object and elements of the containers directly in it are on
// lines of their own; deeper values stay on their line. `dense`: no blanks.
enum class JsonLayout : std::uint8_t { readable, dense };

// Writes one JSON document. Invalid UTF-8 is replaced by
// U+FFFD. Infinities and NaN, which JSON lacks, are written as 0.
class JsonWriter {
  public:
    explicit JsonWriter(ByteSink& sink, JsonLayout layout = JsonLayout::readable)
        : sink_(sink), is_dense_(layout == JsonLayout::dense), buffer_(buffer_bytes) {}

    void begin_object() { begin('{'); }
    void end_object() { end('}'); }
    void begin_array() { begin('['); }
    void end_array() { end(']'); }
    void key(std::string_view name);

    void value(std::string_view text);
    void value(const char* text) { value(std::string_view(text)); }
    void value(double number);
    void value(bool truth);
    template <std::integral T>
    void value(T number) {
        if constexpr (std::is_signed_v<T>)
            integer(number);
        else
            natural(number);
    }
    void null();
    template <typename T>
    void value(const std::optional<T>& maybe) {
        if (maybe)
            value(*maybe);
        else
            null();
    }
    template <typename T>
    void member(std::string_view name, const T& content) {
        key(name);
        value(content);
    }

    // An array whose elements element(item) writes. Stops early if the sink has failed.
    void array(std::string_view name, const auto& items, const auto& element) {
        key(name);
        begin_array();
        for (const auto& item : items) {
            if (error_) break;
            element(item);
        }
        end_array();
    }
    // An object with the entries of a map.
    void map(std::string_view name, const auto& items) {
        key(name);
        begin_object();
        for (const auto& [item_name, content] : items) member(item_name, content);
        end_object();
    }
    // null if the text is empty.
    void text_or_null(std::string_view name, std::string_view text) {
        member(name, text.empty() ? std::nullopt : std::optional(text));
    }

    // Ends the document with a newline. Returns the sink's first error, if any.
    Result<void> finish();

    // The size of what was written so far.
    std::uint64_t bytes() const { return flushed_bytes_ + used_; }

  private:
    void integer(std::int64_t number);
    void natural(std::uint64_t number);
    void begin(char bracket);
    void end(char bracket);
    void before_value();
    void new_line();
    void put(char c) {
        if (used_ == buffer_bytes) flush();
        buffer_[used_++] = c;
    }
    void put(std::string_view text) {
        if (text.size() > buffer_bytes - used_) return put_long(text);
        used_ += text.copy(buffer_.data() + used_, text.size());
    }
    void put_long(std::string_view text);
    void flush();

    static constexpr std::size_t buffer_bytes = std::size_t{1} << 16;

    ByteSink& sink_;
    bool is_dense_;
    std::vector<char> buffer_;
    std::size_t used_ = 0;  // of the buffer
    std::uint64_t flushed_bytes_ = 0;
    std::vector<char> has_elements_;  // for each open container
    bool after_key_ = false;
    std::optional<Error> error_;
};

}  // namespace shadowprof
