#include "report/profile_file/file_size_limit.h"

#include <algorithm>
#include <vector>

#include "profile/kinds/registry.h"
#include "profile/merge/size_limit.h"
#include "profile/profile_size.h"
#include "report/profile_file/json_writer.h"
#include "report/profile_file/location_numbers.h"
#include "report/profile_file/location_writer.h"
#include "report/profile_file/profile_writer.h"
#include "report/profile_file/record_writer.h"

namespace shadowprof {
namespace {

class CountingSink final : public ByteSink {
  public:
    Result<void> write(std::string_view bytes) override {
        bytes_ += bytes.size();
        return {};
    }
    std::uint64_t bytes() const { return bytes_; }

  private:
    std::uint64_t bytes_ = 0;
};

// A part of the file, and the smallest share of the lists with which it is written.
struct Part {
    double share = 0;
    std::uint64_t bytes = 0;
};

// Measures a profile by writing it to nowhere.
class FileParts {
  public:
    FileParts(const Profile& profile, SymbolSource& symbols)
        : profile_(profile), symbols_(symbols) {
        for_each_location(profile, [&](CodeLocation at) { numbers_.add(at); });
        numbers_.sort();
        location_shares_.assign(numbers_.sorted().size(), 1);
        is_of_timeline_.resize(numbers_.sorted().size());
        note_timeline();
        json_.begin_object();
        for_each_kind([&]<typename Kind>() { measure_list<Kind>(); });
        note_functions();
        measure_locations();
        json_.end_object();
    }

    // The largest share of the lists with which the file has `max_bytes`. 0: none.
    double largest_share(std::uint64_t max_bytes) {
        if (json_.bytes() <= max_bytes) return 1;
        std::ranges::sort(parts_, {}, &Part::share);
        std::uint64_t bytes = 0;
        double share = 0;
        for (auto part = parts_.begin(); part != parts_.end();) {
            const double next = part->share;
            for (; part != parts_.end() && part->share == next; ++part) bytes += part->bytes;
            if (bytes > max_bytes) return share;
            share = next;
        }
        return 1;
    }

  private:
    template <typename Kind>
    void measure_list() {
        const auto& list = Kind::of(profile_);
        const bool is_whole = is_never_cut<Kind>(list);
        json_.key(Kind::name);
        json_.begin_array();
        for (std::size_t i = 0; i < list.size(); ++i) {
            const double share =
                is_whole ? 0 : static_cast<double>(i + 1) / static_cast<double>(list.size());
            note_locations(list[i], share);
            measure(share, [&] {
                json_.begin_object();
                fields(writer_, list[i]);
                json_.end_object();
            });
        }
        json_.end_array();
    }

    void note_locations(const auto& record, double share) {
        const auto note = [&](CodeLocation at) {
            auto& least = location_shares_[numbers_.of(at)];
            least = std::min(least, share);
        };
        LocationVisitor visitor(note);
        fields(visitor, record);
    }

    // Folded stacks keep their functions.
    void note_functions() {
        for (const CodeLocation function : functions_of(profile_.stacks)) {
            location_shares_[numbers_.of(function)] = 0;
            parts_.push_back({0, stack_file_bytes(0)});
        }
    }

    // The timeline and its locations are in the file whatever is cut.
    void note_timeline() {
        if (!profile_.timeline) return;
        for (const CodeLocation frame : profile_.timeline->frames)
            is_of_timeline_[numbers_.of(frame)] = true;
    }

    void measure_locations() {
        json_.key("locations");
        json_.begin_array();
        const auto& all = numbers_.sorted();
        for (std::size_t i = 0; i < all.size(); ++i)
            if (!is_of_timeline_[i])
                measure(location_shares_[i], [&] { write_location(json_, symbols_, all[i]); });
        json_.end_array();
    }

    void measure(double share, const auto& write) {
        const std::uint64_t before = json_.bytes();
        write();
        parts_.push_back({share, json_.bytes() - before});
    }

    const Profile& profile_;
    SymbolSource& symbols_;
    CountingSink sink_;
    JsonWriter json_{sink_};
    LocationNumbers numbers_;
    RecordWriter writer_{json_, numbers_, !profile_.times.empty()};
    std::vector<double> location_shares_;  // by number
    std::vector<bool> is_of_timeline_;     // by number
    std::vector<Part> parts_;
};

// Whether the profile has so little that it is not worth measuring.
bool is_small(const Profile& profile, std::uint64_t max_bytes) {
    constexpr std::uint64_t usually_too_much = 16;
    std::uint64_t bytes = 0;
    for_each_kind([&]<typename Kind>() { bytes += Kind::of(profile).size() * record_file_bytes; });
    for_each_location(profile, [&](CodeLocation) { bytes += location_file_bytes; });
    return bytes < max_bytes / usually_too_much;
}

// The size of a file without records.
std::uint64_t bytes_without_lists(const Profile& profile, SymbolSource& symbols) {
    CountingSink sink;
    (void)write_profile(profile, symbols, sink, {.top = 0});  // the sink takes everything
    return sink.bytes();
}

}  // namespace

void keep_file_size(Profile& profile, SymbolSource& symbols, std::uint64_t max_bytes) {
    if (is_small(profile, max_bytes)) return;
    const auto for_lists = max_bytes - std::min(max_bytes, bytes_without_lists(profile, symbols));
    const double share = FileParts(profile, symbols).largest_share(for_lists);
    if (share < 1) keep_hottest(profile, share);
}

}  // namespace shadowprof
