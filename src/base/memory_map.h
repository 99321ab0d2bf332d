// The list of a process's memory mappings, as /proc/PID/maps shows it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/guest_address.h"
#include "base/result.h"

namespace shadowprof {

// One line of /proc/PID/maps.
struct Mapping {
    GuestAddress start;
    GuestAddress end;  // one past the last byte
    bool readable = false;
    bool writable = false;
    bool executable = false;
    bool shared = false;            // MAP_SHARED
    std::uint64_t file_offset = 0;  // file position of `start`, in bytes
    std::uint64_t device = 0;       // 0 for anonymous memory
    std::uint64_t inode = 0;        // 0 for anonymous memory
    std::string name;               // path, or "[heap]", "[stack]", "[vdso]", or empty

    std::uint64_t size_bytes() const { return end - start; }
    bool contains(GuestAddress a) const { return start <= a && a < end; }
    bool is_file() const { return inode != 0; }

    friend bool operator==(const Mapping&, const Mapping&) = default;
};

// Mappings sorted by address, without overlaps.
class MemoryMap {
  public:
    MemoryMap() = default;
    // `mappings` may come in any order, and must not overlap.
    explicit MemoryMap(std::vector<Mapping> mappings);

    // Parses the text of /proc/PID/maps. Returns ErrorCode::invalid if a line does not parse.
    static Result<MemoryMap> parse(std::string_view maps_text);

    // Puts `pieces`, which are sorted and lie between `start` and `end`, in the place of all that
    // was mapped there.
    void replace(GuestAddress start, GuestAddress end, std::vector<Mapping> pieces);

    const std::vector<Mapping>& mappings() const { return mappings_; }
    // The mapping that contains `address`, or null.
    const Mapping* find(GuestAddress address) const;
    // The first mapping that ends after `address`, or null.
    const Mapping* find_at_or_after(GuestAddress address) const;

    friend bool operator==(const MemoryMap&, const MemoryMap&) = default;

  private:
    std::vector<Mapping> mappings_;
};

}  // namespace shadowprof
