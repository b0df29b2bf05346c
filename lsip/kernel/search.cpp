// Rounds of branch-and-bound over a few boxes: those whose bounds are too large are split, and their parts enclosed and
// bounded, until there are none left or somebody has to decide. All but the enclosures is rounded to nearest.

#include "rows.hpp"

#include <algorithm>
#include <new>

enum Ending { CLOSED, FOUND, MANY };

// A search over rows of a tape. The first boxes are those to be split; parts take the places of their box and go to the
// end. Beside them, there are `others` that are closed.
struct Search {
    Rows rows;
    long others, capacity, most, crowded;
    int least_halvings, most_halvings;
    double goal, cheap;
    double *lower, *upper, *pays;                             // (capacity, m), the last: along which axes splitting pays
    double *table, *error, *rough, *bound, *points, *model;  // by boxes, as a cover keeps them

    long count, enclosed = 0, split = 0;
    Scratch scratch;
    std::vector<double> wild;
    std::vector<long> open;

    // Enclosures and bounds of the boxes of these places, laid out as they are kept; whether a violation is found, or
    // less than nought without memory.
    int bound_parts(const std::vector<long>& places) {
        const long n = (long)places.size(), m = rows.m, p = rows.p, row = p * rows.levels * rows.width;
        scratch.low.resize(n * m);
        scratch.high.resize(n * m);
        wild.resize(n * m);
        for (long k = 0; k < n; k++) {
            std::copy(lower + places[k] * m, lower + places[k] * m + m, &scratch.low[k * m]);
            std::copy(upper + places[k] * m, upper + places[k] * m + m, &scratch.high[k * m]);
        }
        if (!enclose(rows, n, scratch, wild.data())) return -1;
        bool found = false;
        for (long k = 0; k < n; k++) {
            const long b = places[k];
            double *own = table + b * row, *doubt = error + b * p * rows.width;
            std::copy(&scratch.table[k * row], &scratch.table[k * row] + row, own);
            std::copy(&scratch.error[k * p * rows.width], &scratch.error[k * p * rows.width] + p * rows.width, doubt);
            std::copy(&wild[k * m], &wild[k * m] + m, rough + b * m);
            const Box box{lower + b * m, upper + b * m, rough + b * m, bound + b * p, points + b * p * m, model + b * p,
                          pays + b * m};
            found |= bound_box(rows, own, doubt, scratch, box);
        }
        enclosed += n;
        return found;
    }

    int run(long first) {
        const int m = rows.m;
        count = first;
        for (long b = 0; b < first; b++) open.push_back(b);
        while (!open.empty()) {
            const long todo = (long)open.size(), total = others + count;
            const double room = std::log2(std::fmax(cheap / ((double)rows.p * rows.width * todo), 1.0));
            const int halvings = (int)std::fmin(std::fmax(room, least_halvings), most_halvings);
            const bool dense = total > crowded && todo > 0.9 * total;
            if (split && (total + 3 * todo > most || dense)) return MANY;
            if (count + todo * ((1L << halvings) - 1) > capacity) return MANY;
            for (long b : open)
                if (!worth_splitting(m, lower + b * m, upper + b * m)) return MANY;
            std::vector<long> parts(open);
            for (int h = 0; h < halvings; h++)
                for (long k = 0, n = (long)parts.size(); k < n; k++) {
                    halve(m, lower, upper, pays, parts[k], count);
                    parts.push_back(count++);
                }
            const int found = bound_parts(parts);
            if (found < 0) return -1;
            split += todo;
            open.clear();
            bool blind = false;
            for (long b : parts) {
                if (!(*std::max_element(bound + b * rows.p, bound + (b + 1) * rows.p) > goal)) continue;
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
    Ordinary arithmetic;
    const Tape& t = *static_cast<const Tape*>(tape);
    if (t.kinks || t.nodes[t.output].size != whole[0] * whole[1]) return -1;
    try {
        Search s{rows_of(tape, 2, whole[0], whole[1], real[1], real[3], arrays),
                 whole[3], whole[4], whole[5], whole[6], (int)whole[7], (int)whole[8], real[0], real[2],
                 arrays[4], arrays[5], arrays[6], arrays[7], arrays[8], arrays[9], arrays[10], arrays[11], arrays[12],
                 0, 0, 0, {}, {}, {}};
        const int ending = s.run(whole[2]);
        told[0] = s.count;
        told[1] = s.enclosed;
        told[2] = s.split;
        return ending;
    } catch (const std::bad_alloc&) {
        return -1;
    }
}
