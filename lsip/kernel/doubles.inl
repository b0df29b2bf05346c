// Four doubles in the place of intervals: what a tape is at points, rounded to nearest.

#include "lanes.inl"

struct Number {
    Four v;
};

static inline Number exactly(double v) { return {all(v)}; }
static inline Number known(const double* constant) { return {all(constant[2])}; }
static inline Number everything() { return {all(__builtin_nan(""))}; }  // no side of a kink is taken where it is nan
static inline Number operator-(Number a) { return {-a.v}; }
static inline Number operator+(Number a, Number b) { return {a.v + b.v}; }
static inline Number operator*(Number a, Number b) { return {a.v * b.v}; }
static inline Number scale(double c, Number a) { return {all(c) * a.v}; }
static inline Number times(const double* constant, Number a) { return known(constant) * a; }
static inline Number divide(Number a, Number b) { return {a.v / b.v}; }
static inline Number square(Number a) { return {a.v * a.v}; }
static inline Number reciprocal(Number a) { return {all(1.0) / a.v}; }
static inline Number pick(Mask m, Number a, Number b) { return {pick(m, a.v, b.v)}; }
static inline Mask above(Number a) { return a.v >= 0; }
static inline Mask below(Number a) { return a.v <= 0; }
static inline Number not_below_nought(Number a) { return a; }
static inline Number absolute(Number) { return everything(); }
static inline Number maximum(Number, Number) { return everything(); }
static inline Number either(Number, Number) { return everything(); }

template <class Function> static inline Number each(Number a, Function function) {
    return {Four{function(a.v[0]), function(a.v[1]), function(a.v[2]), function(a.v[3])}};
}

static Number exponential(Number a) { return each(a, [](double v) { return std::exp(v); }); }
static Number logarithm(Number a) { return each(a, [](double v) { return std::log(v); }); }
static Number root(Number a) { return each(a, [](double v) { return std::sqrt(v); }); }
static Number tangent(Number a) { return each(a, [](double v) { return std::tan(v); }); }
static void waves(Number a, Number& sine, Number& cosine) {
    sine = each(a, [](double v) { return std::sin(v); });
    cosine = each(a, [](double v) { return std::cos(v); });
}
static Number power(Number a, double k) {
    if (k == 0) return exactly(1.0);
    if (k == 1) return a;
    if (k == 2) return square(a);
    return each(a, [k](double v) { return std::pow(v, k); });
}
