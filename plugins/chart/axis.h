#pragma once

#include "text.h"

/// The scale of the values: ticks at first * step, (first + 1) * step, … last * step.
struct axis {
  double first, last, step;
};

/// Round ticks around `low` to `high`, about `ticks` of them.
struct axis axis_around(double low, double high, int ticks);

/// 0 at the lowest tick, 1 at the highest.
double axis_place(const struct axis *axis, double value);

/// The lowest point that the axis has from zero upwards, or the highest below it:
/// where bars and filled areas stand.
double axis_baseline(const struct axis *axis);

/// `tick` counts from `first`.
void axis_label(struct text *text, const struct axis *axis, double tick);

/// A value between the ticks, finer than they are.
void axis_number(struct text *text, const struct axis *axis, double value);
