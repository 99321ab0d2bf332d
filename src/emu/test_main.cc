#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <pthread.h>

#include <cstddef>
#include <thread>

#include "emu/guest/segment_bases.h"
#include "emu/worker/own_place.h"

namespace {

// Else they are as large as this process's own limit.
void give_threads_usual_stacks() {
    constexpr std::size_t usual_bytes = std::size_t{8} << 20;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, usual_bytes);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

}  // namespace

// The guests of these tests are the test program itself, at a distance from where it is. Where only
// the kernel sets segment bases that is upwards, and there must be room for it: above the first
// thread's stack there is none, so the tests run on another's.
int main(int argc, char** argv) {
    if (shadowprof::host_segment_bases() == shadowprof::SegmentBases::by_instruction)
        return doctest::Context(argc, argv).run();
    shadowprof::move_out_of_the_way(argv);
    give_threads_usual_stacks();
    int status = 0;
    std::thread([&] { status = doctest::Context(argc, argv).run(); }).join();
    return status;
}
