// Polynomials that enclose the outputs of a tape over boxes.

static inline void put(double* out, int64_t stride, int lanes, Four v) {
    for (int i = 0; i < lanes; i++) out[i * stride] = v[i];
}

// What lies between a and b, at most.
static inline Four apart(Four a, Four b) { return larger(a - b, b - a); }

static void expand(Run& centre, Run& box, Models* models, const Node& node, int e, const Four* r, int order,
                   const Polynomials& out, int64_t row, int64_t column, int lanes) {
    const Tape& tape = box.tape;
    const int m = tape.dim, two = tape.first[2], three = tape.first[3], end = tape.first[order + 1];
    const int64_t K = out.outputs, place = row * K + column, stride = out.levels * K;
    auto put_level = [&](int level, Four v) { put(out.table + row * stride + level * K + column, stride, lanes, v); };
    Middle v = middle(centre.at(node, 0, e)), flat = middle(box.at(node, 0, e));
    if (node.depth < 1) {
        put_level(0, v.mid);
        put(out.error + place, K, lanes, v.rad + v.rad * all(4 * EPS) + all(4 * 0x1p-1074));
        return;  // all else is nought, and was so before
    }
    Four error = v.rad, first = v.rad, second, g[MOST_DIMENSIONS], swing[MOST_DIMENSIONS], scaling = all(0.0);
    Mask lost = (Mask)(all(0.0));
    for (int i = 0; i < m; i++) {
        Middle c = middle(centre.get(node, 1, 1 + i, e)), b = middle(box.get(node, 1, 1 + i, e));
        error = error + c.rad * r[i];
        first = first + (b.rad + apart(b.mid, c.mid)) * r[i];
        swing[i] = (b.rad + size_of(b.mid)) * r[i];
        g[i] = c.mid * r[i];
        scaling = scaling + size_of(c.mid) * r[i];  // infinite, where g is rounded up to the least double
    }
    scaling = scaling * all(8 * EPS);
    second = error;
    Four q[MOST_LEVELS], central[MOST_LEVELS];
    Four sizes = all(0.0);
    for (int l = two; l < three; l++) {
        const int *a = &tape.axes[3 * l];
        Four rr = r[a[0]] * r[a[1]];
        lost |= (rr < all(NORMAL)) & (r[a[0]] > 0) & (r[a[1]] > 0);
        Middle h = middle(box.get(node, 2, l, e));
        second = second + all(a[0] == a[1] ? 0.5 : 1.0) * rr * h.rad;
        q[l - two] = h.mid * rr;
        sizes = sizes + size_of(h.mid) * rr;
    }
    first = first + scaling;
    error = error + scaling;
    second = (second + scaling) + sizes * all(8 * EPS);
    second = pick(lost, all(__builtin_nan("")), second);
    Four zeroth = pick(flat.rad < all(INF), flat.rad, all(INF));
    Mask use2 = second <= zeroth, use1 = ~use2 & (first <= zeroth), use0 = ~(use2 | use1), cubic = (Mask)all(0.0);
    Four best = second;
    if (order == 3) {
        Four fourth = error, terms = all(0.0);
        Mask gone = (Mask)all(0.0);
        for (int l = two; l < three; l++) {
            const int *a = &tape.axes[3 * l];
            Four rr = r[a[0]] * r[a[1]];
            Middle h = middle(centre.get(node, 2, l, e));
            fourth = fourth + all(a[0] == a[1] ? 0.5 : 1.0) * rr * h.rad;
            central[l - two] = h.mid * rr;
            terms = terms + size_of(h.mid) * rr;
        }
        for (int l = three; l < end; l++) {
            const int *a = &tape.axes[3 * l];
            Four rrr = r[a[0]] * r[a[1]] * r[a[2]];
            gone |= (rrr < all(NORMAL)) & (r[a[0]] > 0) & (r[a[1]] > 0) & (r[a[2]] > 0);
            Middle h = middle(box.get(node, 3, l, e));
            int same = (a[0] == a[1]) + (a[1] == a[2]);
            fourth = fourth + all((same == 2 ? 1.0 / 6.0 : same == 1 ? 0.5 : 1.0) * (1 + 4 * EPS)) * rrr * h.rad;
            q[l - two] = h.mid * rrr;
            terms = terms + size_of(h.mid) * rrr;
        }
        fourth = pick(gone, all(__builtin_nan("")), fourth + terms * all(8 * EPS));
        cubic = fourth <= second;
        for (int l = two; l < three; l++) q[l - two] = pick(cubic, central[l - two], q[l - two]);
        for (int l = three; l < end; l++) q[l - two] = pick(cubic, q[l - two], all(0.0));
        best = pick(cubic, fourth, second);
        use2 = use2 | (cubic & (fourth < all(INF)));
        use1 = use1 & ~use2;
        use0 = use0 & ~use2;
    }
    Four value = pick(use0, pick(zeroth < all(INF), flat.mid, all(0.0)), v.mid);
    best = pick(use2, best, pick(use1, first, zeroth));
    if (models) {
        const Four doubt = models->reach(node, e).doubt;
        const Mask better = doubt < or_infinite(best);
        value = pick(better, models->at(node, 0, e), value);
        best = pick(better, doubt, best);
        for (int i = 0; i < m; i++) {
            const Four slope = tape.varies(node, 1, 1 + i, e) ? models->at(node, 1 + i, e) : all(0.0);
            g[i] = pick(better, slope, g[i]);
        }
        for (int l = two; l < end; l++) {
            const bool bent = l < three && tape.varies(node, 2, l, e);
            q[l - two] = pick(better, bent ? models->at(node, l, e) : all(0.0), q[l - two]);
        }
        use2 = use2 | better;
        use0 = use0 & ~better;
    }
    double ulps = 64.0 * (m + 2) * (m + 2);
    put_level(0, value);
    put(out.error + place, K, lanes, best + (best * all(ulps * EPS) + all(ulps * 0x1p-1074)));
    for (int i = 0; i < m; i++) {
        put_level(1 + i, pick(use0, all(0.0), g[i]));
        Four rough = pick(swing[i] < zeroth, swing[i], pick(zeroth < all(INF), zeroth, all(1.0)));
        put(out.rough + (row * m + i) * K + column, m * K, lanes, pick(use0, rough, all(0.0)));
    }
    for (int l = two; l < end; l++) put_level(l, pick(use2, q[l - two], all(0.0)));
}

static void quadratics(const Tape& tape, const Boxes& boxes, int order, int64_t from, int64_t to, const Polynomials& outputs,
                       const Polynomials& kinks, const signed char* pieces, unsigned char* straddles) {
    const int m = tape.dim;
    Upward rounding;
    Run centre(tape, order - 1), box(tape, order);
    std::unique_ptr<Models> models;
    if (tape.modelled) models.reset(new Models(tape, box));
    for (int64_t row = from; row < to; row += 4) {
        int lanes = to - row < 4 ? (int)(to - row) : 4;
        Four c[MOST_DIMENSIONS], r[MOST_DIMENSIONS];
        for (int i = 0; i < m; i++)
            for (int k = 0; k < 4; k++) {
                int64_t b = (row + (k < lanes ? k : 0)) * m + i;
                double lo = boxes.lower[b], hi = boxes.upper[b], mid = 0.5 * lo + 0.5 * hi;
                mid = mid < lo ? lo : mid > hi ? hi : mid;
                double up = hi - mid, down = mid - lo;
                c[i][k] = mid;
                box.y[i].n[k] = -lo;
                box.y[i].h[k] = hi;
                centre.y[i].n[k] = -mid;
                centre.y[i].h[k] = mid;
                r[i][k] = hi > lo ? (up > down ? up : down) : 0.0;
            }
        for (int k = 0; k < 4; k++) {
            int64_t b = (row + (k < lanes ? k : 0)) * tape.kinks;
            centre.pieces[k] = box.pieces[k] = pieces ? pieces + b : nullptr;
            centre.straddles[k] = nullptr;
            box.straddles[k] = straddles ? straddles + b : nullptr;
        }
        centre.forward();
        box.forward();
        if (models) models->forward(c, r);
        const Node& last = tape.nodes[tape.output];
        for (int e = 0; e < last.size; e++) expand(centre, box, models.get(), last, e, r, order, outputs, row, e, lanes);
        int64_t column = 0;
        for (int argument : tape.kink_arguments) {
            const Node& node = tape.nodes[argument];
            for (int e = 0; e < node.size; e++) expand(centre, box, models.get(), node, e, r, order, kinks, row, column++, lanes);
        }
    }
}
