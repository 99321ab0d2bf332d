// JSON as a stream: a profile of a million entries is never in memory as text.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/files/byte_sink.h"
#include "base/text/hex_text.h"

namespace shadowprof {

// Writes one JSON document. Members of the outermost object and elements of the containers directly
// in it stand on lines of their own; what is deeper stays on its line. Strings that are not UTF-8
// come out with U+FFFD for what is wrong; infinities and NaN, which JSON lacks, come out as 0.
class JsonWriter {
  public:
    explicit JsonWriter(ByteSink& sink) : sink_(sink) {}

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

    // An array of what element(item) writes.
    void array(std::string_view name, const auto& items, const auto& element) {
        key(name);
        begin_array();
        for (const auto& item : items) element(item);
        end_array();
    }
    // An object of the members of a map.
    void map(std::string_view name, const auto& items) {
        key(name);
        begin_object();
        for (const auto& [item_name, content] : items) member(item_name, content);
        end_object();
    }
    // null where it is empty.
    void text_or_null(std::string_view name, std::string_view text) {
        member(name, text.empty() ? std::nullopt : std::optional(text));
    }

    // Ends the document with a newline. The first error of the sink, if there was one.
    Result<void> finish();

  private:
    void integer(std::int64_t number);
    void natural(std::uint64_t number);
    void begin(char bracket);
    void end(char bracket);
    void before_value();
    void separate();
    void new_line();
    void flush();

    ByteSink& sink_;
    std::string buffer_;
    std::vector<bool> has_elements_;  // one an open container
    bool after_key_ = false;
    std::optional<Error> error_;
};

}  // namespace shadowprof
