#include "guest_kernel/forward/client_requests.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace shadowprof {
namespace {

using Kind = RegionEvent::Kind;

constexpr std::uint64_t tool(char first, char second) {
    return std::uint64_t{static_cast<unsigned char>(first)} << 24 |
           std::uint64_t{static_cast<unsigned char>(second)} << 16;
}
constexpr std::uint64_t callgrind = tool('C', 'T');
constexpr std::uint64_t own = tool('S', 'P');

struct RequestRow {
    std::uint64_t number;
    std::optional<std::uint64_t> answer;  // nothing: the program's default
    std::optional<Kind> kind;
    bool has_name = false;  // its first argument is the address of a string
};
// valgrind.h: enum Vg_ClientRequest; callgrind.h: enum Vg_CallgrindClientRequest; shadowprof.h.
constexpr std::array request_rows = {
    RequestRow{0x1001, 1, std::nullopt},  // RUNNING_ON_VALGRIND
    RequestRow{0x1002, 0, std::nullopt},  // DISCARD_TRANSLATIONS: changed code is noticed
    RequestRow{0x1101, std::nullopt, Kind::unknown_call},  // CLIENT_CALL0 to CLIENT_CALL3
    RequestRow{0x1102, std::nullopt, Kind::unknown_call},
    RequestRow{0x1103, std::nullopt, Kind::unknown_call},
    RequestRow{0x1104, std::nullopt, Kind::unknown_call},
    RequestRow{0x1201, 0, std::nullopt},  // COUNT_ERRORS
    RequestRow{callgrind, 0, Kind::dump},
    RequestRow{callgrind + 1, 0, Kind::zero},
    RequestRow{callgrind + 2, 0, Kind::toggle},
    RequestRow{callgrind + 3, 0, Kind::dump, true},
    RequestRow{callgrind + 4, 0, Kind::start},
    RequestRow{callgrind + 5, 0, Kind::stop},
    RequestRow{own, 1, std::nullopt},  // SHADOWPROF_IS_COUNTED
    RequestRow{own + 1, 0, Kind::start},
    RequestRow{own + 2, 0, Kind::stop},
    RequestRow{own + 3, 0, Kind::zero},
    RequestRow{own + 4, 0, Kind::dump, true},
};

std::string read_name(GuestAddress at, GuestSpace& space) {
    std::string name;
    while (name.size() < RegionEvent::max_name_bytes) {
        const auto c = read_value<char>(space, at + name.size());
        if (!c || *c == 0) break;
        name.push_back(*c);
    }
    return name;
}

}  // namespace

std::optional<RegionEvent> answer_client_request(CpuState& cpu, GuestSpace& space) {
    const auto words = read_value<std::array<std::uint64_t, 6>>(space, {cpu[Gpr::rax]});
    if (!words) return std::nullopt;
    const auto row = std::ranges::find(request_rows, (*words)[0], &RequestRow::number);
    if (row == request_rows.end()) return std::nullopt;
    if (row->answer) cpu[Gpr::rdx] = *row->answer;
    if (!row->kind) return std::nullopt;
    return RegionEvent{.kind = *row->kind,
                       .name = row->has_name ? read_name({(*words)[1]}, space) : ""};
}

}  // namespace shadowprof
