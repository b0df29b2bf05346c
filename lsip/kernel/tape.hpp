// A tape of instructions, as Python hands it over, and what it is evaluated on.

#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(_WIN32)
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif

const int MOST_DIMENSIONS = 12;
const int MOST_LEVELS = 78 + 364;  // of second and third derivatives

enum Op {
    O_CONSTANT, O_INDEX, O_NEGATE, O_ADD, O_MULTIPLY, O_DIVIDE, O_GATHER, O_JOIN, O_SUM, O_LINEAR, O_POWER, O_APPLY,
    O_ABSOLUTE, O_MAXIMUM, O_MONOMIALS, OPS,
};
enum Function { F_EXP, F_LOG, F_SIN, F_COS, F_TAN, F_SQRT, F_RECIPROCAL, F_SQUARE, FUNCTIONS };

// One instruction: `size` elements from its arguments. Which of the other fields count depends on the operation.
struct Node {
    int op, size, depth, arguments, args;  // args: where the arguments are listed among the whole numbers
    int function, offset, width, degree, kink, data, numbers;
    size_t start[4];  // of its results, for every order
};
const int FIELDS = 12;

struct Tape {
    int dim, output, kinks;
    std::vector<Node> nodes;
    std::vector<int> whole;
    std::vector<double> real;
    std::vector<int> kink_arguments;
    int first[5];           // the first level of every order, and one past the last
    std::vector<int> axes;  // (levels, 3), along which each level is differentiated

    int second(int i, int j) const {  // i <= j
        return first[2] + i * dim - i * (i - 1) / 2 + (j - i);
    }
    size_t room(int order) const { return nodes.empty() ? 0 : total[order]; }
    size_t total[4];
};

struct Boxes {
    long count;
    const double *lower, *upper;  // (count, dim)
};

struct Polynomials {
    long boxes, outputs;
    double *value, *gradient, *hessian, *third, *rough, *error;
};

void round_upward();
void round_to_nearest();

struct Upward {  // while it lives, everything is rounded upward
    Upward() { round_upward(); }
    ~Upward() { round_to_nearest(); }
};
