// Typed access to the members of an untrusted JSON object.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace shadowprof {

// Each getter returns the member `name`, or a default if it is absent or of the wrong type. The
// first such failure is kept in error(), so that a whole object can be read first and checked once.
// Strings live as long as the object.
class JsonFields {
  public:
    using Json = nlohmann::json;

    explicit JsonFields(const Json& object);

    std::uint64_t count(std::string_view name);
    std::optional<std::uint64_t> optional_count(std::string_view name);  // absent or null: nothing
    std::int64_t integer(std::string_view name);
    std::optional<std::int64_t> optional_integer(std::string_view name);  // absent or null: nothing
    std::optional<int> optional_int(std::string_view name);
    double number(std::string_view name);
    std::optional<double> optional_number(std::string_view name);  // absent or null: nothing
    bool flag(std::string_view name);
    const std::string& text(std::string_view name);
    std::string_view optional_text(std::string_view name);  // absent or null: empty
    std::uint64_t hex(std::string_view name);
    // An array; empty if the member is absent.
    const Json& array(std::string_view name);
    // The array's elements, each of which must be a count.
    std::vector<std::uint64_t> counts(std::string_view name);
    // An object's fields. Errors in them are the child's own until it is passed to take().
    JsonFields object(std::string_view name);
    void take(const JsonFields& child, std::string_view name);
    // The same for a child that is an element of the array `name`.
    void take(const JsonFields& child, std::string_view name, std::size_t index);

    // Sets the error, unless there is one: "/name is not a number". The name is a JSON pointer (RFC
    // 6901) relative to this object.
    void fail(std::string_view name, std::string_view expected);
    bool has(std::string_view name) const { return find(name) != nullptr; }
    const std::optional<std::string>& error() const { return error_; }
    const Json& json() const { return object_; }

  private:
    const Json* find(std::string_view name) const;

    const Json& object_;
    std::optional<std::string> error_;
};

}  // namespace shadowprof
