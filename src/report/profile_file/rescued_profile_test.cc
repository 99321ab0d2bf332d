#include "report/profile_file/rescued_profile.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "report/profile_file/profile_reader.h"
#include "report/testdata/files.h"
#include "report/testdata/sample_profile.h"

namespace shadowprof::rescued_profile_test {
namespace {

constexpr std::uint64_t enough_bytes = 32'000'000;

Result<std::string> rescue(const char* wanted, const std::vector<std::string>& folders) {
    Profile profile = sample_profile();
    RecordedSymbols symbols;
    return rescue_profile(profile, symbols, wanted, enough_bytes, folders);
}

}  // namespace

TEST_CASE("a profile goes to the first folder that takes it, for its owner alone") {
    TemporaryDirectory dir;
    const auto kept = rescue("x.json", {"/dev/null", dir.path("none"), dir.path()});
    REQUIRE(kept);
    CHECK(kept->starts_with(dir.path("shadowprof-")));
    CHECK(kept->ends_with(".json"));
    CHECK(dir.size() == 1);
    struct stat status;
    REQUIRE(::stat(kept->c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0600);
    const auto file = read_profile(*kept);
    REQUIRE(file);
    CHECK(file->profile.edges.size() == sample_profile().edges.size());
}

TEST_CASE("each profile has a name of its own, and is compressed as it would have been") {
    TemporaryDirectory dir;
    const std::vector<std::string> folders = {dir.path()};
    const auto first = rescue("x.json.gz", folders), second = rescue("x.json.gz", folders);
    REQUIRE(first);
    REQUIRE(second);
    CHECK(*first != *second);
    CHECK(first->ends_with(".json.gz"));
    CHECK(read_profile(*first).has_value());
    CHECK(dir.size() == 2);
}

TEST_CASE("without a folder that takes the profile nothing is left of it") {
    TemporaryDirectory dir;
    const auto kept = rescue("x.json", {dir.path("none")});
    REQUIRE_FALSE(kept);
    CHECK(kept.error().message.find(dir.path("none")) != std::string::npos);
    CHECK(dir.size() == 0);
    CHECK_FALSE(rescue("x.json", {}));
}

}  // namespace shadowprof::rescued_profile_test
