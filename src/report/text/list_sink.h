// Where the lists of a report go: to a terminal, or to scripts.
#pragma once

#include <span>
#include <string_view>

#include "report/lists/callers.h"
#include "report/lists/hot_lists.h"
#include "report/lists/hot_scripts.h"
#include "report/lists/kind_table.h"

namespace shadowprof {

// A list is begun, has at most one call with its entries, or one for each probe, and is ended.
class ListSink {
  public:
    virtual ~ListSink() = default;

    // `name` is the list's name in ListRequest::by, `plural` that of its entries. `sort` is the key
    // that entries are sorted by; empty: they are in an order of their own.
    virtual void begin(std::string_view name, std::string_view plural, std::string_view sort) = 0;
    // `all` is the number of entries with those that are left out.
    virtual void end(std::size_t all, std::size_t shown) = 0;

    virtual void functions(std::span<const HotFunction> list, FunctionWeight unit) = 0;
    virtual void scripts(std::span<const HotScriptFunction> list, StackWeight weight) = 0;
    virtual void paths(std::span<const HotPath> list) = 0;
    virtual void branches(std::span<const HotBranch> list) = 0;
    virtual void values(std::span<const ValueProfile* const> list) = 0;
    virtual void loads(std::span<const LoadLatency* const> list) = 0;
    virtual void calls(std::span<const CallPair* const> list) = 0;
    virtual void callers(std::span<const CallerOfFunction> list) = 0;
    // Up to `most` entries of the probe; 0: all.
    virtual void probe(const ProbeProfile& probe, std::size_t most) = 0;
    virtual void methods(std::span<const Method* const> list) = 0;
    virtual void hazards(std::span<const Hazard* const> list) = 0;
    virtual void addresses(std::span<const AddressPattern* const> list) = 0;
    virtual void streams(std::span<const DataStream* const> list) = 0;
    // Some rows of `table`.
    virtual void table(std::span<const RecordRow> list, const KindTable& table) = 0;
};

}  // namespace shadowprof
