/** A scale of values with round ticks: multiples of `step` from number `first` to number `last`. */
export interface Axis {
  step: number;
  first: number;
  last: number;
  /** As its ticks are written. */
  format(value: number): string;
}

const PREFIXES: readonly (readonly [number, string])[] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e4, "k"],
];

/** Around all values from `low` to `high`, with about `most` steps. */
export function axisAround(low: number, high: number, most: number): Axis {
  const rough = Math.max((high - low) / most, Number.MIN_VALUE);
  const power = 10 ** Math.floor(Math.log10(rough));
  // A rounding error must not lead to larger steps.
  const step = power * ([1, 2, 5].find((one) => one * power >= rough * (1 - 1e-9)) ?? 10);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(Math.ceil(high / step - 1e-9), first + 1);
  return { step, first, last, format: formatOf(step, Math.max(-first, last) * step) };
}

function formatOf(step: number, largest: number): Axis["format"] {
  if (largest >= 1e15 || step < 1e-6) return (value) => String(Number(value.toPrecision(3)));
  const [from = 1, prefix = ""] = PREFIXES.find(([from]) => largest >= from) ?? [];
  const unit = prefix === "k" ? 1000 : from;
  const decimals = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
  return (value) => {
    const scaled = value / unit;
    const isTick = Math.abs(value / step - Math.round(value / step)) < 1e-6;
    // Other values have three digits or more.
    const needed = Math.max(decimals + 1, 2 - Math.floor(Math.log10(Math.abs(scaled))));
    const text = isTick ? scaled.toFixed(decimals) : String(Number(scaled.toFixed(needed)));
    return `${text.replace("-", "−")}${Number(text) === 0 ? "" : prefix}`;
  };
}
