#include "report/symbols/module_file.h"

#include <sys/stat.h>

#include "base/text/text_format.h"
#include "report/symbols/location_name.h"

namespace shadowprof {

Result<std::unique_ptr<ElfFile>> open_module_file(const Module& module) {
    const std::string path = printable(module.path);
    if (!module.path.starts_with('/'))
        return Error{ErrorCode::not_found, 0,
                     fmt::format("'{}' is code without a file", shown_module(module.path))};
    auto file = ElfFile::open(module.path);
    if (!file)
        return Error{file.error().code, file.error().sys_errno,
                     fmt::format("cannot read '{}', which was profiled: {}; export where the file "
                                 "is, or put it back",
                                 path, file.error().message)};
    const std::string build_id = (*file)->build_id();
    if (!module.build_id.empty() && build_id != module.build_id)
        return Error{ErrorCode::invalid, 0,
                     fmt::format("'{}' is another build than the one profiled: its build-id is "
                                 "{}, the profile's {}; put that build back, or profile again",
                                 path, build_id.empty() ? "none" : build_id, module.build_id)};
    return file;
}

std::string path_of_same_file(const std::string& path, const std::string& kept) {
    struct stat by_path, open;
    const bool same = ::stat(path.c_str(), &by_path) == 0 && ::stat(kept.c_str(), &open) == 0 &&
                      by_path.st_dev == open.st_dev && by_path.st_ino == open.st_ino;
    return same ? path : kept;
}

}  // namespace shadowprof
