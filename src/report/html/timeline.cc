// Writes the run in time, with what the functions list and the flame graph of a stretch need.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text/text_format.h"
#include "report/html/frame_numbers.h"
#include "report/html/page_data.h"
#include "report/lists/frames.h"

namespace shadowprof {
namespace {

// A list of whole numbers.
void write_numbers(JsonWriter& json, std::string_view name, const auto& numbers) {
    json.array(name, numbers, [&](const auto& number) { json.value(number); });
}

// The call stacks of samples as a tree of functions with inlined ones.
class StretchTree {
  public:
    explicit StretchTree(const PageData& page)
        : timeline_(*page.profile.timeline),
          stack_frames_(page.profile.modules, page.annotator.symbols()) {}

    // The innermost function of a node of the timeline; 0: the root.
    std::uint32_t of(std::uint32_t node) {
        const auto [it, added] = by_node_.try_emplace(node, 0);
        if (added) it->second = add(frames_of(timeline_, node));
        return it->second;
    }

    void write(JsonWriter& json) {
        json.key("flame");
        json.begin_object();
        write_numbers(json, "parent", parents_);
        write_numbers(json, "frame", frame_of_);
        json.end_object();
        frames_.write(json);
    }

  private:
    std::uint32_t add(std::vector<CodeLocation> frames) {
        Stack stack;
        stack.frames = std::move(frames);
        if (stack.frames.empty()) return 0;
        std::uint32_t node = 0;
        std::size_t depth = 0;
        for (const ExportFrame* frame : stack_frames_.of(stack)) {
            if (++depth > max_tree_depth) break;
            node = child(node, static_cast<std::uint32_t>(frames_.number(*frame)));
        }
        return node;
    }

    std::uint32_t child(std::uint32_t parent, std::uint32_t frame) {
        const auto next = static_cast<std::uint32_t>(parents_.size() + 1);
        const auto [it, added] = children_.try_emplace({parent, frame}, next);
        if (added) {
            parents_.push_back(parent);
            frame_of_.push_back(frame);
        }
        return it->second;
    }

    const Timeline& timeline_;
    StackFrames stack_frames_;
    std::vector<std::uint32_t> parents_, frame_of_;  // of node 1, 2, ...
    FrameNumbers frames_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> children_;
    std::unordered_map<std::uint32_t, std::uint32_t> by_node_;
};

void write_timeline_threads(const Timeline& timeline, JsonWriter& json) {
    json.key("threads");
    begin_table(json, {"pid", "tid", "name", "start_us", "end_us"});
    for (const TimelineThread& thread : timeline.threads) {
        json.begin_array();
        json.value(thread.pid);
        json.value(thread.tid);
        json.value(printable(thread.name));
        json.value(thread.start_us);
        json.value(thread.end_us);
        json.end_array();
    }
    end_table(json);
}

void write_commands(const Profile& profile, JsonWriter& json) {
    json.key("processes");
    begin_table(json, {"pid", "command"});
    for (const ProcessInfo& process : profile.processes) {
        json.begin_array();
        json.value(process.pid);
        json.value(printable(fmt::format("{}", fmt::join(process.command, " "))));
        json.end_array();
    }
    end_table(json);
}

void write_changes(const Profile& profile, JsonWriter& json) {
    json.key("changes");
    begin_table(json, {"seconds", "what"});
    for (const SamplingChange& change : profile.sampling.changes) {
        json.begin_array();
        json.value(change.seconds);
        json.value(printable(change.what));
        json.end_array();
    }
    end_table(json);
}

void write_timeline_columns(JsonWriter& json, std::string_view name, const auto& records,
                            const auto& columns) {
    json.key(name);
    json.begin_object();
    const auto write = [&](const auto& column) {
        json.array(column.name, records,
                   [&](const auto& record) { json.value(record.*column.member); });
    };
    std::apply([&](const auto&... column) { (write(column), ...); }, columns);
    json.end_object();
}

void write_timeline_words(JsonWriter& json, std::string_view name,
                          const std::vector<std::string>& words) {
    json.array(name, words, [&](const std::string& word) { json.value(printable(word)); });
}

// Each node's function and its caller, and the innermost function of the nodes where stacks end.
void write_stretch_nodes(const PageData& page, StretchTree& tree, JsonWriter& json) {
    const Timeline& timeline = *page.profile.timeline;
    std::vector<std::uint32_t> ends(timeline.frames.size() + 1);
    for (const TimelineStack& stack : timeline.stacks) ends[stack.node] = tree.of(stack.node);
    json.key("nodes");
    json.begin_object();
    write_numbers(json, "parent", timeline.parents);
    json.array("function", timeline.frames,
               [&](CodeLocation frame) { json.value(page.places.function(frame)); });
    write_numbers(json, "flame", ends);
    json.end_object();
}

}  // namespace

void write_timeline(const PageData& page, JsonWriter& json) {
    const Timeline& timeline = *page.profile.timeline;
    StretchTree tree(page);
    json.begin_object();
    json.member("seconds", page.profile.run.seconds);
    json.member("stride", timeline.stride);
    json.member("threads_left_out", timeline.threads_left_out);
    write_timeline_words(json, "kinds", timeline.kinds);
    write_timeline_words(json, "ends", timeline.ends);
    write_timeline_threads(timeline, json);
    write_commands(page.profile, json);
    write_changes(page.profile, json);
    write_timeline_columns(json, "samples", timeline.samples, timeline_sample_columns);
    write_timeline_columns(json, "stacks", timeline.stacks, timeline_stack_columns);
    write_stretch_nodes(page, tree, json);
    tree.write(json);
    json.end_object();
}

}  // namespace shadowprof
