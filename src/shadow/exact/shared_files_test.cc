#include "shadow/exact/shared_files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ptrace/proc/proc.h"

namespace shadowprof::shared_files_test {
namespace {

// A shared mapping of a descriptor in this process.
class Mapped {
  public:
    explicit Mapped(int fd)
        : at_(mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) {
        REQUIRE(at_ != MAP_FAILED);
    }
    ~Mapped() { munmap(at_, page_bytes); }
    Mapping mapping() const {
        const auto map = MemoryMap::parse(*read_maps_text(getpid()));
        REQUIRE(map);
        const auto* found = map->find({reinterpret_cast<std::uint64_t>(at_)});
        REQUIRE(found);
        return *found;
    }

  private:
    void* at_;
};

}  // namespace

TEST_CASE("a mapped file is found, also one that has no name any more") {
    const UniqueFd file(memfd_create("of-the-test", MFD_CLOEXEC));
    REQUIRE(ftruncate(file.get(), page_bytes) == 0);
    const Mapped mapped(file.get());
    const auto found = open_mapped_file(getpid(), mapped.mapping());
    REQUIRE(found);
    const char written = 'x';
    REQUIRE(pwrite(found.get(), &written, 1, 5) == 1);
    char seen = 0;
    REQUIRE(pread(file.get(), &seen, 1, 5) == 1);
    CHECK(seen == 'x');
}

TEST_CASE("another file in the mapping's place is not taken for it") {
    const UniqueFd file(memfd_create("of-the-test", MFD_CLOEXEC));
    REQUIRE(ftruncate(file.get(), page_bytes) == 0);
    auto mapping = Mapped(file.get()).mapping();
    // Nothing is mapped there any more, and the name leads to another file.
    mapping.inode += 1'000'000;
    mapping.name = "/etc/passwd";
    CHECK_FALSE(open_mapped_file(getpid(), mapping));
}

}  // namespace shadowprof::shared_files_test
