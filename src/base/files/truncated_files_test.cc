#include "base/files/truncated_files.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>

#include "base/guest_address.h"

namespace shadowprof::truncated_files_test {

TEST_CASE("a file that is truncated while it is mapped reads as zeros, and what remains as it is") {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::tmpfile(), std::fclose);
    REQUIRE(file);
    const int fd = ::fileno(file.get());
    REQUIRE(::ftruncate(fd, 3 * page_bytes) == 0);
    for (off_t at : {off_t{0}, off_t{page_bytes}}) REQUIRE(::pwrite(fd, "x", 1, at) == 1);
    void* mapped = ::mmap(nullptr, 3 * page_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    REQUIRE(mapped != MAP_FAILED);
    const auto* bytes = static_cast<volatile char*>(mapped);
    survive_truncated_files();
    REQUIRE(::ftruncate(fd, 1) == 0);
    CHECK(bytes[0] == 'x');
    CHECK(bytes[page_bytes] == 0);
    CHECK(bytes[2 * page_bytes + 17] == 0);
    ::signal(SIGBUS, SIG_DFL);
    ::munmap(mapped, 3 * page_bytes);
}

}  // namespace shadowprof::truncated_files_test
