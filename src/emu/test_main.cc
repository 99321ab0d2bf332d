#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <pthread.h>

#include <cstddef>
#include <thread>

#include "emu/guest/segment_bases.h"
#include "emu/worker/own_place.h"

namespace {

// Otherwise thread stacks would be as large as this process's own limit.
void give_threads_usual_stacks() {
    constexpr std::size_t usual_bytes = std::size_t{8} << 20;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, usual_bytes);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

}  // namespace

// The guests of these tests are the test program itself, at a distance. If only the kernel sets
// segment bases, the distance is upwards and needs room: there is none above the first thread's
// stack, so the tests run in another thread.
int main(int argc, char** argv) {
    if (shadowprof::host_segment_bases() == shadowprof::SegmentBases::by_instruction)
        return doctest::Context(argc, argv).run();
    shadowprof::move_out_of_the_way(argv);
    give_threads_usual_stacks();
    int status = 0;
    std::thread([&] { status = doctest::Context(argc, argv).run(); }).join();
    return status;
}
