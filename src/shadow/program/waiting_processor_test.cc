#include "shadow/program/waiting_processor.h"

#include <doctest/doctest.h>

namespace shadowprof::waiting_processor_test {

TEST_CASE("a process that sleeps twice in a row when its sample is due is met on its processor") {
    WaitingProcessor place;
    CHECK_FALSE(place.is_its_processor());
    place.on_asleep();
    CHECK_FALSE(place.is_its_processor());
    place.on_awake();
    place.on_asleep();
    CHECK_FALSE(place.is_its_processor());
    place.on_asleep();
    CHECK(place.is_its_processor());
}

TEST_CASE("it is met there for a while, however often it sleeps, and then elsewhere again") {
    WaitingProcessor place;
    place.on_asleep();
    place.on_asleep();
    unsigned awake = 0;
    for (; place.is_its_processor() && awake < 1000; ++awake) {
        place.on_asleep();
        place.on_awake();
    }
    CHECK(awake > 10);
    CHECK_FALSE(place.is_its_processor());
    place.on_asleep();
    CHECK_FALSE(place.is_its_processor());
    place.on_asleep();
    CHECK(place.is_its_processor());
}

}  // namespace shadowprof::waiting_processor_test
