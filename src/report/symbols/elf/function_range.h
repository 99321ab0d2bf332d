// Address ranges of functions, and their names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace shadowprof {

struct FunctionRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // one past the last byte
    std::string_view name;  // linkage name; empty if only the bounds are known
};

// Copies of names in few blocks of memory, as large programs have a hundred thousand functions.
class NameStore {
  public:
    NameStore() = default;
    NameStore(NameStore&& other) noexcept { swap(other); }
    NameStore& operator=(NameStore&& other) noexcept {
        swap(other);
        return *this;
    }

    // Returns a view that lives as long as the store, even if the store is moved.
    std::string_view add(std::string_view name) {
        if (name.size() > left_bytes_) add_block(std::max(name.size(), usual_block_bytes));
        char* const copy = next_;
        if (!name.empty()) std::memcpy(copy, name.data(), name.size());
        next_ += name.size();
        left_bytes_ -= name.size();
        return {copy, name.size()};
    }

  private:
    static constexpr std::size_t usual_block_bytes = 1 << 16;

    void swap(NameStore& other) noexcept {
        std::swap(blocks_, other.blocks_);
        std::swap(next_, other.next_);
        std::swap(left_bytes_, other.left_bytes_);
    }
    void add_block(std::size_t bytes) {
        blocks_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
        next_ = blocks_.back().get();
        left_bytes_ = bytes;
    }

    std::vector<std::unique_ptr<char[]>> blocks_;
    char* next_ = nullptr;
    std::size_t left_bytes_ = 0;
};

struct NamedFunctions {
    std::vector<FunctionRange> functions;
    NameStore names;  // names of the functions; string literals need not be in it
};

}  // namespace shadowprof
