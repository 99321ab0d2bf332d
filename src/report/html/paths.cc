// Writes hot paths with their code.
#include <algorithm>

#include "base/text/text_format.h"
#include "report/html/page_data.h"

namespace shadowprof {
namespace {

constexpr std::size_t max_paths = 100, max_blocks = 200, max_block_instructions = 100;

// Whether an instruction, as Disassembler writes it, ends a block.
bool ends_block(std::string_view text) {
    return text.starts_with('j') || text.starts_with("call") || text.starts_with("ret") ||
           text.starts_with("loop");
}

class PathWriter {
  public:
    PathWriter(const PageData& page, JsonWriter& json) : page_(page), json_(json) {}

    void write() {
        const auto& paths = page_.profile.paths;
        const auto kept = hot_paths(page_.profile, max_paths);
        double covered = 0;
        for (const HotPath& path : kept) covered += path.share;
        json_.begin_object();
        write_shown(json_, {kept.size(), paths.size(), covered});
        json_.key("paths");
        begin_table(json_, {"share", "error", "count", "instructions", "length", "blocks"});
        for (const HotPath& path : kept) write(path);
        end_table(json_);
        // Each block is written once, even if several paths run through it: its start and its
        // instructions.
        json_.key("blocks");
        begin_table(json_, {"at", "code"});
        for (std::size_t i = 0; i < blocks_.size(); ++i) write(blocks_[i]);
        end_table(json_);
        json_.end_object();
    }

  private:
    // A block from its first instruction up to a branch or to the start of the next block.
    struct Block {
        CodeLocation start;
        std::optional<std::uint64_t> next;

        friend auto operator<=>(const Block&, const Block&) = default;
    };

    void write(const HotPath& hot) {
        const Path& path = *hot.path;
        json_.begin_array();
        json_.value(hot.share);
        json_.value(hot.error);
        json_.value(path.count);
        json_.value(path.instructions);
        json_.value(path.blocks.size());
        json_.begin_array();
        for (std::size_t i = 0; i < std::min(path.blocks.size(), max_blocks); ++i)
            json_.value(number(path.blocks, i));
        json_.end_array();
        json_.end_array();
    }

    std::size_t number(const std::vector<CodeLocation>& path, std::size_t i) {
        Block block{path[i], {}};
        // The next block ends this one only if this one would run into it.
        if (i + 1 < path.size() && path[i + 1].module == path[i].module &&
            path[i + 1].address > path[i].address)
            block.next = path[i + 1].address;
        const auto [it, added] = numbers_.try_emplace(block, blocks_.size());
        if (added) blocks_.push_back(block);
        return it->second;
    }

    void write(const Block& block) {
        json_.begin_array();
        json_.value(page_.places.place(block.start));
        json_.begin_array();
        const auto& code = page_.annotator.annotate(block.start).code;
        const auto first =
            std::lower_bound(code.begin(), code.end(), block.start.address,
                             [](const AnnotatedInstruction& i, std::uint64_t address) {
                                 return i.address < address;
                             });
        if (first != code.end() && first->address == block.start.address)
            for (auto at = first; at != code.end(); ++at) {
                const bool over = at->address == block.next || (at != first && at->behind_gap) ||
                                  at - first == std::ptrdiff_t{max_block_instructions};
                if (over) break;
                instruction(*at);
                if (ends_block(at->text)) break;
            }
        json_.end_array();
        json_.end_array();
    }

    // Returns a value that is nearly always the same, unless the instruction always produces it.
    static const ValueProfile* telling_value(const AnnotatedInstruction& instruction) {
        constexpr double min_invariance = 0.9;
        if (is_constant_by_design(instruction.text)) return nullptr;
        for (const ValueProfile* value : instruction.values)
            if (share_of(value->invariance) >= min_invariance) return value;
        return nullptr;
    }

    void instruction(const AnnotatedInstruction& instruction) {
        json_.begin_array();
        json_.value(hex_text(instruction.address));
        json_.value(printable(instruction.text));
        if (instruction.file.empty())
            json_.null();
        else
            json_.value(page_.places.file(instruction.file));
        json_.value(instruction.line);
        if (const ValueProfile* value = telling_value(instruction))
            write_value(page_, *value, json_);
        json_.end_array();
    }

    const PageData& page_;
    JsonWriter& json_;
    std::vector<Block> blocks_;
    std::map<Block, std::size_t> numbers_;
};

}  // namespace

void write_paths(const PageData& page, JsonWriter& json) {
    PathWriter(page, json).write();
}

}  // namespace shadowprof
