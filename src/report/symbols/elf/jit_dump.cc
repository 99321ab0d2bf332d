#include "report/symbols/elf/jit_dump.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/files/file_text.h"

namespace shadowprof {
namespace {

constexpr std::uint32_t magic = 0x4a695444;  // "JiTD"
constexpr std::size_t max_functions = 4'000'000;

struct FileHeader {
    std::uint32_t magic, version, size_bytes, machine, padding, pid;
    std::uint64_t timestamp, flags;
};

enum RecordId : std::uint32_t { code_load = 0, code_move = 1, code_close = 3 };

struct RecordHeader {
    std::uint32_t id, size_bytes;  // with this header
    std::uint64_t timestamp;
};

// Followed by the name, a zero and the code.
struct LoadRecord {
    std::uint32_t pid, tid;
    std::uint64_t virtual_address, start, size_bytes, code_index;
};

struct MoveRecord {
    std::uint32_t pid, tid;
    std::uint64_t virtual_address, old_start, new_start, size_bytes, code_index;
};

// Removes the object from the front; nothing if `bytes` are too few.
template <typename T>
requires std::is_trivially_copyable_v<T> std::optional<T> take(std::string_view& bytes) {
    if (bytes.size() < sizeof(T)) return std::nullopt;
    T object;
    std::memcpy(&object, bytes.data(), sizeof object);
    bytes.remove_prefix(sizeof object);
    return object;
}

}  // namespace

Result<std::unique_ptr<JitDump>> JitDump::parse(std::string bytes) {
    std::unique_ptr<JitDump> dump(new JitDump(std::move(bytes)));
    std::string_view rest = dump->bytes_;
    const auto header = take<FileHeader>(rest);
    if (dump->bytes_.empty()) return Error{ErrorCode::invalid, 0, "it is empty"};
    if (!header || header->magic != magic)
        return Error{ErrorCode::invalid, 0, "it is not a jitdump file of this byte order"};
    // CPython does not say for which machine its code is.
    if (header->machine != EM_X86_64 && header->machine != EM_NONE)
        return Error{ErrorCode::invalid, 0, "its code is not for x86-64"};
    if (header->size_bytes < sizeof(FileHeader) || header->size_bytes > dump->bytes_.size())
        return Error{ErrorCode::invalid, 0, "its header is damaged"};
    dump->add_records(std::string_view(dump->bytes_).substr(header->size_bytes));
    return dump;
}

Result<std::unique_ptr<JitDump>> JitDump::read(const std::string& path) {
    constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30;
    struct stat status;
    if (::stat(path.c_str(), &status) == 0 && std::cmp_greater(status.st_size, max_bytes))
        return Error{ErrorCode::invalid, 0, "it is larger than 1 GiB"};
    TRY_ASSIGN(std::string bytes, read_file_text(path, max_bytes));
    return parse(std::move(bytes));
}

void JitDump::add_records(std::string_view records) {
    while (true) {
        std::string_view record = records;
        const auto header = take<RecordHeader>(record);
        if (!header || header->size_bytes < sizeof(RecordHeader) ||
            header->size_bytes > records.size() || header->id == code_close ||
            functions_.size() >= max_functions)
            return;
        record = record.substr(0, header->size_bytes - sizeof(RecordHeader));
        if (header->id == code_load) load(record);
        if (header->id == code_move) move(record);
        records.remove_prefix(header->size_bytes);
    }
}

void JitDump::load(std::string_view record) {
    const auto load = take<LoadRecord>(record);
    const auto name_end = record.find('\0');
    if (!load || name_end == record.npos) return;
    const auto code = record.substr(name_end + 1);
    functions_.push_back({.start = load->start,
                          .name = record.substr(0, name_end),
                          .code = code.size() >= load->size_bytes ? code.substr(0, load->size_bytes)
                                                                  : std::string_view()});
    by_code_index_[load->code_index] = functions_.size() - 1;
    place(load->start, load->size_bytes, functions_.size() - 1);
}

// The old place keeps the name, for code that was executed there before.
void JitDump::move(std::string_view record) {
    const auto move = take<MoveRecord>(record);
    const auto found = move ? by_code_index_.find(move->code_index) : by_code_index_.end();
    if (found == by_code_index_.end()) return;
    Function moved = functions_[found->second];
    moved.start = move->new_start;
    functions_.push_back(moved);
    found->second = functions_.size() - 1;
    place(move->new_start, move->size_bytes, found->second);
}

void JitDump::place(std::uint64_t start, std::uint64_t size_bytes, std::size_t function) {
    if (size_bytes != 0 && start + size_bytes > start)
        ranges_.add(start, start + size_bytes, function);
}

NamedFunctions JitDump::functions() const {
    NamedFunctions named;
    for (const auto& [start, range] : ranges_.all())
        named.functions.push_back({start, range.end, functions_[range.value].name});
    return named;
}

std::size_t JitDump::code(std::uint64_t address, std::span<std::byte> to) const {
    const auto* index = ranges_.find(address);
    if (index == nullptr) return 0;
    const Function& function = functions_[*index];
    const auto offset = address - function.start;
    if (offset >= function.code.size()) return 0;
    const auto code = function.code.substr(offset, to.size());
    std::memcpy(to.data(), code.data(), code.size());
    return code.size();
}

}  // namespace shadowprof
