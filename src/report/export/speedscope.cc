#include <map>
#include <tuple>

#include "base/text/text_format.h"
#include "report/export/writers.h"
#include "report/lists/frames.h"
#include "report/profile_file/json_writer.h"

namespace shadowprof {
namespace {

// Frames that look the same are one. They are numbered in the order in which stacks name them.
class FrameTable {
  public:
    std::size_t number(const ExportFrame& frame) {
        const auto [it, added] = numbers_.try_emplace(
            {frame.function, std::string(frame.file), frame.line}, frames_.size());
        if (added) frames_.push_back(frame);
        return it->second;
    }
    const std::vector<ExportFrame>& frames() const { return frames_; }

  private:
    std::map<std::tuple<std::string, std::string, std::uint32_t>, std::size_t> numbers_;
    std::vector<ExportFrame> frames_;
};

void write_frames(JsonWriter& json, const std::vector<ExportFrame>& frames) {
    json.key("shared");
    json.begin_object();
    json.key("frames");
    json.begin_array();
    for (const ExportFrame& frame : frames) {
        json.begin_object();
        json.member("name", frame.function);
        if (!frame.file.empty()) json.member("file", printable(frame.file));
        if (frame.line != 0) json.member("line", frame.line);
        json.end_object();
    }
    json.end_array();
    json.end_object();
}

struct WeightedStack {
    std::vector<std::size_t> frames;  // frame numbers, outermost first
    std::uint64_t weight = 0;
};

// The "sampled" type of profile: one stack with its weight per sample.
void write_samples(JsonWriter& json, const std::string& name, StackWeight weight,
                   const std::vector<WeightedStack>& stacks) {
    std::uint64_t total = 0;
    for (const WeightedStack& stack : stacks) total += stack.weight;
    json.key("profiles");
    json.begin_array();
    json.begin_object();
    json.member("type", "sampled");
    json.member("name", name);
    json.member("unit", weight == StackWeight::time ? "nanoseconds" : "none");
    json.member("startValue", 0);
    json.member("endValue", total);
    json.key("samples");
    json.begin_array();
    for (const WeightedStack& stack : stacks) {
        json.begin_array();
        for (const std::size_t frame : stack.frames) json.value(frame);
        json.end_array();
    }
    json.end_array();
    json.key("weights");
    json.begin_array();
    for (const WeightedStack& stack : stacks) json.value(stack.weight);
    json.end_array();
    json.end_object();
    json.end_array();
}

std::string profile_name(const Profile& profile, StackWeight weight) {
    const auto& command = profile.run.command;
    return fmt::format("{}: {}",
                       command.empty() ? "profile" : printable(base_name(command.front())),
                       name(weight));
}

}  // namespace

Result<void> write_speedscope(const ExportInput& input, ByteSink& sink) {
    if (input.profile.stacks.empty()) return no_stacks();
    StackFrames frames(input.profile.modules, input.symbols);
    FrameTable table;
    std::vector<WeightedStack> stacks;
    for (const Stack& stack : input.profile.stacks) {
        const auto weight = amount(stack, input.weight);
        if (weight == 0 || stack.frames.empty()) continue;
        WeightedStack& weighted = stacks.emplace_back();
        weighted.weight = weight;
        for (const ExportFrame* frame : frames.of(stack))
            weighted.frames.push_back(table.number(*frame));
    }
    JsonWriter json(sink);
    json.begin_object();
    json.member("$schema", "https://www.speedscope.app/file-format-schema.json");
    json.member("exporter", "shadowprof@" SHADOWPROF_VERSION);
    const auto name = profile_name(input.profile, input.weight);
    json.member("name", name);
    json.member("activeProfileIndex", 0);
    write_frames(json, table.frames());
    write_samples(json, name, input.weight, stacks);
    json.end_object();
    return json.finish();
}

}  // namespace shadowprof
