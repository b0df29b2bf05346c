// Rounds of branch-and-bound over a few boxes: those whose bounds are too large are split, and their parts enclosed and
// bounded, until there are none left or somebody has to decide. All but the enclosures is rounded to nearest.

#include "tape.hpp"

#include <algorithm>
#include <cmath>
#include <new>

static const double EPS = 0x1p-52;

enum Ending { CLOSED, FOUND, MANY };

// A search over rows of a tape with p components, whose coefficients and right-hand sides are `width` numbers each. The
// first boxes are those to be split; parts take the places of their box and go to the end. Beside them, there are
// `others` that are closed.
struct Search {
    const void* tape;
    int m;
    long p, width, others, capacity, most, crowded;
    int least_halvings, most_halvings;
    double goal, alert, cheap, rounding;
    const double *weights, *spread, *lost, *scale;             // (p, width) twice, (p,), (m,)
    double *lower, *upper, *pays;                              // (capacity, m), the last: along which axes splitting pays
    double *table, *error, *rough, *bound, *points, *model;   // by boxes, as a cover keeps them

    long levels, count, enclosed = 0, split = 0;
    std::vector<double> raw, bends, errors, values, q;
    std::vector<long> open;

    bool worth_splitting(long b) const {
        for (int i = 0; i < m; i++) {
            double low = lower[b * m + i], high = upper[b * m + i];
            if (high - low > 8 * EPS * std::fmax(std::fabs(low), std::fabs(high)) + 1e-300) return true;
        }
        return false;
    }

    // Cut a box in two along the axis that pays most; the second half is the box `other`.
    void halve(long b, long other) {
        double *low = lower + b * m, *high = upper + b * m, *pay = pays + b * m;
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

    // Enclosures of the boxes of these places, laid out as they are kept; false without memory.
    bool enclose(const std::vector<long>& places) {
        const long n = (long)places.size(), K = p * width, row = p * levels * width;
        std::vector<double> low(n * m), high(n * m), out(n * row), doubt(n * p * width);
        for (long k = 0; k < n; k++) {
            std::copy(lower + places[k] * m, lower + places[k] * m + m, &low[k * m]);
            std::copy(upper + places[k] * m, upper + places[k] * m + m, &high[k * m]);
        }
        raw.assign(n * levels * K, 0.0);
        bends.assign(n * m * K, 0.0);
        errors.assign(n * K, 0.0);
        double* outputs[3] = {raw.data(), bends.data(), errors.data()};
        if (lsip_quadratics(tape, 2, n, low.data(), high.data(), nullptr, nullptr, outputs, K, nullptr, 1)) return false;
        const double* parts[4] = {raw.data(), raw.data(), raw.data(), raw.data()};
        const long shapes[4][3] = {{levels, K, levels * K}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
        lsip_layout(n, p, width, levels, parts, shapes, errors.data(), rounding, out.data(), doubt.data());
        for (long k = 0; k < n; k++) {
            const long b = places[k];
            std::copy(&out[k * row], &out[k * row] + row, table + b * row);
            std::copy(&doubt[k * p * width], &doubt[k * p * width] + p * width, error + b * p * width);
            for (int i = 0; i < m; i++) {
                double sum = 0;
                for (long j = 0; j < K; j++) sum += bends[(k * m + i) * K + j];
                rough[b * m + i] = sum;
            }
        }
        enclosed += n;
        return true;
    }

    // Bounds of a box, the points behind them, and the model there; whether a violation is attained there.
    bool bound_box(long b) {
        bool found = false;
        double paid[MOST_DIMENSIONS] = {0}, slope[MOST_DIMENSIONS] = {0}, d[MOST_DIMENSIONS];
        for (long r = 0; r < p; r++) {
            const double *w = weights + r * width, *a = table + (b * p + r) * levels * width;
            const double *e = error + (b * p + r) * width, *s = spread ? spread + r * width : nullptr;
            double rest = 0, swing = 0;
            for (long k = 0; k < width; k++) rest += e[k] * std::fabs(w[k]);
            for (long k = 0; s && k < width; k++) swing += e[k] * s[k];
            int i = 0, j = 0;  // the axes of a second derivative
            for (long l = 0; l < levels; l++) {
                double sum = 0, size = 0, wide = 0;
                for (long k = 0; k < width; k++) {
                    sum += a[l * width + k] * w[k];
                    size += std::fabs(a[l * width + k]) * std::fabs(w[k]);
                    if (s) wide += std::fabs(a[l * width + k]) * s[k];
                }
                q[l] = sum;
                if (l >= 1 && l <= m) slope[l - 1] += sum;
                if (l > m) {
                    paid[i] += size;
                    if (i != j) paid[j] += size;
                    else wide *= 0.5;
                    if (++j == m) j = ++i;
                }
                swing += wide;
            }
            if (s) rest += swing * (1 + (width + levels + 8) * EPS);
            rest = rest * (1 + 1e-13) + lost[r];
            double most = bound_of(m, q.data(), d) + rest, *y = points + (b * p + r) * m;
            const bool known = std::isfinite(most);
            bound[b * p + r] = known ? most : INFINITY;
            for (int k = 0; k < m; k++) {
                if (!known) d[k] = 0;
                const double low = lower[b * m + k], high = upper[b * m + k], centre = 0.5 * low + 0.5 * high;
                y[k] = std::fmin(std::fmax(centre + std::fmax(high - centre, centre - low) * d[k], low), high);
            }
            const double value = value_of(d);
            model[b * p + r] = std::isfinite(value) ? value : -INFINITY;
            if (model[b * p + r] > alert) found |= violated(y, r);
        }
        if (m == 1) {
            pays[b] = 1;
            return found;
        }
        double largest = 1e-300, widest = 1e-300;
        for (int k = 0; k < m; k++) {
            paid[k] += 1e-3 * std::fabs(slope[k]) + rough[b * m + k];
            if (!std::isfinite(paid[k])) paid[k] = 0;
            largest = std::fmax(largest, paid[k]);
            widest = std::fmax(widest, (upper[b * m + k] - lower[b * m + k]) / scale[k]);
        }
        for (int k = 0; k < m; k++)
            pays[b * m + k] = paid[k] / largest + 0.25 * ((upper[b * m + k] - lower[b * m + k]) / scale[k]) / widest;
        return found;
    }

    double value_of(const double* d) const {
        double value = q[0];
        long l = 1 + m;
        for (int i = 0; i < m; i++) {
            value += q[1 + i] * d[i];
            for (int j = i; j < m; j++, l++) value += (i == j ? 0.5 : 1.0) * q[l] * d[i] * d[j];
        }
        return value;
    }

    // Whether the row itself, not only its model, is above the alert at a point, or not known there.
    bool violated(const double* y, long r) {
        if (lsip_points(tape, 0, 1, y, values.data(), 1)) return true;
        const long inner = width - 1;
        double g = values[p * inner + r] * weights[r * width + inner];
        for (long k = 0; k < inner; k++) g += values[r * inner + k] * weights[r * width + k];
        return !(g <= alert);
    }

    int run(long first) {
        levels = 1 + m + (long)m * (m + 1) / 2;
        values.resize(p * width);
        q.resize(levels);
        count = first;
        for (long b = 0; b < first; b++) open.push_back(b);
        while (!open.empty()) {
            const long todo = (long)open.size(), total = others + count;
            const double room = std::log2(std::fmax(cheap / ((double)p * width * todo), 1.0));
            const int halvings = (int)std::fmin(std::fmax(room, least_halvings), most_halvings);
            const bool dense = total > crowded && todo > 0.9 * total;
            if (split && (total + 3 * todo > most || dense)) return MANY;
            if (count + todo * ((1L << halvings) - 1) > capacity) return MANY;
            for (long b : open)
                if (!worth_splitting(b)) return MANY;
            std::vector<long> parts(open);
            for (int h = 0; h < halvings; h++)
                for (long k = 0, n = (long)parts.size(); k < n; k++) {
                    halve(parts[k], count);
                    parts.push_back(count++);
                }
            if (!enclose(parts)) return -1;
            split += todo;
            open.clear();
            bool found = false, blind = false;
            for (long b : parts) {
                found |= bound_box(b);
                bool high = false;
                for (long r = 0; r < p; r++) high |= bound[b * p + r] > goal;
                if (!high) continue;
                open.push_back(b);
                for (int i = 0; i < m; i++) blind |= rough[b * m + i] != 0;
            }
            if (found || blind) return FOUND;
        }
        return CLOSED;
    }
};

// `whole`: components, width, first boxes, others, capacity, most, crowded, least and most halvings. `real`: goal, alert,
// cheap, rounding. `arrays`: weights, spread or null, lost, scale; lower, upper, pays; table, error, rough, bounds,
// points, models. `told`: boxes in the end, enclosed, split. Returns how it ended; less than nought without memory.
EXPORT int lsip_search(const void* tape, const long* whole, const double* real, double* const* arrays, long* told) {
    const Tape& t = *static_cast<const Tape*>(tape);
    if (t.kinks || t.nodes[t.output].size != whole[0] * whole[1]) return -1;
    try {
        Search s{tape, t.dim, whole[0], whole[1], whole[3], whole[4], whole[5], whole[6], (int)whole[7], (int)whole[8],
                 real[0], real[1], real[2], real[3], arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], arrays[5],
                 arrays[6], arrays[7], arrays[8], arrays[9], arrays[10], arrays[11], arrays[12], 0, 0, 0, 0, {}, {}, {},
                 {}, {}, {}};
        const int ending = s.run(whole[2]);
        told[0] = s.count;
        told[1] = s.enclosed;
        told[2] = s.split;
        return ending;
    } catch (const std::bad_alloc&) {
        return -1;
    }
}
