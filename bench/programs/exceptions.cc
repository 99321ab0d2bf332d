// Throws through frames with destructors, casts along class hierarchies, sorts and hashes strings.
// argv: [rounds]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};
struct Square : Shape {
    explicit Square(double a) : side(a) {}
    double area() const override { return side * side; }
    double side;
};
struct Circle : Shape {
    explicit Circle(double r) : radius(r) {}
    double area() const override { return 3.14159265358979 * radius * radius; }
    double radius;
};

struct Guard {
    explicit Guard(int& c) : count(c) { ++count; }
    ~Guard() { --count; }
    int& count;
};

int fall(int depth, int& live) {
    Guard guard(live);
    if (depth == 0) throw std::out_of_range(std::to_string(live));
    return fall(depth - 1, live) + 1;
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 20000;
    int live = 0, caught = 0;
    double sum = 0;
    std::unordered_map<std::string, int> words;
    std::map<int, std::string> ordered;
    for (int i = 0; i < rounds; ++i) {
        std::unique_ptr<Shape> shape;
        if (i % 3)
            shape = std::make_unique<Square>(i % 7);
        else
            shape = std::make_unique<Circle>(i % 5);
        if (const auto* circle = dynamic_cast<const Circle*>(shape.get())) sum += circle->radius;
        sum += shape->area();
        try {
            caught += fall(i % 20, live);
        } catch (const std::logic_error& error) {
            caught += std::atoi(error.what());
        }
        ++words["word" + std::to_string(i * 7919 % 1009)];
        ordered[i * 31 % 997] = std::to_string(sum);
    }
    std::vector<std::pair<std::string, int>> sorted(words.begin(), words.end());
    std::sort(sorted.begin(), sorted.end());
    std::printf("%d %d %.17g %s %zu\n", live, caught, sum, sorted.back().first.c_str(),
                ordered.size());
}
