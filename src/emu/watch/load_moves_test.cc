#include "emu/watch/load_moves.h"

#include <doctest/doctest.h>

namespace shadowprof::load_moves_test {

TEST_CASE("a load that stays, walks and jumps") {
    const LoadedAddresses none;
    LoadMoves moves;
    for (const std::uint64_t address : {0x1000ul, 0x1000ul, 0x1008ul, 0x1010ul, 0x1018ul, 0x9000ul})
        moves.take({address}, none);
    CHECK(moves.constant == 1);
    CHECK(moves.moved == 4);
    CHECK(moves.chased == 0);
    CHECK(moves.strides.most().stride == 8);
    CHECK(moves.strides.most().count == 3);
}

TEST_CASE("an address that was loaded, or is a field's from there, is chased") {
    LoadedAddresses loaded;
    loaded.add(0x7f0000001000);
    CHECK(loaded.lead_to({0x7f0000001000}));
    CHECK(loaded.lead_to({0x7f0000001018}));
    CHECK_FALSE(loaded.lead_to({0x7f0000000ff8}));
    CHECK_FALSE(loaded.lead_to({0x7f0000001400}));
    // Small numbers are no addresses.
    loaded.add(16);
    CHECK_FALSE(loaded.lead_to({16}));
    // Only recent loads count.
    for (std::uint64_t i = 1; i <= 16; ++i) loaded.add(i << 32);
    CHECK_FALSE(loaded.lead_to({0x7f0000001000}));
}

}  // namespace shadowprof::load_moves_test
