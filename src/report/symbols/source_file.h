// The text of source files, to be shown beside the instructions compiled from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shadowprof {

// Reads files when they are first asked for. Ask only for paths that the debug information of a
// profiled file names: a profile may come from anywhere and could name any file of the machine.
class SourceFiles {
  public:
    static constexpr std::uint64_t max_file_bytes = 16 << 20;
    static constexpr std::uint64_t max_bytes = 128 << 20;  // for all files together

    // The lines of a file, line 1 first, without their ends ("\n" or "\r\n"). They may hold any
    // bytes but NUL: they need not be UTF-8 and may have control characters. Nothing if the path is
    // not absolute, or if the file is not regular, cannot be read, contains NUL or exceeds the
    // limits. Views live as long as this.
    std::optional<std::span<const std::string_view>> lines(std::string_view path);
    // Line `number`, counted from 1, as above.
    std::optional<std::string_view> line(std::string_view path, std::uint32_t number);

  private:
    struct File {
        bool readable = false;
        std::string text;
        std::vector<std::string_view> lines;
    };
    const File& file(std::string_view path);

    std::unordered_map<std::string, File> files_;
    std::uint64_t bytes_ = 0;
};

}  // namespace shadowprof
