// Code that is translated before it is needed.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <initializer_list>

#include "base/files/fd.h"
#include "emu/test_guest.h"

namespace shadowprof::ahead_test {

extern "C" {
std::uint64_t test_displaced_registers(std::uint64_t iterations);
std::uint64_t test_fibonacci(std::uint64_t n);
std::uint64_t test_indirect(std::uint64_t iterations);
std::uint64_t test_counter(std::uint64_t iterations);
}

namespace {

const void* code_of(std::uint64_t (*function)(std::uint64_t)) {
    return reinterpret_cast<const void*>(function);
}

// A file whose page is code: mov eax, value; ret.
UniqueFd code_file(std::uint8_t value) {
    UniqueFd file(memfd_create("code", MFD_CLOEXEC));
    const std::array<std::uint8_t, 6> code = {0xb8, value, 0, 0, 0, 0xc3};
    REQUIRE(ftruncate(file.get(), static_cast<off_t>(page_bytes)) == 0);
    REQUIRE(pwrite(file.get(), code.data(), code.size(), 0) == static_cast<ssize_t>(code.size()));
    return file;
}

// A page that files are mapped to.
class CodePage {
  public:
    CodePage() { at_ = mmap(nullptr, page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
    ~CodePage() { munmap(at_, page_bytes); }
    void show(const UniqueFd& file, int protection, int flags = MAP_PRIVATE) const {
        REQUIRE(mmap(at_, page_bytes, protection, flags | MAP_FIXED, file.get(), 0) == at_);
    }
    void* at() const { return at_; }

  private:
    void* at_;
};

std::uint64_t result_of(TestGuest& guest, const CodePage& page) {
    CHECK(TestGuest::returned(guest.call(page.at())));
    return guest.cpu[Gpr::rax];
}

}  // namespace

TEST_CASE("what was translated ahead is not translated when it runs") {
    for (const auto level : {TraceLevel::blocks, TraceLevel::values, TraceLevel::references}) {
        CAPTURE(level);
        TestGuest guest;
        guest.trace_at(level);
        guest.prepare(
            {code_of(test_displaced_registers), code_of(test_fibonacci), code_of(test_counter)},
            {.values = level == TraceLevel::values, .references = level == TraceLevel::references});
        const auto before = guest.translated_blocks();
        CHECK(before > 10);
        CHECK(TestGuest::returned(guest.call(code_of(test_displaced_registers), 50)));
        CHECK(guest.cpu[Gpr::rax] == test_displaced_registers(50));
        CHECK(TestGuest::returned(guest.call(code_of(test_fibonacci), 12)));
        CHECK(guest.cpu[Gpr::rax] == test_fibonacci(12));
        CHECK(TestGuest::returned(guest.call(code_of(test_counter), 100)));
        CHECK(guest.translated_blocks() == before);
    }
}

TEST_CASE("where branches lead that nobody foresaw is translated when it runs") {
    TestGuest guest;
    guest.prepare({code_of(test_indirect)});
    const auto before = guest.translated_blocks();
    CHECK(TestGuest::returned(guest.call(code_of(test_indirect), 20)));
    CHECK(guest.cpu[Gpr::rax] == test_indirect(20));
    CHECK(guest.translated_blocks() > before);
}

TEST_CASE("what ran leads to what is translated ahead next") {
    TestGuest guest;
    CHECK(TestGuest::returned(guest.call(code_of(test_counter), 1)));
    const auto ran = guest.translated_blocks();
    guest.prepare({});
    const auto prepared = guest.translated_blocks();
    CHECK(prepared >= ran);
    CHECK(TestGuest::returned(guest.call(code_of(test_counter), 100)));
    CHECK(guest.translated_blocks() == prepared);
    // There is nothing new to translate.
    guest.prepare({});
    guest.prepare({code_of(test_counter)});
    CHECK(guest.translated_blocks() == prepared);
}

TEST_CASE("translating ahead ends when it is told to, and goes on from there") {
    TestGuest guest;
    guest.blocks_to_prepare = 0;
    CHECK(guest.prepare_some({code_of(test_fibonacci)}));
    CHECK(guest.translated_blocks() == 0);
    guest.blocks_to_prepare = ~std::uint64_t{0};
    guest.prepare({});
    CHECK(guest.translated_blocks() > 0);
}

TEST_CASE("code that became another file's is not what was translated ahead") {
    const auto one = code_file(1), two = code_file(2);
    const CodePage page;
    page.show(one, PROT_READ | PROT_EXEC);
    TestGuest guest;
    guest.prepare({page.at()});
    const auto prepared = guest.translated_blocks();
    CHECK(prepared == 1);
    CHECK(result_of(guest, page) == 1);
    CHECK(guest.translated_blocks() == prepared);
    page.show(two, PROT_READ | PROT_EXEC);
    CHECK(result_of(guest, page) == 2);
    CHECK(guest.translated_blocks() > prepared);
    page.show(one, PROT_READ | PROT_EXEC);
    CHECK(result_of(guest, page) == 1);
}

TEST_CASE("code that became writable is not what was translated ahead") {
    const auto file = code_file(1);
    const CodePage page;
    page.show(file, PROT_READ | PROT_EXEC);
    TestGuest guest;
    guest.prepare({page.at()});
    REQUIRE(mprotect(page.at(), page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    static_cast<std::uint8_t*>(page.at())[1] = 3;
    CHECK(result_of(guest, page) == 3);
    static_cast<std::uint8_t*>(page.at())[1] = 4;
    CHECK(result_of(guest, page) == 4);
}

TEST_CASE("what may change is not translated ahead") {
    const auto file = code_file(1);
    const CodePage page;
    TestGuest guest;
    page.show(file, PROT_READ | PROT_WRITE | PROT_EXEC);
    guest.prepare({page.at()});
    page.show(file, PROT_READ | PROT_EXEC, MAP_SHARED);
    guest.prepare({page.at()});
    page.show(file, PROT_READ);
    guest.prepare({page.at(), nullptr, &guest});
    CHECK(guest.translated_blocks() == 0);
}

TEST_CASE("translating ahead leaves most of the memory for what runs") {
    TestGuest guest;
    guest.prepare({code_of(test_fibonacci), reinterpret_cast<const void*>(&memfd_create)});
    CHECK_FALSE(guest.tables().is_filled(0.3));
}

}  // namespace shadowprof::ahead_test
