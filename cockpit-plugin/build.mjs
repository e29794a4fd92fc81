// SPDX-License-Identifier: Apache-2.0
/** Bundle the pages: `node build.mjs [DIRECTORY]` (default: dist). Same sources and lock file, same bytes. */
import * as esbuild from "esbuild";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { catalogues } from "./scripts/po.mjs";

/** Bytes after gzip -9 that all pages together may cost, ten pages at 25 kB each; more fails the build. A browser loads them once for each version. */
const BUDGET = { "index.js": 260_000, "index.css": 110_000 };
const out = process.argv[2] ?? "dist";

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

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const { metafile } = await esbuild.build({
    entryPoints: { index: "src/index.tsx" },
    outdir: out,
    bundle: true,
    format: "iife",
    minify: true,
    target: "es2022",
    // Said here and not in tsconfig.json, so that the bundle depends on nothing but this and the sources.
    jsx: "automatic",
    tsconfigRaw: {},
    legalComments: "none",
    metafile: true,
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [assets],
    logLevel: "warning",
});
writeFileSync(join(out, "LEGAL.txt"), legal(Object.keys(metafile.inputs)));

for (const file of ["index.html", "manifest.json"]) cpSync(join("src", file), join(out, file));
for (const [file, text] of catalogues("po")) writeFileSync(join(out, file), text);

const css = readFileSync(join(out, "index.css"), "utf8");
const missing = css.match(/url\(["']?(?!data:|\.\.\/\.\.\/static\/)[^)]*\)/g);
if (missing) fail(`the style sheet points to files that are not there: ${[...new Set(missing)].slice(0, 3).join(", ")}`);
if ("content-security-policy" in JSON.parse(readFileSync(join(out, "manifest.json"), "utf8")))
    fail("the manifest must keep Cockpit's own content security policy.");

for (const file of readdirSync(out).filter((name) => /\.(js|css)$/.test(name))) {
    const packed = gzipSync(readFileSync(join(out, file)), { level: 9 });
    const budget = BUDGET[file];
    if (budget !== undefined) {
        console.log(`${file}: ${(packed.length / 1000).toFixed(1)} kB of ${budget / 1000} kB`);
        if (packed.length >= budget)
            fail(`${file} is ${packed.length} bytes after gzip and may be ${budget} at most: import less of PatternFly.`);
        // cockpit-bridge serves NAME.gz for NAME.
        writeFileSync(join(out, `${file}.gz`), packed);
        rmSync(join(out, file));
    }
}
