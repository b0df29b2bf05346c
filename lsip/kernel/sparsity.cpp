// Which derivatives of which elements of a tape can be other than nought: all others need no arithmetic.

#include "tape.hpp"

// Levels of one element, a flag each.
struct Pattern {
    const Tape& tape;
    const Node& node;
    int e;
    bool operator()(int depth, int level) const { return tape.varies(node, depth, level, e); }
    bool along(int i) const { return (*this)(1, 1 + i); }
};

// f(u): every product of derivatives of u that the chain rule has.
static bool chained(const Pattern& u, int depth, int level, int i, int j, int k, bool bent_further) {
    const Tape& t = u.tape;
    if (u(depth, level)) return true;
    if (depth == 2) return u.along(i) && u.along(j);
    if (depth < 3) return false;
    return (bent_further && u.along(i) && u.along(j) && u.along(k)) || (u.along(i) && u(2, t.second(j, k))) ||
           (u.along(j) && u(2, t.second(i, k))) || (u.along(k) && u(2, t.second(i, j)));
}

static bool multiplied(const Pattern& a, const Pattern& b, int depth, int level, int i, int j, int k) {
    const Tape& t = a.tape;
    if (a(depth, level) || b(depth, level)) return true;
    auto either = [&](int one, int d, int others) {
        return (a.along(one) && b(d, others)) || (b.along(one) && a(d, others));
    };
    if (depth == 2) return either(i, 1, 1 + j);
    if (depth < 3) return false;
    return either(i, 2, t.second(j, k)) || either(j, 2, t.second(i, k)) || either(k, 2, t.second(i, j));
}

// A kink bends along all coordinates that it depends on, wherever it is.
static bool kinked(const Pattern& a, const Pattern& b, const Pattern& u, int depth, const int* axes) {
    for (int d = 0; d < depth; d++)
        if (!a.along(axes[d]) && !b.along(axes[d]) && !u.along(axes[d])) return false;
    return true;
}

static bool of_monomial(const Tape& t, const Node& node, int e, int depth, const int* axes) {
    int left[MOST_DIMENSIONS];
    for (int i = 0; i < node.width; i++) left[i] = t.whole[node.data + (int64_t)e * node.width + i];
    for (int d = 0; d < depth; d++) {
        int i = axes[d] - node.offset;
        if (i < 0 || i >= node.width || left[i]-- <= 0) return false;
    }
    return true;
}

static bool varies(const Tape& t, const Node& node, const std::vector<int>& joined, int e, int depth, int level) {
    const int* axes = &t.axes[3 * (size_t)level];
    const int i = axes[0], j = axes[1], k = axes[2];
    auto in = [&](int argument) -> const Node& { return t.nodes[t.whole[node.args + argument]]; };
    auto of = [&](int argument) { return Pattern{t, in(argument), e}; };
    switch (node.op) {
    case O_CONSTANT: return false;
    case O_INDEX: return depth == 1 && i == node.offset + e;
    case O_NEGATE:
    case O_DIVIDE: return of(0)(depth, level);
    case O_ADD: return of(0)(depth, level) || of(1)(depth, level);
    case O_MULTIPLY: return multiplied(of(0), of(1), depth, level, i, j, k);
    case O_JOIN: {
        const Node& part = in(joined[2 * e]);
        return t.varies(part, depth, level, joined[2 * e + 1]);
    }
    case O_GATHER: return t.varies(in(0), depth, level, t.whole[node.data + e]);
    case O_SUM:
        for (int q = 0; q < node.width; q++)
            if (t.varies(in(0), depth, level, e * node.width + q)) return true;
        return false;
    case O_LINEAR: {
        const int *starts = &t.whole[node.data], *columns = starts + node.size + 1;
        for (int q = starts[e]; q < starts[e + 1]; q++)
            if (t.varies(in(0), depth, level, columns[q])) return true;
        return false;
    }
    case O_POWER: return chained(of(0), depth, level, i, j, k, true);
    case O_APPLY: return chained(of(0), depth, level, i, j, k, node.function != F_SQUARE);
    case O_ABSOLUTE: return kinked(of(0), of(0), of(0), depth, axes);
    case O_MAXIMUM: return kinked(of(0), of(1), of(2), depth, axes);
    default: return of_monomial(t, node, e, depth, axes);
    }
}

void find_what_varies(Tape& t) {
    const size_t levels = t.first[4];
    t.live.assign(t.total[3], 0);
    t.busy.assign(t.nodes.size() * levels, 0);
    t.depends.assign(t.total[0], 0);
    for (size_t n = 0; n < t.nodes.size(); n++) {
        const Node& node = t.nodes[n];
        t.busy[n * levels] = 1;
        for (int e = 0; e < node.size; e++) t.live[node.start[3] + e] = 1;  // values, whatever they depend on
        std::vector<int> joined;  // of which argument each element is which one
        for (int k = 0; node.op == O_JOIN && k < node.arguments; k++)
            for (int i = 0; i < t.nodes[t.whole[node.args + k]].size; i++) joined.insert(joined.end(), {k, i});
        for (int depth = 1; depth <= node.depth; depth++)
            for (int level = t.first[depth]; level < t.first[depth + 1]; level++)
                for (int e = 0; e < node.size; e++) {
                    if (!varies(t, node, joined, e, depth, level)) continue;
                    t.live[node.start[3] + (size_t)level * node.size + e] = 1;
                    t.busy[n * levels + level] = 1;
                    if (depth == 1) t.depends[node.start[0] + e] |= 1u << (level - 1);
                }
        for (int e = 0; e < node.size; e++) {
            t.starts.push_back(t.listed.size());
            for (int level = 1; level < t.first[3] && level < t.first[node.depth + 1]; level++)
                if (t.live[node.start[3] + (size_t)level * node.size + e]) t.listed.push_back(level);
        }
    }
    t.starts.push_back(t.listed.size());
}
