// Counts words of a made-up text and sorts them by count, again and again. argv: [rounds]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace text {

class Counter {
  public:
    void add(const std::string& word) { ++counts_[word]; }

    std::vector<std::pair<int, std::string>> sorted() const {
        std::vector<std::pair<int, std::string>> words;
        for (const auto& [word, count] : counts_) words.emplace_back(-count, word);
        std::sort(words.begin(), words.end());
        return words;
    }

  private:
    std::unordered_map<std::string, int> counts_;
};

}  // namespace text

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
    text::Counter counter;
    unsigned state = 1;
    std::size_t letters = 0;
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < 200; ++i) {
            state = state * 1664525 + 1013904223;
            counter.add("the word number " + std::to_string(state >> 22));
        }
        for (const auto& [count, word] : counter.sorted()) letters += word.size();
    }
    std::printf("%zu\n", letters);
}
