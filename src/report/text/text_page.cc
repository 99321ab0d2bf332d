#include "report/text/text_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files/put.h"
#include "base/text/text_format.h"

namespace shadowprof {
namespace {

constexpr std::size_t min_width = 60;

}  // namespace

TextPage::TextPage(const TextOptions& options, std::FILE* out)
    : width_(std::max(options.width, min_width)), colour_(options.colour), out_(out) {}

void TextPage::line(std::string_view left, std::string_view right) {
    const std::string tail = right.empty() ? "" : "  " + fit(right, right_width());
    const std::size_t room = width_ - columns(tail);
    const std::string shown = fit(left, room);
    put(out_, "{}{}\n", tail.empty() ? shown : pad(shown, room), dim(tail));
}

void TextPage::title(std::string_view text) {
    put(out_, "\n{}\n", bold(fit(text, width_)));
}

void TextPage::head(std::string_view text) {
    put(out_, "{}\n", bold(fit(text, width_)));
}

void TextPage::sentence(std::string_view text) {
    for (const std::string& line : wrapped(text, width_)) put(out_, "{}\n", bold(line));
}

void TextPage::raw(std::string_view text) {
    put(out_, "{}\n", text);
}

std::string TextPage::styled(std::string_view code, const std::string& text) const {
    return colour_ && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

}  // namespace shadowprof
