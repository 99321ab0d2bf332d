// libFuzzer: arbitrary bytes as guest code, decoded and translated at every trace level. None of it
// is executed. The resulting host code is decoded again and must access only what belongs to the
// guest.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "emu/translation/translator.h"
#include "host_code.h"

using namespace shadowprof;

namespace {

// Two pages of code, the second of which may be missing.
constexpr std::uint64_t code_start = 0x3456'0000'0000;
constexpr std::size_t header_bytes = 3;  // where the code begins, and how it is translated

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::abort();
}

class Pages final : public PageSource {
  public:
    std::vector<std::byte> bytes = std::vector<std::byte>(2 * page_bytes);
    bool read_pages(GuestAddress from, std::span<std::byte> to) override {
        std::memcpy(to.data(), bytes.data() + (from.value - code_start), to.size());
        return true;
    }
};

// A translator with everything that it needs, used until its tables are full.
class Bench {
  public:
    Bench()
        : blocks_(1 << 16),
          slots_(1 << 18),
          parts_(1 << 18),
          references_(1 << 18),
          tables_(blocks_, slots_, parts_, references_),
          cache_(make_cache()),
          memory_([this](GuestAddress a, GuestAddress b) { translator_.retire_range(a, b); }),
          translator_(*cache_, memory_, tables_) {}

    bool worn_out() const { return tables_.size() > blocks_.size() / 2; }
    void run(std::span<const std::uint8_t> input);

  private:
    static std::unique_ptr<CodeCache> make_cache() {
        auto cache = CodeCache::create([](void*, int, void*, void*) {}, nullptr);
        if (!cache) fail(cache.error().message);
        return std::move(*cache);
    }
    void translate(TraceLevel level, GuestAddress at, unsigned how);
    void join(BlockId first, unsigned how);
    void check_what_was_added(const std::uint8_t* before, std::uint64_t clears);
    void look_up(std::span<const std::uint8_t> code);

    std::vector<BlockInfo> blocks_;
    std::vector<ValueSlot> slots_;
    std::vector<BlockId> parts_;
    std::vector<ReferenceSlot> references_;
    BlockTables tables_;
    std::unique_ptr<CodeCache> cache_;
    Pages pages_;
    GuestMemory memory_;
    Translator translator_;
};

void Bench::run(std::span<const std::uint8_t> input) {
    const std::size_t offset = (input[0] | std::size_t{input[1]} << 8) % (2 * page_bytes);
    const unsigned choices = input[2];
    const auto code = input.subspan(header_bytes);
    std::fill(pages_.bytes.begin(), pages_.bytes.end(), std::byte{0xcc});
    std::memcpy(pages_.bytes.data() + offset, code.data(),
                std::min(code.size(), pages_.bytes.size() - offset));
    Mapping mapping;
    mapping.start = {code_start};
    mapping.end = {code_start + (choices & 1 ? 2 : 1) * page_bytes};
    mapping.readable = mapping.executable = true;
    mapping.writable = (choices & 2) != 0;
    if (!memory_.begin(MemoryMap({mapping}), pages_)) fail("no room for the guest");
    translator_.begin_sample({},
                             choices & 4 ? Nondeterminism::single_stepped : Nondeterminism::native);
    const GuestAddress at{code_start + offset};
    translate(TraceLevel::none, at, choices >> 3);
    for (auto level : {TraceLevel::references, TraceLevel::values, TraceLevel::blocks}) {
        const auto first = tables_.size();
        translate(level, at, choices >> 3);
        join(first, choices >> 6);
    }
    const std::byte nothing[1] = {};
    if (mapping.writable) memory_.write(at, nothing);
    for (std::size_t level = 0; level < trace_levels; ++level)
        translate(static_cast<TraceLevel>(level), at, 0);
    memory_.end();
}

void Bench::translate(TraceLevel level, GuestAddress at, unsigned how) {
    const auto* before = cache_->open().position();
    const auto clears = translator_.counters().cache_clears;
    if (how & 1)
        translator_.one_instruction(level, at);
    else if (how & 2)
        translator_.indirect_entry_for(level, at);
    translator_.entry_for(level, at);
    if (how & 4) translator_.indirect_entry_for(level, at);
    check_what_was_added(before, clears);
}

// Makes superblocks of blocks that were translated one after the other, like blocks that may follow
// each other.
void Bench::join(BlockId first, unsigned how) {
    for (std::size_t size = 2 + how % 3; first + size <= tables_.size(); ++first) {
        std::vector<BlockId> parts(size);
        std::iota(parts.begin(), parts.end(), first);
        const auto* before = cache_->open().position();
        const auto clears = translator_.counters().cache_clears;
        translator_.form_superblock(parts);
        check_what_was_added(before, clears);
    }
}

void Bench::check_what_was_added(const std::uint8_t* before, std::uint64_t clears) {
    if (clears != translator_.counters().cache_clears) return;
    const std::span<const std::uint8_t> code(before, cache_->open().position());
    const auto wrong = check_host_code(*cache_, code);
    if (!wrong.empty()) fail(wrong);
    look_up(code);
}

// Looks up every host address, because any of them may fault.
void Bench::look_up(std::span<const std::uint8_t> code) {
    for (const auto& byte : code) {
        const auto position = translator_.locate(reinterpret_cast<std::uint64_t>(&byte));
        if (!position) continue;
        const auto& block = tables_[position->block];
        const auto words =
            block.value_words + (position->before ? tables_[*position->before].value_words : 0u);
        if (position->address < block.start || position->address >= block.end ||
            position->words_before > words)
            fail(fmt::format("a host address belongs to {:#x}", position->address.value));
        if (&byte == &code.back()) translator_.executed(*position);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static std::unique_ptr<Bench> bench;
    if (size <= header_bytes) return 0;
    if (!bench || bench->worn_out()) {
        bench.reset();
        bench = std::make_unique<Bench>();
    }
    bench->run({data, size});
    return 0;
}
