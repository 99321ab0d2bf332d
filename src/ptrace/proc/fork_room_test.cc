#include "ptrace/proc/fork_room.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace shadowprof::fork_room_test {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

// A directory that looks like a mounted hierarchy.
class Hierarchy {
  public:
    Hierarchy() : top_(fmt::format("/tmp/shadowprof-cgroups-{}", ::getpid())) {}
    ~Hierarchy() { std::filesystem::remove_all(top_); }

    std::string mount() const { return top_; }
    void put(const std::string& file, std::string_view text) {
        const std::filesystem::path path = top_ + "/" + file;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text << '\n';
    }

  private:
    std::string top_;
};

}  // namespace

TEST_CASE("the least room of all groups above counts, file caches being room") {
    Hierarchy all;
    all.put("a/memory.max", fmt::format("{}", 100 * mib));
    all.put("a/memory.current", fmt::format("{}", 90 * mib));
    all.put("a/memory.stat", fmt::format("anon 1\ninactive_file {}\nactive_file 7", 20 * mib));
    all.put("a/b/memory.max", "max");
    all.put("a/b/memory.current", "5");
    all.put("a/b/pids.max", "100");
    all.put("a/b/pids.current", "98");
    const auto room = read_cgroup_room("0::/a/b\n", all.mount());
    CHECK(room.memory_bytes == 30 * mib);
    CHECK(room.processes == 2);
}

TEST_CASE("version 1 has a hierarchy a controller, and other names") {
    Hierarchy all;
    all.put("memory/memory.limit_in_bytes", fmt::format("{}", 50 * mib));
    all.put("memory/memory.usage_in_bytes", fmt::format("{}", 60 * mib));
    all.put("pids/x/pids.max", "10");
    all.put("pids/x/pids.current", "4");
    const auto room =
        read_cgroup_room("8:pids:/x\n5:cpu,memory:/hidden/here\n1:name=systemd:/\n", all.mount());
    CHECK(room.memory_bytes == 0);
    CHECK(room.processes == 6);
}

TEST_CASE("without limits, and of texts that make no sense, there is nothing to say") {
    Hierarchy all;
    all.put("memory.max", "12");  // must not be reached through ..
    all.put("memory.current", "12");
    for (const char* text : {"", "\n", "0:", "0::/../..\n", "x", "4:memory:/none\n"}) {
        const auto room = read_cgroup_room(text, all.mount() + "/below");
        CHECK(!room.memory_bytes);
        CHECK(!room.processes);
    }
}

TEST_CASE("each limit that is near is a shortage") {
    const auto needs = ForkNeeds::parse(
        "VmData:\t 1048576 kB\nRssAnon:\t 524288 kB\n"
        "VmPTE:\t 1024 kB\n");
    CHECK(needs.memory_bytes(2) == 130 * mib);  // less than all resident memory
    const auto machine = MachineMemory::parse(
        "MemAvailable: 1048576 kB\nCommitLimit: 3145728 kB\nCommitted_AS: 2097152 kB\n", "0\n");
    CHECK(!shortage(needs, {}, machine, 2));
    CHECK(shortage(needs, {.memory_bytes = 129 * mib}, machine, 2));
    CHECK(!shortage(needs, {.memory_bytes = 130 * mib}, machine, 2));
    CHECK(shortage(needs, {.processes = 3}, machine, 2));
    CHECK(!shortage(needs, {.processes = 300}, machine, 2));
    CHECK(shortage(needs, {}, MachineMemory::parse("MemAvailable: 4096 kB\n", "1"), 2));
    CHECK(!shortage(needs, {}, MachineMemory::parse("", ""), 2));
    auto huge = needs;
    huge.huge_bytes = 6 * mib;
    const auto pool = [](int free, int reserved) {
        return MachineMemory::parse(fmt::format("HugePages_Free: {}\nHugePages_Rsvd: {}\n"
                                                "Hugepagesize: 2048 kB\n",
                                                free, reserved),
                                    "0");
    };
    CHECK(shortage(huge, {}, pool(3, 1), 1));
    CHECK(!shortage(huge, {}, pool(4, 1), 1));
    auto strict = machine;
    strict.strict_accounting = true;
    CHECK(shortage(needs, {}, strict, 2));
}

}  // namespace shadowprof::fork_room_test
