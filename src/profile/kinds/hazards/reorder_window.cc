#include "profile/kinds/hazards/reorder_window.h"

namespace shadowprof {
namespace {

struct Row {
    std::string_view vendor;
    std::uint32_t family, first_model, last_model;
    ReorderWindow window;
};

constexpr std::string_view intel = "GenuineIntel", amd = "AuthenticAMD";

// Sources: Intel 64 and IA-32 Architectures Optimization Reference Manual (248966), the tables of
// buffers of each microarchitecture; AMD's Software Optimization Guides for families 17h (55723,
// 56305), 19h (56665, 57647) and 1Ah (58455). The first row that matches a processor counts. There
// is one model per row.
// clang-format off
constexpr Row window_rows[] = {
    {intel, 6, 0x1a, 0x1f, {128, 32}},  // Nehalem
    {intel, 6, 0x2a, 0x2a, {168, 36}},  // Sandy Bridge
    {intel, 6, 0x2d, 0x2d, {168, 36}},
    {intel, 6, 0x25, 0x2f, {128, 32}},  // Westmere
    {intel, 6, 0x3a, 0x3a, {168, 36}},  // Ivy Bridge
    {intel, 6, 0x3e, 0x3e, {168, 36}},
    {intel, 6, 0x3c, 0x3d, {192, 42}},  // Haswell, Broadwell
    {intel, 6, 0x3f, 0x3f, {192, 42}},
    {intel, 6, 0x45, 0x47, {192, 42}},
    {intel, 6, 0x4f, 0x4f, {192, 42}},
    {intel, 6, 0x56, 0x56, {192, 42}},
    {intel, 6, 0x6a, 0x6c, {352, 72}},  // Ice Lake
    {intel, 6, 0x7d, 0x7e, {352, 72}},
    {intel, 6, 0x8c, 0x8d, {352, 72}},    // Tiger Lake
    {intel, 6, 0xa7, 0xa7, {352, 72}},    // Rocket Lake
    {intel, 6, 0x8f, 0x8f, {512, 112}},   // Sapphire Rapids
    {intel, 6, 0x97, 0x9a, {512, 112}},   // Alder Lake
    {intel, 6, 0xaa, 0xba, {512, 112}},   // Meteor Lake, Granite Rapids, Raptor Lake
    {intel, 6, 0xbf, 0xcf, {512, 112}},   // Raptor Lake, Emerald Rapids
    {amd, 0x17, 0x00, 0x2f, {192, 44}},   // Zen
    {amd, 0x17, 0x30, 0xff, {224, 48}},   // Zen 2
    {amd, 0x19, 0x10, 0x1f, {320, 64}},   // Zen 4
    {amd, 0x19, 0x60, 0xaf, {320, 64}},   // Zen 4
    {amd, 0x19, 0x00, 0xff, {256, 64}},   // Zen 3
    {amd, 0x1a, 0x00, 0xff, {448, 104}},  // Zen 5
};
// clang-format on

}  // namespace

ReorderWindow reorder_window(const ProcessorModel& processor) {
    for (const Row& row : window_rows)
        if (row.vendor == processor.vendor && row.family == processor.family &&
            row.first_model <= processor.model && processor.model <= row.last_model)
            return row.window;
    return {};
}

}  // namespace shadowprof
