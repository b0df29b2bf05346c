// Enclosures of tapes over boxes: the functions that Python calls.
//
// The engine is compiled twice, for processors with AVX2 and for all others; which one runs is decided when it is
// loaded. Boxes are shared among threads, and no result depends on how many there are.

#include "tape.hpp"
#include "threads.hpp"

#include <cfenv>
#include <cmath>
#include <memory>

// Nothing traps, and denormals are numbers like others.
#if defined(__x86_64__)
#include <cpuid.h>

// Whether the processor has AVX2, and the system saves its registers. `__builtin_cpu_supports` asks the compiler's own
// library, which not every linker puts into a shared one.
static bool has_avx2() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX)) return false;
    unsigned low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
}

void round_upward() { _mm_setcsr(0x5f80); }
void round_to_nearest() { _mm_setcsr(0x1f80); }
#else
void round_to_nearest() { std::fesetenv(FE_DFL_ENV); }
void round_upward() {
    round_to_nearest();
    std::fesetround(FE_UPWARD);
}
#endif

namespace portable {
#include "arithmetic.inl"
#include "functions.inl"
#include "jets.inl"
#include "models.inl"
#include "polynomials.inl"
}  // namespace portable

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define LANES_OF_AVX2
namespace avx2 {
#include "arithmetic.inl"
#include "functions.inl"
#include "jets.inl"
#include "models.inl"
#include "polynomials.inl"
}  // namespace avx2
#undef LANES_OF_AVX2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace points {
#include "doubles.inl"
#include "jets.inl"

// Values and derivatives at points (count, dim): (levels, count, outputs).
static void evaluate(const Tape& tape, int order, int64_t count, int64_t from, int64_t to, const double* y, double* out) {
    Run run(tape, order);
    for (int k = 0; k < 4; k++) run.pieces[k] = nullptr, run.straddles[k] = nullptr;
    const Node& last = tape.nodes[tape.output];
    for (int64_t row = from; row < to; row += 4) {
        const int lanes = to - row < 4 ? (int)(to - row) : 4;
        for (int i = 0; i < tape.dim; i++)
            for (int k = 0; k < 4; k++) run.y[i].v[k] = y[(row + (k < lanes ? k : 0)) * tape.dim + i];
        run.forward();
        for (int d = 0; d <= order; d++)
            for (int level = tape.first[d]; level < tape.first[d + 1]; level++)
                for (int e = 0; e < last.size; e++) {
                    const Four v = run.get(last, d, level, e).v;
                    for (int k = 0; k < lanes; k++) out[((int64_t)level * count + row + k) * last.size + e] = v[k];
                }
    }
}
}  // namespace points

static bool fast = false;  // whether the processor has AVX2, and it is wanted

// Whether a tape is what it says it is: nothing is read or written beyond its ends, whatever Python hands over.
static bool sound(const Tape& t) {
    const int64_t whole = (int64_t)t.whole.size(), real = (int64_t)t.real.size();
    for (size_t i = 0; i < t.nodes.size(); i++) {
        const Node& n = t.nodes[i];
        if (n.op < 0 || n.op >= OPS || n.size < 0 || n.depth < 0 || n.depth > 3 || n.arguments < 0 || n.args < 0) return false;
        if ((int64_t)n.args + n.arguments > whole) return false;
        for (int k = 0; k < n.arguments; k++) {
            const int a = t.whole[n.args + k];
            if (a < 0 || a >= (int)i || t.nodes[a].depth > n.depth) return false;
        }
        auto argument = [&](int k) -> const Node& { return t.nodes[t.whole[n.args + k]]; };
        auto fits = [&](int k) { return argument(k).size == 1 || argument(k).size == n.size; };
        int needed = n.op == O_ADD || n.op == O_MULTIPLY || n.op == O_DIVIDE ? 2 : n.op == O_MAXIMUM ? 3
                     : n.op == O_CONSTANT || n.op == O_INDEX || n.op == O_MONOMIALS || n.op == O_JOIN ? 0 : 1;
        if (n.arguments < needed) return false;
        if (n.op == O_NEGATE || n.op == O_ADD || n.op == O_MULTIPLY || n.op == O_DIVIDE || n.op == O_POWER ||
            n.op == O_APPLY || n.op == O_ABSOLUTE || n.op == O_MAXIMUM)
            for (int k = 0; k < needed; k++)
                if (!fits(k)) return false;
        int64_t numbers = n.op == O_CONSTANT ? int64_t(3) * n.size : n.op == O_POWER ? n.size : 0;
        if (n.numbers < 0 || n.data < 0 || n.numbers + numbers > real) return false;
        if (n.op == O_INDEX && (n.depth < 1 || n.offset < 0 || n.offset + n.size > t.dim)) return false;
        if (n.op == O_APPLY && (n.function < 0 || n.function >= FUNCTIONS)) return false;
        if (n.op == O_DIVIDE && argument(1).op != O_CONSTANT) return false;
        if ((n.op == O_ABSOLUTE || n.op == O_MAXIMUM) && (n.kink < 0 || n.kink + n.size > t.kinks)) return false;
        if (n.op == O_SUM && (n.width < 0 || (int64_t)n.width * n.size != argument(0).size)) return false;
        if (n.op == O_JOIN) {
            int64_t total = 0;
            for (int k = 0; k < n.arguments; k++) total += argument(k).size;
            if (total != n.size) return false;
        }
        if (n.op == O_GATHER) {
            if ((int64_t)n.data + n.size > whole) return false;
            for (int e = 0; e < n.size; e++)
                if (t.whole[n.data + e] < 0 || t.whole[n.data + e] >= argument(0).size) return false;
        }
        if (n.op == O_LINEAR) {
            if ((int64_t)n.data + n.size + 1 > whole) return false;
            const int* starts = &t.whole[n.data];
            if (starts[0] != 0) return false;
            for (int e = 0; e < n.size; e++)
                if (starts[e + 1] < starts[e]) return false;
            int64_t entries = starts[n.size];
            if ((int64_t)n.data + n.size + 1 + entries > whole || n.numbers + entries > real) return false;
            for (int64_t k = 0; k < entries; k++) {
                int column = starts[n.size + 1 + k];
                if (column < 0 || column >= argument(0).size) return false;
            }
        }
        if (n.op == O_MONOMIALS) {
            if (n.width < 1 || n.offset < 0 || n.offset + n.width > t.dim || n.degree < 0) return false;
            if ((int64_t)n.data + (int64_t)n.size * n.width > whole) return false;
            for (int64_t k = 0; k < (int64_t)n.size * n.width; k++)
                if (t.whole[n.data + k] < 0 || t.whole[n.data + k] > n.degree) return false;
        }
    }
    if (t.output < 0 || t.output >= (int)t.nodes.size()) return false;
    int64_t kinks = 0;
    for (int a : t.kink_arguments) {
        if (a < 0 || a >= (int)t.nodes.size()) return false;
        kinks += t.nodes[a].size;
    }
    return kinks == t.kinks;
}

static void lay_out(Tape& t) {
    const int m = t.dim;
    t.axes = {0, 0, 0};
    t.first[0] = 0;
    t.first[1] = 1;
    for (int i = 0; i < m; i++) t.axes.insert(t.axes.end(), {i, 0, 0});
    t.first[2] = 1 + m;
    for (int i = 0; i < m; i++)
        for (int j = i; j < m; j++) t.axes.insert(t.axes.end(), {i, j, 0});
    t.first[3] = (int)t.axes.size() / 3;
    for (int i = 0; i < m; i++)
        for (int j = i; j < m; j++)
            for (int k = j; k < m; k++) t.axes.insert(t.axes.end(), {i, j, k});
    t.first[4] = (int)t.axes.size() / 3;
    for (int order = 0; order < 4; order++) {
        t.total[order] = 0;
        for (Node& n : t.nodes) {
            n.start[order] = t.total[order];
            int depth = n.depth < order ? n.depth : order;
            t.total[order] += (size_t)n.size * t.first[depth + 1];
        }
    }
    t.seconds.assign(m * m, 0);
    t.thirds.assign(m * m * m, 0);
    for (int level = t.first[2]; level < t.first[4]; level++) {
        const int* a = &t.axes[3 * level];
        if (level < t.first[3]) t.seconds[a[0] * m + a[1]] = level;
        else t.thirds[(a[0] * m + a[1]) * m + a[2]] = level;
    }
    find_what_varies(t);
    t.modelled = m > 1;
    for (const Node& n : t.nodes) t.modelled &= n.op != O_MONOMIALS;
}

EXPORT int lsip_kernel_version() { return 7; }

// Which engine is used from now on: 0 the portable one, 1 that for AVX2 where there is such a processor.
EXPORT int lsip_kernel_choose(int wanted) {
#if defined(__x86_64__)
    fast = wanted && has_avx2();
#else
    (void)wanted;
#endif
    return fast;
}

// A tape, or null if it is not sound or there is no memory for it.
EXPORT void* lsip_tape_new(const TapeCall* call) {
    Ordinary arithmetic;
    if (call->dim < 0 || call->dim > MOST_DIMENSIONS || call->nodes < 1) return nullptr;
    try {
        Tape* t = new Tape();
        t->dim = (int)call->dim;
        t->output = (int)call->output;
        t->kinks = (int)call->kinks;
        t->whole.assign(call->whole, call->whole + call->integers);
        t->real.assign(call->real, call->real + call->numbers);
        t->kink_arguments.assign(call->kink_arguments, call->kink_arguments + call->arguments);
        for (int64_t i = 0; i < call->nodes; i++) {
            const int32_t* f = call->fields + i * FIELDS;
            t->nodes.push_back({f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10], f[11], {0, 0, 0, 0}});
        }
        if (!sound(*t)) {
            delete t;
            return nullptr;
        }
        lay_out(*t);
        return t;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

EXPORT void lsip_tape_free(void* tape) { delete static_cast<Tape*>(tape); }

// Bytes that one thread needs to evaluate a tape.
EXPORT double lsip_tape_bytes(const void* tape, int64_t order) {
    Ordinary arithmetic;
    return 64.0 * (double)static_cast<const Tape*>(tape)->room(order);
}

EXPORT int lsip_quadratics(const void* tape, const QuadraticsCall* call) {
    Ordinary arithmetic;
    const Tape& t = *static_cast<const Tape*>(tape);
    const QuadraticsCall& c = *call;
    if (c.order < 2 || c.order > 3) return 1;
    Boxes boxes{c.count, c.lower, c.upper};
    const int64_t levels = t.first[c.order + 1];
    const Polynomials out{levels, t.nodes[t.output].size, c.table, c.rough, c.error};
    const Polynomials sides{levels, t.kinks, c.side_table, c.side_rough, c.side_error};
    return share(c.count, c.threads, [&](int64_t from, int64_t to) {
#if defined(__x86_64__)
        if (fast) return avx2::quadratics(t, boxes, (int)c.order, from, to, out, sides, c.pieces, c.straddles);
#endif
        portable::quadratics(t, boxes, (int)c.order, from, to, out, sides, c.pieces, c.straddles);
    }) ? 0 : 2;
}

// Values and, up to an order of two, derivatives of a tape at points.
EXPORT int lsip_points(const void* tape, int64_t order, int64_t count, const double* y, double* out, int64_t threads) {
    Ordinary arithmetic;
    const Tape& t = *static_cast<const Tape*>(tape);
    if (order < 0 || order > 2) return 1;
    auto part = [&](int64_t from, int64_t to) { points::evaluate(t, (int)order, count, from, to, y, out); };
    return share(count, threads, part) ? 0 : 2;
}

// Values of a function at points, as the engine knows them: [low, high] around each, for the tests.
EXPORT void lsip_function(int64_t function, double exponent, int64_t count, const double* x, double* low, double* high) {
    Ordinary arithmetic;
    Upward rounding;
    for (int64_t i = 0; i < count; i++) {
#if defined(__x86_64__)
        if (fast) {
            avx2::Interval f[4], u = avx2::exactly(x[i]);
            if (function < 0) f[0] = avx2::power(u, exponent);
            else avx2::derivatives((int)function, u, 0, f);
            low[i] = -f[0].n[0];
            high[i] = f[0].h[0];
            continue;
        }
#endif
        portable::Interval f[4], u = portable::exactly(x[i]);
        if (function < 0) f[0] = portable::power(u, exponent);
        else portable::derivatives((int)function, u, 0, f);
        low[i] = -f[0].n[0];
        high[i] = f[0].h[0];
    }
}
