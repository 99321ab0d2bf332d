#include "profile/merge/join.h"

#include <doctest/doctest.h>

#include <tuple>

#include "profile/statistics/random.h"

namespace shadowprof::join_test {
namespace {

struct Plain {
    int key = 0;
    std::uint64_t count = 0;
    std::uint64_t order = 0;  // depends on the order in which items are added up

    friend bool operator==(const Plain&, const Plain&) = default;
};
auto identity(const Plain& item) {
    return std::tie(item.key);
}
std::uint64_t heat(const Plain& item) {
    return item.count;
}
void add(Plain& sum, const Plain& item) {
    sum.count += item.count;
    sum.order = 31 * sum.order + item.order;
}

struct Hashed : Plain {};
// Most items collide.
std::uint64_t identity_hash(const Hashed& item) {
    return std::uint64_t{item.key % 3 == 0} << 40;
}

template <typename Item>
std::vector<Item> random_items(std::uint64_t seed) {
    Random random(seed);
    std::vector<Item> items;
    for (std::uint64_t i = 0; i < 500; ++i) {
        Item item;
        item.key = static_cast<int>(random.next() % 100);
        item.count = random.next() % 4;
        item.order = i;
        items.push_back(item);
    }
    return items;
}

}  // namespace

TEST_CASE("items are joined the same by hash and by order, whatever collides") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        auto plain = random_items<Plain>(seed);
        auto hashed = random_items<Hashed>(seed);
        join_and_sort(plain);
        join_and_sort(hashed);
        CHECK(plain.size() <= 100);
        CHECK(std::ranges::equal(plain, hashed));
    }
}

TEST_CASE("the hottest come first, and equally hot ones in the order of their identities") {
    std::vector<Hashed> items = {{{5, 1, 0}}, {{3, 2, 0}}, {{4, 1, 0}}, {{3, 1, 0}}};
    join_and_sort(items);
    REQUIRE(items.size() == 3);
    CHECK(items[0] == Hashed{{3, 3, 0}});
    CHECK(items[1] == Hashed{{4, 1, 0}});
    CHECK(items[2] == Hashed{{5, 1, 0}});
}

}  // namespace shadowprof::join_test
