// Copies the chart library, as package-lock.json pins it, to vendor/ (or to the directory that is named), from where it is built into the program.
import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const to = process.argv[2] ?? join(here, "vendor");
const from = join(process.argv[3] ?? here, "node_modules", "uplot");
mkdirSync(to, { recursive: true });
for (const file of ["dist/uPlot.iife.min.js", "dist/uPlot.min.css", "LICENSE"]) {
  copyFileSync(join(from, file), join(to, file.split("/").pop()));
}
