#include "ptrace/process/scratch_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "ptrace/proc/proc.h"
#include "ptrace/remote/remote_syscall.h"
#include "ptrace/thread/process_memory.h"
#include "ptrace/thread/seccomp_state.h"

#ifndef PR_GET_MDWE
#define PR_GET_MDWE 66
#endif

namespace shadowprof {
namespace {

constexpr std::string_view file_name = "shadowprof";  // with its terminating zero
constexpr std::uint64_t no_descriptor = ~std::uint64_t{0};

std::size_t whole_pages(std::size_t bytes) {
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

Error forbidden(std::string_view how) {
    return {ErrorCode::permission, 0,
            fmt::format("no executable memory can be added to the program: {}", how)};
}

// Refuses filters that are not known to be our own, since reading a filter takes CAP_SYS_ADMIN.
Result<void> check_filters(pid_t tid) {
    constexpr int no_seccomp = 0;
    TRY_ASSIGN(const ProcStatus target, read_proc_status(tid));
    if (target.seccomp == no_seccomp) return {};
    TRY_ASSIGN(const ProcStatus own, read_proc_status(::getpid()));
    const ProcStatus first = read_proc_status(1).value_or(ProcStatus{});
    if (has_same_filters(target, own, ::getpid(), first)) return {};
    return forbidden("its seccomp filter may forbid it");
}

// Injected calls, which undo their effects unless keep() is called.
class Injection {
  public:
    Injection(RemoteSyscall& session, pid_t tid) : session_(session), tid_(tid) {}
    ~Injection() {
        if (descriptor_) (void)session_.call(SYS_close, {*descriptor_});
        if (name_) (void)session_.call(SYS_munmap, {name_->value, page_bytes});
        if (range_) (void)session_.call(SYS_munmap, {range_->start.value, size()});
    }
    Injection(const Injection&) = delete;
    Injection& operator=(const Injection&) = delete;

    Result<void> check_policy();
    Result<UniqueFd> make_file(std::size_t bytes);
    Result<MemoryRange> map(std::size_t code_bytes, std::size_t bytes);
    void keep() { range_.reset(); }

  private:
    std::uint64_t size() const { return range_->end - range_->start; }
    Result<std::uint64_t> call(std::string_view what, std::uint64_t number,
                               std::array<std::uint64_t, 6> arguments) {
        TRY_ASSIGN(const std::int64_t answer, session_.call(number, arguments));
        if (answer < 0 && answer >= -4095) return errno_error(what, static_cast<int>(-answer));
        return static_cast<std::uint64_t>(answer);
    }

    RemoteSyscall& session_;
    pid_t tid_;
    std::optional<GuestAddress> name_;  // a page with the file's name
    std::optional<std::uint64_t> descriptor_;
    std::optional<MemoryRange> range_;
};

// Tries to map executable memory, which fails if the program forbids it. The page then holds the
// file's name.
Result<void> Injection::check_policy() {
    TRY_ASSIGN(const std::int64_t mdwe, session_.call(SYS_prctl, {PR_GET_MDWE, 0, 0, 0, 0}));
    if (mdwe > 0) return forbidden("it has forbidden that itself (PR_SET_MDWE)");
    const auto page =
        call("mmap", SYS_mmap,
             {0, page_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, no_descriptor, 0});
    if (!page && page.error().code == ErrorCode::permission)
        return forbidden("the system forbids it, as policies of SELinux do");
    if (!page) return page.error();
    name_ = GuestAddress{*page};
    return {};
}

Result<UniqueFd> Injection::make_file(std::size_t bytes) {
    {
        TRY_ASSIGN(const UniqueFd memory, open_process_memory(tid_, O_RDWR));
        const auto size = static_cast<ssize_t>(file_name.size() + 1);
        if (pwrite(memory.get(), file_name.data(), file_name.size() + 1,
                   static_cast<off_t>(name_->value)) != size)
            return errno_error("write to the program's memory");
    }
    TRY_ASSIGN(descriptor_, call("memfd_create", SYS_memfd_create, {name_->value, MFD_CLOEXEC}));
    TRY(call("ftruncate", SYS_ftruncate, {*descriptor_, bytes}));
    const auto path = fmt::format("/proc/{}/fd/{}", tid_, *descriptor_);
    UniqueFd ours(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!ours) return errno_error("open the memory for timing loads");
    return ours;
}

Result<MemoryRange> Injection::map(std::size_t code_bytes, std::size_t bytes) {
    TRY_ASSIGN(
        const auto start,
        call("mmap", SYS_mmap, {0, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, *descriptor_, 0}));
    range_ = {{start}, {start + bytes}};
    TRY(call("mmap", SYS_mmap,
             {start + code_bytes, bytes - code_bytes, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_FIXED, *descriptor_, code_bytes}));
    TRY(call("madvise", SYS_madvise, {start, bytes, MADV_DONTFORK}));
    return *range_;
}

Result<std::byte*> map_ours(const UniqueFd& file, std::size_t bytes) {
    void* ours = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (ours == MAP_FAILED) return errno_error("map the memory for timing loads");
    return static_cast<std::byte*>(ours);
}

}  // namespace

Result<ScratchMemory> ScratchMemory::inject(ScopedStop& stop, std::span<const std::byte> code,
                                            std::size_t data_bytes) {
    Target& target = stop.target();
    if (stop.threads().empty())
        return Error{ErrorCode::unsupported, 0, "no thread of the program could be stopped"};
    StoppedThread& thread = *RemoteSyscall::threads_to_borrow(stop.threads()).front();
    TRY(check_filters(thread.tid()));
    TRY_ASSIGN(auto session, target.borrow(thread));
    const auto code_bytes = whole_pages(code.size());
    const auto bytes = code_bytes + whole_pages(data_bytes);
    Injection injection(session, thread.tid());
    TRY(injection.check_policy());
    TRY_ASSIGN(const UniqueFd file, injection.make_file(bytes));
    struct stat about = {};
    if (fstat(file.get(), &about) != 0) return errno_error("look at the memory for timing loads");
    TRY_ASSIGN(std::byte* const ours, map_ours(file, bytes));
    std::copy(code.begin(), code.end(), ours);
    auto range = injection.map(code_bytes, bytes);
    if (!range) {
        munmap(ours, bytes);
        if (range.error().code == ErrorCode::permission)
            return forbidden("the system forbids it, as policies of SELinux do");
        return std::move(range).error();
    }
    injection.keep();
    target.note_injected({*range, about.st_ino});
    return ScratchMemory(*range, code_bytes, ours, about.st_ino);
}

ScratchMemory::ScratchMemory(ScratchMemory&& other) noexcept
    : range_(other.range_),
      code_bytes_(other.code_bytes_),
      ours_(std::exchange(other.ours_, nullptr)),
      bytes_(other.bytes_),
      inode_(other.inode_) {}

ScratchMemory::~ScratchMemory() {
    if (ours_) munmap(ours_, bytes_);
}

bool ScratchMemory::is_in(const MemoryMap& map) const {
    return InjectedMemory{range_, inode_}.is_in(map);
}

}  // namespace shadowprof
