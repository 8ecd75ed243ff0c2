// SPDX-License-Identifier: Apache-2.0
// Makes dist/ of src/: node build.mjs [FOLDER]. The result is committed, as neither pip nor CMake has Node.
import { readFileSync } from "node:fs";
import { build } from "esbuild";

// The page is copied alone, so it has the terms of what is in it.
const preact = readFileSync(new URL("node_modules/preact/LICENSE", import.meta.url), "utf8").trim();
const outdir = process.argv[2] ?? new URL("dist", import.meta.url).pathname;
await build({
  absWorkingDir: new URL(".", import.meta.url).pathname,
  entryPoints: { page: "src/app.tsx" }, bundle: true, minify: true, format: "iife", target: ["chrome110", "firefox115", "safari16"],
  jsx: "automatic", jsxImportSource: "preact", charset: "utf8", legalComments: "none", outdir, logLevel: "warning",
  banner: { js: `/* SPDX-License-Identifier: Apache-2.0 AND MIT\nOf Preact, which is a part of it:\n${preact}\n*/` },
});
await build({
  absWorkingDir: new URL(".", import.meta.url).pathname,
  entryPoints: { page: "src/style.css" }, bundle: true, minify: true, target: ["chrome110", "firefox115", "safari16"], outdir,
  logLevel: "warning",
});
