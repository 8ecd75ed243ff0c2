// SPDX-License-Identifier: Apache-2.0
/** Causes, in words of who runs pipelines. Working is solid, each kind of waiting has its own hatch. */
import { type Share } from "./model";
import { share } from "./figures";

export type Kind = "computing" | "unclear" | "queue" | "limit" | "disk" | "net" | "pipe" | "mem" | "lock" | "sleep" | "other";

const kCauses: Record<string, [Kind, string]> = {
  "CPU": ["computing", "computing"], "CPU or wait": ["unclear", "computing or waiting"], "run queue": ["queue", "waiting for a free CPU"],
  "CPU limit": ["limit", "held by a CPU limit"], "disk": ["disk", "waiting for disk"], "pipe": ["pipe", "waiting for another program"],
  "network": ["net", "waiting for the network"], "local socket": ["pipe", "waiting for a program on this host"], "lock": ["lock", "waiting for a lock"],
  "child": ["pipe", "waiting for its own programs"], "sleep": ["sleep", "sleeping"], "events": ["sleep", "waiting for events"],
  "memory": ["mem", "waiting for memory"], "stopped": ["sleep", "stopped"], "other": ["other", "other"],
};

export const kindOf = (cause: string): Kind => kCauses[cause]?.[0] ?? "other";
export const wordOf = (cause: string): string => kCauses[cause]?.[1] ?? cause;

export const kKinds: [Kind, string][] = [["computing", "computing"], ["unclear", "computing or waiting"], ["queue", "no CPU free"],
  ["limit", "CPU limit"], ["disk", "disk"], ["net", "network"], ["pipe", "another program"], ["mem", "memory"], ["lock", "lock"], ["sleep", "sleeping"], ["other", "other"]];

/** "disk 67 %": the largest, with the same sign as in text where the part that computed is a lower bound. */
export function mainCause(time: Share[] | undefined): string {
  const first = time?.[0];
  if (!time || !first) return "";
  const atLeast = first.cause === "CPU" && time.some((each) => each.cause === "CPU or wait") ? "≥" : "";
  return `${shortOf(first.cause)} ${atLeast}${share(first.share)}`;
}

export function shortOf(cause: string): string {
  const kind = kindOf(cause);
  return cause === "child" ? "its programs" : cause === "events" ? "events" : cause === "stopped" ? "stopped" : kKinds.find(([each]) => each === kind)?.[1] ?? cause;
}

const kCodeWords: Record<string, string> = { ns: "", bytes: "" };
/** "usual_bytes" -> "usual". */
export const nameOfEvidence = (name: string): string => name.split("_").filter((word) => !(word in kCodeWords)).join(" ");
