// The bytes of one file as a sample sees them: the real file, overlaid with what the sample wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace shadowprof {

class FileContents {
  public:
    // A range of the real file.
    struct Range {
        std::uint64_t offset = 0;
        std::uint64_t size_bytes = 0;

        friend bool operator==(const Range&, const Range&) = default;
    };

    // `base_bytes`: the size of the real file at snapshot time.
    explicit FileContents(std::uint64_t base_bytes) : size_(base_bytes), base_bytes_(base_bytes) {}

    std::uint64_t size_bytes() const { return size_; }
    // Memory that written bytes take.
    std::uint64_t stored_bytes() const { return stored_; }
    // Bytes that are cut off do not come back: growing the file again shows zeros.
    void resize(std::uint64_t size_bytes);
    void write(std::uint64_t offset, std::span<const std::byte> bytes);
    // Fills `to`, which must end at or before size_bytes(), with written bytes and zeros. Returns
    // the ranges, in order, that the caller must fill from the real file.
    std::vector<Range> read(std::uint64_t offset, std::span<std::byte> to) const;

  private:
    using Extents = std::map<std::uint64_t, std::vector<std::byte>>;

    Extents::iterator extent_for_write(std::uint64_t offset);
    void absorb_following(Extents::iterator extent);

    std::uint64_t size_;
    std::uint64_t base_bytes_;  // how much of the real file is still visible
    std::uint64_t stored_ = 0;
    Extents extents_;  // by offset, without overlaps
};

}  // namespace shadowprof
