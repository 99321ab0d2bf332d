#include "ptrace/proc/attach_refusal.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cerrno>

namespace shadowprof::attach_refusal_test {
namespace {

std::string refusal_for(const TracerRights& own) {
    const Error error = explain_seize_failure(::getpid(), EPERM, own);
    CHECK(error.code == ErrorCode::permission);
    return error.message;
}

bool says(const std::string& text, std::string_view words) {
    return text.find(words) != text.npos;
}

}  // namespace

TEST_CASE("root is not told to run as root") {
    const TracerRights root{.may_trace_privileged = true, .in_first_user_namespace = true};
    CHECK(says(refusal_for(root), "security module"));
    CHECK(says(refusal_for({.may_trace_privileged = true}), "user namespace"));
    CHECK(says(refusal_for({.may_trace_privileged = true, .yama_scope = 3}), "next boot"));
    for (const auto& own : {root, TracerRights{.may_trace_privileged = true}, TracerRights{}})
        CHECK_FALSE(says(refusal_for(own), "run as root"));
}

TEST_CASE("a refusal names what is missing, and the remedy") {
    const uid_t own = ::geteuid();
    CHECK(says(refusal_for({.effective_uid = own + 1}), "run shadowprof as that user or as root"));
    CHECK(says(refusal_for({.effective_uid = own, .yama_scope = 1}), "ptrace_scope is 1; run"));
    if (own == 0) CHECK(says(refusal_for({.effective_uid = 0}), "--cap-add=SYS_PTRACE"));
}

TEST_CASE("a process that is gone was not refused") {
    CHECK(explain_seize_failure(::getpid(), ESRCH).code == ErrorCode::gone);
    CHECK(explain_seize_failure(::getpid(), EIO).code == ErrorCode::system);
}

}  // namespace shadowprof::attach_refusal_test
