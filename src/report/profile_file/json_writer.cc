#include "report/profile_file/json_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace shadowprof {
namespace {

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
    put(bracket);
    has_elements_.push_back(false);
}

void JsonWriter::end(char bracket) {
    const bool had_elements = has_elements_.back() != 0;
    has_elements_.pop_back();
    if (had_elements && !is_dense_ && has_elements_.size() < deepest_on_own_lines) new_line();
    put(bracket);
}

void JsonWriter::new_line() {
    put('\n');
    for (std::size_t i = 0; i < has_elements_.size(); ++i) put("  ");
}

void JsonWriter::before_value() {
    if (std::exchange(after_key_, false) || has_elements_.empty()) return;
    const bool own_line = !is_dense_ && has_elements_.size() <= deepest_on_own_lines;
    if (has_elements_.back()) put(own_line || is_dense_ ? "," : ", ");
    has_elements_.back() = true;
    if (own_line) new_line();
}

void JsonWriter::key(std::string_view name) {
    value(name);
    put(is_dense_ ? ":" : ": ");
    after_key_ = true;
}

void JsonWriter::value(std::string_view text) {
    before_value();
    if (is_plain(text)) {
        put('"');
        put(text);
        put('"');
        return;
    }
    put(nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void JsonWriter::value(double number) {
    before_value();
    put(fmt::format("{}", std::isfinite(number) ? number : 0.0));
}

void JsonWriter::value(bool truth) {
    before_value();
    put(truth ? "true" : "false");
}

void JsonWriter::integer(std::int64_t number) {
    before_value();
    const fmt::format_int text(number);
    put({text.data(), text.size()});
}

void JsonWriter::natural(std::uint64_t number) {
    before_value();
    const fmt::format_int text(number);
    put({text.data(), text.size()});
}

void JsonWriter::null() {
    before_value();
    put("null");
}

void JsonWriter::put_long(std::string_view text) {
    while (!text.empty()) {
        if (used_ == buffer_bytes) flush();
        const auto part = text.substr(0, buffer_bytes - used_);
        put(part);
        text.remove_prefix(part.size());
    }
}

void JsonWriter::flush() {
    if (!error_) {
        auto written = sink_.write({buffer_.data(), used_});
        if (!written) error_ = std::move(written).error();
    }
    flushed_bytes_ += used_;
    used_ = 0;
}

Result<void> JsonWriter::finish() {
    put('\n');
    flush();
    if (error_) return *std::move(error_);
    return {};
}

}  // namespace shadowprof
