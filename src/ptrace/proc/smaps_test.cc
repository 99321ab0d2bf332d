#include "ptrace/proc/smaps.h"

#include <unistd.h>

#include <algorithm>

#include "ptrace/test_support.h"

namespace shadowprof::smaps_test {
namespace {

constexpr std::string_view head = "1000-2000 rw-p 00000000 00:00 0 [heap]\n";

std::size_t count_flagged(std::string_view text) {
    auto found = parse_flagged_mappings(text);
    return need(found).size();
}

}  // namespace

TEST_CASE("each mapping has the flags behind it") {
    auto found = parse_flagged_mappings(
        "1000-2000 rw-p 00000000 00:00 0 [heap]\nSize:  4 kB\nVmFlags: rd wr dc \n"
        "2000-3000 r--s 00000000 00:05 9 /dev/shm/Size: x\nVmFlags: rd\n"
        "3000-4000 ---p 00000000 00:00 0 \nSize:  4 kB\n");
    REQUIRE(need(found).size() == 2);
    CHECK(found->at(0).mapping.name == "[heap]");
    CHECK(found->at(0).has("rd"));
    CHECK(found->at(0).has("dc"));
    CHECK_FALSE(found->at(0).has("d "));
    CHECK_FALSE(found->at(0).has("dw"));
    CHECK(found->at(1).mapping.shared);
    CHECK(found->at(1).has("rd"));
    CHECK_FALSE(found->at(1).has("wr"));
}

TEST_CASE("flags that are cut off or run together are none") {
    for (const char* flags : {"", "VmFlags:", "VmFlags: ", "VmFlags: d", "VmFlags:dc ",
                              "VmFlags: rdc", "VmFlags:  dc", "VmFlags: r dc"}) {
        const auto text = std::string(head) + flags;
        auto found = parse_flagged_mappings(text);
        REQUIRE(need(found).size() <= 1);
        for (const auto& each : *found) CHECK_FALSE(each.has("dc"));
    }
}

TEST_CASE("flags belong to one mapping and a mapping has them once") {
    CHECK(count_flagged("") == 0);
    CHECK(count_flagged("\n\n") == 0);
    CHECK(count_flagged("VmFlags: rd\n") == 0);
    CHECK(count_flagged("Size: 1\nVmFlags: rd\n") == 0);
    CHECK(count_flagged(head) == 0);
    CHECK(count_flagged(std::string(head) + "VmFlags: rd\nVmFlags: wr") == 1);
    CHECK(count_flagged(std::string(head) + "\nVmFlags: rd\n") == 1);
}

TEST_CASE("what is neither a mapping nor a key is refused") {
    using namespace std::string_view_literals;
    for (const auto text : {"nonsense\nVmFlags: rd\n"sv, "1000-"sv, " \n"sv, "\r\n"sv, "\0\n"sv,
                            "2000-1000 rw-p 00000000 00:00 0 \n"sv, "[heap]"sv, "\xff"sv})
        CHECK_FALSE(parse_flagged_mappings(text));
}

TEST_CASE("wherever a text ends, it says nothing that the whole does not say") {
    const auto text = std::string(head) + "Size: 4 kB\nVmFlags: rd wr dc io \n" +
                      "2000-3000 r--p 00000000 00:00 0 \nVmFlags: rd \n";
    for (std::size_t length = 0; length <= text.size(); ++length) {
        const auto found = parse_flagged_mappings(std::string_view(text).substr(0, length));
        if (!found) continue;
        CHECK(found->size() <= 2);
        for (const auto& each : *found) CHECK_FALSE(each.has("um"));
    }
}

TEST_CASE("what the kernel writes of this process is read") {
    auto text = read_smaps_text(::getpid());
    auto found = parse_flagged_mappings(need(text));
    const GuestAddress here{reinterpret_cast<std::uint64_t>(&head)};
    CHECK(std::ranges::any_of(need(found), [&](const FlaggedMapping& each) {
        return each.mapping.contains(here) && each.has("rd");
    }));
}

}  // namespace shadowprof::smaps_test
