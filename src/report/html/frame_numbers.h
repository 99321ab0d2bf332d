// The frames of a tree of call stacks, each once.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/lists/frames.h"
#include "report/profile_file/json_writer.h"

namespace shadowprof {

// Deeper calls are not in the page's trees.
inline constexpr std::size_t max_tree_depth = 1000;

class FrameNumbers {
  public:
    // Frames that look the same are one, so all calls of a function are. `frame` must outlive this.
    std::size_t number(const ExportFrame& frame);
    // Writes the member "frames", a table in the order of the numbers.
    void write(JsonWriter& json) const;

  private:
    std::vector<const ExportFrame*> frames_;
    std::map<std::pair<std::string, bool>, std::size_t> by_name_;
    std::unordered_map<const ExportFrame*, std::size_t> by_pointer_;
};

}  // namespace shadowprof
