// SPDX-License-Identifier: Apache-2.0
/** Bundle the pages: `node build.mjs [DIRECTORY]` (default: dist). Same sources and lock file, same bytes. */
import * as esbuild from "esbuild";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { catalogues } from "./scripts/po.mjs";

/**
 * Bytes after gzip -9; more fails the build. `first` is what a browser loads before it paints: frame, Overview and what pages
 * share; `later` is what the first of the other pages adds, twelve pages at 12 kB each.
 *
 * One file of all pages had 259 kB, all of it before the first paint; now `first` has 151 kB and `later` 113 kB. A part for each
 * page had 157 kB in 20 files before the first paint, each of them a request: on a busy host the best of four first paints took
 * 2.0 s then, 1.7 s with one file and 1.3 s with two parts.
 */
const BUDGET = { first: 165_000, later: 145_000, css: 110_000 };
const out = process.argv[2] ?? "dist";
const ENTRY = "src/index.tsx";

/** PatternFly's fonts come with cockpit-ws; its other pictures and fonts are not used and would be 404. */
const assets = {
    name: "assets",
    setup(build) {
        build.onResolve({ filter: /assets\/fonts\/RedHat\w+\/[^/]+\.woff2$/ }, ({ path }) => {
            const [, family, file] = /(RedHat\w+)\/([^/]+)$/.exec(path);
            return { path: `../../static/fonts/${family}/${file}`, external: true };
        });
        build.onResolve({ filter: /\.(woff2?|ttf|eot|svg|jpe?g|png)(\?.*)?$/ }, ({ path, kind }) =>
            kind === "url-token" ? { path, namespace: "dropped" } : undefined);
        build.onLoad({ filter: /.*/, namespace: "dropped" }, () => ({ contents: "", loader: "dataurl" }));
        // Styles of tables that are trees or have sticky columns: ours do neither.
        build.onLoad({ filter: /table-(tree-view|scrollable)\.css$/ }, () => ({ contents: "", loader: "css" }));
    },
};

/** Name, version and licence text of every package of which something is in the bundle. */
function legal(inputs) {
    const names = new Set(inputs.map((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean));
    return [...names].sort().map((name) => {
        const { version, license } = JSON.parse(readFileSync(join("node_modules", name, "package.json"), "utf8"));
        if (!["MIT", "ISC", "0BSD", "BSD-3-Clause", "Apache-2.0"].includes(license)) fail(`${name} has the licence ${license}: not in a bundle.`);
        const file = readdirSync(join("node_modules", name)).find((entry) => /^licen[cs]e/i.test(entry));
        return `== ${name} ${version} (${license})\n\n${file ? readFileSync(join("node_modules", name, file), "utf8").trim() : ""}\n`;
    }).join("\n");
}

function fail(sentence) {
    console.error(`millrace: ${sentence}`);
    process.exit(1);
}

/** Styles are one file: what a page imports of them while it is loaded later would not be loaded by esbuild's parts. */
const unstyled = { name: "unstyled", setup: (build) => build.onLoad({ filter: /\.css$/ }, () => ({ contents: "" })) };

const options = {
    entryPoints: { index: ENTRY },
    outdir: out,
    bundle: true,
    minify: true,
    target: "es2022",
    // Said here and not in tsconfig.json, so that the bundle depends on nothing but this and the sources.
    jsx: "automatic",
    tsconfigRaw: {},
    // The names of parts depend on the paths of their modules: those below this directory, wherever packages really are.
    preserveSymlinks: true,
    legalComments: "none",
    metafile: true,
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "warning",
};

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const styled = await esbuild.build({ ...options, format: "iife", plugins: [assets], write: false });
for (const { path, contents } of styled.outputFiles.filter((file) => file.path.endsWith(".css"))) writeFileSync(path, contents);
const { metafile } = await esbuild.build({ ...options, format: "esm", splitting: true, chunkNames: "part-[hash]", plugins: [unstyled] });
writeFileSync(join(out, "LEGAL.txt"), legal([...Object.keys(metafile.inputs), ...Object.keys(styled.metafile.inputs)]));

const parts = metafile.outputs;
/** A part and all that it imports before it runs. */
function withImports(part, known = new Set()) {
    if (known.has(part)) return known;
    known.add(part);
    for (const { path, kind } of parts[part].imports) if (kind === "import-statement") withImports(path, known);
    return known;
}
const begin = Object.keys(parts).find((part) => parts[part].entryPoint === ENTRY);
const first = withImports(begin);
const others = Object.keys(parts).filter((part) => !first.has(part));

cpSync(join("src", "manifest.json"), join(out, "manifest.json"));
// The browser asks for all parts of the first paint at once, and not for one after the other.
const preloads = [...first].filter((part) => part !== begin).map((part) => `    <link rel="modulepreload" href="${basename(part)}">\n`);
writeFileSync(join(out, "index.html"), readFileSync(join("src", "index.html"), "utf8").replace("  </head>", `${preloads.join("")}  </head>`));
for (const [file, text] of catalogues("po")) writeFileSync(join(out, file), text);

const css = readFileSync(join(out, "index.css"), "utf8");
const missing = css.match(/url\(["']?(?!data:|\.\.\/\.\.\/static\/)[^)]*\)/g);
if (missing) fail(`the style sheet points to files that are not there: ${[...new Set(missing)].slice(0, 3).join(", ")}`);
if ("content-security-policy" in JSON.parse(readFileSync(join(out, "manifest.json"), "utf8")))
    fail("the manifest must keep Cockpit's own content security policy.");

const packed = new Map();
for (const file of readdirSync(out).filter((name) => /\.(js|css)$/.test(name) && !name.startsWith("po."))) {
    packed.set(file, gzipSync(readFileSync(join(out, file)), { level: 9 }));
    // cockpit-bridge serves NAME.gz for NAME.
    writeFileSync(join(out, `${file}.gz`), packed.get(file));
    rmSync(join(out, file));
}

/** Print how large something is, and fail where that is too much. */
function hold(what, names, budget) {
    const size = names.reduce((sum, name) => sum + packed.get(basename(name)).length, 0);
    console.log(`${what}: ${(size / 1000).toFixed(1)} kB of ${budget / 1000} kB`);
    if (size >= budget) fail(`${what} is ${size} bytes after gzip and may be ${budget} at most: import less of PatternFly.`);
}

hold("first paint", [...first], BUDGET.first);
hold("other pages", others, BUDGET.later);
hold("index.css", ["index.css"], BUDGET.css);
