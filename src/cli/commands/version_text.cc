#include "cli/commands/version_text.h"

#include <Zydis/Zydis.h>
#include <fmt/format.h>

#include <string_view>

namespace shadowprof {
namespace {

struct BuildFact {
    std::string_view name, value;
};
// Versions of libraries are those that the program was built with.
constexpr BuildFact build_facts[] = {SHADOWPROF_BUILD_FACTS};

std::string fact_line(std::string_view name, std::string_view value) {
    return fmt::format("{:<10} {}\n", name, value);
}

std::string zydis_version() {
    return fmt::format("{}.{}.{}", ZYDIS_VERSION_MAJOR(ZYDIS_VERSION),
                       ZYDIS_VERSION_MINOR(ZYDIS_VERSION), ZYDIS_VERSION_PATCH(ZYDIS_VERSION));
}

}  // namespace

std::string version_text() {
    std::string text = fmt::format("shadowprof {}\n", SHADOWPROF_VERSION);
    for (const BuildFact& fact : build_facts) text += fact_line(fact.name, fact.value);
    return text + fact_line("Zydis", zydis_version());
}

}  // namespace shadowprof
