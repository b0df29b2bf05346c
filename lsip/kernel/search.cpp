// A whole branch-and-bound for given weights: boxes without their enclosures, of which those with the largest bounds are
// split first. What happens depends neither on the number of threads nor on how often the search was interrupted.

#include "rows.hpp"
#include "threads.hpp"

#include <algorithm>
#include <chrono>

enum Ending { CLOSED, FOUND, FULL, DUE, LATE };

static const int64_t CACHED = int64_t(1) << 15;  // doubles of polynomials that are made at once, by one thread

struct Heap : SearchCall {
    Rows rows;
    std::vector<int64_t> open;

    Heap(const SearchCall& call, const Rows& rows) : SearchCall(call), rows(rows) {}

    double height(int64_t b) const { return *std::max_element(bound + b * rows.p, bound + (b + 1) * rows.p); }

    bool to_be_split(int64_t b) const {
        return height(b) > goal && worth_splitting(rows.m, lower + b * rows.m, upper + b * rows.m);
    }

    // Bounds of boxes; whether a violation is found at the points behind them, or less than nought without memory.
    int bound_all(const std::vector<int64_t>& places) {
        const int64_t m = rows.m, p = rows.p, row = p * rows.levels * rows.width;
        const int64_t step = std::max<int64_t>(4, std::min<int64_t>(64, CACHED / row / 4 * 4));
        std::vector<unsigned char> above(places.size(), 0);
        const bool done = share((int64_t)places.size(), threads, [&](int64_t from, int64_t to) {
            Scratch s;
            std::vector<double> wild(step * m);
            for (int64_t start = from; start < to; start += step) {
                const int64_t n = std::min(step, to - start);
                s.low.resize(n * m);
                s.high.resize(n * m);
                for (int64_t k = 0; k < n; k++) {
                    const int64_t b = places[start + k];
                    std::copy(lower + b * m, lower + b * m + m, &s.low[k * m]);
                    std::copy(upper + b * m, upper + b * m + m, &s.high[k * m]);
                }
                if (!enclose(rows, n, s, wild.data())) throw std::bad_alloc();
                for (int64_t k = 0; k < n; k++) {
                    const int64_t b = places[start + k];
                    std::copy(&wild[k * m], &wild[k * m] + m, rough + b * m);
                    const Box box{lower + b * m, upper + b * m, rough + b * m, bound + b * p, points + b * p * m,
                                  model + b * p, pays + b * m};
                    above[start + k] = bound_box(rows, &s.table[k * row], &s.error[k * p * rows.width], s, box);
                    touched[b] = 1;
                }
            }
        });
        enclosed += (int64_t)places.size();
        return done ? (int)std::count(above.begin(), above.end(), 1) : -1;
    }

    // Split boxes until no bound exceeds the goal, a violation is found, derivatives are unbounded, so many were enclosed,
    // or there is no room or time. Boxes from `known` on have no bounds so far; without a batch, only these are bounded.
    int run() {
        const auto began = std::chrono::steady_clock::now();
        const int m = rows.m;
        std::vector<int64_t> parts;
        for (int64_t b = known; b < boxes; b++) parts.push_back(b);
        if (!parts.empty() && bound_all(parts) < 0) return -1;
        if (!batch) return CLOSED;
        for (int64_t b = 0; b < boxes; b++)
            if (to_be_split(b)) open.push_back(b);
        const auto less = [&](int64_t a, int64_t b) {
            const double x = height(a), y = height(b);
            return x != y ? x < y : a > b;
        };
        std::make_heap(open.begin(), open.end(), less);
        while (!open.empty()) {
            const int64_t todo = std::min((int64_t)batch, (int64_t)open.size());
            if (boxes + todo * ((int64_t(1) << halvings) - 1) > capacity) return FULL;
            parts.clear();
            for (int64_t k = 0; k < todo; k++) {
                std::pop_heap(open.begin(), open.end(), less);
                parts.push_back(open.back());
                open.pop_back();
            }
            for (int h = 0; h < (int)halvings; h++)
                for (int64_t k = 0, n = (int64_t)parts.size(); k < n; k++) {
                    halve(m, lower, upper, pays, parts[k], boxes);
                    parts.push_back(boxes++);
                }
            const int found = bound_all(parts);
            if (found < 0) return -1;
            split += todo;
            bool blind = false;
            for (int64_t b : parts) {
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

// Runs a search, and writes `boxes`, `enclosed` and `split`. Returns how it ended; less than nought without memory.
EXPORT int lsip_search(const void* tape, SearchCall* call) {
    Ordinary arithmetic;
    const Tape& t = *static_cast<const Tape*>(tape);
    if (t.kinks || call->order < 2 || call->order > 3) return -1;
    if (t.nodes[t.output].size != call->components * call->width) return -1;
    try {
        const double* given[4] = {call->weights, call->spread, call->lost, call->scale};
        Heap h(*call, rows_of(tape, (int)call->order, call->components, call->width, call->alert, call->rounding, given));
        h.enclosed = h.split = 0;
        const int ending = h.run();
        call->boxes = h.boxes;
        call->enclosed = h.enclosed;
        call->split = h.split;
        return ending;
    } catch (const std::bad_alloc&) {
        return -1;
    }
}
