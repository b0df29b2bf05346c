// A whole branch-and-bound for given weights: boxes without their enclosures, of which those with the largest bounds are
// split first. What happens depends neither on the number of threads nor on how often the search was interrupted.

#include "rows.hpp"
#include "threads.hpp"

#include <algorithm>
#include <chrono>

enum Ending { CLOSED, FOUND, FULL, DUE, LATE };

static const long CACHED = 1L << 15;  // doubles of polynomials that are made at once, by one thread

struct Heap {
    Rows rows;
    long count, capacity, batch, most;
    int halvings, threads;
    double goal, seconds;
    double *lower, *upper, *pays, *rough;  // (capacity, m)
    double *bound, *points, *model;        // (capacity, p) and (capacity, p, m)
    unsigned char* touched;                // (capacity,), which boxes were bounded

    long enclosed = 0, split = 0;
    std::vector<long> open;

    double height(long b) const { return *std::max_element(bound + b * rows.p, bound + (b + 1) * rows.p); }

    bool to_be_split(long b) const {
        return height(b) > goal && worth_splitting(rows.m, lower + b * rows.m, upper + b * rows.m);
    }

    // Bounds of boxes; whether a violation is found at the points behind them, or less than nought without memory.
    int bound_all(const std::vector<long>& places) {
        const long m = rows.m, p = rows.p, row = p * rows.levels * rows.width;
        const long step = std::max(4L, std::min(64L, CACHED / row / 4 * 4));
        std::vector<unsigned char> above(places.size(), 0);
        const bool done = share((long)places.size(), threads, [&](long from, long to) {
            Scratch s;
            std::vector<double> wild(step * m);
            for (long start = from; start < to; start += step) {
                const long n = std::min(step, to - start);
                s.low.resize(n * m);
                s.high.resize(n * m);
                for (long k = 0; k < n; k++) {
                    const long b = places[start + k];
                    std::copy(lower + b * m, lower + b * m + m, &s.low[k * m]);
                    std::copy(upper + b * m, upper + b * m + m, &s.high[k * m]);
                }
                if (!enclose(rows, n, s, wild.data())) throw std::bad_alloc();
                for (long k = 0; k < n; k++) {
                    const long b = places[start + k];
                    std::copy(&wild[k * m], &wild[k * m] + m, rough + b * m);
                    const Box box{lower + b * m, upper + b * m, rough + b * m, bound + b * p, points + b * p * m,
                                  model + b * p, pays + b * m};
                    above[start + k] = bound_box(rows, &s.table[k * row], &s.error[k * p * rows.width], s, box);
                    touched[b] = 1;
                }
            }
        });
        enclosed += (long)places.size();
        return done ? (int)std::count(above.begin(), above.end(), 1) : -1;
    }

    // Split boxes until no bound exceeds the goal, a violation is found, derivatives are unbounded, so many were enclosed,
    // or there is no room or time. Boxes from `known` on have no bounds so far; without a batch, only these are bounded.
    int run(long known) {
        const auto began = std::chrono::steady_clock::now();
        const int m = rows.m;
        std::vector<long> parts;
        for (long b = known; b < count; b++) parts.push_back(b);
        if (!parts.empty() && bound_all(parts) < 0) return -1;
        if (!batch) return CLOSED;
        for (long b = 0; b < count; b++)
            if (to_be_split(b)) open.push_back(b);
        const auto less = [&](long a, long b) {
            const double x = height(a), y = height(b);
            return x != y ? x < y : a > b;
        };
        std::make_heap(open.begin(), open.end(), less);
        while (!open.empty()) {
            const long todo = std::min(batch, (long)open.size());
            if (count + todo * ((1L << halvings) - 1) > capacity) return FULL;
            parts.clear();
            for (long k = 0; k < todo; k++) {
                std::pop_heap(open.begin(), open.end(), less);
                parts.push_back(open.back());
                open.pop_back();
            }
            for (int h = 0; h < halvings; h++)
                for (long k = 0, n = (long)parts.size(); k < n; k++) {
                    halve(m, lower, upper, pays, parts[k], count);
                    parts.push_back(count++);
                }
            const int found = bound_all(parts);
            if (found < 0) return -1;
            split += todo;
            bool blind = false;
            for (long b : parts) {
                if (!to_be_split(b)) continue;
                open.push_back(b);
                std::push_heap(open.begin(), open.end(), less);
                for (int i = 0; i < m; i++) blind |= rough[b * m + i] != 0;
            }
            if (found || blind) return FOUND;
            if (enclosed >= most) return DUE;
            if (std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() > seconds) return LATE;
        }
        return CLOSED;
    }
};

// `whole`: order, components, width, boxes, of which so many are known, capacity, batch, most to be
// enclosed, halvings, threads. `real`: goal, alert, rounding, seconds. `arrays`: weights, spread or null, lost, scale; lower, upper, pays, rough; bounds, points,
// models; `touched`. `told`: boxes in the end, enclosed, split. Returns how it ended; less than nought without memory.
EXPORT int lsip_heap(const void* tape, const long* whole, const double* real, double* const* arrays,
                     unsigned char* touched, long* told) {
    Ordinary arithmetic;
    const Tape& t = *static_cast<const Tape*>(tape);
    if (t.kinks || whole[0] < 2 || whole[0] > 3 || t.nodes[t.output].size != whole[1] * whole[2]) return -1;
    try {
        Heap h{rows_of(tape, (int)whole[0], whole[1], whole[2], real[1], real[2], arrays),
               whole[3], whole[5], whole[6], whole[7], (int)whole[8], (int)whole[9], real[0], real[3],
               arrays[4], arrays[5], arrays[6], arrays[7], arrays[8], arrays[9], arrays[10], touched, 0, 0, {}};
        const int ending = h.run(whole[4]);
        told[0] = h.count;
        told[1] = h.enclosed;
        told[2] = h.split;
        return ending;
    } catch (const std::bad_alloc&) {
        return -1;
    }
}
