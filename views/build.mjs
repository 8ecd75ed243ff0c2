// SPDX-License-Identifier: Apache-2.0
// Makes dist/ of src/: node build.mjs [FOLDER]. The result is committed, as neither pip nor CMake has Node.
import { build } from "esbuild";

const outdir = process.argv[2] ?? new URL("dist", import.meta.url).pathname;
await build({
  absWorkingDir: new URL(".", import.meta.url).pathname,
  entryPoints: { page: "src/app.tsx" }, bundle: true, minify: true, format: "iife", target: ["chrome110", "firefox115", "safari16"],
  jsx: "automatic", jsxImportSource: "preact", charset: "utf8", legalComments: "none", outdir, logLevel: "warning",
  banner: { js: "/* SPDX-License-Identifier: Apache-2.0 AND MIT (Preact) */" },
});
await build({
  absWorkingDir: new URL(".", import.meta.url).pathname,
  entryPoints: { page: "src/style.css" }, bundle: true, minify: true, target: ["chrome110", "firefox115", "safari16"], outdir,
  logLevel: "warning",
});
