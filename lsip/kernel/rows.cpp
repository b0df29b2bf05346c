// Rows of a tape times weights over a box: enclosed, bounded, and cut in two.

#include "rows.hpp"

#include <algorithm>

static const double EPS = 0x1p-52;

Rows rows_of(const void* tape, int order, int64_t p, int64_t width, double alert, double rounding, const double* const* given) {
    const Tape& t = *static_cast<const Tape*>(tape);
    Rows rows{tape, t.dim, order, p, width, alert, rounding, given[0], given[1], given[2], given[3],
              t.first[3], t.first[order + 1], {}};
    for (int64_t level = 0; level < rows.levels; level++) {
        const int *a = &t.axes[3 * level], same = (a[0] == a[1]) + (a[1] == a[2]);
        if (level < t.first[2]) rows.share.push_back(1.0);
        else if (level < t.first[3]) rows.share.push_back(a[0] == a[1] ? 0.5 : 1.0);
        else rows.share.push_back((same == 2 ? 1.0 / 6.0 : same == 1 ? 0.5 : 1.0) * (1 + 4 * EPS));
    }
    return rows;
}

bool enclose(const Rows& r, int64_t n, Scratch& s, double* rough) {
    const int64_t K = r.p * r.width;
    s.raw.assign(n * r.levels * K, 0.0);
    s.bends.assign(n * r.m * K, 0.0);
    s.errors.assign(n * K, 0.0);
    s.table.resize(n * r.levels * K);
    s.error.resize(n * K);
    const QuadraticsCall asked{r.order, n, 1, s.low.data(), s.high.data(), nullptr, nullptr,
                               s.raw.data(), s.bends.data(), s.errors.data(), nullptr, nullptr, nullptr};
    if (lsip_quadratics(r.tape, &asked)) return false;
    const LayoutCall laid{n, r.p, r.width, r.levels, r.rounding, {s.raw.data(), nullptr, nullptr, nullptr},
                          {{r.levels, K, r.levels * K}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}},
                          s.errors.data(), s.table.data(), s.error.data()};
    lsip_layout(&laid);
    for (int64_t k = 0; k < n * r.m; k++) {
        rough[k] = 0;
        for (int64_t j = 0; j < K; j++) rough[k] += s.bends[k * K + j];
    }
    return true;
}

// Whether the row itself, not only its model, is above the alert at a point, or not known there.
static bool violated(const Rows& r, const double* y, int64_t row, std::vector<double>& values) {
    values.resize(r.p * r.width);
    if (lsip_points(r.tape, 0, 1, y, values.data(), 1)) return true;
    const int64_t inner = r.width - 1;
    double g = values[r.p * inner + row] * r.weights[row * r.width + inner];
    for (int64_t k = 0; k < inner; k++) g += values[row * inner + k] * r.weights[row * r.width + k];
    return !(g <= r.alert);
}

// Sums of products, and of their sizes: four at a time, since additions wait for each other.
template <class Term> static double added(int64_t n, Term term) {
    double a = 0, b = 0, c = 0, d = 0;
    int64_t k = 0;
    for (; k + 4 <= n; k += 4) a += term(k), b += term(k + 1), c += term(k + 2), d += term(k + 3);
    for (; k < n; k++) a += term(k);
    return (a + b) + (c + d);
}

static double product(const double* a, const double* b, int64_t n) {
    return added(n, [=](int64_t k) { return a[k] * b[k]; });
}

static double sizes(const double* a, const double* b, int64_t n) {
    return added(n, [=](int64_t k) { return std::fabs(a[k] * b[k]); });
}

// A quadratic at a point of the cube.
static double value_of(int m, const double* q, const double* d) {
    double value = q[0];
    int64_t l = 1 + m;
    for (int i = 0; i < m; i++) {
        value += q[1 + i] * d[i];
        for (int j = i; j < m; j++, l++) value += (i == j ? 0.5 : 1.0) * q[l] * d[i] * d[j];
    }
    return value;
}

bool bound_box(const Rows& rows, const double* table, const double* error, Scratch& scratch, const Box& box) {
    const int m = rows.m;
    const int64_t width = rows.width;
    bool found = false;
    double paid[MOST_DIMENSIONS] = {0}, slope[MOST_DIMENSIONS] = {0}, d[MOST_DIMENSIONS];
    scratch.q.resize(rows.levels);
    double* q = scratch.q.data();
    for (int64_t r = 0; r < rows.p; r++) {
        const double *w = rows.weights + r * width, *a = table + r * rows.levels * width, *e = error + r * width;
        const double* s = rows.spread ? rows.spread + r * width : nullptr;
        double rest = sizes(e, w, width), swing = s ? sizes(e, s, width) : 0;
        int i = 0, j = 0;  // the axes of a second derivative
        for (int64_t l = 0; l < rows.levels; l++) {
            const double* level = a + l * width;
            q[l] = product(level, w, width);
            if (l >= 1 && l <= m) slope[l - 1] += q[l];
            if (l > m && l < rows.quadratic) {
                const double size = sizes(level, w, width);
                paid[i] += size;
                if (i != j) paid[j] += size;
                if (++j == m) j = ++i;
            }
            if (l >= rows.quadratic) rest += rows.share[l] * std::fabs(q[l]);  // what is left of the cubic terms
            if (s) swing += rows.share[l] * sizes(level, s, width);
        }
        if (s) rest += swing * (1 + (width + rows.levels + 8) * EPS);
        rest = rest * (1 + 1e-13) + rows.lost[r];
        const double most = bound_of(m, q, d) + rest;
        const bool known = std::isfinite(most);
        double* y = box.points + r * m;
        box.bound[r] = known ? most : INFINITY;
        for (int k = 0; k < m; k++) {
            if (!known) d[k] = 0;
            const double low = box.lower[k], high = box.upper[k], centre = 0.5 * low + 0.5 * high;
            y[k] = std::fmin(std::fmax(centre + std::fmax(high - centre, centre - low) * d[k], low), high);
        }
        const double value = value_of(m, q, d);
        box.model[r] = std::isfinite(value) ? value : -INFINITY;
        if (box.model[r] > rows.alert) found |= violated(rows, y, r, scratch.values);
    }
    if (m == 1) {
        box.pays[0] = 1;
        return found;
    }
    double largest = 1e-300, widest = 1e-300, wide[MOST_DIMENSIONS];
    for (int k = 0; k < m; k++) {
        paid[k] += 1e-3 * std::fabs(slope[k]) + box.rough[k];
        if (!std::isfinite(paid[k])) paid[k] = 0;
        wide[k] = (box.upper[k] - box.lower[k]) / rows.scale[k];
        largest = std::fmax(largest, paid[k]);
        widest = std::fmax(widest, wide[k]);
    }
    for (int k = 0; k < m; k++) box.pays[k] = paid[k] / largest + 0.25 * wide[k] / widest;
    return found;
}

bool worth_splitting(int m, const double* lower, const double* upper) {
    for (int i = 0; i < m; i++)
        if (upper[i] - lower[i] > 8 * EPS * std::fmax(std::fabs(lower[i]), std::fabs(upper[i])) + 1e-300) return true;
    return false;
}

void halve(int m, double* lower, double* upper, double* pays, int64_t box, int64_t other) {
    double *low = lower + box * m, *high = upper + box * m, *pay = pays + box * m;
    int axis = 0;
    double most_paid = -2;
    for (int i = 0; i < m; i++) {
        double paid = high[i] > low[i] ? pay[i] : -1;
        if (paid > most_paid) most_paid = paid, axis = i;
    }
    const double cut = 0.5 * low[axis] + 0.5 * high[axis];
    pay[axis] *= 0.5;
    std::copy(low, low + m, lower + other * m);
    std::copy(high, high + m, upper + other * m);
    std::copy(pay, pay + m, pays + other * m);
    high[axis] = cut;
    lower[other * m + axis] = cut;
}
