// Rows of a tape times weights, and what is known of them over one box. All of it is rounded to nearest.

#pragma once
#include "tape.hpp"

#include <cmath>
#include <vector>

// A tape with p rows, whose coefficients and right-hand sides are `width` numbers each, expanded up to an order.
struct Rows {
    const void* tape;
    int m, order;
    int64_t p, width;
    double alert, rounding;
    const double *weights, *spread, *lost, *scale;  // (p, width) twice, the second may be null; (p,), (m,)

    int64_t quadratic, levels;     // numbers in a quadratic, and in a polynomial of that order
    std::vector<double> share;  // (levels,), how much a level counts over the cube
};

// What is known of one box: its ends and how wild it is along each axis, then the bounds of all rows, the points behind
// them, the models there, and along which axes splitting pays.
struct Box {
    const double *lower, *upper, *rough;
    double *bound, *points, *model, *pays;
};

// Numbers that are needed on the way, for one thread.
struct Scratch {
    std::vector<double> low, high, raw, bends, errors, table, error, values, q;
};

Rows rows_of(const void* tape, int order, int64_t p, int64_t width, double alert, double rounding, const double* const* given);

// Polynomials of all rows over n boxes (in scratch.low and scratch.high), laid out as rows are: scratch.table (n, p, levels,
// width) and scratch.error (n, p, width); how wild they are (n, m) in `rough`. False without memory.
bool enclose(const Rows& rows, int64_t n, Scratch& scratch, double* rough);

// Bounds of a box from its polynomials; whether a row is above the alert at one of the points behind them.
bool bound_box(const Rows& rows, const double* table, const double* error, Scratch& scratch, const Box& box);

// Whether a box still has two floats worth telling apart.
bool worth_splitting(int m, const double* lower, const double* upper);

// Cut a box in two along the axis that pays most; the second half is the box `other`. All (boxes, m).
void halve(int m, double* lower, double* upper, double* pays, int64_t box, int64_t other);
