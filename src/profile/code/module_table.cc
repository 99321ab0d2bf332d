#include "profile/code/module_table.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/text/text_format.h"
#include "profile/code/mapped_file.h"

namespace shadowprof {
namespace {

// A program may map more files than this process may open.
constexpr std::size_t max_open_files = 400;

// Memory with an inode but without a file that can be opened: JIT code, shared memory.
bool is_nameless_file(std::string_view name) {
    return name.starts_with("/memfd:") || name.starts_with("/dev/zero") ||
           name.starts_with("/SYSV") || name.starts_with("anon_inode:") ||
           name.starts_with("//anon");
}

// Whether it is the mapping by which a just-in-time compiler shows profilers its file jit-PID.dump.
bool shows_jit_dump(const Mapping& mapping) {
    if (!mapping.executable || !mapping.is_file()) return false;
    std::string_view name = base_name(mapped_path(mapping));
    constexpr std::string_view start = "jit-", end = ".dump";
    if (!name.starts_with(start) || !name.ends_with(end)) return false;
    name.remove_prefix(start.size());
    return name.size() > end.size() &&
           name.find_first_not_of("0123456789") == name.size() - end.size();
}

}  // namespace

bool has_no_file(const Mapping& mapping) {
    return mapping.name != vdso_module && (!mapping.is_file() || is_nameless_file(mapping.name));
}

MappedFileOpener ModuleTable::default_opener() {
    return [](const Mapping& mapping) { return open_mapped_file(mapping); };
}

ModuleTable::ModuleTable(MappedFileOpener opener) : opener_(std::move(opener)) {}

CodeView CodeView::of(pid_t process) {
    return {FileView::of(process), anonymous_module_of(process)};
}

CodeLocation ModuleTable::locate(const Mapping* mapping, GuestAddress address,
                                 const CodeView* view) {
    std::lock_guard lock(mutex_);
    const std::string_view anonymous = view ? view->anonymous : anonymous_module;
    if (!mapping) return {pseudo_module(anonymous), address.value};
    if (mapping->name == vdso_module) return {pseudo_module(vdso_module), address - mapping->start};
    if (has_no_file(*mapping)) return {pseudo_module(anonymous), address.value};
    const std::uint32_t module = file_module(*mapping, view);
    const std::uint64_t offset = mapping->file_offset + (address - mapping->start);
    return {module, entries_[module].layout.address_of(offset).value_or(offset)};
}

void ModuleTable::keep_jit_dump(const MemoryMap& map, const CodeView* view) {
    std::lock_guard lock(mutex_);
    const auto module = pseudo_module(view ? view->anonymous : anonymous_module);
    if (entries_[module].file || entries_.size() >= max_open_files) return;
    const auto shown = std::ranges::find_if(map.mappings(), shows_jit_dump);
    if (shown == map.mappings().end()) return;
    if (auto file = open(*shown, view)) entries_[module].file = std::move(file).value();
}

std::uint32_t ModuleTable::script(std::string_view name) {
    const std::lock_guard lock(mutex_);
    return pseudo_module(name);
}

std::vector<Module> ModuleTable::modules() const {
    std::lock_guard lock(mutex_);
    std::vector<Module> modules;
    for (const Entry& entry : entries_) modules.push_back(entry.module);
    return modules;
}

std::string ModuleTable::path_to(std::uint32_t module) const {
    std::lock_guard lock(mutex_);
    const Entry& entry = entries_[module];
    return entry.file ? fmt::format("/proc/self/fd/{}", entry.file.get()) : entry.module.path;
}

void ModuleTable::scan_maps(pid_t process) {
    std::lock_guard lock(mutex_);
    opener_ = [view = FileView::of(process)](const Mapping& mapping) {
        return open_mapped_file(mapping, view);
    };
}

std::vector<UniqueFd> ModuleTable::take_files() {
    std::lock_guard lock(mutex_);
    std::vector<UniqueFd> files;
    for (Entry& entry : entries_) files.push_back(std::move(entry.file));
    return files;
}

std::vector<UniqueFd> ModuleTable::copy_files() const {
    std::lock_guard lock(mutex_);
    std::vector<UniqueFd> files;
    for (const Entry& entry : entries_)
        files.emplace_back(entry.file ? ::fcntl(entry.file.get(), F_DUPFD_CLOEXEC, 0) : -1);
    return files;
}

std::uint32_t ModuleTable::file_module(const Mapping& mapping, const CodeView* view) {
    FileKey key{mapping.name, mapping.device, mapping.inode};
    if (auto found = by_file_.find(key); found != by_file_.end()) return found->second;
    Entry entry{{mapping.name, {}, 0}, {}, {}};
    if (auto fd = open(mapping, view)) {
        entry.module.path = mapped_path(mapping);
        struct stat status {};
        if (::fstat(fd->get(), &status) == 0)
            entry.module.size_bytes = static_cast<std::uint64_t>(status.st_size);
        if (auto layout = ElfLayout::read(fd->get())) entry.layout = std::move(*layout);
        entry.module.build_id = entry.layout.build_id();
        if (entries_.size() < max_open_files) entry.file = std::move(fd).value();
    }
    return by_file_[key] = add(std::move(entry));
}

Result<UniqueFd> ModuleTable::open(const Mapping& mapping, const CodeView* view) const {
    return view ? open_mapped_file(mapping, view->files) : opener_(mapping);
}

std::uint32_t ModuleTable::pseudo_module(std::string_view name) {
    FileKey key{name, 0, 0};
    if (auto found = by_file_.find(key); found != by_file_.end()) return found->second;
    return by_file_[key] = add({{std::string(name), {}, 0}, {}, {}});
}

// Returns the index of an equal module, or else of a new one.
std::uint32_t ModuleTable::add(Entry entry) {
    auto same = [&](const Entry& e) {
        return e.module.path == entry.module.path && e.module.build_id == entry.module.build_id &&
               e.module.size_bytes == entry.module.size_bytes;
    };
    auto found = std::find_if(entries_.begin(), entries_.end(), same);
    if (found != entries_.end()) return static_cast<std::uint32_t>(found - entries_.begin());
    entries_.push_back(std::move(entry));
    return static_cast<std::uint32_t>(entries_.size() - 1);
}

}  // namespace shadowprof
