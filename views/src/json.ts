// SPDX-License-Identifier: Apache-2.0
/** JSON of what programs call themselves: integers above 2^53 keep their digits, and texts hide nothing. */

// Texts and fractions are taken as a whole, so that no digits inside of them are.
const kTokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+[.eE][\d.eE+-]*|-?\d{16,}/g;
const kAnyLarge = /[^.\d]\d{16,}/;
const kLarge = /^-?\d{16,}$/;

// What hides text or changes its direction; the same as in bindings/python/tracer/_format.py.
const kHidden = /[\0-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]/gu;
const kMayHide = /\\u|\\[bfnrt]|[\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]/u;

/** With what can't be seen written out, such as \x1b and \u202e. */
export function visible(text: string): string {
  return text.replace(kHidden, (found) => {
    const code = found.codePointAt(0)!;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : code < 0x10000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
  });
}

export function parse(text: string): unknown {
  // Nearly never: a host that has been up for 104 days.
  const whole = !kAnyLarge.test(text) ? text
    : text.replace(kTokens, (found) => (kLarge.test(found) && !Number.isSafeInteger(Number(found)) ? `"${found}"` : found));
  if (!kMayHide.test(text)) return JSON.parse(whole);
  return JSON.parse(whole, (_, value: unknown) => (typeof value === "string" ? visible(value) : value));
}
