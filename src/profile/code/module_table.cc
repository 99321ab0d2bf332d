#include "profile/code/module_table.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "profile/code/jit_dump_file.h"
#include "profile/code/kernel_calls.h"
#include "profile/code/mapped_file.h"

namespace shadowprof {
namespace {

// A program may map more files than this process may open.
constexpr std::ptrdiff_t max_open_files = 400;

bool is_memfd(const Mapping& mapping) {
    return mapping.is_file() && mapping.name.starts_with("/memfd:");
}

// Memory with an inode but without a file that can be opened: shared memory.
bool is_nameless_file(std::string_view name) {
    return name.starts_with("/dev/zero") || name.starts_with("/SYSV") ||
           name.starts_with("anon_inode:") || name.starts_with("//anon");
}

}  // namespace

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
    if (!mapping) return {code_without_names(view), address.value};
    if (mapping->name == vdso_module) return {pseudo_module(vdso_module), address - mapping->start};
    const auto module = file_module(*mapping, view);
    if (!module) return {code_without_names(view), address.value};
    const std::uint64_t offset = mapping->file_offset + (address - mapping->start);
    return {*module, entries_[*module].layout.address_of(offset).value_or(offset)};
}

bool ModuleTable::has_no_file(const Mapping& mapping, const CodeView* view) {
    if (mapping.name == vdso_module) return false;
    if (!mapping.is_file() || is_nameless_file(mapping.name)) return true;
    if (!is_memfd(mapping)) return false;
    std::lock_guard lock(mutex_);
    return !file_module(mapping, view);
}

std::uint32_t ModuleTable::code_without_names(const CodeView* view) {
    const std::string name(view ? view->anonymous : anonymous_module);
    if (!perf_maps_.contains(name) && (view || first_process_ != 0)) {
        using enum PerfMapPlace::Folder;
        perf_maps_.try_emplace(name, view ? view->files : FileView::of(first_process_),
                               has_room_for_file() ? kept : named);
    }
    return pseudo_module(name);
}

std::uint32_t ModuleTable::code_without_file(const MemoryMap& map, const CodeView* view) {
    std::lock_guard lock(mutex_);
    const std::uint32_t nameless = code_without_names(view);
    const Mapping* dump = find_jit_dump(map, view ? view->files.process : first_process_);
    if (dump == nullptr) return nameless;
    const std::string name = entries_[nameless].module.path;
    FileKey key{name, dump->device, dump->inode};
    if (auto found = by_file_.find(key); found != by_file_.end())
        return found->second.value_or(nameless);
    auto file = open(*dump, view);
    if (!file || !has_room_for_file()) return nameless;
    const std::uint32_t module =
        add({{name, identity_of_jit_dump(file->get()), 0}, {}, std::move(file).value()});
    by_file_[key] = module;
    return module;
}

std::uint32_t ModuleTable::script(std::string_view name) {
    const std::lock_guard lock(mutex_);
    return pseudo_module(name);
}

std::optional<std::uint32_t> ModuleTable::kernel() const {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(entries_, kernel_module,
                                         [](const Entry& each) { return each.module.path; });
    if (found == entries_.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - entries_.begin());
}

std::uint32_t ModuleTable::add_kernel() {
    const std::lock_guard lock(mutex_);
    return pseudo_module(kernel_module);
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
    first_process_ = process;
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

std::vector<UniqueFd> ModuleTable::open_perf_maps() const {
    std::lock_guard lock(mutex_);
    std::vector<UniqueFd> maps;
    for (const Entry& entry : entries_) {
        const auto place = perf_maps_.find(entry.module.path);
        maps.push_back(place != perf_maps_.end() ? place->second.open() : UniqueFd());
    }
    return maps;
}

std::set<std::string> ModuleTable::closed_memfds() const {
    std::lock_guard lock(mutex_);
    return closed_memfds_;
}

// Nothing if no file names the mapping's code.
std::optional<std::uint32_t> ModuleTable::file_module(const Mapping& mapping,
                                                      const CodeView* view) {
    if (!mapping.is_file() || is_nameless_file(mapping.name)) return std::nullopt;
    FileKey key{mapping.name, mapping.device, mapping.inode};
    if (auto found = by_file_.find(key); found != by_file_.end()) return found->second;
    Entry entry{{mapping.name, {}, 0}, {}, {}};
    auto fd = open(mapping, view);
    if (is_memfd(mapping)) {
        if (!fd && mapping.executable) closed_memfds_.emplace(mapped_path(mapping));
        if (!fd || !ElfLayout::read(fd->get())) return by_file_[key] = std::nullopt;
    }
    if (fd) {
        entry.module.path = mapped_path(mapping);
        struct stat status {};
        if (::fstat(fd->get(), &status) == 0)
            entry.module.size_bytes = static_cast<std::uint64_t>(status.st_size);
        if (auto layout = ElfLayout::read(fd->get())) entry.layout = std::move(*layout);
        entry.module.build_id = entry.layout.build_id();
        if (has_room_for_file()) entry.file = std::move(fd).value();
    }
    return by_file_[key] = add(std::move(entry));
}

Result<UniqueFd> ModuleTable::open(const Mapping& mapping, const CodeView* view) const {
    return view ? open_mapped_file(mapping, view->files) : opener_(mapping);
}

bool ModuleTable::has_room_for_file() const {
    const auto files =
        std::ranges::count_if(entries_, [](const Entry& entry) { return bool(entry.file); });
    const auto folders = std::ranges::count_if(
        perf_maps_, [](const auto& named) { return named.second.keeps_folder(); });
    return files + folders < max_open_files;
}

std::uint32_t ModuleTable::pseudo_module(std::string_view name) {
    FileKey key{name, 0, 0};
    auto& known = by_file_[key];
    if (!known) known = add({{std::string(name), {}, 0}, {}, {}});
    return *known;
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
