#include "ptrace/remote/scratch_word.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>

#include "ptrace/thread/process_memory.h"
#include "ptrace/thread/thread_registers.h"

namespace shadowprof {
namespace {

using Word = std::uint32_t;
// The distance from the stack pointer that is searched.
constexpr std::uint64_t searched_bytes = 16 * page_bytes;

Result<Word> read_word(int memory, GuestAddress address) {
    Word value = 0;
    if (::pread(memory, &value, sizeof value, static_cast<off_t>(address.value)) != sizeof value)
        return errno_error("read the program's stack");
    return value;
}

std::optional<GuestAddress> find_zero(int memory, std::uint64_t end) {
    for (std::uint64_t at = end; at > end - searched_bytes; at -= sizeof(Word)) {
        const GuestAddress address{at - sizeof(Word)};
        const auto value = read_word(memory, address);
        if (!value) return std::nullopt;
        if (*value == 0) return address;
    }
    return std::nullopt;
}

}  // namespace

Result<ScratchWord> ScratchWord::find(const StoppedThread& thread) {
    TRY_ASSIGN(const auto registers, thread.registers());
    TRY_ASSIGN(UniqueFd memory, open_process_memory(thread.tid(), O_RDWR));
    const std::uint64_t end = (registers.rsp - red_zone_bytes) & ~(sizeof(Word) - 1);
    const auto address = find_zero(memory.get(), end);
    if (!address) return Error{ErrorCode::unsupported, 0, "its stack has no unused word"};
    return ScratchWord(std::move(memory), *address);
}

ScratchWord::ScratchWord(ScratchWord&& other) noexcept = default;

ScratchWord::~ScratchWord() {
    if (!memory_) return;
    const auto value = read();
    if (value && *value != 0) static_cast<void>(write(0));
}

Result<Word> ScratchWord::read() const {
    return read_word(memory_.get(), address_);
}

Result<void> ScratchWord::write(Word value) {
    if (::pwrite(memory_.get(), &value, sizeof value, static_cast<off_t>(address_.value)) !=
        sizeof value)
        return errno_error("write to the program's stack");
    return {};
}

}  // namespace shadowprof
