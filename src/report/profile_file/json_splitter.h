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

// Takes the object that a text is apart by its members. What it holds at a time is one element of
// a list that is split, and the members that are kept. The text is hostile.
class JsonSplitter final : private nlohmann::json_sax<nlohmann::json> {
  public:
    using Json = nlohmann::json;
    enum class Use {
        drop,
        keep,
        split,  // of a list: each element is given away when it is complete
    };
    struct Handlers {
        std::function<Use(std::string_view name)> use_of;  // a member of the object
        std::function<void(const Json&)> element;  // of the list that use_of() was last asked about
    };

    explicit JsonSplitter(Handlers handlers, JsonLimits limits = {})
        : handlers_(std::move(handlers)), limits_(limits) {}

    // The kept members. Of split ones an empty list, or what they are if they are none. Errors:
    // ErrorCode::invalid and the byte, for what is no JSON object or beyond the limits; the
    // source's own.
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
    std::vector<Json*> open_;     // from the root to what is being filled
    std::size_t dropped_ = 0;     // open containers that are not
    const Json* list_ = nullptr;  // that is being split
    Use use_ = Use::drop;         // of the member of the root that is being read
    std::string key_;             // of the next value
    std::uint64_t part_began_ = 0;
    std::optional<Error> error_;
};

}  // namespace shadowprof
