#include "axis.h"

#include <math.h>

/// Values nearer to each other than this (relative to their size) count as one:
/// ticks between them could not be told apart.
static const double FLAT = 1e-9;

static const double TINY = 1e-290;

/// 1, 2 or 5 times a power of ten, at least `raw`.
static double round_up(double raw) {
  double power = 1;
  while (power > raw) power /= 10;
  while (power * 10 <= raw) power *= 10;
  if (raw <= power) return power;
  return raw <= 2 * power ? 2 * power : raw <= 5 * power ? 5 * power : 10 * power;
}

struct axis axis_around(double low, double high, int ticks) {
  double size = fmax(fabs(low), fabs(high));
  if (high - low <= FLAT * size || high - low < TINY) {
    double room = size > TINY ? size / 10 : 1;
    low -= room;
    high += room;
  }
  double step = round_up((high - low) / ticks);
  return (struct axis){floor(low / step), ceil(high / step), step};
}

double axis_place(const struct axis *axis, double value) {
  return (value / axis->step - axis->first) / (axis->last - axis->first);
}

double axis_baseline(const struct axis *axis) {
  return fmin(fmax(0, axis->first), axis->last) * axis->step;
}

static int decimals_of(double step) {
  int decimals = 0;
  for (; step < 0.999 && decimals < 12; step *= 10) decimals++;
  return decimals;
}

/// Digits from the first one of the largest tick to the first one of the step.
static int digits_of(const struct axis *axis) {
  int digits = 1;
  for (double most = fmax(fabs(axis->first), fabs(axis->last)); most >= 10; most /= 10) digits++;
  return digits;
}

void axis_number(struct text *text, const struct axis *axis, double value) {
  int digits = digits_of(axis) + 2;
  text_number(text, value, digits < 6 ? 6 : digits > 15 ? 15 : digits);
}

void axis_label(struct text *text, const struct axis *axis, double tick) {
  double value = tick * axis->step, most = fmax(fabs(axis->first), fabs(axis->last)) * axis->step;
  int decimals = decimals_of(axis->step);
  if (tick == 0) text_add(text, "0");
  else if (most < 1e6 && decimals <= 5) text_fixed(text, value, decimals);
  else text_number(text, value, digits_of(axis) + 1);
}
