// Lines of text on a terminal, none wider than it.
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

// The caller flushes `out` and looks at ferror().
class TextPage {
  public:
    TextPage(const TextOptions& options, std::FILE* out);

    // `left` is cut where the line is too short; `right` stands at its end.
    void line(std::string_view left, std::string_view right = {});
    // Behind a blank line.
    void title(std::string_view text);
    // The first line of all.
    void head(std::string_view text);
    // As it is, whatever its width: for lines that have escape sequences in them.
    void raw(std::string_view text);

    std::string bold(const std::string& text) const { return styled("1", text); }
    std::string dim(const std::string& text) const { return styled("2", text); }
    std::string red(const std::string& text) const { return styled("31", text); }
    std::string yellow(const std::string& text) const { return styled("33", text); }

    std::size_t width() const { return width_; }
    std::size_t right_width() const { return width_ / 4; }
    // Room for the name of a location that other columns follow.
    std::size_t name_column() const { return width_ / 3 - 4; }

  private:
    std::string styled(std::string_view code, const std::string& text) const;

    std::size_t width_;
    bool colour_;
    std::FILE* out_;
};

}  // namespace shadowprof
