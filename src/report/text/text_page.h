// Prints lines on a terminal, none wider than it.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace shadowprof {

struct TextOptions {
    std::size_t width = 100;  // columns; less than 60 counts as 60
    bool colour = false;      // SGR escape sequences
};

// The caller flushes `out` and checks ferror().
class TextPage {
  public:
    TextPage(const TextOptions& options, std::FILE* out);

    // Prints `left`, cut if the line is too short, and `right` at the line's end.
    void line(std::string_view left, std::string_view right = {});
    // Prints a title after a blank line.
    void title(std::string_view text);
    // Prints the first line of the page.
    void head(std::string_view text);
    // Prints a sentence that is as important, in as many lines as it needs.
    void sentence(std::string_view text);
    // Prints a line of any width unchanged, for lines with escape sequences.
    void raw(std::string_view text);

    std::string bold(const std::string& text) const { return styled("1", text); }
    std::string dim(const std::string& text) const { return styled("2", text); }
    std::string red(const std::string& text) const { return styled("31", text); }
    std::string yellow(const std::string& text) const { return styled("33", text); }

    std::size_t width() const { return width_; }
    std::size_t right_width() const { return width_ / 4; }
    // The room for the name of a location, if other columns follow.
    std::size_t name_column() const { return width_ / 3 - 4; }

  private:
    std::string styled(std::string_view code, const std::string& text) const;

    std::size_t width_;
    bool colour_;
    std::FILE* out_;
};

}  // namespace shadowprof
