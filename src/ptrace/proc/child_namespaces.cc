#include "ptrace/proc/child_namespaces.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

// Returns the inode that identifies a namespace. A PID namespace without processes cannot be read.
std::optional<ino_t> read_namespace(const char* process, const char* kind) {
    struct stat found;
    if (::stat(fmt::format("/proc/{}/ns/{}", process, kind).c_str(), &found) != 0)
        return std::nullopt;
    return found.st_ino;
}

std::optional<ino_t> read_namespace(pid_t tid, const char* kind) {
    return read_namespace(fmt::format("{}", tid).c_str(), kind);
}

struct NamespaceRow {
    const char* own;
    const char* for_children;
    const char* name;
};
constexpr NamespaceRow namespaces[] = {
    {"pid", "pid_for_children", "PID"},
    {"time", "time_for_children", "time"},
};

// PID_NS_INIT_INO of linux/nsfs.h.
constexpr ino_t initial_pid_namespace = 0xeffffffc;

// Names of first processes of containers and sandboxes that reap orphans. Shells reap all children.
constexpr std::string_view inits[] = {
    "systemd",   "init",      "tini",  "tini-static", "dumb-init",   "docker-init", "podman-init",
    "catatonit", "s6-svscan", "runit", "runit-init",  "openrc-init", "pause",       "firejail",
    "bwrap",     "sh",        "bash",  "dash",        "zsh",         "busybox",
};

}  // namespace

Result<void> check_child_namespaces(pid_t tid) {
    for (const auto& [own, for_children, name] : namespaces) {
        const auto here = read_namespace(tid, own);
        // A kernel without such namespaces has no file for them.
        if (!here || here == read_namespace(tid, for_children)) continue;
        return Error{
            ErrorCode::permission, 0,
            fmt::format(
                "its children would be in another {} namespace than itself (unshare, setns)",
                name)};
    }
    return {};
}

bool reaps_strangers(pid_t pid) {
    if (pid == 1 && read_namespace("self", "pid") == initial_pid_namespace) return true;
    const auto name = read_thread_name(pid, pid);
    return name && std::ranges::find(inits, *name) != std::end(inits);
}

bool shares_our_pid_namespace(pid_t pid) {
    const auto theirs = read_namespace(pid, "pid");
    return theirs && theirs == read_namespace("self", "pid");
}

}  // namespace shadowprof
