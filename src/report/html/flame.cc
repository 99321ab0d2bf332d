// Call stacks as a tree, for the flame graph.
#include <algorithm>
#include <unordered_map>

#include "report/html/frame_numbers.h"
#include "report/html/page_data.h"
#include "report/lists/frames.h"

namespace shadowprof {
namespace {

// Frames smaller than a pixel of a wide screen are left out.
constexpr double min_frame_share = 1.0 / 8000;

class FlameTree {
  public:
    FlameTree(const PageData& page, StackWeight weight)
        : weight_(weight), stack_frames_(page.profile.modules, page.annotator.symbols()) {
        nodes_.push_back({});
        for (const Stack& stack : page.profile.stacks) add(stack);
    }

    void write(JsonWriter& json) {
        json.begin_object();
        json.member("total", nodes_[0].total);
        json.member("nodes", nodes_.size() - 1);
        json.member("cut", cut_);
        // In pre-order: the children of a node follow it with the next greater depth.
        json.key("tree");
        begin_table(json, {"frame", "depth", "self", "total"});
        write_nodes(json);
        end_table(json);
        frames_.write(json);
        json.end_object();
    }

  private:
    struct Node {
        std::size_t frame = 0;
        std::uint64_t self = 0, total = 0;
        std::vector<std::size_t> children;
    };

    std::size_t child(std::size_t parent, std::size_t frame) {
        const auto [it, added] = children_.try_emplace({parent, frame}, nodes_.size());
        if (added) {
            nodes_.push_back({.frame = frame});
            nodes_[parent].children.push_back(it->second);
        }
        return it->second;
    }

    void add(const Stack& stack) {
        std::size_t node = 0, depth = 0;
        const auto size = amount(stack, weight_);
        nodes_[0].total += size;
        for (const ExportFrame* frame : stack_frames_.of(stack)) {
            if (++depth > max_tree_depth) break;
            node = child(node, frames_.number(*frame));
            nodes_[node].total += size;
        }
        if (depth > max_tree_depth) cut_ += size;
        nodes_[node].self += size;
    }

    void write_nodes(JsonWriter& json) {
        const double least = min_frame_share * static_cast<double>(nodes_[0].total);
        std::vector<std::pair<std::size_t, std::size_t>> waiting = {{0, 0}};  // node, depth
        while (!waiting.empty()) {
            const auto [index, depth] = waiting.back();
            waiting.pop_back();
            Node& node = nodes_[index];
            if (depth > 0) {
                json.begin_array();
                json.value(node.frame);
                json.value(depth);
                json.value(node.self);
                json.value(node.total);
                json.end_array();
            }
            // The hottest child must be visited first, so it is pushed last.
            std::stable_sort(
                node.children.begin(), node.children.end(),
                [&](std::size_t a, std::size_t b) { return nodes_[a].total < nodes_[b].total; });
            for (const std::size_t each : node.children)
                if (static_cast<double>(nodes_[each].total) >= least)
                    waiting.emplace_back(each, depth + 1);
        }
    }

    struct PairHash {
        std::size_t operator()(const std::pair<std::size_t, std::size_t>& pair) const {
            return pair.first * 0x9e3779b97f4a7c15 ^ pair.second;
        }
    };

    const StackWeight weight_;
    StackFrames stack_frames_;
    std::vector<Node> nodes_;  // the first is the root
    FrameNumbers frames_;
    std::unordered_map<std::pair<std::size_t, std::size_t>, std::size_t, PairHash> children_;
    std::uint64_t cut_ = 0;
};

}  // namespace

void write_flame(const PageData& page, JsonWriter& json) {
    FlameTree(page, page.weight).write(json);
}

void write_other_flame(const PageData& page, JsonWriter& json) {
    FlameTree(page, page.other->weight).write(json);
}

}  // namespace shadowprof
