// A guest for tests of system calls: memory without an emulator, and an environment without a
// process.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "guest_kernel/input/input_calls.h"
#include "guest_kernel/input/recorded_input.h"
#include "guest_kernel/state/environment.h"
#include "guest_kernel/syscall_emulator.h"

namespace shadowprof {

// An address space as a map of pages: slow, but simple enough to serve as the reference.
class FakeSpace : public GuestSpace {
  public:
    struct Page {
        Mapping mapping;
        std::vector<std::byte> bytes = std::vector<std::byte>(page_bytes);
    };

    bool read(GuestAddress from, std::span<std::byte> to) override {
        return each_page(from, to.size(), [&](Page& page, auto in_page, auto at, auto bytes) {
            if (page.mapping.readable) std::memcpy(&to[at], &page.bytes[in_page], bytes);
            return page.mapping.readable;
        });
    }
    bool write(GuestAddress to, std::span<const std::byte> from) override {
        return each_page(to, from.size(), [&](Page& page, auto in_page, auto at, auto bytes) {
            if (page.mapping.writable) std::memcpy(&page.bytes[in_page], &from[at], bytes);
            return page.mapping.writable;
        });
    }
    const Mapping* find(GuestAddress address) const override {
        auto it = pages_.find(address.page().value);
        return it == pages_.end() ? nullptr : &it->second.mapping;
    }
    const Mapping* find_at_or_after(GuestAddress address) const override {
        auto it = pages_.lower_bound(address.page().value);
        return it == pages_.end() ? nullptr : &it->second.mapping;
    }
    std::optional<GuestAddress> find_free(std::uint64_t size) const override {
        std::uint64_t end = mmap_top;
        while (end >= size + page_bytes) {
            auto it = pages_.lower_bound(end - size);
            if (it == pages_.end() || it->first >= end) return GuestAddress{end - size};
            end = it->first;
        }
        return std::nullopt;
    }
    bool map(const Mapping& mapping) override {
        if (mapping.size_bytes() > max_bytes) return false;
        for (auto at = mapping.start; at < mapping.end; at = at + page_bytes) {
            Page page;
            page.mapping = mapping;
            page.mapping.start = at;
            page.mapping.end = at + page_bytes;
            if (mapping.is_file()) page.mapping.file_offset += at - mapping.start;
            pages_.insert_or_assign(at.value, std::move(page));
        }
        return true;
    }
    bool unmap(GuestAddress start, std::uint64_t size) override {
        pages_.erase(pages_.lower_bound(start.value), pages_.lower_bound(start.value + size));
        return true;
    }
    bool protect(GuestAddress start, std::uint64_t size, Protection protection) override {
        auto first = pages_.lower_bound(start.value);
        auto last = pages_.lower_bound(start.value + size);
        std::uint64_t count = 0;
        for (auto it = first; it != last; ++it, ++count) {
            it->second.mapping.readable = protection.readable;
            it->second.mapping.writable = protection.writable;
            it->second.mapping.executable = protection.executable;
        }
        return count == size / page_bytes;
    }

    std::uint64_t page_count() const { return pages_.size(); }

  private:
    static constexpr std::uint64_t mmap_top = 0x7ffff7fff000;
    static constexpr std::uint64_t max_bytes = 64 << 20;

    // Calls use(page, offset in the page, offset in the range, bytes) in order, until a page is
    // missing or `use` returns false.
    template <typename Use>
    bool each_page(GuestAddress start, std::size_t size, Use use) {
        for (std::size_t at = 0, bytes = 0; at < size; at += bytes) {
            const std::size_t in_page = (start.value + at) % page_bytes;
            bytes = std::min(size - at, page_bytes - in_page);
            const auto page = pages_.find((start + at).page().value);
            if (page == pages_.end() || !use(page->second, in_page, at, bytes)) return false;
        }
        return true;
    }

    std::map<std::uint64_t, Page> pages_;
};

// An environment of tables: tests put in descriptors and files.
class FakeEnvironment : public SampleEnvironment {
  public:
    struct File {
        FileStatus status;
        std::string contents;
        bool changed = false;  // whether it was changed since the snapshot
    };

    FakeEnvironment() {
        process.pid = process.tid = 4711;
        process.parent_pid = 4000;
        process.uid = process.effective_uid = process.fs_uid = 1000;
        process.start_brk = 0x555555600000;
        process.affinity_bytes = 8;
        process.affinity[0] = 0xf;
        process.limits_known = process.uname_known = 1;
        for (auto& limit : process.limits) limit = {1024, 4096};
        std::strcpy(process.working_directory.data(), "/home/user");
        std::strcpy(process.command.data(), "program");
        for (std::size_t i = 0; i < clock_count; ++i)
            times.ns[i] = static_cast<std::int64_t>(i + 1) * 1'000'000'000'000;
        times.coarse_resolution_ns = 4'000'000;
        process.membarrier_commands = 0x1ff;
        add_directory("/home/user");
        add_directory("/tmp");
    }

    File& add_file(const std::string& path, std::string contents) {
        File& file = files[path];
        file.status.mode = S_IFREG | 0644;
        file.status.uid = 1000;
        file.status.device = 1;
        file.status.inode = ++last_inode_;
        file.status.links = 1;
        file.status.size_bytes = contents.size();
        file.contents = std::move(contents);
        return file;
    }
    void add_directory(const std::string& path) {
        File& file = add_file(path, "");
        file.status.mode = S_IFDIR | 0777;
    }
    // Adds a descriptor of a file that was added before.
    void add_descriptor(int fd, const std::string& path, int flags, std::uint64_t offset = 0) {
        DescriptorFacts facts{.status = files.at(path).status,
                              .offset = offset,
                              .flags = static_cast<std::uint32_t>(flags),
                              .offset_known = 1};
        descriptors[fd] = {facts, path};
    }
    // Adds a descriptor of something that is not a file: a pipe (S_IFIFO), a socket, a device.
    void add_special(int fd, std::uint32_t type, int flags, std::uint64_t raw_device = 0) {
        DescriptorFacts facts{
            .status = {.inode = ++last_inode_, .raw_device = raw_device, .mode = type | 0666},
            .flags = static_cast<std::uint32_t>(flags),
            .offset_known = 1};
        descriptors[fd] = {facts, ""};
    }

    Result<SampleClocks> clocks(std::uint32_t) override { return times; }
    Result<SampleFacts> facts(std::uint32_t thread) override {
        auto facts = process;
        facts.tid += static_cast<std::int32_t>(thread);
        return facts;
    }
    Result<DescriptorFacts> describe(int fd) override {
        auto it = descriptors.find(fd);
        if (it == descriptors.end()) return errno_error("fd", EBADF);
        return it->second.facts;
    }
    Result<bool> same_description(int fd_a, int fd_b) override {
        return std::find(shared.begin(), shared.end(), std::pair(fd_a, fd_b)) != shared.end();
    }
    Result<TerminalFacts> terminal(int) override {
        TerminalFacts facts;
        facts.termios[0] = std::byte{0x5a};
        return facts;
    }
    Result<OpenedFile> open_descriptor(int fd) override {
        auto it = descriptors.find(fd);
        if (it == descriptors.end()) return errno_error("fd", EBADF);
        return open_path({AT_FDCWD, it->second.path, true});
    }
    Result<OpenedFile> open_path(const PathRef& path) override {
        auto it = files.find(absolute(path));
        if (it == files.end()) return errno_error(path.path, ENOENT);
        opened_.push_back(it->first);
        return OpenedFile{FileHandle{static_cast<std::uint32_t>(opened_.size())},
                          it->second.status};
    }
    Result<FileRead> read(FileHandle handle, std::uint64_t offset,
                          std::span<std::byte> to) override {
        auto index = static_cast<std::uint32_t>(handle);
        if (index == 0 || index > opened_.size()) return errno_error("handle", EINVAL);
        const File& file = files.at(opened_[index - 1]);
        if (offset >= file.contents.size()) return FileRead{0, file.changed};
        std::size_t size = std::min(to.size(), file.contents.size() - offset);
        std::memcpy(to.data(), file.contents.data() + offset, size);
        return FileRead{size, file.changed};
    }
    Result<FileStatus> stat_path(const PathRef& path) override {
        auto it = files.find(absolute(path));
        if (it == files.end()) return errno_error(path.path, ENOENT);
        return it->second.status;
    }
    Result<std::string> read_link(const PathRef& path) override {
        if (path.path == "/proc/self/exe") return std::string("/usr/bin/program");
        return errno_error(path.path, EINVAL);
    }
    // Returns the next of `inputs`, whatever the arguments are.
    Result<std::span<const std::byte>> take_input(const InputCall& call) override {
        asked.push_back(call);
        if (inputs.empty()) return no_input;
        taken_input_ = encode(inputs.front());
        inputs.pop_front();
        return std::span<const std::byte>(taken_input_);
    }
    std::span<const std::byte> taken_input() const override { return taken_input_; }

    struct Descriptor {
        DescriptorFacts facts;
        std::string path;
    };
    SampleFacts process;
    SampleClocks times;
    std::map<std::string, File> files;
    std::map<int, Descriptor> descriptors;
    std::vector<std::pair<int, int>> shared;  // pairs of descriptors that dup(2) made
    std::deque<RecordedInput> inputs;
    std::vector<InputCall> asked;  // calls for which input was requested
    Error no_input{ErrorCode::interrupted, 0, "not yet"};

  private:
    static std::string absolute(const PathRef& ref) {
        if (ref.path == "." || ref.path.empty()) return "/home/user";
        return ref.path.front() == '/' ? ref.path : "/home/user/" + ref.path;
    }

    std::uint64_t last_inode_ = 100;
    std::vector<std::string> opened_;
    std::vector<std::byte> taken_input_;
};

// A guest with some memory that makes system calls.
class FakeGuest {
  public:
    static constexpr std::uint64_t data = 0x10000000;
    static constexpr std::uint64_t data_bytes = 16 * page_bytes;

    explicit FakeGuest(SampleEnvironment& environment, const SampleRules& rules = {})
        : emulator(environment, rules) {
        space.map(
            {.start = {data}, .end = {data + data_bytes}, .readable = true, .writable = true});
        cpu[Gpr::rsp] = data + data_bytes;
    }

    // The current thread makes the call. Returns its result; `end` says whether and how it ended
    // the sample.
    std::int64_t call(long number, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0,
                      std::uint64_t d = 0, std::uint64_t e = 0, std::uint64_t f = 0) {
        auto& current = threads.cpu();
        current[Gpr::rax] = static_cast<std::uint64_t>(number);
        current[Gpr::rdi] = a;
        current[Gpr::rsi] = b;
        current[Gpr::rdx] = c;
        current[Gpr::r10] = d;
        current[Gpr::r8] = e;
        current[Gpr::r9] = f;
        end = emulator.on_syscall(threads, space, elapsed_ns);
        return static_cast<std::int64_t>(current[Gpr::rax]);
    }
    // Puts bytes into the guest's memory and returns their address.
    std::uint64_t put(std::string_view bytes, std::uint64_t at = data) {
        space.write({at}, std::as_bytes(std::span(bytes)));
        return at;
    }
    std::uint64_t put_string(const std::string& text, std::uint64_t at = data) {
        return put({text.c_str(), text.size() + 1}, at);
    }
    template <typename T>
    std::uint64_t put_value(const T& value, std::uint64_t at = data) {
        guest_store(space, {at}, value);
        return at;
    }
    std::string text(std::uint64_t at, std::size_t size) {
        std::string bytes(size, '\0');
        if (!space.read({at}, std::as_writable_bytes(std::span(bytes)))) return "(unreadable)";
        return bytes;
    }
    template <typename T>
    T value(std::uint64_t at) {
        return read_value<T>(space, {at}).value_or(T{});
    }

    FakeSpace space;
    GuestThreads threads{CpuState{}};
    CpuState& cpu = threads.cpu();  // the first thread's
    SyscallEmulator emulator;
    std::optional<SampleEnd> end;
    std::uint64_t elapsed_ns = 0;
};

}  // namespace shadowprof
