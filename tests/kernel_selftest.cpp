// Hold every function that the kernel exports against vectors that NumPy wrote (tests/kernel_vectors.py).
//
// It is compiled together with the kernel for any target, and needs no Python there:
//     c++ -std=c++17 -Ilsip/kernel tests/kernel_selftest.cpp lsip/kernel/*.cpp -o selftest && ./selftest vectors.bin
// It prints how many numbers it compared, and each case that fails; the exit code is 1 then.

#include "tape.hpp"

#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstring>

EXPORT int lsip_kernel_version();
EXPORT int lsip_kernel_choose(int wanted);
EXPORT void* lsip_tape_new(const TapeCall* call);
EXPORT void lsip_tape_free(void* tape);
EXPORT double lsip_tape_bytes(const void* tape, int64_t order);
EXPORT void lsip_function(int64_t function, double exponent, int64_t count, const double* x, double* low, double* high);
EXPORT void lsip_bound(int64_t m, int64_t count, int64_t stride, const double* table, double* bound, double* points);
EXPORT int64_t lsip_distinct(int64_t count, int64_t m, const double* points, const int64_t* component, const double* reach,
                          int64_t limit, int64_t* taken);

using Reals = std::vector<double>;
using Wholes = std::vector<int64_t>;

static int64_t compared = 0, failed = 0, number = 0;
static const char* kind = "";

static void expect(bool right, const char* what) {
    compared++;
    if (!right && failed++ < 20) std::printf("case %lld (%s): %s\n", (long long)number, kind, what);
}

// Arrays one after the other: how many elements, then the elements, all of eight bytes.
struct Reader {
    std::FILE* file;
    bool more = true;
    template <class T> std::vector<T> read() {
        int64_t count = 0;
        more = std::fread(&count, 8, 1, file) == 1 && count >= 0;
        std::vector<T> out(more ? (size_t)count : 0);
        more = more && (out.empty() || std::fread(out.data(), 8, out.size(), file) == out.size());
        return out;
    }
    Reals reals() { return read<double>(); }
    Wholes wholes() { return read<int64_t>(); }
};

struct Loaded {
    Wholes head;
    void* tape;
    explicit Loaded(Reader& in) : head(in.wholes()) {
        std::vector<int32_t> parts[3];
        for (int k = 0; k < 2; k++) {
            const Wholes given = in.wholes();
            parts[k].assign(given.begin(), given.end());
        }
        const Reals real = in.reals();
        const Wholes given = in.wholes();
        parts[2].assign(given.begin(), given.end());
        const TapeCall call{head[0], head[1], head[2], (int64_t)parts[0].size() / FIELDS, (int64_t)parts[1].size(),
                            (int64_t)real.size(), (int64_t)parts[2].size(), parts[0].data(), parts[1].data(), real.data(),
                            parts[2].data()};
        tape = lsip_tape_new(&call);
    }
    ~Loaded() {
        if (tape) lsip_tape_free(tape);
    }
    Loaded(const Loaded&) = delete;
};

static void functions(Reader& in) {  // the largest double below each truth, the least above, and how wide it may be
    const Wholes which = in.wholes();
    const Reals exponent = in.reals(), x = in.reals(), below = in.reals(), above = in.reals(), room = in.reals();
    Reals low(x.size()), high(x.size());
    lsip_function(which[0], exponent[0], (int64_t)x.size(), x.data(), low.data(), high.data());
    for (size_t i = 0; i < x.size(); i++) {
        expect(low[i] <= below[i] && high[i] >= above[i], "the truth lies outside of an enclosure");
        expect(high[i] - low[i] <= room[i], "an enclosure is wide");
    }
}

static void points(Reader& in) {
    const Loaded loaded(in);
    const Wholes shape = in.wholes();  // order, points
    const Reals y = in.reals(), expected = in.reals(), room = in.reals();
    expect(loaded.tape, "a tape is refused");
    if (!loaded.tape) return;
    expect(lsip_tape_bytes(loaded.tape, 2) > 0, "a tape needs no memory");
    Reals found(expected.size(), 0.0), again(expected.size(), 0.0);
    expect(lsip_points(loaded.tape, shape[0], shape[1], y.data(), found.data(), 1) == 0, "points end in an error");
    lsip_points(loaded.tape, shape[0], shape[1], y.data(), again.data(), 3);
    expect(std::memcmp(found.data(), again.data(), 8 * found.size()) == 0, "threads change values");
    for (size_t i = 0; i < expected.size(); i++)
        if (room[i] >= 0) expect(std::fabs(found[i] - expected[i]) <= room[i], "a value is not that of NumPy");
}

static void quadratics(Reader& in) {
    const Loaded loaded(in);
    const Wholes shape = in.wholes();  // order, boxes, outputs, levels, samples
    const Reals lower = in.reals(), upper = in.reals(), weights = in.reals(), values = in.reals(), sharp = in.reals();
    expect(loaded.tape, "a tape is refused");
    if (!loaded.tape) return;
    const int64_t n = shape[1], K = shape[2], levels = shape[3], samples = shape[4], kinks = loaded.head[2];
    const int64_t m = loaded.head[0];
    Reals out[2][6];
    std::vector<unsigned char> straddles[2];
    for (int k = 0; k < 2; k++) {
        const int64_t sizes[6] = {n * levels * K, n * m * K, n * K, n * levels * kinks, n * m * kinks, n * kinks};
        for (int i = 0; i < 6; i++) out[k][i].assign((size_t)sizes[i], 0.0);
        straddles[k].assign((size_t)(n * kinks), 0);
        const QuadraticsCall call{shape[0], n, k ? 3 : 1, lower.data(), upper.data(), nullptr, straddles[k].data(),
                                  out[k][0].data(), out[k][1].data(), out[k][2].data(), out[k][3].data(),
                                  out[k][4].data(), out[k][5].data()};
        expect(lsip_quadratics(loaded.tape, &call) == 0, "polynomials end in an error");
    }
    for (int i = 0; i < 6; i++)
        expect(std::memcmp(out[0][i].data(), out[1][i].data(), 8 * out[0][i].size()) == 0, "threads change polynomials");
    for (int64_t b = 0; b < n; b++)
        for (int64_t k = 0; k < K; k++) {
            const double error = out[0][2][b * K + k];
            if (sharp[b * K + k] >= 0) expect(error <= sharp[b * K + k], "a polynomial is worse than that of NumPy");
            for (int64_t s = 0; s < samples; s++) {
                const double value = values[(s * n + b) * K + k];
                double model = 0, size = 0;
                for (int64_t l = 0; l < levels; l++) {
                    const double term = weights[l * samples + s] * out[0][0][(b * levels + l) * K + k];
                    model += term;
                    size += std::fabs(term);
                }
                if (std::isfinite(value) && std::isfinite(error) && std::isfinite(size))
                    expect(std::fabs(value - model) <= error + 1e-12 * size + 1e-13, "a value lies outside of a polynomial");
            }
        }
}

static void bounds(Reader& in) {
    const Wholes shape = in.wholes();  // m, count, stride
    const Reals table = in.reals(), attained = in.reals(), sharp = in.reals();
    Reals bound(shape[1]), at(shape[0] * shape[1]);
    lsip_bound(shape[0], shape[1], shape[2], table.data(), bound.data(), at.data());
    for (int64_t i = 0; i < shape[1]; i++) {
        expect(bound[i] >= attained[i], "a quadratic is larger than its bound");
        if (sharp[i] == sharp[i]) expect(bound[i] <= sharp[i], "a bound is worse than that of NumPy");
    }
    for (double d : at) expect(std::fabs(d) <= 1, "a point lies outside of the cube");
}

static void layout(Reader& in) {
    const Wholes shape = in.wholes();  // n, p, width, levels of each of the four parts
    const Reals rounding = in.reals(), parts[4] = {in.reals(), in.reals(), in.reals(), in.reals()};
    const Reals error = in.reals(), table = in.reals(), errors = in.reals();
    Reals out(table.size()), sum(errors.size());
    const int64_t n = shape[0], K = shape[1] * shape[2];
    LayoutCall call{n, shape[1], shape[2], 0, rounding[0], {}, {}, error.data(), out.data(), sum.data()};
    for (int k = 0; k < 4; k++) {
        call.parts[k] = parts[k].data();
        call.shapes[k][0] = shape[3 + k];
        call.shapes[k][1] = n * K;
        call.shapes[k][2] = K;
        call.levels += shape[3 + k];
    }
    lsip_layout(&call);
    for (size_t i = 0; i < out.size(); i++) expect(out[i] == table[i], "a coefficient is not that of NumPy");
    for (size_t i = 0; i < sum.size(); i++) expect(std::fabs(sum[i] - errors[i]) <= 1e-14 * errors[i], "an error is not that of NumPy");
}

static void distinct(Reader& in) {
    const Wholes shape = in.wholes();  // count, m, limit
    const Reals y = in.reals(), reach = in.reals();
    const Wholes component = in.wholes(), expected = in.wholes();
    Wholes taken((size_t)shape[2]);
    taken.resize((size_t)lsip_distinct(shape[0], shape[1], y.data(), component.data(), reach.data(), shape[2], taken.data()));
    expect(taken == expected, "the points that are taken are not those of NumPy");
}

static void search(Reader& in) {
    const Loaded loaded(in);
    const Wholes shape = in.wholes();  // order, components, width, capacity
    const Reals goals = in.reals();    // the goal, rounding, and what the rows attain
    const Reals weights = in.reals(), lost = in.reals(), scale = in.reals();
    expect(loaded.tape, "a tape is refused");
    if (!loaded.tape) return;
    const int64_t m = loaded.head[0], p = shape[1], room = shape[3];
    Reals lower = in.reals(), upper = in.reals(), pays(room * m, 1.0), rough(room * m, 0.0), bound(room * p, INFINITY);
    Reals at(room * p * m, 0.0), model(room * p, -INFINITY);
    std::vector<unsigned char> touched((size_t)room, 0);
    lower.resize(room * m);
    upper.resize(room * m);
    SearchCall call{shape[0], p, shape[2], 1, 0, room, 8, 1 << 20, 1, 1, goals[0], INFINITY, goals[1], 600.0,
                    weights.data(), nullptr, lost.data(), scale.data(), lower.data(), upper.data(), pays.data(),
                    rough.data(), bound.data(), at.data(), model.data(), touched.data(), 0, 0};
    int ended = 1;
    while (ended == 1) {  // it returns where derivatives are unbounded, so that the caller may look
        ended = lsip_search(loaded.tape, &call);
        call.known = call.boxes;
        if (!call.split) break;
    }
    expect(ended == 0, "a search does not close");
    double most = -INFINITY;
    for (int64_t i = 0; i < call.boxes * p; i++) most = std::fmax(most, bound[i]);
    expect(most <= goals[0], "a search stops above its goal");
    expect(most >= goals[2], "rows are larger than their bound");
}

static void refused(Reader& in) {
    const Loaded loaded(in);
    expect(!loaded.tape, "a tape that reads beyond its ends is taken");
}

// Whatever the caller has set is the same afterwards, and makes no difference.
static void state_is_restored() {
    kind = "floating-point state";
    const double x[3] = {0.1, 3.0, -700.3};
    double low[2][3], high[2][3];
    for (int k = 0; k < 2; k++) {
        if (k) std::fesetround(FE_DOWNWARD);
        lsip_function(0, 0.0, 3, x, low[k], high[k]);
        expect(std::fegetround() == (k ? FE_DOWNWARD : FE_TONEAREST), "rounding is not restored");
    }
    std::fesetround(FE_TONEAREST);
    expect(!std::memcmp(low[0], low[1], sizeof low[0]) && !std::memcmp(high[0], high[1], sizeof high[0]), "rounding counts");
#if defined(__x86_64__)
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);  // denormals are flushed
    const unsigned set = _mm_getcsr();
    lsip_function(0, 0.0, 3, x, low[1], high[1]);
    expect(_mm_getcsr() == set, "MXCSR is not restored");
    _mm_setcsr(before);
    expect(!std::memcmp(low[0], low[1], sizeof low[0]), "flushed denormals count");
#endif
}

struct Kind {
    const char* name;
    void (*run)(Reader&);
};
static const Kind KINDS[] = {{"function", functions}, {"points", points},     {"quadratics", quadratics}, {"bound", bounds},
                             {"layout", layout},      {"distinct", distinct}, {"search", search},         {"refused", refused}};

int main(int count, char** words) {
    if (count != 2) return std::printf("usage: selftest vectors.bin\n"), 2;
    for (int wanted = 0; wanted < 2; wanted++) {
        const int fast = lsip_kernel_choose(wanted);
        if (wanted && !fast) break;  // there is one engine
        Reader in{std::fopen(words[1], "rb")};
        if (!in.file) return std::printf("%s cannot be read\n", words[1]), 2;
        number = 0;
        int seen = 0;
        for (Wholes which = in.wholes(); in.more; which = in.wholes(), number++) {
            if (which.size() != 1 || which[0] < 0 || which[0] > 7) return std::printf("the vectors are damaged\n"), 2;
            kind = KINDS[which[0]].name;
            KINDS[which[0]].run(in);
            if (!in.more) return std::printf("the vectors end too early\n"), 2;
            seen |= 1 << which[0];
        }
        std::fclose(in.file);
        expect(seen == 255, "some kinds of vectors are missing");
        state_is_restored();
        std::printf("%s: %lld cases\n", fast ? "AVX2" : "portable", (long long)number);
    }
    std::printf("version %d: %lld comparisons, %lld failed\n", lsip_kernel_version(), (long long)compared, (long long)failed);
    return failed != 0;
}
