// Jets of intervals through a tape, four boxes at a time, and the polynomials that enclose its outputs.
//
// A result has, for each of its elements, a value and derivatives in the m coordinates: gradient, and the entries of
// second and third derivatives with i <= j (<= k). `depth` is the highest order that is not nought throughout.

struct Run {
    const Tape& tape;
    int order;
    std::vector<Interval> room;
    Interval y[MOST_DIMENSIONS];
    const signed char* pieces[4];   // of each lane, or null
    unsigned char* straddles[4];    // of each lane, or null

    Run(const Tape& tape, int order) : tape(tape), order(order), room(tape.room(order)) {}

    Interval& at(const Node& node, int level, int e) { return room[node.start[order] + (size_t)level * node.size + e]; }

    // A level of an argument, whose elements may be one for all.
    Interval get(const Node& node, int depth, int level, int e) {
        return depth > node.depth ? exactly(0.0) : at(node, level, node.size == 1 ? 0 : e);
    }

    void forward();
    void step(const Node& node);
    void chain(const Node& node, const Node& u, int e, const Interval* f);
    void multiply(const Node& node, const Node& a, const Node& b, int e);
    void choose(const Node& node, const Node& a, const Node& b, const Node& u, int e, bool absolute);
    void monomials(const Node& node);
    template <class Operation> void linear(const Node& node, Operation operation);
};

void Run::forward() {
    for (const Node& node : tape.nodes) step(node);
}

// The same linear operation on values and on all derivatives.
template <class Operation> void Run::linear(const Node& node, Operation operation) {
    for (int d = 0; d <= order && d <= node.depth; d++)
        for (int level = tape.first[d]; level < tape.first[d + 1]; level++) operation(d, level);
}

static void derivatives(int function, Interval u, int order, Interval* f) {
    Interval s, c;
    switch (function) {
    case F_EXP:
        f[0] = f[1] = f[2] = f[3] = exponential(u);
        return;
    case F_LOG:
        f[0] = logarithm(u);
        if (order > 0) f[1] = reciprocal(u);
        if (order > 1) f[2] = -reciprocal(square(u));
        if (order > 2) f[3] = scale(2.0, reciprocal(square(u) * u));
        return;
    case F_SIN:
    case F_COS:
        waves(u, s, c);
        f[0] = function == F_SIN ? s : c;
        f[1] = function == F_SIN ? c : -s;
        f[2] = -f[0];
        f[3] = -f[1];
        return;
    case F_TAN:
        f[0] = tangent(u);
        if (order > 0) f[1] = exactly(1.0) + square(f[0]);
        if (order > 1) f[2] = scale(2.0, f[0]) * f[1];
        if (order > 2) f[3] = scale(2.0, f[1]) * (exactly(1.0) + scale(3.0, square(f[0])));
        return;
    case F_SQRT: {
        Interval v = {smaller(u.n, all(0.0)), u.h};
        v = pick((u.h < 0) | unknown(u), nothing_known(), v);
        f[0] = root(v);
        if (order > 0) f[1] = scale(0.5, reciprocal(f[0]));
        if (order > 1) f[2] = scale(-0.25, reciprocal(f[0] * v));
        if (order > 2) f[3] = scale(0.375, reciprocal(f[0] * square(v)));
        return;
    }
    case F_RECIPROCAL:
        f[0] = reciprocal(u);
        if (order > 0) f[1] = -square(f[0]);
        if (order > 1) f[2] = scale(2.0, f[0]) * square(f[0]);
        if (order > 2) f[3] = scale(-6.0, square(square(f[0])));
        return;
    default:  // F_SQUARE
        f[0] = square(u);
        f[1] = scale(2.0, u);
        f[2] = exactly(2.0);
        f[3] = exactly(0.0);
    }
}

void Run::chain(const Node& node, const Node& u, int e, const Interval* f) {
    const int m = tape.dim;
    at(node, 0, e) = f[0];
    if (order < 1 || node.depth < 1) return;
    Interval g[MOST_DIMENSIONS];
    for (int i = 0; i < m; i++) {
        g[i] = get(u, 1, 1 + i, e);
        at(node, 1 + i, e) = f[1] * g[i];
    }
    if (order < 2 || node.depth < 2) return;
    for (int i = 0, level = tape.first[2]; i < m; i++)
        for (int j = i; j < m; j++, level++) {
            Interval h = f[2] * (i == j ? square(g[i]) : g[i] * g[j]);
            if (u.depth >= 2) h = h + f[1] * get(u, 2, level, e);
            at(node, level, e) = h;
        }
    if (order < 3 || node.depth < 3) return;
    for (int i = 0, level = tape.first[3]; i < m; i++)
        for (int j = i; j < m; j++)
            for (int k = j; k < m; k++, level++) {
                Interval t = f[3] * (g[i] * (j == k ? square(g[j]) : g[j] * g[k]));
                if (u.depth >= 2) {
                    Interval mixed = g[i] * get(u, 2, tape.second(j, k), e) + g[j] * get(u, 2, tape.second(i, k), e) +
                                     g[k] * get(u, 2, tape.second(i, j), e);
                    t = t + f[2] * mixed;
                }
                if (u.depth >= 3) t = t + f[1] * get(u, 3, level, e);
                at(node, level, e) = t;
            }
}

void Run::multiply(const Node& node, const Node& a, const Node& b, int e) {
    const int m = tape.dim;
    Interval u = get(a, 0, 0, e), v = get(b, 0, 0, e);
    at(node, 0, e) = u * v;
    for (int d = 1; d <= order && d <= node.depth; d++)
        for (int level = tape.first[d]; level < tape.first[d + 1]; level++) {
            Interval sum = exactly(0.0);
            if (b.depth >= d) sum = sum + u * get(b, d, level, e);
            if (a.depth >= d) sum = sum + v * get(a, d, level, e);
            at(node, level, e) = sum;
        }
    if (a.depth < 1 || b.depth < 1) return;
    if (order >= 2)
        for (int i = 0, level = tape.first[2]; i < m; i++)
            for (int j = i; j < m; j++, level++) {
                Interval cross = get(a, 1, 1 + i, e) * get(b, 1, 1 + j, e);
                cross = i == j ? cross + cross : cross + get(a, 1, 1 + j, e) * get(b, 1, 1 + i, e);
                at(node, level, e) = at(node, level, e) + cross;
            }
    if (order >= 3 && node.depth >= 3)
        for (int i = 0, level = tape.first[3]; i < m; i++)
            for (int j = i; j < m; j++)
                for (int k = j; k < m; k++, level++) {
                    int jk = tape.second(j, k), ik = tape.second(i, k), ij = tape.second(i, j);
                    Interval sum = at(node, level, e);
                    const Node* pairs[2][2] = {{&a, &b}, {&b, &a}};
                    for (auto& p : pairs)
                        if (p[1]->depth >= 2)
                            sum = sum + get(*p[0], 1, 1 + i, e) * get(*p[1], 2, jk, e) +
                                  get(*p[0], 1, 1 + j, e) * get(*p[1], 2, ik, e) +
                                  get(*p[0], 1, 1 + k, e) * get(*p[1], 2, ij, e);
                    at(node, level, e) = sum;
                }
}

// A kink: a where u >= 0 and b elsewhere, or |u|. A piece that is fixed is extended over the whole box.
void Run::choose(const Node& node, const Node& a, const Node& b, const Node& u, int e, bool absolute) {
    Interval w = get(u, 0, 0, e);
    Mask plus = -w.n >= 0, minus = w.h <= 0;
    for (int lane = 0; lane < 4; lane++) {
        int place = node.kink + e;
        if (straddles[lane]) straddles[lane][place] = !(plus[lane] | minus[lane]);
        if (pieces[lane] && pieces[lane][place]) {
            plus[lane] = pieces[lane][place] > 0 ? -1 : 0;
            minus[lane] = pieces[lane][place] < 0 ? -1 : 0;
        }
    }
    minus = minus & ~plus;
    Mask open = ~(plus | minus);
    for (int d = 0; d <= order && d <= node.depth; d++)
        for (int level = tape.first[d]; level < tape.first[d + 1]; level++) {
            Interval p = get(a, d, level, e), q = absolute ? -p : get(b, d, level, e), both = everything();
            if (d == 0 && absolute) {
                Four low, high;
                magnitudes(p, low, high);
                both = {-low, high};
            } else if (d == 0) {  // a maximum is as large as both, where both are known
                both = {smaller(p.n, q.n), larger(p.h, q.h)};
                both = pick(unknown(p) | unknown(q), nothing_known(), both);
            } else if (d == 1) {
                both = hull(p, q);
                both = pick(unknown(p) | unknown(q), nothing_known(), both);
            }
            at(node, level, e) = pick(open, both, pick(plus, p, q));
        }
}

// y^e for every row e of exponents, and derivatives in closed form.
void Run::monomials(const Node& node) {
    const int m = node.width;
    const int* exponents = &tape.whole[node.data];
    std::vector<Interval> powers((size_t)m * (node.degree + 1));
    for (int i = 0; i < m; i++)
        for (int k = 0; k <= node.degree; k++) powers[i * (node.degree + 1) + k] = power(y[node.offset + i], k);
    for (int e = 0; e < node.size; e++)
        for (int d = 0; d <= order && d <= node.depth; d++)
            for (int level = tape.first[d]; level < tape.first[d + 1]; level++) {
                const int* axes = &tape.axes[3 * level];
                int left[MOST_DIMENSIONS];
                for (int i = 0; i < m; i++) left[i] = exponents[e * m + i];
                double factor = 1;
                for (int k = 0; k < d; k++) {
                    int i = axes[k] - node.offset;
                    if (i < 0 || i >= m || left[i] == 0) factor = 0;
                    else factor *= left[i]--;
                }
                Interval r = exactly(factor);
                bool first = true;
                for (int i = 0; factor != 0 && i < m; i++)
                    if (left[i]) {
                        Interval p = powers[i * (node.degree + 1) + left[i]];
                        r = first ? p : r * p;
                        first = false;
                    }
                at(node, level, e) = first || factor == 1 ? r : scale(factor, r);
            }
}

void Run::step(const Node& node) {
    const Node* in[3] = {nullptr, nullptr, nullptr};
    for (int k = 0; k < node.arguments && k < 3; k++) in[k] = &tape.nodes[tape.whole[node.args + k]];
    const int size = node.size;
    switch (node.op) {
    case O_CONSTANT:
        for (int e = 0; e < size; e++)
            at(node, 0, e) = between(tape.real[node.numbers + 2 * e], tape.real[node.numbers + 2 * e + 1]);
        break;
    case O_INDEX:
        for (int e = 0; e < size; e++) {
            at(node, 0, e) = y[node.offset + e];
            if (order)
                for (int i = 0; i < tape.dim; i++) at(node, 1 + i, e) = exactly(i == node.offset + e ? 1.0 : 0.0);
        }
        break;
    case O_NEGATE:
        linear(node, [&](int d, int l) { for (int e = 0; e < size; e++) at(node, l, e) = -get(*in[0], d, l, e); });
        break;
    case O_ADD:
        linear(node, [&](int d, int l) {
            for (int e = 0; e < size; e++) at(node, l, e) = get(*in[0], d, l, e) + get(*in[1], d, l, e);
        });
        break;
    case O_DIVIDE:
        linear(node, [&](int d, int l) {
            for (int e = 0; e < size; e++) at(node, l, e) = divide(get(*in[0], d, l, e), get(*in[1], 0, 0, e));
        });
        break;
    case O_MULTIPLY:
        if (in[0] == in[1]) {
            for (int e = 0; e < size; e++) {
                Interval f[4];
                derivatives(F_SQUARE, get(*in[0], 0, 0, e), order, f);
                chain(node, *in[0], e, f);
            }
            break;
        }
        for (int side = 0; side < 2; side++) {  // by constants, which most products are
            const Node &c = *in[side], &u = *in[1 - side];
            if (c.op != O_CONSTANT) continue;
            linear(node, [&](int d, int l) {
                for (int e = 0; e < size; e++) {
                    const double* ends = &tape.real[c.numbers + 2 * (c.size == 1 ? 0 : e)];
                    Interval v = get(u, d, l, e);
                    at(node, l, e) = ends[0] == ends[1] ? scale(ends[0], v) : between(ends[0], ends[1]) * v;
                }
            });
            return;
        }
        for (int e = 0; e < size; e++) multiply(node, *in[0], *in[1], e);
        break;
    case O_GATHER:
        linear(node, [&](int d, int l) {
            for (int e = 0; e < size; e++) at(node, l, e) = get(*in[0], d, l, tape.whole[node.data + e]);
        });
        break;
    case O_JOIN:
        linear(node, [&](int d, int l) {
            for (int k = 0, e = 0; k < node.arguments; k++) {
                const Node& part = tape.nodes[tape.whole[node.args + k]];
                for (int i = 0; i < part.size; i++, e++) at(node, l, e) = get(part, d, l, i);
            }
        });
        break;
    case O_SUM:
        linear(node, [&](int d, int l) {
            for (int e = 0; e < size; e++) {
                Interval sum = exactly(0.0);
                for (int k = 0; k < node.width; k++) sum = sum + get(*in[0], d, l, e * node.width + k);
                at(node, l, e) = sum;
            }
        });
        break;
    case O_LINEAR:  // rows as in CSR: starts, then columns; entries among the numbers
        linear(node, [&](int d, int l) {
            const int *starts = &tape.whole[node.data], *columns = starts + size + 1;
            for (int e = 0; e < size; e++) {
                Interval sum = exactly(0.0);
                for (int k = starts[e]; k < starts[e + 1]; k++)
                    sum = sum + scale(tape.real[node.numbers + k], get(*in[0], d, l, columns[k]));
                at(node, l, e) = sum;
            }
        });
        break;
    case O_POWER:
        for (int e = 0; e < size; e++) {
            double k = tape.real[node.numbers + e];
            Interval u = get(*in[0], 0, 0, e), f[4] = {power(u, k)};
            double factor = 1;
            for (int d = 1; d <= order; d++) {
                factor *= k - (d - 1);  // exact, because exponents are small and few bits are used
                f[d] = factor == 0 ? exactly(0.0) : scale(factor, power(u, k - d));
            }
            chain(node, *in[0], e, f);
        }
        break;
    case O_APPLY:
        for (int e = 0; e < size; e++) {
            Interval f[4];
            derivatives(node.function, get(*in[0], 0, 0, e), order, f);
            chain(node, *in[0], e, f);
        }
        break;
    case O_ABSOLUTE:
        for (int e = 0; e < size; e++) choose(node, *in[0], *in[0], *in[0], e, true);
        break;
    case O_MAXIMUM:
        for (int e = 0; e < size; e++) choose(node, *in[1], *in[2], *in[0], e, false);
        break;
    case O_MONOMIALS:
        monomials(node);
        break;
    }
}

// ---- polynomials over boxes ------------------------------------------------------------------------------------------

struct Middle {
    Four mid, rad;
};

static inline Middle middle(Interval a) {
    Four mid = all(0.5) * a.h - all(0.5) * a.n;
    return {mid, larger(a.h - mid, mid + a.n)};
}

static inline void put(double* out, long stride, int lanes, Four v) {
    for (int i = 0; i < lanes; i++) out[i * stride] = v[i];
}

// What lies between a and b, at most.
static inline Four apart(Four a, Four b) { return larger(a - b, b - a); }

static void expand(Run& centre, Run& box, const Node& node, int e, const Four* r, int order, const Polynomials& out,
                   long row, long column, int lanes) {
    const Tape& tape = box.tape;
    const int m = tape.dim, two = tape.first[2], three = tape.first[3], end = tape.first[order + 1];
    const long K = out.outputs, block = out.boxes * K, place = row * K + column;
    Middle v = middle(centre.at(node, 0, e)), flat = middle(box.at(node, 0, e));
    if (node.depth < 1) {
        put(out.value + place, K, lanes, v.mid);
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
        scaling = scaling + size_of(g[i]);
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
        sizes = sizes + size_of(q[l - two]);
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
            terms = terms + size_of(central[l - two]);
        }
        for (int l = three; l < end; l++) {
            const int *a = &tape.axes[3 * l];
            Four rrr = r[a[0]] * r[a[1]] * r[a[2]];
            gone |= (rrr < all(NORMAL)) & (r[a[0]] > 0) & (r[a[1]] > 0) & (r[a[2]] > 0);
            Middle h = middle(box.get(node, 3, l, e));
            int same = (a[0] == a[1]) + (a[1] == a[2]);
            fourth = fourth + all((same == 2 ? 1.0 / 6.0 : same == 1 ? 0.5 : 1.0) * (1 + 4 * EPS)) * rrr * h.rad;
            q[l - two] = h.mid * rrr;
            terms = terms + size_of(q[l - two]);
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
    double ulps = 64.0 * (m + 2) * (m + 2);
    put(out.value + place, K, lanes, value);
    put(out.error + place, K, lanes, best + (best * all(ulps * EPS) + all(ulps * 0x1p-1074)));
    for (int i = 0; i < m; i++) {
        put(out.gradient + i * block + place, K, lanes, pick(use0, all(0.0), g[i]));
        Four rough = pick(swing[i] < zeroth, swing[i], pick(zeroth < all(INF), zeroth, all(1.0)));
        put(out.rough + i * block + place, K, lanes, pick(use0, rough, all(0.0)));
    }
    for (int l = two; l < three; l++)
        put(out.hessian + (l - two) * block + place, K, lanes, pick(use2, q[l - two], all(0.0)));
    for (int l = three; l < end; l++)
        put(out.third + (l - three) * block + place, K, lanes, pick(use2, q[l - two], all(0.0)));
}

static void quadratics(const Tape& tape, const Boxes& boxes, int order, long from, long to, const Polynomials& outputs,
                       const Polynomials& kinks, const signed char* pieces, unsigned char* straddles) {
    const int m = tape.dim;
    Upward rounding;
    Run centre(tape, order - 1), box(tape, order);
    for (long row = from; row < to; row += 4) {
        int lanes = to - row < 4 ? (int)(to - row) : 4;
        Four r[MOST_DIMENSIONS];
        for (int i = 0; i < m; i++)
            for (int k = 0; k < 4; k++) {
                long b = (row + (k < lanes ? k : 0)) * m + i;
                double lo = boxes.lower[b], hi = boxes.upper[b], c = 0.5 * lo + 0.5 * hi;
                c = c < lo ? lo : c > hi ? hi : c;
                double up = hi - c, down = c - lo;
                box.y[i].n[k] = -lo;
                box.y[i].h[k] = hi;
                centre.y[i].n[k] = -c;
                centre.y[i].h[k] = c;
                r[i][k] = hi > lo ? (up > down ? up : down) : 0.0;
            }
        for (int k = 0; k < 4; k++) {
            long b = (row + (k < lanes ? k : 0)) * tape.kinks;
            centre.pieces[k] = box.pieces[k] = pieces ? pieces + b : nullptr;
            centre.straddles[k] = nullptr;
            box.straddles[k] = straddles ? straddles + b : nullptr;
        }
        centre.forward();
        box.forward();
        const Node& last = tape.nodes[tape.output];
        for (int e = 0; e < last.size; e++) expand(centre, box, last, e, r, order, outputs, row, e, lanes);
        long column = 0;
        for (int argument : tape.kink_arguments) {
            const Node& node = tape.nodes[argument];
            for (int e = 0; e < node.size; e++) expand(centre, box, node, e, r, order, kinks, row, column++, lanes);
        }
    }
}
