// Elementary functions, computed here and not by the platform, rounded to nearest inside.
//
// Each returns an enclosure of f at both ends, from what its kernel may be off by: `ERROR` units in the last place, and
// a little more where results are next to nothing. The tests compare the kernels with multiprecision arithmetic.

static const double EXP_ERROR = 4.0, LOG_ERROR = 6.0, WAVE_ERROR = 4.0;
static const double WAVE_REST = 0x1p-90;     // of sines next to nought, whose arguments were reduced
static const double WAVE_CHECKED = 0x1p20;   // beyond, sines are somewhere between -1 and 1

// Rounding modes are changed where no arithmetic can be moved across: values pass through memory.
#define FENCE(v) __asm__ volatile("" : "+m"(v))

static inline Four floor_of(Four v) {
    Four r;
    for (int i = 0; i < 4; i++) r[i] = __builtin_floor(v[i]);
    return r;
}

static inline Four nearest_whole(Four v) {
    const Four big = all(0x1.8p52);
    return (v + big) - big;  // rounded to nearest, for |v| < 2^51
}

static inline Four power_of_two(Four k) {  // |k| <= 1022, whole
    Mask bits = (Mask)(k + all(0x1.8p52 + 1023.0));
    return (Four)(bits << 52);
}

// exp(v), rounded to nearest: v = k log 2 + r, and a polynomial in r.
static Four exp_near(Four v) {
    Four x = smaller(larger(v, all(-746.0)), all(710.0));
    Four k = nearest_whole(x * all(0x1.71547652b82fep+0));
    Four r = (x - k * all(0x1.62e42fefa3800p-1)) - k * all(0x1.ef35793c76730p-45);
    Four p = all(1.0 / 6227020800.0);
    const double factorials[] = {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0};
    for (double f : factorials) p = p * r + all(1.0 / f);
    p = all(1.0) + (r + (r * r) * (all(0.5) + r * p));
    Four half = floor_of(k * all(0.5));
    p = p * power_of_two(half) * power_of_two(k - half);
    p = pick(v > all(709.9), all(INF), p);
    return pick(v != v, v, p);
}

// log(v) for v > 0, rounded to nearest: v = 2^k (1 + f), and a series in f / (2 + f).
static Four log_near(Four v) {
    Mask small = v < all(NORMAL);
    Four x = pick(small, v * all(0x1p54), v);
    Mask bits = (Mask)x;
    Mask exponent = ((bits >> 52) & 2047) - 1023;
    Four m = (Four)((bits & 0xfffffffffffffLL) | 0x3ff0000000000000LL);
    Mask high = m > all(0x1.6a09e667f3bcdp+0);
    m = pick(high, m * all(0.5), m);
    Four k;
    for (int i = 0; i < 4; i++) k[i] = (double)(exponent[i] + (high[i] ? 1 : 0));
    k = pick(small, k - all(54.0), k);
    Four f = m - all(1.0), s = f / (all(2.0) + f), z = s * s, p = all(2.0 / 25.0);
    for (int n = 23; n >= 3; n -= 2) p = p * z + all(2.0 / n);
    Four low = k * all(0x1.ef35793c76730p-45) + s * (z * p);
    Four r = k * all(0x1.62e42fefa3800p-1) + (all(2.0) * s + low);
    r = pick(v == 0, all(-INF), r);
    r = pick(v == all(INF), v, r);
    return pick((v < 0) | (v != v), all(__builtin_nan("")), r);
}

// sin and cos for |v| <= WAVE_CHECKED, rounded to nearest: v = k pi / 2 + r, and polynomials in r.
static void waves_near(Four v, Four& sine, Four& cosine) {
    Four k = nearest_whole(v * all(0x1.45f306dc9c883p-1));
    Four r = ((v - k * all(0x1.921fb544p+0)) - k * all(0x1.0b4611a6p-34)) - k * all(0x1.3198a2e037073p-69);
    Four z = r * r;
    Four s = all(1.0 / 355687428096000.0), c = all(-1.0 / 6402373705728000.0);
    const double odd[] = {-1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0,
                          -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0};
    const double even[] = {1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0,
                           1.0 / 40320.0, -1.0 / 720.0, 1.0 / 24.0};
    for (double a : odd) s = s * z + all(a);
    for (double a : even) c = c * z + all(a);
    s = r + r * (z * s);
    c = (all(1.0) - all(0.5) * z) + z * (z * c);
    Mask quarter = (Mask)(k + all(0x1.8p52)) & 3, turned = (quarter & 1) != 0;
    Four across = pick(turned, c, s), along = pick(turned, s, c);
    sine = pick((quarter & 2) != 0, -across, across);
    cosine = pick(((quarter + 1) & 2) != 0, -along, along);
}

enum Kernel { EXP, LOG, WAVES };

// Values at two arguments, or sine and cosine of one of them, rounded to nearest.
static __attribute__((noinline)) void evaluate(Kernel kernel, Four x, Four y, Four& fx, Four& fy) {
    round_to_nearest();
    FENCE(x);
    FENCE(y);
    if (kernel == EXP) fx = exp_near(x), fy = exp_near(y);
    else if (kernel == LOG) fx = log_near(x), fy = log_near(y);
    else waves_near(x, fx, fy);
    FENCE(fx);
    FENCE(fy);
    round_upward();
}

// From the least that a kernel may mean at `low` to the most at `high`.
static inline Interval widened(Four low, Four high, double ulps, double rest) {
    Four n = -low + (size_of(low) * all(ulps * EPS) + all(rest)), h = high + (size_of(high) * all(ulps * EPS) + all(rest));
    n = pick(low == all(INF), all(-__DBL_MAX__), n);  // what overflowed is at least that
    h = pick(high == all(-INF), all(-__DBL_MAX__), h);
    n = pick(low == all(-INF), all(INF), n);
    h = pick(high == all(INF), all(INF), h);
    return {n, h};
}

static Interval exponential(Interval u) {
    Four low, high;
    evaluate(EXP, -u.n, u.h, low, high);
    Interval r = widened(low, high, EXP_ERROR, NORMAL);
    return {smaller(r.n, all(0.0)), r.h};
}

static Interval logarithm(Interval u) {
    Interval inside = {pick(u.n > 0, all(0.0), u.n), u.h};
    Four low, high;
    evaluate(LOG, -inside.n, inside.h, low, high);
    Interval r = widened(low, high, LOG_ERROR, NORMAL);
    return pick((u.h < 0) | unknown(u), nothing_known(), r);
}

static Interval root(Interval u) {
    Interval r;
    for (int i = 0; i < 4; i++) {
        double lo = -u.n[i], hi = u.h[i];
        r.h[i] = hi >= 0 ? __builtin_sqrt(hi) : __builtin_nan("");  // rounded upward
        double s = lo > 0 ? __builtin_sqrt(lo) : 0.0;
        r.n[i] = -s + s * EPS;  // one unit below what was rounded upward
        if (hi < 0 || lo != lo || hi != hi) r.n[i] = r.h[i] = __builtin_nan("");
    }
    return r;
}

static inline Four next_whole(Four v) { return (v + all(0x1.8p52)) - all(0x1.8p52); }  // upward, for |v| < 2^51

// Whether some 2 pi k + phase may lie between; says yes when rounding leaves a doubt, of a few units.
static inline Mask reaches(Interval u, double phase) {
    const Four turn = all(2 * 3.141592653589793);
    Four a = (-u.n - all(phase)) / turn, b = (u.h - all(phase)) / turn;
    Four doubt = all(32 * EPS) * (all(1.0) + larger(size_of(a), size_of(b)));
    return ~(-next_whole(-(b + doubt)) < next_whole(a - doubt));
}

static void waves(Interval u, Interval& sine, Interval& cosine) {
    Four s1, c1, s2, c2;
    evaluate(WAVES, -u.n, -u.n, s1, c1);
    evaluate(WAVES, u.h, u.h, s2, c2);
    sine = widened(smaller(s1, s2), larger(s1, s2), WAVE_ERROR, WAVE_REST);
    cosine = widened(smaller(c1, c2), larger(c1, c2), WAVE_ERROR, WAVE_REST);
    const double quarter = 3.141592653589793 / 2;
    Mask far = ~((u.n <= all(WAVE_CHECKED)) & (u.h <= all(WAVE_CHECKED)));
    sine.h = pick(far | reaches(u, quarter), all(1.0), sine.h);
    sine.n = pick(far | reaches(u, -quarter), all(1.0), sine.n);
    cosine.h = pick(far | reaches(u, 0.0), all(1.0), cosine.h);
    cosine.n = pick(far | reaches(u, 2 * quarter), all(1.0), cosine.n);
    sine = within(sine, -1, 1);
    cosine = within(cosine, -1, 1);
}

// tan at both ends, each the quotient of an enclosed sine and cosine; unbounded where a pole may lie between.
static Interval tangent(Interval u) {
    Interval s, c, r, ends[2];
    for (int k = 0; k < 2; k++) {
        Four x = k ? u.h : -u.n;
        waves({-x, x}, s, c);
        ends[k] = s * reciprocal(c);
    }
    r = {ends[0].n, ends[1].h};
    const double quarter = 3.141592653589793 / 2;
    Mask far = ~((u.n <= all(WAVE_CHECKED)) & (u.h <= all(WAVE_CHECKED)));
    r = pick(far | reaches(u, quarter) | reaches(u, -quarter), everything(), r);
    return r;
}

// v^n for v >= 0: at most that where `upward`, at least that otherwise.
static Four whole_power(Four v, int64_t n, bool upward) {
    Four r = all(upward ? 1.0 : -1.0), b = v, down = -v;  // `down` and r are negative where results are rounded down
    if (upward) {
        for (; n; n >>= 1) {
            if (n & 1) r = r * b;
            if (n > 1) b = b * b;
        }
        return r;
    }
    for (; n; n >>= 1) {
        if (n & 1) r = r * -down;
        if (n > 1) down = down * -down;
    }
    return -r;
}

// u^k for a constant k: whole numbers of either sign, other reals where u >= 0.
static Interval power(Interval u, double k) {
    if (k == 0) return pick(unknown(u), nothing_known(), exactly(1.0));
    if (k == 1) return u;
    if (k == 2) return square(u);
    if (k < 0) return reciprocal(power(u, -k));
    if (k == __builtin_floor(k) && k <= 1024) {
        int64_t n = (int64_t)k;
        Four low, high;
        magnitudes(u, low, high);
        if (n % 2 == 0) return {-whole_power(low, n, false), whole_power(high, n, true)};
        Four a = -u.n, b = u.h;  // odd: increasing
        Four pa = size_of(a), pb = size_of(b);
        Four below = pick(a >= 0, whole_power(pa, n, false), -whole_power(pa, n, true));
        Four above = pick(b >= 0, whole_power(pb, n, true), -whole_power(pb, n, false));
        return pick(unknown(u), nothing_known(), Interval{-below, above});
    }
    Interval inside = {pick(u.n > 0, all(0.0), u.n), u.h};
    Interval l = logarithm(inside), e = exponential(scale(k, l));
    e.n = pick(inside.n == 0, all(0.0), e.n);
    e.h = pick(inside.h == 0, all(0.0), e.h);
    return pick((u.h < 0) | unknown(u), nothing_known(), e);
}
