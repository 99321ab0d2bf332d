#include "shadow/latency/calibration_cache.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace shadowprof::calibration_cache_test {
namespace {

HostCalibration some_calibration() {
    HostCalibration c;
    c.host.levels = {{"L1/L2", 0, 78, 0.99}, {"L3", 91, 130.5, 0.97}, {"memory", 260, 390, 1}};
    c.others_share = 0.75;
    c.host.step_cycles = 26;
    c.host.load_us = 2.25;
    c.host.hit_cycles = 52.5;
    c.host.page_walk_cycles = 26;
    c.host.evicted_l2 = 0.125;
    c.rows = {{"L1", 16384, false, ChaseKind::plain, 78, 78, 104},
              {"", 1 << 28, true, ChaseKind::one_a_page, 300, 390, 500}};
    return c;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    const auto at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
}

// A directory for the cache, and the environment that leads there.
class CacheDirectory {
  public:
    CacheDirectory() {
        REQUIRE(mkdtemp(path_.data()) != nullptr);
        setenv("XDG_CACHE_HOME", path_.c_str(), 1);
    }
    ~CacheDirectory() {
        unlink((path_ + "/shadowprof/latency").c_str());
        rmdir((path_ + "/shadowprof").c_str());
        rmdir(path_.c_str());
        unsetenv("XDG_CACHE_HOME");
    }
    const std::string& path() const { return path_; }

  private:
    std::string path_ = "/tmp/shadowprof-cache-XXXXXX";
};

}  // namespace

TEST_CASE("a calibration survives its file, and is another machine's no more") {
    const auto calibration = some_calibration();
    const auto text = calibration_text("this machine", calibration);
    CHECK(parse_calibration(text, "this machine") == calibration);
    CHECK_FALSE(parse_calibration(text, "that machine"));
}

TEST_CASE("a damaged file of a calibration is none") {
    const auto text = calibration_text("key", some_calibration());
    REQUIRE(parse_calibration(text, "key"));
    for (std::size_t size = 0; size + 1 < text.size(); ++size)
        CHECK_FALSE(parse_calibration(text.substr(0, size), "key"));
    const std::pair<const char*, const char*> damages[] = {
        {"L1/L2 0", "L1/L2 5"},  // the first level begins at 0
        {"L3 91", "L3 0"},       // levels rise
        {"memory 260", "memory 99999999999999"},
        {"memory 260", "m\x1b[31m 260"},
        {"memory 260", "mem ory 260"},
        {" 0.99", " 1.01"},
        {"step 26", "step -26"},
        {"step 26", "step 26 27"},
        {"step 26", "steps 26"},
        {"load_us 2.25", "load_us nan"},
        {"evicted_l2 0.125", "evicted_l2 -0.1"},
        {"row L1", "row"},
        {"16384 0 0", "16384 0 4"},  // there are four kinds
        {"others_share 0.75", "others_share 1.5"},
        {"hit_cycles 52.5", "hit_cycles -1"},
        {"latencies 3", "latencies 2"},
    };
    for (const auto& damage : damages) {
        CAPTURE(damage.second);
        CHECK_FALSE(parse_calibration(replaced(text, damage.first, damage.second), "key"));
    }
    std::string many = text;
    for (int i = 0; i < 100; ++i) many = replaced(many, "row L1", "row L1 1 0 0 1 1 1\nrow L1");
    CHECK_FALSE(parse_calibration(many, "key"));
    CHECK_FALSE(parse_calibration(std::string(1 << 20, '\n'), "key"));
}

TEST_CASE("only a file of ours that nobody else may change is believed") {
    const CacheDirectory directory;
    const auto calibration = some_calibration();
    CHECK_FALSE(read_calibration("key"));
    REQUIRE(write_calibration("key", calibration));
    CHECK(read_calibration("key") == calibration);
    const auto file = directory.path() + "/shadowprof/latency";
    CHECK(calibration_path() == file);
    chmod(file.c_str(), 0666);
    CHECK_FALSE(read_calibration("key"));
    chmod(file.c_str(), 0600);
    REQUIRE(read_calibration("key"));
    const auto other = directory.path() + "/other";
    rename(file.c_str(), other.c_str());
    REQUIRE(symlink(other.c_str(), file.c_str()) == 0);
    CHECK_FALSE(read_calibration("key"));
    // Writing replaces the link, not what it leads to.
    REQUIRE(write_calibration("other key", calibration));
    CHECK(read_calibration("other key") == calibration);
    std::ifstream in(other);
    std::string first, key;
    std::getline(in, first);
    std::getline(in, key);
    CHECK(key == "key");
    unlink(other.c_str());
    unlink(file.c_str());
    REQUIRE(mkfifo(file.c_str(), 0600) == 0);
    CHECK_FALSE(read_calibration("key"));  // and does not wait for a writer
}

}  // namespace shadowprof::calibration_cache_test
