// SPDX-License-Identifier: Apache-2.0
/** Figures as people read them: the same texts as lib/show/figures and lib/base/quantities; tests/data/figures.json has cases. */

/** An integer above 2^53 is its digits. */
export type Whole = number | string;

export const kUnknown = "-";

/** Like C++ and Python, a half goes to the even digit; toFixed() takes the larger one. */
export function fixed(value: number, digits: number): string {
  const power = 10 ** digits;
  const below = Math.floor(value * power);
  const isHalf = Math.abs(value * 2 ** (digits + 1)) % 2 === 1;
  return (isHalf && below % 2 === 0 ? below / power : value).toFixed(digits);
}

export function duration(ns: Whole): string {
  const seconds = Number(ns) / 1e9;
  if (seconds >= 3600) return `${fixed(seconds / 3600, 1)} h`;
  if (seconds >= 100) return `${fixed(seconds / 60, 1)} min`;
  if (seconds >= 1) return `${fixed(seconds, 1)} s`;
  if (seconds >= 1e-3) return `${fixed(seconds * 1e3, 0)} ms`;
  return `${fixed(seconds * 1e6, 0)} us`;
}

const kUnits = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

export function bytes(count: Whole): string {
  let value = Number(count);
  let unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.length; ++unit) value /= 1024;
  return unit === 0 ? `${count} B` : `${fixed(value, 1)} ${kUnits[unit]}`;
}

export const share = (part: number): string => `${fixed(part * 100, 0)} %`;

export const plural = (count: Whole, one: string, many: string): string => `${count} ${Number(count) === 1 ? one : many}`;

export type Unit = "ns" | "bytes" | "share" | "count";

export function textOf(value: Whole, unit: Unit): string {
  switch (unit) {
    case "ns": return duration(value);
    case "bytes": return bytes(value);
    case "share": return share(Number(value));
    case "count": return String(value);
  }
}

/** `name` of an object, or its bounds: "≥ 7.5 MiB ≤ 39.1 MiB"; "-": not known. */
export function figure(of: object, name: string, unit: Unit, withAtMost = true): string {
  const from = of as Record<string, Whole | undefined>;
  const [exact, atLeast, atMost] = [from[name], from[`${name}_at_least`], from[`${name}_at_most`]];
  if (exact !== undefined) return textOf(exact, unit);
  const texts = atLeast === undefined ? [] : [`≥ ${textOf(atLeast, unit)}`];
  if (atMost !== undefined && (withAtMost || !texts.length)) texts.push(`≤ ${textOf(atMost, unit)}`);
  return texts.join(" ") || kUnknown;
}

/** What a bar is as long as: the exact value, else its lower bound. */
export function size(of: object, name: string): number | undefined {
  const from = of as Record<string, Whole | undefined>;
  const value = from[name] ?? from[`${name}_at_least`] ?? from[`${name}_at_most`];
  return value === undefined ? undefined : Number(value);
}

/** Of an even number, the mean of the two in the middle. */
export function median(values: number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? undefined : high - Math.floor((high - low) / 2);
}
