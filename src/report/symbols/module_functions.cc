#include "report/symbols/module_functions.h"

#include <sys/resource.h>

#include <system_error>
#include <thread>

#include "report/symbols/elf/plt.h"
#include "report/symbols/elf/vdso_image.h"
#include "report/symbols/module_file.h"

namespace shadowprof {
namespace {

// A large file takes a hundred milliseconds, so reading must not slow down the program. Only a
// thread of its own can be nice, as raising the priority again needs a privilege.
constexpr int reading_niceness = 5;

}  // namespace

std::optional<FoundFunction> ModuleFunctions::find(CodeLocation at, const ModuleTable& modules) {
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = by_module_.try_emplace(at.module);
    if (is_new) known->second = read_nicely(at.module, modules);
    const FunctionTable* const table = known->second.get();
    const FunctionRange* const function = table != nullptr ? table->find(at.address) : nullptr;
    if (function == nullptr) return std::nullopt;
    return FoundFunction{{at.module, function->start}, function->name.ends_with(plt_suffix)};
}

ModuleFunctions::Table ModuleFunctions::read_nicely(std::uint32_t number,
                                                    const ModuleTable& modules) {
    Table table;
    try {
        std::jthread([&] {
            (void)setpriority(PRIO_PROCESS, 0, reading_niceness);
            table = read(number, modules);
        }).join();
    } catch (const std::system_error&) {  // too many threads
        return read(number, modules);
    }
    return table;
}

// Returns null if the file cannot be used.
ModuleFunctions::Table ModuleFunctions::read(std::uint32_t number, const ModuleTable& modules) {
    const Module module = modules.modules().at(number);
    UniqueFd image;
    std::string path;
    if (module.path == vdso_module) {
        auto opened = vdso_image();
        if (!opened) return {};
        image = std::move(*opened);
        path = fmt::format("/proc/self/fd/{}", image.get());
    } else if (module.path.starts_with('/')) {
        path = path_of_same_file(module.path, modules.path_to(number));
    } else {
        return {};
    }
    auto file = ElfFile::open(path);
    const bool usable = file && (module.build_id.empty() || (*file)->build_id() == module.build_id);
    if (!usable) return nullptr;
    auto table = tables_.of(**file);
    if (beforehand_ == Beforehand::debug_information) tables_.prepare(std::move(*file));
    return table;
}

}  // namespace shadowprof
