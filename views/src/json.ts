// SPDX-License-Identifier: Apache-2.0
/** JSON whose integers may be above 2^53: those that a double can't hold are kept as their digits. */

// Texts and fractions are taken as a whole, so that no digits inside of them are.
const kTokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+[.eE][\d.eE+-]*|-?\d{16,}/g;
const kAnyLarge = /[^.\d]\d{16,}/;
const kLarge = /^-?\d{16,}$/;

export function parse(text: string): unknown {
  // Nearly never: a host that has been up for 104 days.
  if (!kAnyLarge.test(text)) return JSON.parse(text);
  return JSON.parse(text.replace(kTokens, (found) => (kLarge.test(found) && !Number.isSafeInteger(Number(found)) ? `"${found}"` : found)));
}
