// What branch-and-bound does with many polynomials at once, all of it rounded to nearest: bounds of quadratics over the
// cube, the layout of coefficients, and the choice of points far enough apart.

#include "tape.hpp"

#include <cmath>

static const double EPS = 0x1p-52;

// At least the largest eigenvalue of a symmetric matrix, but for rounding: Jacobi's rotations, and what they left over.
static double largest_eigenvalue(int m, double (*a)[MOST_DIMENSIONS]) {
    for (int sweep = 0; sweep < 6; sweep++) {
        double rest = 0, size = 0;
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++) (i == j ? size : rest) += std::fabs(a[i][j]);
        if (!(rest > 0x1p-50 * size)) break;
        for (int p = 0; p < m; p++)
            for (int q = p + 1; q < m; q++) {
                if (a[p][q] == 0) continue;
                double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
                double t = (theta >= 0 ? 1 : -1) / (std::fabs(theta) + std::sqrt(theta * theta + 1));
                double c = 1 / std::sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < m; k++) {
                    double x = a[k][p], y = a[k][q];
                    a[k][p] = c * x - s * y;
                    a[k][q] = s * x + c * y;
                }
                for (int k = 0; k < m; k++) {
                    double x = a[p][k], y = a[q][k];
                    a[p][k] = c * x - s * y;
                    a[q][k] = s * x + c * y;
                }
            }
    }
    double largest = -INFINITY;
    for (int i = 0; i < m; i++) {
        double radius = 0;
        for (int j = 0; j < m; j++)
            if (j != i) radius += std::fabs(a[i][j]);
        largest = std::fmax(largest, a[i][i] + radius);
    }
    return largest;
}

static double clipped(double v) { return v > 1 ? 1 : v < -1 ? -1 : v; }

// v + g d + d' h d / 2 over the cube: at most what is returned, which is nearly attained at d.
double bound_of(int m, const double* row, double* d) {
    double v = row[0], g[MOST_DIMENSIONS], h[MOST_DIMENSIONS][MOST_DIMENSIONS], size = std::fabs(v);
    bool free[MOST_DIMENSIONS];
    const double* entry = row + 1 + m;
    for (int i = 0; i < m; i++) {
        g[i] = row[1 + i];
        size += std::fabs(g[i]);
        free[i] = true;
        d[i] = 0;
        for (int j = i; j < m; j++, entry++) {
            h[i][j] = h[j][i] = *entry;
            size += 2 * std::fabs(*entry);
        }
    }
    if (m == 1) {
        bool inside = h[0][0] < 0 && std::fabs(g[0]) < -h[0][0];
        d[0] = inside ? -g[0] / h[0][0] : std::copysign(1.0, g[0]);
        double bound = v + g[0] * d[0] + 0.5 * h[0][0] * d[0] * d[0];
        return bound + 32 * EPS * (std::fabs(v) + std::fabs(g[0]) + std::fabs(h[0][0]));
    }
    const double rounding = 64.0 * m * m * EPS * size;
    int left = m;
    for (int round = 0; round < 2 && left; round++) {  // coordinates in which it is monotone
        double s[MOST_DIMENSIONS];
        int settled = 0;
        for (int i = 0; i < m; i++) {
            double swing = 0;
            for (int j = 0; j < m; j++)
                if (free[j]) swing += std::fabs(h[i][j]);
            s[i] = free[i] && std::fabs(g[i]) >= swing ? std::copysign(1.0, g[i]) : 0.0;
            settled += s[i] != 0;
        }
        if (!settled) break;
        double hs[MOST_DIMENSIONS];
        for (int i = 0; i < m; i++) {
            hs[i] = 0;
            for (int j = 0; j < m; j++)
                if (s[j] != 0) hs[i] += h[i][j] * s[j];
        }
        for (int i = 0; i < m; i++) v += s[i] * g[i] + 0.5 * s[i] * hs[i];
        for (int i = 0; i < m; i++) {
            g[i] = free[i] && s[i] == 0 ? g[i] + hs[i] : 0.0;
            if (s[i] != 0) {
                d[i] = s[i];
                free[i] = false;
                left--;
            }
        }
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++)
                if (!free[i] || !free[j]) h[i][j] = 0;
    }
    if (!left) return v + rounding;
    double total = 0, largest;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) total += std::fabs(h[i][j]);
    if (!std::isfinite(total)) return NAN;
    if (m == 2) {
        double x = std::fabs(0.5 * (h[0][0] - h[1][1])), y = std::fabs(h[0][1]), most = std::fmax(x, y);
        double share = most > 0 ? std::fmin(x, y) / most : 0;
        largest = 0.5 * (h[0][0] + h[1][1]) + most * std::sqrt(1 + share * share);  // squares would underflow
    } else {
        double a[MOST_DIMENSIONS][MOST_DIMENSIONS];
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++) a[i][j] = h[i][j];
        largest = largest_eigenvalue(m, a);
    }
    // Rotations round: each by a few units of the whole, and there are no more than six times m squared of them.
    double excess = std::fmax(largest + (m == 2 ? 8 * m : 64.0 * m * m) * EPS * total, 0.0);
    double e[MOST_DIMENSIONS] = {0};
    for (int i = 0; i < m; i++)
        if (free[i]) h[i][i] -= excess;
    for (int sweep = 0; sweep < 3; sweep++)
        for (int k = 0; k < m; k++) {
            if (!free[k]) continue;
            double slope = g[k];
            for (int j = 0; j < m; j++)
                if (j != k) slope += h[k][j] * e[j];
            e[k] = clipped(h[k][k] < 0 ? -slope / h[k][k] : std::copysign(1.0, slope));
            if (e[k] != e[k]) e[k] = 0;
        }
    double value = v;
    for (int i = 0; i < m; i++) {
        double he = 0;
        for (int j = 0; j < m; j++) he += h[i][j] * e[j];
        double slope = g[i] + he;
        value += g[i] * e[i] + 0.5 * e[i] * he + (std::fabs(slope) - slope * e[i]);
        d[i] += e[i];
    }
    return value + 0.5 * excess * left + rounding;
}

// Bounds (count,) and points (count, m) of quadratics (count, stride): value, gradient, upper triangle.
EXPORT void lsip_bound(int64_t m, int64_t count, int64_t stride, const double* table, double* bound, double* points) {
    Ordinary arithmetic;
    for (int64_t i = 0; i < count; i++) bound[i] = bound_of((int)m, table + i * stride, points + i * m);
}

// Coefficients and errors from polynomials of outputs, the last p of which are sides.
EXPORT void lsip_layout(const LayoutCall* call) {
    Ordinary arithmetic;
    const LayoutCall& c = *call;
    const int64_t width = c.width, inner = width - 1, size = c.p * inner, K = size + c.p;
    for (int64_t b = 0; b < c.n; b++)
        for (int64_t r = 0; r < c.p; r++) {
            double *sum = c.errors + (b * c.p + r) * width, *out = c.table + (b * c.p + r) * c.levels * width;
            const double* own = c.error + b * K;
            for (int64_t k = 0; k < width; k++) sum[k] = 0;
            for (int part = 0; part < 4; part++)
                for (int64_t l = 0; l < c.shapes[part][0]; l++, out += width) {
                    const double* from = c.parts[part] + l * c.shapes[part][1] + b * c.shapes[part][2];
                    for (int64_t k = 0; k < inner; k++) out[k] = from[r * inner + k];
                    out[inner] = from[size + r];
                    for (int64_t k = 0; k < width; k++) sum[k] += std::fabs(out[k]);
                }
            for (int64_t k = 0; k < inner; k++) sum[k] = own[r * inner + k] * (1 + c.rounding) + c.rounding * sum[k];
            sum[inner] = own[size + r] * (1 + c.rounding) + c.rounding * sum[inner];
        }
}

// Of points in the order in which they are wanted, those that no earlier one of their component lies next to.
EXPORT int64_t lsip_distinct(int64_t count, int64_t m, const double* points, const int64_t* component, const double* reach,
                          int64_t limit, int64_t* taken) {
    Ordinary arithmetic;
    int64_t found = 0;
    for (int64_t i = 0; i < count && found < limit; i++) {
        bool near = false;
        for (int64_t k = 0; k < found && !near; k++) {
            const double *a = points + i * m, *b = points + taken[k] * m;
            near = component[i] == component[taken[k]];
            for (int64_t axis = 0; axis < m && near; axis++) near = std::fabs(a[axis] - b[axis]) <= reach[axis];
        }
        if (!near) taken[found++] = i;
    }
    return found;
}
