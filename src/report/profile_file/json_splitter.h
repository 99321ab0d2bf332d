// Parses a large JSON object without ever having all of it in memory.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "report/profile_file/byte_source.h"

namespace shadowprof {

struct JsonLimits {
    std::size_t nesting = 64;
    // The most bytes of a part: an element of a split list, a kept member, or a single string or
    // number.
    std::uint64_t part_bytes = std::uint64_t{32} << 20;
};

// Splits an object by its members. Memory holds only the kept members and one element of a split
// list at a time. The text is hostile.
class JsonSplitter final : private nlohmann::json_sax<nlohmann::json> {
  public:
    using Json = nlohmann::json;
    enum class Use {
        drop,
        keep,
        split,  // for a list: each element is passed on when it is complete
    };
    struct Handlers {
        std::function<Use(std::string_view name)> use_of;  // for each member of the object
        std::function<void(const Json&)> element;  // for each element of the list that use_of() was
                                                   // last called for
    };

    explicit JsonSplitter(Handlers handlers, JsonLimits limits = {})
        : handlers_(std::move(handlers)), limits_(limits) {}

    // Returns the kept members. A split list is empty in the result; a split member that is no list
    // is kept. Errors: ErrorCode::invalid and the byte, if the text is no JSON object or beyond the
    // limits; those of the source.
    Result<Json> parse(ByteSource& source);

  private:
    bool null() override { return scalar(nullptr); }
    bool boolean(bool value) override { return scalar(value); }
    bool number_integer(number_integer_t value) override { return scalar(value); }
    bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
    bool number_float(number_float_t value, const string_t&) override { return scalar(value); }
    bool string(string_t& value) override { return scalar(std::move(value)); }
    bool binary(binary_t&) override { return false; }  // JSON has none
    bool start_object(std::size_t) override { return begin(Json::object()); }
    bool end_object() override { return end(); }
    bool start_array(std::size_t) override { return begin(Json::array()); }
    bool end_array() override { return end(); }
    bool key(string_t& name) override;
    bool parse_error(std::size_t byte, const std::string&, const Json::exception& error) override;

    bool scalar(Json value);
    bool begin(Json container);
    bool end();
    Json* add(Json value);
    void complete(const Json* part);
    bool fits();
    bool fail(std::uint64_t byte, std::string_view why);

    const Handlers handlers_;
    const JsonLimits limits_;
    ByteSource* source_ = nullptr;
    Json root_, element_;
    std::vector<Json*> open_;     // from the root to the value being filled
    std::size_t dropped_ = 0;     // number of open containers that are dropped
    const Json* list_ = nullptr;  // the list being split
    Use use_ = Use::drop;         // use of the root's current member
    std::string key_;             // key of the next value
    std::uint64_t part_began_ = 0;
    std::optional<Error> error_;
};

}  // namespace shadowprof
