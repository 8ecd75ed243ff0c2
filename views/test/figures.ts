// SPDX-License-Identifier: Apache-2.0
/** Runs tests/data/figures.json, which is its only argument. */
import { parse } from "../src/json";
import * as figures from "../src/figures";

declare const process: { argv: string[]; exitCode: number };
declare const require: (name: "fs") => { readFileSync(path: string, encoding: "utf8"): string };

type Case = { kind: "duration" | "bytes" | "share" | "figure" | "median"; text: string; value: never; unit?: figures.Unit };
const cases = (parse(require("fs").readFileSync(process.argv[2] ?? "", "utf8")) as { cases: Case[] }).cases;
for (const { kind, value, unit, text } of cases) {
  const got = kind === "figure" ? figures.figure(value, "x", unit ?? "count")
    : kind === "median" ? figures.duration(figures.median(value) ?? 0) : figures[kind](value);
  if (got !== text) {
    console.log(`${kind} of ${JSON.stringify(value)}: "${got}", not "${text}"`);
    process.exitCode = 1;
  }
}
console.log(`${cases.length} cases`);
