#include "report/profile_file/json_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace shadowprof {
namespace {

constexpr std::size_t flush_bytes = std::size_t{1} << 16;
constexpr std::size_t deepest_on_own_lines = 2;

bool is_plain(std::string_view text) {
    for (char c : text)
        // Also if it is not ASCII and thus negative.
        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) return false;
    return true;
}

}  // namespace

void JsonWriter::begin(char bracket) {
    before_value();
    buffer_ += bracket;
    has_elements_.push_back(false);
}

void JsonWriter::end(char bracket) {
    bool had_elements = has_elements_.back();
    has_elements_.pop_back();
    if (had_elements && has_elements_.size() < deepest_on_own_lines) new_line();
    buffer_ += bracket;
    if (buffer_.size() >= flush_bytes) flush();
}

void JsonWriter::new_line() {
    buffer_ += '\n';
    buffer_.append(2 * has_elements_.size(), ' ');
}

void JsonWriter::separate() {
    if (has_elements_.empty()) return;
    bool own_line = has_elements_.size() <= deepest_on_own_lines;
    if (has_elements_.back()) buffer_ += own_line ? "," : ", ";
    has_elements_.back() = true;
    if (own_line) new_line();
}

void JsonWriter::before_value() {
    if (!after_key_) separate();
    after_key_ = false;
}

void JsonWriter::key(std::string_view name) {
    value(name);
    buffer_ += ": ";
    after_key_ = true;
}

void JsonWriter::value(std::string_view text) {
    before_value();
    if (is_plain(text)) {
        buffer_ += '"';
        buffer_ += text;
        buffer_ += '"';
        return;
    }
    buffer_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void JsonWriter::value(double number) {
    before_value();
    buffer_ += fmt::format("{}", std::isfinite(number) ? number : 0.0);
}

void JsonWriter::value(bool truth) {
    before_value();
    buffer_ += truth ? "true" : "false";
}

void JsonWriter::integer(std::int64_t number) {
    before_value();
    const fmt::format_int text(number);
    buffer_.append(text.data(), text.size());
}

void JsonWriter::natural(std::uint64_t number) {
    before_value();
    const fmt::format_int text(number);
    buffer_.append(text.data(), text.size());
}

void JsonWriter::null() {
    before_value();
    buffer_ += "null";
}

void JsonWriter::flush() {
    if (!error_)
        if (auto written = sink_.write(buffer_); !written) error_ = std::move(written).error();
    flushed_bytes_ += buffer_.size();
    buffer_.clear();
}

Result<void> JsonWriter::finish() {
    buffer_ += '\n';
    flush();
    if (error_) return *std::move(error_);
    return {};
}

}  // namespace shadowprof
