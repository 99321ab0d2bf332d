#include "profile/collect/sample_collector.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "profile/collect/noted_records.h"

namespace shadowprof {
namespace {

std::optional<ReferenceCollector> collector_of_references(const CollectorOptions& options) {
    if (!options.references && !options.streams && !options.caches) return std::nullopt;
    return ReferenceCollector(options.references, options.streams, options.caches);
}

// Whether the callers of single records are asked for.
bool needs_places(const CollectorOptions& options) {
    return (options.values && options.value_callers != 0) ||
           std::ranges::any_of(options.probes.probes(), &Probe::uses_callers);
}

// Each context takes a state of its own for each path that is executed in it, so the graph keeps
// callers only where something is told by them.
bool needs_callers(const CollectorOptions& options) {
    return options.limits.keeps_callers || options.system_calls || options.allocations ||
           needs_places(options);
}

// Samples are folded each by itself, and the callers of single records are those of the graph.
bool may_leave_stacks(const CollectorOptions& options) {
    return !options.are_samples && needs_callers(options) && !needs_places(options);
}

// Returns the stack's locations. Return addresses are looked up by the call before them, as a call
// that never returns may be the last instruction of its module.
std::vector<CodeLocation> locate(std::span<const GuestAddress> stack, AddressResolver& resolver) {
    std::vector<CodeLocation> locations;
    for (GuestAddress address :
         stack.first(std::min<std::size_t>(stack.size(), StackTree::max_depth))) {
        if (locations.empty()) {
            locations.push_back(resolver.resolve(address));
            continue;
        }
        CodeLocation call = resolver.resolve(address - 1);
        locations.push_back({call.module, call.address + 1});
    }
    return locations;
}

}  // namespace

SampleCollector::SampleCollector(BlockRegistry& registry, SharedTotals& totals,
                                 const CollectorOptions& options)
    : totals_(totals),
      blocks_(registry),
      bank_(options.seed, options.tnv),
      references_(collector_of_references(options)),
      probes_(options.probes.probes(), mix64(options.seed)),
      counts_system_calls_(options.system_calls),
      allocations_(options.allocations ? std::optional<AllocationCollector>(std::in_place)
                                       : std::nullopt),
      branches_(options.branches ? std::optional<BranchCollector>(blocks_) : std::nullopt),
      call_costs_(options.call_costs ? std::optional<CallCostCollector>(blocks_) : std::nullopt),
      reader_(registry, blocks_, options.values ? &bank_ : nullptr,
              references_ ? &*references_ : nullptr),
      scripts_(options.scripts && options.limits.keeps_callers
                   ? std::optional<ScriptFrames>(*options.scripts)
                   : std::nullopt),
      graph_(blocks_, needs_callers(options)),
      new_records_(may_leave_stacks(options) ? std::optional<NewRecords>(options.leaving_stacks)
                                             : std::nullopt),
      needs_places_(needs_places(options)),
      keeps_callers_(needs_callers(options)),
      follower_(graph_, reader_.tokens(),
                needs_places_ ? RecordFollower::Adds::at_first_time
                              : RecordFollower::Adds::at_second_time),
      callers_(graph_, follower_, std::max<std::size_t>(options.value_callers, 1)),
      looks_(mix64(options.seed)),
      are_samples_(options.are_samples) {
    if (options.value_callers != 0) reader_.set_callers(&callers_);
}

// Needs values that were passed on.
void SampleCollector::forget_records() {
    follower_.forget();
    callers_.forget();
    if (allocations_) allocations_->forget();
}

void SampleCollector::new_emulator() {
    std::lock_guard lock(mutex_);
    assert(!in_sample_);
    // The follower knows records by their ids, whose meaning changes.
    follower_.flush();
    forget_records();
    if (call_costs_) call_costs_->new_emulator();
    if (stacks_) stacks_->new_emulator();
    reader_.new_emulator();
}

void SampleCollector::begin(const SampleStart& start) {
    std::lock_guard lock(mutex_);
    assert(!in_sample_);
    in_sample_ = true;
    resolver_ = &start.resolver;
    reader_.begin(start.resolver);
    threads_.clear();
    current_ = 0;
    skip_instructions_ = start.skip_instructions;
    weight_ = std::max(start.weight, std::uint32_t{1});
    number_ = start.number;
    if (branches_) branches_->begin_sample();
    if (call_costs_) call_costs_->begin_sample();
    if (scripts_) scripts_->begin_sample();
    stack_changes_.begin_sample();
    if (stacks_) stacks_->begin_sample();
    instructions_ = noted_instructions_ = 0;
    expected_instructions_ = start.expected_instructions;
    time_ns_ = time_left_ns_ = start.time_ns;
    is_first_part_ = true;
    began_at_.reset();
    if (start.began_at) began_at_ = start.resolver.resolve(*start.began_at);
    block_vector_ = {};
    bursts_ = start.bursts ? std::optional(*start.bursts) : std::nullopt;
    seed_ = start.seed;
    traced_ = {};
    traced_level_ = TraceLevel::blocks;
    count_events(bursts_ ? bursts_->events : EventKinds{false, false});
    start_thread(0, start.stack);
    apply_weight();
}

// Changes what an event is. Known records store their numbers of events, so they are forgotten.
void SampleCollector::count_events(EventKinds kinds) {
    if (follower_.counted_events() == kinds) return;
    follower_.flush();
    forget_records();
    follower_.count_events(kinds);
}

void SampleCollector::begin_thread(std::uint32_t thread, std::span<const GuestAddress> stack) {
    std::lock_guard lock(mutex_);
    assert(in_sample_);
    const auto place = follower_.place();
    start_thread(thread, stack);
    if (thread != current_)
        follower_.go_to(place);
    else
        apply_weight();
}

// Leaves the follower at the thread's start.
void SampleCollector::start_thread(std::uint32_t thread, std::span<const GuestAddress> stack) {
    if (thread >= threads_.size()) threads_.resize(thread + 1);
    if (scripts_) scripts_->begin_thread(thread, stack);
    start_at(thread, locate(stack, *resolver_));
}

void SampleCollector::start_at(std::uint32_t thread, std::span<const CodeLocation> locations) {
    follower_.start(graph_.start(locations), {});
    if (branches_) branches_->begin_thread(thread, locations.subspan(locations.empty() ? 0 : 1));
    if (call_costs_) call_costs_->begin_thread(thread, locations);
    if (stacks_) stacks_->begin_thread(thread, locations);
    threads_[thread] = {.begun = true,
                        .place = follower_.place(),
                        .skip_instructions = skip_instructions_,
                        .skipped = {}};
    if (bursts_) threads_[thread].bursts.emplace(*bursts_, mix64(seed_ + thread));
}

void SampleCollector::turn_to(std::uint32_t thread) {
    if (thread == current_) return;
    reader_.cut();
    threads_[current_].place = follower_.place();
    current_ = thread;
    if (thread < threads_.size() && threads_[thread].begun)
        follower_.go_to(threads_[thread].place);
    else
        start_thread(thread, {});
    apply_weight();
}

// Lets the current thread count as it does. While it does not, its weight is 0.
void SampleCollector::apply_weight() {
    const auto weight = counts() ? weight_ : 0;
    follower_.set_weight(weight);
    burst_sink_.set_weight(weight);
    if (references_) references_->set_weight(weight);
    if (branches_) branches_->set_weight(weight);
    if (call_costs_) call_costs_->set_weight(weight);
    if (stacks_) stacks_->set_weight(weight);
    reader_.keep_values(counts());
}

void SampleCollector::set_counting(std::uint32_t thread, bool counts) {
    const std::lock_guard lock(mutex_);
    assert(in_sample_);
    turn_to(thread);
    if (this->counts() == counts) return;
    follower_.cut();
    threads_[current_].counts = counts;
    apply_weight();
}

void SampleCollector::cut_paths() {
    const std::lock_guard lock(mutex_);
    assert(in_sample_);
    for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) {
        if (!threads_[thread].begun) continue;
        turn_to(thread);
        follower_.cut();
    }
}

BatchResult SampleCollector::add(std::uint32_t thread, std::span<const std::uint64_t> batch,
                                 const BlockTable& table) {
    std::lock_guard lock(mutex_);
    assert(in_sample_);
    turn_to(thread);
    const std::uint64_t before = instructions_;
    threads_[current_].has_executed |= !batch.empty();
    reader_.open(batch, table);
    while (!reader_.at_end()) {
        std::optional<RecordFollower::Position> place;
        const bool has_stack_note = this->has_stack_note();
        if (threads_[current_].skip_instructions == 0) {
            const bool is_probed = !threads_[current_].probed.empty();
            if (!is_probed && !has_stack_note) follow();
            if (needs_places_ || is_probed) place = follower_.place();
        }
        // Following may have ended the batch.
        const auto record = reader_.read(place);
        if (!record) continue;
        if (has_stack_note) change_stack_before(*record);
        if (!threads_[current_].probed.empty()) settle_probed(*record, place);
        take(*record);
        if (stack_changes_.changes_behind(current_))
            go_on_in(stack_changes_.change_behind(followers()));
    }
    return {instructions_ - before, reader_.damaged()};
}

// The same instruction may be announced several times before it is executed.
void SampleCollector::add_probed(const ProbeRecord& record) {
    const std::lock_guard lock(mutex_);
    assert(in_sample_);
    if (record.probe == call_result_note) return add_call_result(record);
    const bool is_call = record.probe == system_call_note || record.probe == repeated_call_note;
    const bool is_allocation = allocations_ && record.probe == allocation_note;
    const bool is_note_of_script = scripts_ && is_script_note(record);
    if (!is_call && !is_allocation && !is_note_of_script && !is_stack_note(record) &&
        record.probe >= probes_.size())
        return;
    turn_to(record.thread);
    if (is_stack_note(record)) {
        if (keeps_callers_ || call_costs_) stack_changes_.take(record, *resolver_);
        return;
    }
    if (is_note_of_script) return take_script_note(record);
    if (is_call) return add_system_call(record);
    auto& probed = threads_[current_].probed;
    if (!probed.empty() && (probed.back().pc != record.pc || probed.back().probe >= record.probe))
        probed.clear();
    probed.push_back(record);
}

// The callers of the thread's last block, the innermost first.
std::vector<CodeLocation> SampleCollector::callers(std::size_t most) {
    if (stacks_) return stacks_->stacks().callers(stacks_->context(current_), most);
    return graph_.callers(graph_.last_context(follower_.node(), follower_.pending()), most);
}

// Calls in the skipped part do not count.
void SampleCollector::add_system_call(const ProbeRecord& record) {
    if (!counts_system_calls_ || reader_.damaged()) return;
    if (threads_[current_].skip_instructions != 0 || !counts()) return;
    if (calls_in_progress_.begins_again(record)) return;
    auto* const counted = system_calls_.add(resolver_->resolve(record.pc), record.value,
                                            callers(SystemCallTotals::max_callers), weight_);
    calls_in_progress_.begin(record, counted);
}

void SampleCollector::add_call_result(const ProbeRecord& record) {
    if (!counts_system_calls_) return;
    auto* const counted = calls_in_progress_.end(record);
    if (counted) system_calls_.add_result(*counted, record.value, record.key, weight_);
}

void SampleCollector::take_script_note(const ProbeRecord& record) {
    switch (record.probe) {
        case script_text_note:
        case script_function_note:
            return scripts_->name_function(record);
        case script_interpreter_note:
        case script_stack_note:
            return scripts_->add_to_stack(record);
        case script_stack_end_note:
            return begin_in_scripts();
        case script_frame_note:
        case script_leave_note:
            return change_scripts(record);
        default:
            return;
    }
}

// A thread that has executed nothing begins anew, in the functions that were noted.
void SampleCollector::begin_in_scripts() {
    if (threads_[current_].has_executed) return;
    const bool counts = threads_[current_].counts;
    const auto native = locate(scripts_->native_stack(current_), *resolver_);
    start_at(current_, scripts_->end_stack(current_, native));
    threads_[current_].counts = counts;
    apply_weight();
}

ContextId SampleCollector::current_context() {
    if (stacks_) return stacks_->context(current_);
    const Thread& thread = threads_[current_];
    return thread.skip_instructions != 0
               ? graph_.last_context(follower_.node(), thread.skipped)
               : graph_.last_context(follower_.node(), follower_.pending());
}

void SampleCollector::change_stack_before(const TraceRecord& next) {
    const auto blocks = std::span(reader_.tokens()).subspan(next.first_block, next.blocks);
    if (blocks.empty()) return;
    const CanonicalBlock& block = blocks_[blocks[0]];
    if (stack_changes_.changes_before(current_))
        go_on_in(stack_changes_.change_before(followers(), entered_function(block)));
    stack_changes_.expect(current_, block.start);
}

StackChanges::Followers SampleCollector::followers() {
    return {.thread = current_,
            .tree = keeps_callers_ ? &contexts() : nullptr,
            .context = current_context(),
            .costs = call_costs_ ? &*call_costs_ : nullptr,
            .scripts = scripts_ ? &*scripts_ : nullptr};
}

void SampleCollector::change_scripts(const ProbeRecord& record) {
    const ContextId before = current_context();
    const ContextId now = record.probe == script_frame_note
                              ? scripts_->enter(contexts(), before, record)
                              : scripts_->leave(contexts(), before, record);
    go_on_in(now);
}

void SampleCollector::go_on_in(ContextId context) {
    if (context == current_context()) return;
    if (stacks_) return stacks_->go_on_in(current_, context);
    Thread& thread = threads_[current_];
    if (thread.skip_instructions == 0) return follower_.go_on_in(context);
    follower_.start(graph_.go_on_in(context, follower_.node(), thread.skipped, 0), {});
    std::uint64_t instructions = 0;
    for (const BlockToken token : thread.skipped) instructions += blocks_[token].instructions;
    thread.skip_instructions -= std::min(thread.skip_instructions - 1, instructions);
    thread.skipped.clear();
}

// Events in the skipped part do not count.
void SampleCollector::settle_probed(const TraceRecord& next,
                                    std::optional<RecordFollower::Position> place) {
    const auto probed = std::exchange(threads_[current_].probed, {});
    if (!place || !counts()) return;
    const auto blocks = std::span(reader_.tokens()).subspan(next.first_block, next.blocks);
    const CodeLocation at = resolver_->resolve(probed.back().pc);
    if (blocks.empty() || blocks_[blocks[0]].start != at) return;
    std::optional<CodeLocation> caller;
    if (probes_.uses_callers()) {
        const auto id = callers_.caller(callers_.find(*place, next.id, blocks), 0);
        if (id != no_caller) caller = callers_.table()[id].front();
    }
    for (const ProbeRecord& record : probed)
        if (record.probe == allocation_note)
            take_allocation(record, at, blocks[0]);
        else
            probes_.add(record, at, caller);
}

// The thread goes on with the block `entry`.
void SampleCollector::take_allocation(const ProbeRecord& note, CodeLocation function,
                                      BlockToken entry) {
    AllocationCollector::Call call{.thread = current_, .function = function, .bytes = note.value};
    if (stacks_) {
        call.before = stacks_->context(current_);
        call.entered = stacks_->context_of(current_, entry);
    } else {
        auto blocks = follower_.pending();
        call.before = graph_.last_context(follower_.node(), blocks);
        blocks.push_back(entry);
        call.entered = graph_.last_context(follower_.node(), blocks);
    }
    allocations_->take(call, stacks_ ? stacks_->stacks() : graph_.stacks(), weight_);
}

void SampleCollector::add_to(SystemCallTotals& calls) {
    const std::lock_guard lock(mutex_);
    calls.add(system_calls_);
}

void SampleCollector::add_to(AllocationTotals& allocations) {
    const std::lock_guard lock(mutex_);
    if (allocations_) allocations.add(allocations_->totals());
}

void SampleCollector::add_to(BranchTotals& branches) {
    const std::lock_guard lock(mutex_);
    if (branches_) branches.add(*branches_);
}

void SampleCollector::add_to(CallCostTotals& costs) {
    const std::lock_guard lock(mutex_);
    if (call_costs_) costs.add(*call_costs_);
}

std::vector<ProbeProfile> SampleCollector::probed() {
    const std::lock_guard lock(mutex_);
    return probes_.profiles();
}

// Follows records in an order that was met before.
void SampleCollector::follow() {
    if (auto& bursts = threads_[current_].bursts) return follow_between_bursts(*bursts);
    RecordFollower::ToEnd limit;
    follow_up_to(limit);
}

// Follows only as many events as pass without a burst's begin or end.
void SampleCollector::follow_between_bursts(BurstFollower& bursts) {
    if (!bursts.is_quiet()) return;
    const auto quiet_events = bursts.quiet_events();
    RecordFollower::AtMost limit{quiet_events};
    follow_up_to(limit);
    const auto events = quiet_events - limit.events;
    bursts.pass(events);
    note_traced(events);
}

// Counts events of records that were read or passed. They are all at one level, as a trace changes
// its level only between batches.
void SampleCollector::note_traced(std::uint64_t events) {
    const auto level = reader_.level();
    const bool begins = std::exchange(traced_level_, level) != level;
    if (level != TraceLevel::values && level != TraceLevel::references) return;
    auto& traced = level == TraceLevel::values ? traced_.values : traced_.references;
    traced.add({.bursts = begins, .events = events});
}

template <typename Limit>
void SampleCollector::follow_up_to(Limit& limit) {
    if (!reader_.copied()) return follow_plain(limit);
    TraceReader::KnownRecords records(reader_);
    follow_records(records, limit);
    reader_.skip_to(records);
}

// Records are handed on only where more is asked of them than where they lead.
template <typename Records, typename Limit>
void SampleCollector::follow_records(Records& records, Limit& limit) {
    if (!looks_at_records()) {
        count_instructions(follower_.follow(records, limit));
        return;
    }
    typename NotedRecords<Records>::Room room;
    bool goes_on = true;
    while (goes_on) {
        NotedRecords noted(records, room);
        count_instructions(follower_.follow(noted, limit));
        look_through(noted.ids());
        records = noted.records();
        goes_on = noted.is_full();
    }
}

void SampleCollector::look_through(std::span<const std::uint32_t> records) {
    if (branches_)
        for (const std::uint32_t id : records)
            branches_->take(current_, reader_.blocks_of(id), BranchCollector::Counting::counts);
    if (call_costs_)
        for (const std::uint32_t id : records)
            call_costs_->take_record(current_, id, reader_.blocks_of(id));
    if (stacks_)
        for (const std::uint32_t id : records)
            if (!stacks_->take_known(current_, id))
                stacks_->take(current_, id, reader_.blocks_of(id));
}

// Some of these records are looked at for the block vector.
template <typename Limit>
void SampleCollector::follow_plain(Limit& limit) {
    const auto place = reader_.place();
    TraceReader::PlainRecords records(reader_);
    follow_records(records, limit);
    reader_.skip_to(records);
    if (!are_samples_) return;
    looks_.pass(place - reader_.place(), [&](std::uint64_t before, std::uint64_t random) {
        look_at(reader_.look_back(place, before), random);
    });
}

// One random block stands for the whole record, as the emulator decides which blocks make up a
// record.
void SampleCollector::look_at(std::span<const BlockToken> record, std::uint64_t random) {
    if (record.empty()) return;
    const BlockToken block = record[random % record.size()];
    block_vector_.add(block, record.size() * blocks_[block].instructions);
}

void SampleCollector::take(const TraceRecord& record) {
    const auto blocks = std::span(reader_.tokens()).subspan(record.first_block, record.blocks);
    const bool skips = threads_[current_].skip_instructions != 0;
    if (branches_)
        branches_->take(
            current_, blocks,
            skips ? BranchCollector::Counting::learns_only : BranchCollector::Counting::counts);
    if (call_costs_)
        call_costs_->take(current_, blocks,
                          skips ? CallCostCollector::Counting::follows_only
                                : CallCostCollector::Counting::counts);
    if (stacks_) stacks_->take(current_, record.id, blocks);
    if (skips) return skip(blocks);
    count_instructions(record.instructions);
    if (are_samples_)
        looks_.pass(1, [&](std::uint64_t, std::uint64_t random) { look_at(blocks, random); });
    if (auto& bursts = threads_[current_].bursts)
        take_in_bursts(*bursts, record);
    else
        follower_.take(record);
    if (new_records_ && new_records_->add(graph_.stacks().size()))
        empty_graph(Stacks::leave);
    else if (follower_.full() || graph_.full() || (stacks_ && stacks_->is_full()))
        empty_graph(Stacks::stay);
}

void SampleCollector::take_in_bursts(BurstFollower& bursts, const TraceRecord& record) {
    const BurstFollower::Before before{follower_.last_block(), follower_.pending_blocks()};
    const auto events = follower_.take(record);
    note_traced(events);
    if (bursts.is_quiet() && events <= bursts.quiet_events()) return bursts.pass(events);
    bursts.take(before, std::span(reader_.tokens()).subspan(record.first_block, record.blocks),
                blocks_, burst_sink_);
    if (burst_sink_.full()) fold(time_of_part_ns(), Part::goes_on);
}

void SampleCollector::skip(std::span<const BlockToken> blocks) {
    auto& left = threads_[current_].skip_instructions;
    auto& skipped = threads_[current_].skipped;
    skipped.insert(skipped.end(), blocks.begin(), blocks.end());
    auto followed = graph_.skip(follower_.node(), skipped, left);
    const auto consume = [&] {
        skipped.erase(skipped.begin(),
                      skipped.begin() + static_cast<std::ptrdiff_t>(followed.blocks));
    };
    consume();
    if (left != 0) return follower_.start(followed.node, {});
    for (BlockToken token : skipped) instructions_ += blocks_[token].instructions;
    if (auto& bursts = threads_[current_].bursts) bursts->take({}, skipped, blocks_, burst_sink_);
    followed = graph_.follow_and_count(followed.node, skipped, 0, weight_);
    consume();
    follower_.start(followed.node, skipped);
}

void SampleCollector::end() {
    std::lock_guard lock(mutex_);
    assert(in_sample_);
    in_sample_ = false;
    for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) {
        if (!threads_[thread].begun) continue;
        turn_to(thread);
        if (threads_[thread].skip_instructions == 0) follower_.finish();
        if (auto& bursts = threads_[thread].bursts) bursts->finish(burst_sink_);
    }
    burst_sink_.add_counts(traced_);
    reader_.hand_on_values();
    note_executed();
    if (are_samples_) fold(time_left_ns_, Part::last);
    std::lock_guard totals_lock(totals_.mutex);
    ++totals_.samples;
    totals_.samples_with_bursts += bursts_.has_value();
    totals_.damaged_samples += reader_.damaged();
}

void SampleCollector::add_to(ValueTotals& values, ReferenceTotals& references) {
    std::lock_guard lock(mutex_);
    fold(time_of_part_ns(), Part::goes_on);
    reader_.hand_on_values();
    values.add(bank_, callers_.table());
    if (references_) {
        references_->finish();
        references.add(*references_);
    }
}

void SampleCollector::empty_graph(Stacks stacks) {
    fold(time_of_part_ns(), Part::goes_on);
    reader_.hand_on_values();
    std::vector<std::uint32_t> begun;
    std::vector<PathGraph::NodeId> nodes;
    std::vector<std::vector<BlockToken>> pending;
    threads_[current_].place = follower_.place();
    for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) {
        if (!threads_[thread].begun) continue;
        follower_.go_to(threads_[thread].place);
        begun.push_back(thread);
        nodes.push_back(follower_.node());
        pending.push_back(follower_.pending());
    }
    if (stacks == Stacks::leave)
        leave_stacks(begun, nodes, pending);
    else
        clear_graph(nodes);
    forget_records();
    for (std::size_t i = 0; i < begun.size(); ++i) {
        follower_.start(nodes[i], pending[i]);
        threads_[begun[i]].place = follower_.place();
    }
    follower_.go_to(threads_[current_].place);
    std::lock_guard lock(totals_.mutex);
    ++totals_.graphs_emptied;
}

void SampleCollector::clear_graph(std::span<PathGraph::NodeId> nodes) {
    const auto contexts = keeps_callers_ ? stack_changes_.contexts() : std::vector<ContextId*>();
    // Those of the graph, or of what follows calls beside it.
    graph_.clear(nodes, stacks_ ? std::span<ContextId* const>() : contexts);
    if (stacks_) stacks_->clear(contexts);
}

// From now on calls are followed beside the graph. The threads in `begun` stand at `nodes`, and
// have executed the blocks in `pending` since, which the graph has not counted.
void SampleCollector::leave_stacks(std::span<const std::uint32_t> begun,
                                   std::span<PathGraph::NodeId> nodes,
                                   std::span<const std::vector<BlockToken>> pending) {
    new_records_.reset();
    stacks_.emplace(blocks_);
    for (std::size_t i = 0; i < begun.size(); ++i) {
        stacks_->set_weight(threads_[begun[i]].counts ? weight_ : 0);
        stacks_->take_over(begun[i],
                           {.context = graph_.last_context(nodes[i], {}),
                            .last = graph_.last_block(nodes[i]),
                            .blocks = pending[i]},
                           graph_.stacks());
    }
    stacks_->set_weight(counts() ? weight_ : 0);
    for (ContextId* const context : stack_changes_.contexts())
        *context = stacks_->stacks().copy(graph_.stacks(), *context);
    graph_.leave_stacks(nodes);
}

// The share of the sample's time for the instructions that are not folded yet, if the sample goes
// on.
double SampleCollector::time_of_part_ns() const {
    if (expected_instructions_ == 0) return time_left_ns_;
    const auto part = static_cast<double>(instructions_ - noted_instructions_);
    return std::min(time_left_ns_, time_ns_ * part / static_cast<double>(expected_instructions_));
}

// Each sample is folded by itself, because its instructions share only its own time. Folding takes
// time linear in what the sample counted.
void SampleCollector::fold(double time_ns, Part part) {
    note_executed();
    if (are_samples_ && part == Part::goes_on && unfolded_.instructions == 0) return;
    follower_.flush();
    time_left_ns_ -= time_ns;
    unfolded_.time_ns = time_ns;

    std::lock_guard lock(totals_.mutex);
    burst_sink_.fold_into(totals_.bursts);
    if (totals_.holds(graph_.paths())) return hold(part);
    totals_.flow.set_sample({number_, weight_});
    graph_.fold_into(totals_.flow, time_ns);
    totals_.flow.set_sample({});
    if (stacks_) stacks_->fold_into(totals_.flow, time_ns);
    totals_.add(std::exchange(unfolded_, {}));
    if (part == Part::last && totals_.progress.end_sample()) totals_.end_batch();
}

void SampleCollector::hold(Part part) {
    totals_.flow.begin_record();
    graph_.fold_into(totals_.flow);
    totals_.hold({.counts = totals_.flow.end_record(weight_),
                  .size = std::exchange(unfolded_, {}),
                  .weight = weight_,
                  .sample = number_,
                  .began_at = began_at_,
                  .has_one_thread = threads_.size() <= 1,
                  .begins_sample = std::exchange(is_first_part_, false),
                  .ends_sample = part == Part::last});
}

void SampleCollector::note_executed() {
    const auto instructions = instructions_ - std::exchange(noted_instructions_, instructions_);
    unfolded_.instructions += instructions;
    unfolded_.weighted += instructions * weight_;
}

}  // namespace shadowprof
