#include "report/profile_file/json_fields.h"

#include <limits>

#include "base/text/hex_text.h"

namespace shadowprof {
namespace {

// The defaults that failed getters return references to.
const nlohmann::json& empty_array() {
    static const auto array = nlohmann::json::array();
    return array;
}
const nlohmann::json& empty_object() {
    static const auto object = nlohmann::json::object();
    return object;
}
const std::string& empty_text() {
    static const std::string text;
    return text;
}

std::string pointer(std::string_view name) {
    std::string text = "/";
    for (char c : name) text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return text;
}

}  // namespace

JsonFields::JsonFields(const Json& object) : object_(object) {
    if (!object.is_object()) error_ = " is not an object";
}

const JsonFields::Json* JsonFields::find(std::string_view name) const {
    if (!object_.is_object()) return nullptr;
    auto it = object_.find(name);
    return it == object_.end() ? nullptr : &*it;
}

void JsonFields::fail(std::string_view name, std::string_view expected) {
    if (!error_) error_ = fmt::format("{} is not {}", pointer(name), expected);
}

std::uint64_t JsonFields::count(std::string_view name) {
    const Json* field = find(name);
    if (field != nullptr && field->is_number_unsigned()) return field->get<std::uint64_t>();
    fail(name, "a whole number");
    return 0;
}

std::optional<std::uint64_t> JsonFields::optional_count(std::string_view name) {
    const Json* field = find(name);
    if (field == nullptr || field->is_null()) return std::nullopt;
    return count(name);
}

std::int64_t JsonFields::integer(std::string_view name) {
    const Json* field = find(name);
    bool fits = field != nullptr && field->is_number_integer() &&
                !(field->is_number_unsigned() &&
                  field->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max());
    if (fits) return field->get<std::int64_t>();
    fail(name, "a whole number");
    return 0;
}

std::optional<std::int64_t> JsonFields::optional_integer(std::string_view name) {
    const Json* field = find(name);
    if (field == nullptr || field->is_null()) return std::nullopt;
    return integer(name);
}

std::optional<int> JsonFields::optional_int(std::string_view name) {
    if (find(name) == nullptr) return std::nullopt;
    std::int64_t value = integer(name);
    if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
        fail(name, "a small whole number");
        return std::nullopt;
    }
    return static_cast<int>(value);
}

double JsonFields::number(std::string_view name) {
    const Json* field = find(name);
    if (field != nullptr && field->is_number()) return field->get<double>();
    fail(name, "a number");
    return 0;
}

std::optional<double> JsonFields::optional_number(std::string_view name) {
    const Json* field = find(name);
    if (field == nullptr || field->is_null()) return std::nullopt;
    return number(name);
}

bool JsonFields::flag(std::string_view name) {
    const Json* field = find(name);
    if (field != nullptr && field->is_boolean()) return field->get<bool>();
    fail(name, "true or false");
    return false;
}

const std::string& JsonFields::text(std::string_view name) {
    const Json* field = find(name);
    if (field != nullptr && field->is_string()) return field->get_ref<const std::string&>();
    fail(name, "a string");
    return empty_text();
}

std::string_view JsonFields::optional_text(std::string_view name) {
    const Json* field = find(name);
    if (field == nullptr || field->is_null()) return {};
    return text(name);
}

std::uint64_t JsonFields::hex(std::string_view name) {
    auto value = parse_hex(text(name));
    if (!value) fail(name, "a hexadecimal number");
    return value.value_or(0);
}

const JsonFields::Json& JsonFields::array(std::string_view name) {
    const Json* field = find(name);
    if (field == nullptr) return empty_array();
    if (field->is_array()) return *field;
    fail(name, "an array");
    return empty_array();
}

std::vector<std::uint64_t> JsonFields::counts(std::string_view name) {
    std::vector<std::uint64_t> values;
    for (const Json& element : array(name)) {
        if (!element.is_number_unsigned()) return fail(name, "a list of whole numbers"), values;
        values.push_back(element.get<std::uint64_t>());
    }
    return values;
}

JsonFields JsonFields::object(std::string_view name) {
    const Json* field = find(name);
    if (field != nullptr && field->is_object()) return JsonFields(*field);
    fail(name, "an object");
    return JsonFields(empty_object());
}

void JsonFields::take(const JsonFields& child, std::string_view name) {
    if (!error_ && child.error_) error_ = pointer(name) + *child.error_;
}

void JsonFields::take(const JsonFields& child, std::string_view name, std::size_t index) {
    if (!error_ && child.error_)
        error_ = fmt::format("{}/{}{}", pointer(name), index, *child.error_);
}

}  // namespace shadowprof
