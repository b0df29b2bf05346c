// Quadratics around the nodes of a tape over boxes, in d with |d_i| <= 1, carried from node to node with what they are
// off by (Taylor models: Makino and Berz, 2003).
//
// Over large boxes these are sharper than derivatives over the whole box. A function is replaced by its chord, where it
// is convex or concave, or by its parabola at the middle, whichever is off by less; both errors are taken at the ends of
// what the argument can be, not from derivatives in between. Coefficients are rounded, and every rounding is counted.

struct Models {
    struct Coefficient {
        Four v;
    };
    struct Reach {  // how far linear and quadratic terms go, and what an element is off by
        Four slope, bend, doubt;
    };
    const Tape& tape;
    Run& box;  // the same over the boxes as intervals
    std::vector<Coefficient> room;
    std::vector<Reach> reaches;

    Models(const Tape& tape, Run& box) : tape(tape), box(box), room(tape.room(2)), reaches(tape.room(0)) {}

    Four& at(const Node& node, int level, int e) { return room[node.start[2] + (size_t)level * node.size + of(node, e)].v; }
    Reach& reach(const Node& node, int e) { return reaches[node.start[0] + of(node, e)]; }
    Four size(const Node& node, int e) { return size_of(at(node, 0, e)) + reach(node, e).slope + reach(node, e).bend; }
    static int of(const Node& node, int e) { return node.size == 1 ? 0 : e; }

    void forward(const Four* centre, const Four* radius);
    void step(const Node& node, const Four* centre, const Four* radius);
    template <class Operation> void each_level(const Node& node, int e, Operation operation);
    void measure(const Node& node, int e, Four doubt);
    void multiply(const Node& node, const Node& a, const Node& b, int e);
    void choose(const Node& node, const Node& a, const Node& b, const Node& u, int e, bool both_ways);
    template <class Function> void compose(const Node& node, const Node& u, int e, Function function);

    struct Sum {  // of multiples of elements
        Models& models;
        const Node& node;
        int e, terms = 0;
        Four doubt = all(0.0), size = all(0.0);
        Sum(Models& models, const Node& node, int e) : models(models), node(node), e(e) {
            models.at(node, 0, e) = all(0.0);
            models.each_level(node, e, [&](int, int level) { models.at(node, level, e) = all(0.0); });
        }
        void add(double factor, const Node& u, int k) {
            models.at(node, 0, e) += all(factor) * models.at(u, 0, k);
            models.each_level(u, k, [&](int, int level) { models.at(node, level, e) += all(factor) * models.at(u, level, k); });
            doubt = doubt + all(std::fabs(factor)) * models.reach(u, k).doubt;
            size = size + all(std::fabs(factor)) * models.size(u, k);
            terms++;
        }
        void done(Four more) { models.measure(node, e, doubt + more + all((terms + 3) * EPS) * size); }
    };

    void copy(const Node& node, int e, const Node& u, int k) {
        at(node, 0, e) = at(u, 0, k);
        each_level(u, k, [&](int, int level) { at(node, level, e) = at(u, level, k); });
        reach(node, e) = reach(u, k);
    }
};

// Calls `operation(depth, level)` for the slopes and bends that an element can have.
template <class Operation> void Models::each_level(const Node& node, int e, Operation operation) {
    const size_t element = node.start[0] + of(node, e), end = tape.starts[element + 1];
    for (size_t k = tape.starts[element]; k < end; k++) operation(tape.listed[k] < tape.first[2] ? 1 : 2, tape.listed[k]);
}

// Remember how far slopes and bends reach, and what an element is off by; numbers that underflow are less than the last.
void Models::measure(const Node& node, int e, Four doubt) {
    Four slope = all(0.0), bend = all(0.0);
    each_level(node, e, [&](int depth, int level) {
        const Four s = size_of(at(node, level, e));
        if (depth == 1) slope += s;
        else bend += tape.axes[3 * level] == tape.axes[3 * level + 1] ? all(0.5) * s : s;
    });
    const double lost = 64.0 * (tape.dim + 2) * (tape.dim + 2) * 0x1p-1074;
    // Numbers that are not finite make the doubt so, too.
    reach(node, e) = {slope, bend, doubt + all(lost) + (size_of(at(node, 0, e)) + slope + bend) * all(0.0)};
}

void Models::multiply(const Node& node, const Node& a, const Node& b, int e) {
    const Four u = at(a, 0, e), v = at(b, 0, e);
    at(node, 0, e) = u * v;
    each_level(node, e, [&](int depth, int level) {
        Four sum = all(0.0);
        if (tape.varies(a, depth, level, e)) sum += v * at(a, level, e);
        if (tape.varies(b, depth, level, e)) sum += u * at(b, level, e);
        if (depth == 2) {
            const int i = 1 + tape.axes[3 * level], j = 1 + tape.axes[3 * level + 1];
            if (tape.varies(a, 1, i, e) && tape.varies(b, 1, j, e)) sum += at(a, i, e) * at(b, j, e);
            if (tape.varies(a, 1, j, e) && tape.varies(b, 1, i, e)) sum += at(a, j, e) * at(b, i, e);
        }
        at(node, level, e) = sum;
    });
    const Reach &p = reach(a, e), &q = reach(b, e);
    const Four both = size(a, e) * size(b, e);
    const Four dropped = p.slope * q.bend + p.bend * q.slope + p.bend * q.bend;
    const Four doubt = p.doubt * size(b, e) + q.doubt * size(a, e) + p.doubt * q.doubt;
    measure(node, e, doubt + dropped + all(16 * EPS) * both);
}

// As in jets, but that nothing is known where a kink may be on the box.
void Models::choose(const Node& node, const Node& a, const Node& b, const Node& u, int e, bool both_ways) {
    const Interval w = box.get(u, 0, 0, e);
    Mask plus = above(w), minus = below(w);
    for (int lane = 0; lane < 4; lane++) {
        const signed char* pieces = box.pieces[lane];
        if (!pieces || !pieces[node.kink + e]) continue;
        plus[lane] = pieces[node.kink + e] > 0 ? -1 : 0;
        minus[lane] = pieces[node.kink + e] < 0 ? -1 : 0;
    }
    auto level_of = [&](const Node& p, int depth, int level) {
        return depth == 0 || tape.varies(p, depth, level, e) ? at(p, level, e) : all(0.0);
    };
    auto chosen = [&](int depth, int level) {
        const Four p = level_of(a, depth, level), q = both_ways ? -p : level_of(b, depth, level);
        at(node, level, e) = pick(plus, p, q);
    };
    chosen(0, 0);
    each_level(node, e, chosen);
    measure(node, e, pick(plus | minus, pick(plus, reach(a, e).doubt, reach(b, e).doubt), all(INF)));
}

// A line or parabola in t - c that a function is near: f = value + slope (t - c) + bend (t - c)^2 / 2, up to `off`.
struct Near {
    Four value, slope, bend, off;
};

static inline Interval point(Four v) { return {-v, v}; }
static inline Four most(Interval a) { return larger(a.n, a.h); }
static inline Four or_infinite(Four v) { return pick(v == v, v, all(INF)); }

// The chord over [a, b] of what is convex there: between the ends it is the highest, and a tangent nearly parallel to
// it lies below. What is concave is turned over first.
template <class Function> static Near chord(Function function, Interval u, Four c, const Interval* f) {
    const Mask convex = f[2].n <= 0, concave = f[2].h <= 0;
    const Four a = -u.n, b = u.h;
    Interval left[4], right[4], touch[4];
    function.jet(point(a), 0, left);
    function.jet(point(b), 0, right);
    const Four rise = middle(right[0]).mid - middle(left[0]).mid;
    Four slope = pick(b > a, rise / (b - a), all(0.0));
    Four t = function.parallel(slope, a, b);
    t = pick((t >= a) & (t <= b), t, all(0.5) * a + all(0.5) * b);
    t = larger(a, smaller(b, t));
    function.jet(point(t), 1, touch);
    const Interval s = point(slope), over[3] = {left[0] - s * point(a), right[0] - s * point(b), touch[0] - s * point(t)};
    const Four tilt = most(touch[1] - s) * larger(b - t, t - a);
    Interval height;  // of f - slope t
    height.h = pick(convex, larger(over[0].h, over[1].h), over[2].h + tilt);
    height.n = pick(convex, over[2].n + tilt, larger(over[0].n, over[1].n));
    const Middle h = middle(height), value = middle(point(h.mid) + s * point(c));
    Four off = h.rad + value.rad;
    for (const Interval& end : {left[0], right[0], touch[0], touch[1]}) off = off + (size_of(end.n) + size_of(end.h)) * all(0.0);
    return {value.mid, slope, all(0.0), pick(convex | concave, or_infinite(off), all(INF))};
}

// The parabola at c, which lies in [a, b]. Where the third derivative keeps its sign, it is furthest off at the ends.
template <class Function> static Near parabola(Function function, Interval u, Four c, const Interval* f) {
    const Interval a = point(-u.n), b = point(u.h);
    Interval at[4], left[4], right[4];
    function.jet(point(c), 2, at);
    function.jet(a, 0, left);
    function.jet(b, 0, right);
    Middle m[3];
    for (int d = 0; d < 3; d++) m[d] = middle(at[d]);
    const Four reach = larger(u.h - c, u.n + c);
    const Four doubt = m[0].rad + m[1].rad * reach + all(0.5) * m[2].rad * (reach * reach);
    auto rest = [&](Interval end, Interval value) {
        const Interval step = end - point(c);
        return most(value - (point(m[0].mid) + point(m[1].mid) * step + scale(0.5, point(m[2].mid) * square(step))));
    };
    const Mask one_sign = (f[3].n <= 0) | (f[3].h <= 0);
    const Four ends = larger(rest(a, left[0]), rest(b, right[0])) + (left[0].h + right[0].h) * all(0.0) + all(2.0) * doubt;
    const Four anywhere = most(f[3]) * all(1.0 / 6.0 * (1 + 4 * EPS)) * (reach * reach * reach) + doubt;
    Four off = smaller(or_infinite(anywhere), pick(one_sign, or_infinite(ends), all(INF)));
    off = pick((c >= -u.n) & (c <= u.h), off, all(INF));
    return {m[0].mid, m[1].mid, m[2].mid, off};
}

template <class Function> void Models::compose(const Node& node, const Node& u, int e, Function function) {
    const Four c = at(u, 0, e), slope = reach(u, e).slope, bend = reach(u, e).bend, doubt = reach(u, e).doubt;
    const Four far = slope + bend + doubt;
    Interval range = box.get(u, 0, 0, e), f[4];
    Mask lost = unknown(range) | unknown(box.at(node, 0, e)) | ~(far < all(INF));
    range = {smaller(range.n, far - c), smaller(range.h, c + far)};
    range = function.defined(range);
    lost |= ~(-range.n <= range.h) | ~(range.h < all(INF)) | ~(range.n < all(INF));
    function.jet(range, 3, f);
    lost |= ~(f[0].n < all(INF)) | ~(f[0].h < all(INF));  // there may be a pole between the ends
    const Near line = chord(function, range, c, f), bent = parabola(function, range, c, f);
    // What remains of a square beyond second order, and what the doubt about the argument makes.
    auto off = [&](const Near& p) {
        return p.off + size_of(p.slope) * doubt +
               size_of(p.bend) * (slope * bend + all(0.5) * bend * bend + (slope + bend) * doubt + doubt * doubt);
    };
    const Four one = or_infinite(off(line)), other = or_infinite(off(bent));
    const Mask straight = one < other;
    const Four s = pick(straight, line.slope, bent.slope), h = pick(straight, all(0.0), bent.bend);
    at(node, 0, e) = pick(straight, line.value, bent.value);
    each_level(node, e, [&](int depth, int level) {
        Four term = tape.varies(u, depth, level, e) ? s * at(u, level, e) : all(0.0);
        if (depth == 2) {
            const int i = 1 + tape.axes[3 * level], j = 1 + tape.axes[3 * level + 1];
            term += h * (at(u, i, e) * at(u, j, e));
        }
        at(node, level, e) = term;
    });
    const Four size = size_of(s) * (slope + bend) + size_of(h) * slope * slope;
    measure(node, e, pick(lost, all(INF), pick(straight, one, other) + all(16 * EPS) * size));
}

// Functions and powers as `compose` asks for them.
struct Applied {
    int function;
    void jet(Interval u, int order, Interval* f) const { derivatives(function, u, order, f); }
    Interval defined(Interval u) const { return function == F_SQRT ? Interval{smaller(u.n, all(0.0)), u.h} : u; }

    // About where a tangent has this slope; any point is right.
    Four parallel(Four slope, Four a, Four b) const {
        Four t = all(0.5) * a + all(0.5) * b;
        for (int k = 0; k < 4; k++) {
            if (function == F_RECIPROCAL) t[k] = std::copysign(std::sqrt(std::fabs(a[k]) * std::fabs(b[k])), a[k]);
            if (function == F_EXP) t[k] = std::log(slope[k]);
            if (function == F_LOG) t[k] = 1 / slope[k];
            if (function == F_SQRT) t[k] = 1 / (4 * slope[k] * slope[k]);
        }
        return t;
    }
};

struct Raised {
    double k;
    void jet(Interval u, int order, Interval* f) const {
        double factor = 1;
        for (int d = 0; d <= order; factor *= k - d++) f[d] = factor == 0 ? exactly(0.0) : scale(factor, power(u, k - d));
    }
    Interval defined(Interval u) const { return u; }
    Four parallel(Four slope, Four a, Four b) const {
        Four t = all(0.5) * a + all(0.5) * b;
        for (int i = 0; i < 4; i++)
            if (a[i] >= 0) t[i] = std::pow(slope[i] / k, 1 / (k - 1));
        return t;
    }
};

void Models::forward(const Four* centre, const Four* radius) {
    for (const Node& node : tape.nodes) step(node, centre, radius);
}

void Models::step(const Node& node, const Four* centre, const Four* radius) {
    const Node* in[3] = {nullptr, nullptr, nullptr};
    for (int k = 0; k < node.arguments && k < 3; k++) in[k] = &tape.nodes[tape.whole[node.args + k]];
    if (node.op == O_JOIN) {
        for (int k = 0, e = 0; k < node.arguments; k++) {
            const Node& part = tape.nodes[tape.whole[node.args + k]];
            for (int i = 0; i < part.size; i++) copy(node, e++, part, i);
        }
        return;
    }
    for (int e = 0; e < node.size; e++) switch (node.op) {
        case O_CONSTANT: {
            const double* v = &tape.real[node.numbers + 3 * e];
            at(node, 0, e) = all(v[2]);
            measure(node, e, larger(all(v[1] - v[2]), all(v[2] - v[0])));
            break;
        }
        case O_INDEX:
            at(node, 0, e) = centre[node.offset + e];
            at(node, 1 + node.offset + e, e) = radius[node.offset + e];
            measure(node, e, all(0.0));
            break;
        case O_MULTIPLY: {
            const int constant = in[0]->op == O_CONSTANT ? 0 : in[1]->op == O_CONSTANT ? 1 : -1;
            if (constant < 0) {
                multiply(node, *in[0], *in[1], e);
                break;
            }
            const Node &c = *in[constant], &u = *in[1 - constant];
            const double* v = &tape.real[c.numbers + 3 * of(c, e)];
            Sum sum(*this, node, e);
            sum.add(v[2], u, e);
            const double apart = v[1] - v[2] > v[2] - v[0] ? v[1] - v[2] : v[2] - v[0];
            sum.done(all(apart) * (size(u, e) + reach(u, e).doubt));
            break;
        }
        case O_GATHER: copy(node, e, *in[0], tape.whole[node.data + e]); break;
        case O_NEGATE:
        case O_ADD:
        case O_DIVIDE:
        case O_SUM:
        case O_LINEAR: {
            Sum sum(*this, node, e);
            Four more = all(0.0);
            if (node.op == O_NEGATE) sum.add(-1.0, *in[0], e);
            if (node.op == O_ADD) sum.add(1.0, *in[0], e), sum.add(1.0, *in[1], e);
            if (node.op == O_DIVIDE) {
                const double* v = &tape.real[in[1]->numbers + 3 * of(*in[1], e)];
                sum.add(1.0 / v[2], *in[0], e);
                more = v[0] == v[2] && v[1] == v[2] ? all(2 * EPS) * sum.size + all(2 * EPS) * sum.doubt : all(INF);
            }
            if (node.op == O_SUM)
                for (int k = 0; k < node.width; k++) sum.add(1.0, *in[0], e * node.width + k);
            if (node.op == O_LINEAR) {
                const int *starts = &tape.whole[node.data], *columns = starts + node.size + 1;
                for (int k = starts[e]; k < starts[e + 1]; k++) sum.add(tape.real[node.numbers + k], *in[0], columns[k]);
            }
            sum.done(more);
            break;
        }
        case O_POWER: {
            const double k = tape.real[node.numbers + e];
            if (k == 2) multiply(node, *in[0], *in[0], e);
            else compose(node, *in[0], e, Raised{k});
            break;
        }
        case O_APPLY:
            if (node.function == F_SQUARE) multiply(node, *in[0], *in[0], e);
            else compose(node, *in[0], e, Applied{node.function});
            break;
        case O_ABSOLUTE: choose(node, *in[0], *in[0], *in[0], e, true); break;
        case O_MAXIMUM: choose(node, *in[1], *in[2], *in[0], e, false); break;
        default: measure(node, e, all(INF));  // monomials are known in closed form
    }
}
