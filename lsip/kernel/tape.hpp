// A tape of instructions, as Python hands it over, and what it is evaluated on.

#pragma once
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <vector>

// Proofs rest on each operation being rounded once, to a double, in the direction that was set; lanes.inl needs vectors.
#if !defined(__GNUC__) && !defined(__clang__)
#error "the kernel needs GCC or Clang; LSIP_KERNEL_BUILD=none does without it"
#elif defined(__FAST_MATH__) || FLT_EVAL_METHOD != 0
#error "the kernel needs IEEE 754 doubles, without -ffast-math; LSIP_KERNEL_BUILD=none does without it"
#endif

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
    bool modelled;  // whether polynomials are carried from node to node, too
    std::vector<Node> nodes;
    std::vector<int> whole;
    std::vector<double> real;
    std::vector<int> kink_arguments;
    int first[5];           // the first level of every order, and one past the last
    std::vector<int> axes;  // (levels, 3), along which each level is differentiated
    std::vector<int> seconds, thirds;     // the levels of derivatives along i <= j <= k, by i, j and k
    std::vector<unsigned char> live;      // of every element of a result, laid out as for order 3: which levels vary
    std::vector<unsigned char> busy;      // (nodes, levels), whether a level varies in some element
    std::vector<unsigned short> depends;  // of every element, a bit for each coordinate
    std::vector<size_t> starts;           // of every element, where its levels of first and second order are listed
    std::vector<int> listed;

    int second(int i, int j) const { return seconds[i * dim + j]; }
    int third(int i, int j, int k) const { return thirds[(i * dim + j) * dim + k]; }
    bool varies(const Node& node, int depth, int level, int e) const {
        return depth <= node.depth && live[node.start[3] + (size_t)level * node.size + (node.size == 1 ? 0 : e)];
    }
    bool moves(const Node& node, int level) const { return busy[(&node - nodes.data()) * (size_t)first[4] + level]; }
    unsigned depends_on(const Node& node, int e) const { return depends[node.start[0] + (node.size == 1 ? 0 : e)]; }
    int axes_of(unsigned mask, int* found) const {
        int count = 0;
        for (int i = 0; i < dim; i++)
            if (mask >> i & 1) found[count++] = i;
        return count;
    }
    size_t room(int order) const { return nodes.empty() ? 0 : total[order]; }
    size_t total[4];
};

void find_what_varies(Tape& tape);

struct Boxes {
    int64_t count;
    const double *lower, *upper;  // (count, dim)
};

// Around every output over every box: coefficients (boxes, levels, outputs), roughness (boxes, dim, outputs) and errors
// (boxes, outputs), box after box, as they are kept and multiplied.
struct Polynomials {
    int64_t levels, outputs;
    double *table, *rough, *error;
};

// Bounds of quadratics (value, gradient, upper triangle) over the cube, and where they are nearly attained.
double bound_of(int m, const double* row, double* d);

// What Python hands over, field by field as in `native.py`.
struct TapeCall {
    int64_t dim, output, kinks;                   // coordinates, the node that is the output, and kinks in all
    int64_t nodes, integers, numbers, arguments;  // how many there are of each
    const int32_t *fields, *whole;                // (nodes, FIELDS), (integers,)
    const double* real;                           // (numbers,)
    const int32_t* kink_arguments;                // (arguments,)
};

struct QuadraticsCall {
    int64_t order, count, threads;
    const double *lower, *upper;                     // (count, dim)
    const signed char* pieces;                       // (count, kinks), or null
    unsigned char* straddles;                        // the same
    double *table, *rough, *error;                   // of the outputs, as in `Polynomials`
    double *side_table, *side_rough, *side_error;    // of the arguments of kinks
};

// A part has so many levels, each so many doubles after the one before, and so have its boxes.
struct LayoutCall {
    int64_t n, p, width, levels;
    double rounding;
    const double* parts[4];
    int64_t shapes[4][3];
    const double* error;     // (n, p width)
    double *table, *errors;  // (n, p, levels, width), (n, p, width)
};

// A search, and what Python reads afterwards.
struct SearchCall {
    int64_t order, components, width;        // rows, and numbers in each
    int64_t boxes, known, capacity;          // so many boxes, so many of them with bounds, and room for so many
    int64_t batch, most, halvings, threads;  // boxes split at once and enclosed in all, at most; cuts of each
    double goal, alert, rounding, seconds;
    const double *weights, *spread, *lost, *scale;  // (components, width), the same or null, (components,), (m,)
    double *lower, *upper, *pays, *rough;           // (capacity, m)
    double *bound, *points, *model;                 // (capacity, components), the second with m each
    unsigned char* touched;                         // (capacity,), which boxes were bounded
    int64_t enclosed, split;                        // how many were, in the end
};

EXPORT int lsip_quadratics(const void* tape, const QuadraticsCall* call);
EXPORT int lsip_points(const void* tape, int64_t order, int64_t count, const double* y, double* out, int64_t threads);
EXPORT void lsip_layout(const LayoutCall* call);
EXPORT int lsip_search(const void* tape, SearchCall* call);

void round_upward();
void round_to_nearest();

#if defined(__x86_64__)
#include <immintrin.h>
struct FloatState {
    unsigned csr = _mm_getcsr();  // rounding, what happens to denormals, and flags
    void restore() const { _mm_setcsr(csr); }
};
#else
#include <cfenv>
struct FloatState {
    std::fenv_t environment;
    FloatState() { std::fegetenv(&environment); }
    void restore() const { std::fesetenv(&environment); }
};
#endif

// While it lives, arithmetic is that of IEEE 754, rounded to nearest, whatever the caller had set; then all is as it was.
// Every function that Python calls, and every thread, begins with one.
struct Ordinary {
    FloatState before;
    Ordinary() { round_to_nearest(); }
    ~Ordinary() { before.restore(); }
    Ordinary(const Ordinary&) = delete;
};

struct Upward {  // while it lives, everything is rounded upward
    FloatState before;
    Upward() { round_upward(); }
    ~Upward() { before.restore(); }
    Upward(const Upward&) = delete;
};
