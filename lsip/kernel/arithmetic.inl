// Four intervals at a time, with outward rounding.
//
// An interval [lo, hi] is kept as (-lo, hi), and the processor rounds upward: every sum or product of ends is then an
// upper bound of what it stands for, at both ends. nan at either end means that nothing is known.

#include "lanes.inl"

struct Interval {
    Four n, h;  // -lo and hi

    Interval() = default;
    Interval(Four n, Four h) : n(n), h(h) {}
    Interval(const Interval& a) : n(a.n), h(a.h) {}  // by lanes: compilers copy structures in smaller parts
    Interval& operator=(const Interval& a) {
        n = a.n;
        h = a.h;
        return *this;
    }
};
typedef Interval Number;  // of which jets are made

static inline Interval exactly(double v) { return {all(-v), all(v)}; }
static inline Interval between(double lo, double hi) { return {all(-lo), all(hi)}; }
static inline Interval nothing_known() { return {all(__builtin_nan("")), all(__builtin_nan(""))}; }
static inline Interval everything() { return {all(INF), all(INF)}; }
static inline Interval operator-(Interval a) { return {a.h, a.n}; }
static inline Interval operator+(Interval a, Interval b) { return {a.n + b.n, a.h + b.h}; }
static inline Interval operator-(Interval a, Interval b) { return a + -b; }
static inline Interval pick(Mask m, Interval a, Interval b) { return {pick(m, a.n, b.n), pick(m, a.h, b.h)}; }
static inline Interval hull(Interval a, Interval b) { return {larger(a.n, b.n), larger(a.h, b.h)}; }
static inline Mask unknown(Interval a) { return (a.n != a.n) | (a.h != a.h); }

// A product of ends, where nought times infinity is nought: intervals hold real numbers, however large.
static double end_product(double a, double b) { return a == 0 || b == 0 ? 0.0 : a * b; }

static __attribute__((noinline)) Interval multiply_carefully(Interval a, Interval b) {
    Interval r;
    for (int i = 0; i < 4; i++) {
        double an = a.n[i], ah = a.h[i], bn = b.n[i], bh = b.h[i];
        if (an != an || ah != ah || bn != bn || bh != bh) {
            r.n[i] = r.h[i] = __builtin_nan("");
            continue;
        }
        double up[4] = {end_product(an, bn), end_product(ah, bh), end_product(-an, bh), end_product(ah, -bn)};
        double down[4] = {end_product(-an, bn), end_product(-ah, bh), end_product(an, bh), end_product(ah, bn)};
        double h = up[0], n = down[0];
        for (int k = 1; k < 4; k++) {
            h = up[k] > h ? up[k] : h;
            n = down[k] > n ? down[k] : n;
        }
        r.n[i] = n;
        r.h[i] = h;
    }
    return r;
}

static inline Interval operator*(Interval a, Interval b) {
    Four widths = (a.n + a.h) + (b.n + b.h);  // no number where an end is none, or where both are infinite and equal
    if (__builtin_expect(any(~(widths < all(INF))), 0)) return multiply_carefully(a, b);
    Four h = larger(larger(a.n * b.n, a.h * b.h), larger((-a.n) * b.h, a.h * (-b.n)));
    Four n = larger(larger((-a.n) * b.n, (-a.h) * b.h), larger(a.n * b.h, a.h * b.n));
    return {n, h};
}

static inline Interval scale(double c, Interval a) {
    if (c == 0) return pick(unknown(a), nothing_known(), exactly(0.0));
    if (c > 0) return {a.n * all(c), a.h * all(c)};
    return {a.h * all(-c), a.n * all(-c)};
}

// The smallest and the largest absolute value; nan where nothing is known.
static inline void magnitudes(Interval a, Four& low, Four& high) {
    Four p = size_of(a.n), q = size_of(a.h);
    low = pick((a.n >= 0) & (a.h >= 0), all(0.0), smaller(p, q));
    high = larger(p, q);
    Mask lost = unknown(a);
    low = pick(lost, all(__builtin_nan("")), low);
    high = pick(lost, all(__builtin_nan("")), high);
}

static inline Interval square(Interval a) {
    Four low, high;
    magnitudes(a, low, high);
    return {(-low) * low, high * high};
}

// 1 / a; unbounded on the side on which a touches nought, and everywhere if that is inside.
static inline Interval reciprocal(Interval a) {
    Mask positive = a.n <= 0, negative = a.h <= 0, sided = positive | negative;
    Four n = pick(sided, all(-1.0) / a.h, all(INF)), h = pick(sided, all(-1.0) / a.n, all(INF));
    h = pick(positive & (a.n == 0), all(INF), h);
    n = pick(negative & (a.h == 0), all(INF), n);
    Mask lost = unknown(a);
    return pick(lost, nothing_known(), Interval{n, h});
}

static inline Interval divide(Interval a, Interval c) {
    double lo = -c.n[0], hi = c.h[0];  // constants are alike in all lanes
    if (lo != hi) return a * reciprocal(c);
    if (hi > 0) return {a.n / all(hi), a.h / all(hi)};
    if (hi < 0) return {a.h / all(-hi), a.n / all(-hi)};
    return nothing_known();
}

static inline Interval within(Interval a, double low, double high) {
    return {smaller(a.n, all(-low)), smaller(a.h, all(high))};  // a nan end becomes that of the image
}

// A constant of a tape: the ends of what is known of it, and the double next to it.
static inline Interval known(const double* constant) { return between(constant[0], constant[1]); }
static inline Interval times(const double* constant, Interval a) {
    return constant[0] == constant[1] ? scale(constant[0], a) : known(constant) * a;
}

static inline Mask above(Interval a) { return -a.n >= 0; }
static inline Mask below(Interval a) { return a.h <= 0; }

// What roots are taken of.
static inline Interval not_below_nought(Interval a) {
    return pick((a.h < 0) | unknown(a), nothing_known(), Interval{smaller(a.n, all(0.0)), a.h});
}

static inline Interval absolute(Interval a) {
    Four low, high;
    magnitudes(a, low, high);
    return {-low, high};
}

// As large as both, where both are known.
static inline Interval maximum(Interval a, Interval b) {
    return pick(unknown(a) | unknown(b), nothing_known(), Interval{smaller(a.n, b.n), larger(a.h, b.h)});
}

static inline Interval either(Interval a, Interval b) {
    return pick(unknown(a) | unknown(b), nothing_known(), hull(a, b));
}

struct Middle {
    Four mid, rad;
};

static inline Middle middle(Interval a) {
    Four mid = all(0.5) * a.h - all(0.5) * a.n;
    return {mid, larger(a.h - mid, mid + a.n)};
}
