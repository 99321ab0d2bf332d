// Typed access to the members of a JSON object from outside.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace shadowprof {

// Each getter returns the member `name`, or a value of no meaning if it is absent or of the wrong
// type; the first such failure stays in error(). So a whole object is read first and checked once.
// Strings live as long as the object.
class JsonFields {
  public:
    using Json = nlohmann::json;

    explicit JsonFields(const Json& object);

    std::uint64_t count(const char* name);
    std::optional<std::uint64_t> optional_count(const char* name);  // absent or null: nothing
    std::int64_t integer(const char* name);
    std::optional<std::int64_t> optional_integer(const char* name);  // absent or null: nothing
    std::optional<int> optional_int(const char* name);
    double number(const char* name);
    std::optional<double> optional_number(const char* name);  // absent or null: nothing
    bool flag(const char* name);
    const std::string& text(const char* name);
    std::string_view optional_text(const char* name);  // absent or null: empty
    std::uint64_t hex(const char* name);
    // An array; an empty one if the member is absent.
    const Json& array(const char* name);
    // The array's members, each of which must be a count.
    std::vector<std::uint64_t> counts(const char* name);
    // An object's fields; errors in them are the child's own until take() is given it.
    JsonFields object(const char* name);
    void take(const JsonFields& child, const char* name);
    // Of an element of the array `name`.
    void take(const JsonFields& child, const char* name, std::size_t index);

    // What is wrong with the first member that is: "/name is not a number", where the name is a
    // JSON pointer (RFC 6901) from this object on.
    void fail(std::string_view name, std::string_view expected);
    const std::optional<std::string>& error() const { return error_; }
    const Json& json() const { return object_; }

  private:
    const Json* find(const char* name) const;

    const Json& object_;
    std::optional<std::string> error_;
};

// "0x1f"; nothing if it is not that, or does not fit.
std::optional<std::uint64_t> parse_hex(std::string_view text);

}  // namespace shadowprof
