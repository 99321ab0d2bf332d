#include "report/findings/finder.h"
#include "report/findings/findings_text.h"
#include "report/html/page_data.h"

namespace shadowprof {
namespace {

constexpr std::size_t max_findings = 20;

void write_finding(const PageData& page, const Finding& finding, JsonWriter& json) {
    const auto& row = finding_kinds[static_cast<std::size_t>(finding.kind)];
    json.begin_object();
    json.member("kind", row.name);
    json.member("advice", row.advice);
    json.member("what", finding.what);
    json.member("at", page.places.place(finding.at));
    json.member("share", finding.share);
    json.member("at_stake", finding.at_stake);
    json.member("stake", at_stake_text(finding));
    json.key("evidence");
    json.begin_array();
    for (const std::string& line : finding.evidence) json.value(line);
    json.end_array();
    json.end_object();
}

}  // namespace

void write_findings(const PageData& page, JsonWriter& json) {
    const auto findings = find_findings(page.profile, page.annotator);
    json.begin_object();
    write_shown(json, {std::min(findings.size(), max_findings), findings.size(), 1});
    json.key("findings");
    json.begin_array();
    for (std::size_t i = 0; i < std::min(findings.size(), max_findings); ++i)
        write_finding(page, findings[i], json);
    json.end_array();
    json.end_object();
}

}  // namespace shadowprof
