// Jets through a tape, four at a time, of what `Number` stands for: intervals over boxes, or doubles at points.
//
// A result has, for each of its elements, a value and derivatives in the m coordinates: gradient, and the entries of
// second and third derivatives with i <= j (<= k). `depth` is the highest order that is not nought throughout. Which
// entries vary at all is known beforehand (sparsity.cpp): all others are nought from the start, and nobody writes them.

struct Run {
    const Tape& tape;
    int order;
    std::vector<Number> room;
    Number y[MOST_DIMENSIONS];
    const signed char* pieces[4];   // of each lane, or null
    unsigned char* straddles[4];    // of each lane, or null

    Run(const Tape& tape, int order) : tape(tape), order(order), room(tape.room(order)) {}

    Number& at(const Node& node, int level, int e) { return room[node.start[order] + (size_t)level * node.size + e]; }

    // A level of an argument, whose elements may be one for all.
    Number get(const Node& node, int depth, int level, int e) {
        return depth > node.depth ? exactly(0.0) : at(node, level, node.size == 1 ? 0 : e);
    }

    void forward();
    void step(const Node& node);
    void chain(const Node& node, const Node& u, int e, const Number* f, bool bent_further = true);
    void multiply(const Node& node, const Node& a, const Node& b, int e);
    void choose(const Node& node, const Node& a, const Node& b, const Node& u, int e, bool both_ways);
    void monomials(const Node& node);
    template <class Operation> void linear(const Node& node, Operation operation);
};

void Run::forward() {
    for (const Node& node : tape.nodes) step(node);
}

// The same linear operation on values and on all derivatives that vary.
template <class Operation> void Run::linear(const Node& node, Operation operation) {
    for (int d = 0; d <= order && d <= node.depth; d++)
        for (int level = tape.first[d]; level < tape.first[d + 1]; level++) {
            if (!tape.moves(node, level)) continue;
            const unsigned char* live = &tape.live[node.start[3] + (size_t)level * node.size];
            for (int e = 0; e < node.size; e++)
                if (live[e]) operation(d, level, e);
        }
}

static void derivatives(int function, Number u, int order, Number* f) {
    Number s, c;
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
        Number v = not_below_nought(u);
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

void Run::chain(const Node& node, const Node& u, int e, const Number* f, bool bent_further) {
    at(node, 0, e) = f[0];
    if (order < 1 || node.depth < 1) return;
    int axes[MOST_DIMENSIONS];
    const int count = tape.axes_of(tape.depends_on(u, e), axes);
    Number g[MOST_DIMENSIONS], pairs[MOST_DIMENSIONS][MOST_DIMENSIONS];
    for (int a = 0; a < count; a++) {
        g[a] = get(u, 1, 1 + axes[a], e);
        at(node, 1 + axes[a], e) = f[1] * g[a];
    }
    if (order < 2 || node.depth < 2) return;
    for (int a = 0; a < count; a++)
        for (int b = a; b < count; b++) {
            const int level = tape.second(axes[a], axes[b]);
            pairs[a][b] = a == b ? square(g[a]) : g[a] * g[b];
            Number h = f[2] * pairs[a][b];
            if (tape.varies(u, 2, level, e)) h = h + f[1] * get(u, 2, level, e);
            at(node, level, e) = h;
        }
    if (order < 3 || node.depth < 3) return;
    Number steep[MOST_DIMENSIONS];
    for (int a = 0; a < count && bent_further; a++) steep[a] = f[3] * g[a];
    for (int a = 0; a < count; a++)
        for (int b = a; b < count; b++)
            for (int c = b; c < count; c++) {
                const int i = axes[a], j = axes[b], k = axes[c], level = tape.third(i, j, k);
                Number t = exactly(0.0), mixed = exactly(0.0);
                if (bent_further) t = a == b ? steep[c] * pairs[a][a] : steep[a] * pairs[b][c];
                const int others[3][2] = {{a, tape.second(j, k)}, {b, tape.second(i, k)}, {c, tape.second(i, j)}};
                bool some = false;
                for (auto& [slope, bend] : others)
                    if (tape.varies(u, 2, bend, e)) {
                        mixed = mixed + g[slope] * get(u, 2, bend, e);
                        some = true;
                    }
                if (some) t = t + f[2] * mixed;
                if (tape.varies(u, 3, level, e)) t = t + f[1] * get(u, 3, level, e);
                at(node, level, e) = t;
            }
}

void Run::multiply(const Node& node, const Node& a, const Node& b, int e) {
    const Number u = get(a, 0, 0, e), v = get(b, 0, 0, e);
    at(node, 0, e) = u * v;
    int axes[MOST_DIMENSIONS];
    const int count = tape.axes_of(tape.depends_on(node, e), axes), deep = order < node.depth ? order : node.depth;
    auto term = [&](Number& sum, const Node& p, int dp, int lp, const Node& q, int dq, int lq) {
        if (tape.varies(p, dp, lp, e) && tape.varies(q, dq, lq, e)) sum = sum + get(p, dp, lp, e) * get(q, dq, lq, e);
    };
    auto ends = [&](int d, int level) {  // one of the two is differentiated, the other is not
        Number sum = exactly(0.0);
        if (tape.varies(b, d, level, e)) sum = sum + u * get(b, d, level, e);
        if (tape.varies(a, d, level, e)) sum = sum + v * get(a, d, level, e);
        return sum;
    };
    for (int x = 0; x < count && deep >= 1; x++) at(node, 1 + axes[x], e) = ends(1, 1 + axes[x]);
    if (deep < 2) return;
    for (int x = 0; x < count; x++)
        for (int y = x; y < count; y++) {
            const int i = axes[x], j = axes[y], level = tape.second(i, j);
            Number sum = ends(2, level);
            if (i == j) {
                Number cross = exactly(0.0);
                term(cross, a, 1, 1 + i, b, 1, 1 + i);
                sum = sum + (cross + cross);
            } else {
                term(sum, a, 1, 1 + i, b, 1, 1 + j);
                term(sum, a, 1, 1 + j, b, 1, 1 + i);
            }
            at(node, level, e) = sum;
        }
    if (deep < 3) return;
    for (int x = 0; x < count; x++)
        for (int y = x; y < count; y++)
            for (int z = y; z < count; z++) {
                const int i = axes[x], j = axes[y], k = axes[z], level = tape.third(i, j, k);
                const int jk = tape.second(j, k), ik = tape.second(i, k), ij = tape.second(i, j);
                Number sum = ends(3, level);
                for (int side = 0; side < 2; side++) {
                    const Node &p = side ? b : a, &q = side ? a : b;
                    term(sum, p, 1, 1 + i, q, 2, jk);
                    term(sum, p, 1, 1 + j, q, 2, ik);
                    term(sum, p, 1, 1 + k, q, 2, ij);
                }
                at(node, level, e) = sum;
            }
}

// A kink: a where u >= 0 and b elsewhere, or |u|. A piece that is fixed is extended over the whole box.
void Run::choose(const Node& node, const Node& a, const Node& b, const Node& u, int e, bool both_ways) {
    Number w = get(u, 0, 0, e);
    Mask plus = above(w), minus = below(w);
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
            Number p = get(a, d, level, e), q = both_ways ? -p : get(b, d, level, e), both = everything();
            if (d == 0) both = both_ways ? absolute(p) : maximum(p, q);
            if (d == 1) both = either(p, q);
            at(node, level, e) = pick(open, both, pick(plus, p, q));
        }
}

// y^e for every row e of exponents, and derivatives in closed form.
void Run::monomials(const Node& node) {
    const int m = node.width;
    const int* exponents = &tape.whole[node.data];
    std::vector<Number> powers((size_t)m * (node.degree + 1));
    for (int i = 0; i < m; i++)
        for (int k = 0; k <= node.degree; k++) powers[i * (node.degree + 1) + k] = power(y[node.offset + i], k);
    for (int e = 0; e < node.size; e++)
        for (int d = 0; d <= order && d <= node.depth; d++)
            for (int level = tape.first[d]; level < tape.first[d + 1]; level++) {
                if (!tape.varies(node, d, level, e)) continue;
                const int* axes = &tape.axes[3 * level];
                int left[MOST_DIMENSIONS];
                for (int i = 0; i < m; i++) left[i] = exponents[e * m + i];
                double factor = 1;
                for (int k = 0; k < d; k++) {
                    int i = axes[k] - node.offset;
                    if (i < 0 || i >= m || left[i] == 0) factor = 0;
                    else factor *= left[i]--;
                }
                Number r = exactly(factor);
                bool first = true;
                for (int i = 0; factor != 0 && i < m; i++)
                    if (left[i]) {
                        Number p = powers[i * (node.degree + 1) + left[i]];
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
            at(node, 0, e) = known(&tape.real[node.numbers + 3 * e]);
        break;
    case O_INDEX:
        for (int e = 0; e < size; e++) {
            at(node, 0, e) = y[node.offset + e];
            if (order)
                for (int i = 0; i < tape.dim; i++) at(node, 1 + i, e) = exactly(i == node.offset + e ? 1.0 : 0.0);
        }
        break;
    case O_NEGATE:
        linear(node, [&](int d, int l, int e) { at(node, l, e) = -get(*in[0], d, l, e); });
        break;
    case O_ADD:
        linear(node, [&](int d, int l, int e) { at(node, l, e) = get(*in[0], d, l, e) + get(*in[1], d, l, e); });
        break;
    case O_DIVIDE:
        linear(node, [&](int d, int l, int e) { at(node, l, e) = divide(get(*in[0], d, l, e), get(*in[1], 0, 0, e)); });
        break;
    case O_MULTIPLY:
        if (in[0] == in[1]) {
            for (int e = 0; e < size; e++) {
                Number f[4];
                derivatives(F_SQUARE, get(*in[0], 0, 0, e), order, f);
                chain(node, *in[0], e, f, false);
            }
            break;
        }
        for (int side = 0; side < 2; side++) {  // by constants, which most products are
            const Node &c = *in[side], &u = *in[1 - side];
            if (c.op != O_CONSTANT) continue;
            linear(node, [&](int d, int l, int e) {
                at(node, l, e) = times(&tape.real[c.numbers + 3 * (c.size == 1 ? 0 : e)], get(u, d, l, e));
            });
            return;
        }
        for (int e = 0; e < size; e++) multiply(node, *in[0], *in[1], e);
        break;
    case O_GATHER:
        linear(node, [&](int d, int l, int e) { at(node, l, e) = get(*in[0], d, l, tape.whole[node.data + e]); });
        break;
    case O_JOIN:
        for (int k = 0, e = 0; k < node.arguments; k++) {
            const Node& part = tape.nodes[tape.whole[node.args + k]];
            linear(part, [&](int, int l, int i) { at(node, l, e + i) = at(part, l, i); });
            e += part.size;
        }
        break;
    case O_SUM:
        linear(node, [&](int d, int l, int e) {
            Number sum = exactly(0.0);
            for (int k = e * node.width; k < (e + 1) * node.width; k++)
                if (tape.varies(*in[0], d, l, k)) sum = sum + get(*in[0], d, l, k);
            at(node, l, e) = sum;
        });
        break;
    case O_LINEAR:  // rows as in CSR: starts, then columns; entries among the numbers
        linear(node, [&](int d, int l, int e) {
            const int *starts = &tape.whole[node.data], *columns = starts + size + 1;
            Number sum = exactly(0.0);
            for (int k = starts[e]; k < starts[e + 1]; k++)
                if (tape.varies(*in[0], d, l, columns[k]))
                    sum = sum + scale(tape.real[node.numbers + k], get(*in[0], d, l, columns[k]));
            at(node, l, e) = sum;
        });
        break;
    case O_POWER:
        for (int e = 0; e < size; e++) {
            double k = tape.real[node.numbers + e];
            Number u = get(*in[0], 0, 0, e), f[4] = {power(u, k)};
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
            Number f[4];
            derivatives(node.function, get(*in[0], 0, 0, e), order, f);
            chain(node, *in[0], e, f, node.function != F_SQUARE);
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
