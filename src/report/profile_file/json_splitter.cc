#include "report/profile_file/json_splitter.h"

#include <istream>

namespace shadowprof {
namespace {

// Leaves out what the library's message says of itself and of the place: "[json.exception.parse_
// error.101] parse error at line 1, column 3: syntax error while parsing value - invalid literal;
// last read: '<'". The rest may hold all digits of a number that is out of range.
std::string plain_reason(std::string_view message) {
    constexpr std::size_t max_characters = 160;
    constexpr auto none = std::string_view::npos;
    for (const std::string_view end : {"] ", " - "})
        if (const auto at = message.find(end); at != none) message.remove_prefix(at + end.size());
    message = message.substr(0, message.find("; expected "));
    return fmt::format("{}{}", message.substr(0, max_characters),
                       message.size() > max_characters ? ".." : "");
}

}  // namespace

Result<JsonSplitter::Json> JsonSplitter::parse(ByteSource& source) {
    source_ = &source;
    source.allow(limits_.part_bytes);
    std::istream stream(&source);
    nlohmann::json_sax<Json>* const events = this;
    const bool parsed = Json::sax_parse(stream, events);
    if (source.error()) return *source.error();
    if (error_) return *error_;
    if (!parsed) return Error{ErrorCode::invalid, 0, "it is not JSON"};
    return std::move(root_);
}

bool JsonSplitter::fail(std::uint64_t byte, std::string_view why) {
    error_ = Error{ErrorCode::invalid, 0, fmt::format("byte {}: {}", byte, why)};
    return false;
}

bool JsonSplitter::parse_error(std::size_t byte, const std::string&, const Json::exception& error) {
    return fail(byte, fmt::format("it is not JSON: {}", plain_reason(error.what())));
}

bool JsonSplitter::fits() {
    if (open_.size() + dropped_ > limits_.nesting)
        return fail(source_->taken(), fmt::format("it is nested deeper than {}", limits_.nesting));
    if (dropped_ == 0 && source_->taken() - part_began_ > limits_.part_bytes)
        return fail(source_->taken(), "a part of it is too large");
    source_->allow(limits_.part_bytes);
    return true;
}

bool JsonSplitter::key(string_t& name) {
    key_ = std::move(name);
    if (open_.size() != 1 || dropped_ > 0) return true;
    part_began_ = source_->taken();
    use_ = handlers_.use_of(key_);
    return true;
}

// Returns null if the value is dropped.
JsonSplitter::Json* JsonSplitter::add(Json value) {
    if (dropped_ > 0) return nullptr;
    if (open_.empty()) return &(root_ = std::move(value));
    Json& parent = *open_.back();
    if (&parent == list_) return &(element_ = std::move(value));
    if (parent.is_array()) {
        parent.push_back(std::move(value));
        return &parent.back();
    }
    if (open_.size() == 1 && use_ == Use::drop) return nullptr;
    return &(parent[key_] = std::move(value));
}

bool JsonSplitter::scalar(Json value) {
    if (open_.empty()) return fail(source_->taken(), "it is not a JSON object");
    if (const Json* added = add(std::move(value))) complete(added);
    return fits();
}

bool JsonSplitter::begin(Json container) {
    const bool is_array = container.is_array();
    if (open_.empty() && is_array) return fail(source_->taken(), "it is not a JSON object");
    Json* added = add(std::move(container));
    if (added == nullptr) {
        ++dropped_;
    } else {
        if (is_array && open_.size() == 1 && use_ == Use::split) list_ = added;
        open_.push_back(added);
    }
    return fits();
}

bool JsonSplitter::end() {
    if (dropped_ > 0) {
        --dropped_;
        return true;
    }
    const Json* ended = open_.back();
    open_.pop_back();
    complete(ended);
    return true;
}

void JsonSplitter::complete(const Json* part) {
    if (part == list_) list_ = nullptr;
    if (part != &element_) return;
    handlers_.element(element_);
    element_ = nullptr;
    part_began_ = source_->taken();
}

}  // namespace shadowprof
