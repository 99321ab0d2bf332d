#include "emu/worker/load_watcher.h"

#include <algorithm>
#include <cstring>

namespace shadowprof {
namespace {

GuestAddress line_of(GuestAddress address) {
    return {address.value & ~(line_bytes - 1)};
}

std::uint64_t line_bit(GuestAddress line) {
    return 1ull << (line.value % page_bytes / line_bytes);
}

}  // namespace

// False while loads are not counted yet. Loads that were under way when the thread was interrupted
// have brought in their lines, though they are executed again.
bool LoadWatcher::is_warm() const {
    return cold_ >= limits_.skipped_loads || counts_.accesses >= limits_.skipped_accesses;
}

std::optional<SampleEnd> LoadWatcher::on_access(const CpuState& cpu, GuestMemory& memory) {
    if (deadline_.passed()) return SampleEnd::time;
    if (counts_.timed >= limits_.loads || counts_.accesses >= limits_.accesses)
        return SampleEnd::size;
    ++counts_.accesses;
    const auto* in = instruction_at(cpu.rip, memory);
    if (!in) return SampleEnd::fault;
    const auto list = accesses_of(*in, cpu);
    if (!list) return SampleEnd::unsupported_instruction;
    for (const auto& access : *list) {
        const auto counted = counts_.timed;
        if (const auto end = take(cpu.rip, access, memory)) return end;
        if (counts_.timed != counted) note_probed(cpu, memory);
        if (access.is_plain_load) note_load(cpu.rip, access, memory);
    }
    return std::nullopt;
}

void LoadWatcher::note_load(GuestAddress pc, const Access& access, GuestMemory& memory) {
    if (is_warm()) facts_[pc].moves.take(access.address, loaded_);
    if (access.size_bytes == sizeof(std::uint64_t))
        if (const auto value = read_value<std::uint64_t>(memory, access.address))
            loaded_.add(*value);
}

const Instruction* LoadWatcher::instruction_at(GuestAddress pc, GuestMemory& memory) {
    std::array<std::byte, Instruction::max_length> bytes;
    const auto here = memory.readable_bytes(pc);
    auto size = std::min(here.size(), bytes.size());
    std::copy_n(here.begin(), size, bytes.begin());
    if (size != 0 && size < bytes.size()) {
        const auto more = memory.readable_bytes(pc + size);
        const auto extra = std::min(more.size(), bytes.size() - size);
        std::copy_n(more.begin(), extra, bytes.begin() + static_cast<std::ptrdiff_t>(size));
        size += extra;
    }
    const auto known = instructions_.find(pc);
    if (known != instructions_.end()) {
        const auto before = std::as_bytes(known->second.bytes());
        if (before.size() <= size && std::memcmp(before.data(), bytes.data(), before.size()) == 0)
            return &known->second;
        instructions_.erase(known);
    }
    const auto in = Instruction::decode(std::span(bytes).first(size), pc);
    if (!in) return nullptr;
    if (probes_) probes_->is_probed(*in);
    return &instructions_.emplace(pc, *in).first->second;
}

// Shows the target's memory where the session has not accessed it yet.
class LoadWatcher::Memory final : public MemoryReader {
  public:
    Memory(LoadWatcher& watcher, GuestMemory& memory) : watcher_(watcher), memory_(memory) {}

    bool read(GuestAddress from, std::span<std::byte> to) override {
        while (!to.empty()) {
            const auto line = line_of(from);
            const auto size = std::min<std::size_t>(to.size(), line + line_bytes - from);
            const bool known = (watcher_.touched(line) & line_bit(line)) != 0;
            const auto part = to.first(size);
            if (!(known ? memory_.read(from, part) : watcher_.pages_.read_pages(from, part)))
                return false;
            to = to.subspan(size);
            from = from + size;
        }
        return true;
    }

  private:
    LoadWatcher& watcher_;
    GuestMemory& memory_;
};

void LoadWatcher::note_probed(const CpuState& cpu, GuestMemory& memory) {
    if (!probes_ || answers_.empty()) return;
    Memory reader(*this, memory);
    for (const BoundProbe& probe : probes_->at(cpu.rip)) {
        const auto event = evaluate(probe, cpu, reader, answers_.front().cycles);
        if (event)
            probed_.push_back({.pc = cpu.rip,
                               .value = event->value,
                               .key = event->key,
                               .probe = event->probe,
                               .missed = event->missed});
    }
}

std::optional<SampleEnd> LoadWatcher::take(GuestAddress pc, const Access& access,
                                           GuestMemory& memory) {
    const auto* mapping = memory.find(access.address);
    // The emulator itself finds out that nothing is mapped there.
    if (!mapping || access.size_bytes == 0) return std::nullopt;
    const auto first = line_of(access.address);
    const auto last = line_of(access.address + (access.size_bytes - 1));
    std::uint64_t lines = 0, warm = 0;
    for (auto line = first; line <= last; line = line + line_bytes) {
        ++lines;
        warm += (touched(line) & line_bit(line)) != 0;
    }
    if (warm == lines) {
        if (access.is_plain_load && is_warm()) note_reuse(pc, access);
        return std::nullopt;
    }
    answers_.clear();
    const bool is_code = mapping->executable;
    if (!access.is_plain_load) ++counts_.not_plain;
    if (access.is_plain_load && is_code) ++counts_.in_code;
    if (access.is_plain_load && !is_code && warm != 0) ++counts_.partly_known;
    if (access.is_plain_load && !is_code && warm == 0)
        if (const auto end = ask(pc, access)) return end;
    if (!fetch_lines(first, last, memory))
        return deadline_.missed() ? SampleEnd::time : SampleEnd::fault;
    if (!answers_.empty() && !check(access, memory)) ++counts_.changed;
    return std::nullopt;
}

// False if the answer's bytes differ from what was read afterwards.
bool LoadWatcher::check(const Access& access, GuestMemory& memory) const {
    const auto& answer = answers_.front();
    const auto shows = [&](GuestAddress address, std::uint8_t byte) {
        return read_value<std::uint8_t>(memory, address) == byte;
    };
    return shows(access.address, answer.first) &&
           shows(access.address + (access.size_bytes - 1), answer.last);
}

std::optional<SampleEnd> LoadWatcher::ask(GuestAddress pc, const Access& access) {
    const LoadQuestion question{
        .pc = pc, .address = access.address, .size_bytes = access.size_bytes, .counts = is_warm()};
    ++cold_;
    const auto bytes = outside_.call(std::as_bytes(std::span(&question, 1)));
    if (!bytes) return deadline_.passed() ? SampleEnd::time : SampleEnd::stopped;
    LoadAnswer answer;
    if (bytes->size() != sizeof answer) return SampleEnd::stopped;
    std::memcpy(&answer, bytes->data(), sizeof answer);
    switch (answer.outcome) {
        case LoadAnswer::Outcome::timed:
            answers_.push_back(answer);
            counts_.timed += question.counts;
            return std::nullopt;
        case LoadAnswer::Outcome::skipped:
            ++counts_.skipped;
            return std::nullopt;
        case LoadAnswer::Outcome::faulted:
            return SampleEnd::fault;
    }
    return SampleEnd::stopped;
}

bool LoadWatcher::fetch_lines(GuestAddress first, GuestAddress last, GuestMemory& memory) {
    for (auto line = first; line <= last; line = line + line_bytes) {
        auto& bits = touched(line);
        if (bits & line_bit(line)) continue;
        const auto* mapping = memory.find(line);
        // The emulator itself handles the part of an access that lies behind a mapping.
        if (!mapping) return true;
        bits |= line_bit(line);
        if (mapping->executable || memory.is_fresh(line)) continue;
        std::array<std::byte, line_bytes> bytes;
        if (!pages_.read_pages(line, bytes) || !memory.fill(line, bytes)) return false;
    }
    return true;
}

void LoadWatcher::note_reuse(GuestAddress pc, const Access& access) {
    auto& facts = facts_[pc];
    ++facts.reused;
    const auto last = access.address + (access.size_bytes - 1);
    facts.line_crossings += line_of(access.address) != line_of(last);
    facts.page_crossings += access.address.page() != last.page();
}

std::vector<LoadTally> LoadWatcher::tallies() const {
    std::vector<LoadTally> list;
    for (const auto& [pc, facts] : facts_) {
        const auto stride = facts.moves.strides.most();
        list.push_back({.pc = pc,
                        .reused = facts.reused,
                        .line_crossings = facts.line_crossings,
                        .page_crossings = facts.page_crossings,
                        .constant = facts.moves.constant,
                        .moved = facts.moves.moved,
                        .chased = facts.moves.chased,
                        .stride = stride.stride,
                        .strided = stride.count});
    }
    return list;
}

}  // namespace shadowprof
