// SPDX-License-Identifier: Apache-2.0
/**
 * Texts of the pages into the catalogues: `npm run po` brings every po/*.po up to date (new texts empty, old ones gone),
 * `npm run po -- --check` says what is missing in them and fails.
 *
 * By hand: the xgettext of Debian 12 reads no TSX, and Cockpit's own tools (pkg/lib, LGPL-2.1-or-later, in no npm package)
 * would have to be copied into this tree, which is Apache-2.0.
 *
 * Found are _("text"), _("context", "text"), ngettext("one", "many", n) and the labels and keywords of the manifest.
 */
import gettext from "gettext-parser";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { read } from "./po.mjs";

const key = ({ context, text }) => `${context}\u0004${text}`;

function literal(node) {
    return node !== undefined && ts.isStringLiteralLike(node) ? node.text : undefined;
}

/** The text in a call of _ or ngettext; throws where it is not written out, which no translator could ever see. */
function called(node, name, where) {
    const texts = node.arguments.map(literal);
    if (name === "ngettext") {
        if (texts[0] === undefined || texts[1] === undefined) throw new Error(`${where}: ngettext of what is no literal`);
        return { context: "", text: texts[0], plural: texts[1], where };
    }
    if (texts.length === 0 || texts.includes(undefined)) throw new Error(`${where}: _() of what is no literal`);
    return texts.length === 2 ? { context: texts[0], text: texts[1], where } : { context: "", text: texts[0], where };
}

function inSource(file, root) {
    const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
    const found = [];
    const visit = (node) => {
        if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && ["_", "ngettext"].includes(node.expression.text))
            found.push(called(node, node.expression.text, relative(root, file)));
        ts.forEachChild(node, visit);
    };
    visit(source);
    return found;
}

function inManifest(file, root) {
    const where = relative(root, file);
    return Object.values(JSON.parse(readFileSync(file, "utf8")).menu).flatMap(({ label, keywords = [] }) =>
        [label, ...keywords.flatMap(({ matches }) => matches)].map((text) => ({ context: "", text, where })));
}

/** Every text under `root`/src once, with all the places where it is used, sorted. */
export function texts(root) {
    const files = readdirSync(join(root, "src"), { recursive: true }).map((name) => join(root, "src", name)).sort();
    const all = files.filter((name) => /\.tsx?$/.test(name)).flatMap((name) => inSource(name, root));
    const merged = new Map();
    for (const one of [...all, ...inManifest(join(root, "src/manifest.json"), root)]) {
        const known = merged.get(key(one)) ?? { ...one, where: [] };
        known.plural ??= one.plural;
        if (!known.where.includes(one.where)) known.where.push(one.where);
        merged.set(key(one), known);
    }
    return [...merged.values()].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** Texts that `catalogue` does not translate, and translations that no text asks for. */
export function drift(catalogue, wanted) {
    const known = new Map(Object.values(catalogue.translations).flatMap((messages) => Object.values(messages))
        .filter(({ msgid }) => msgid).map((message) => [key({ context: message.msgctxt ?? "", text: message.msgid }), message]));
    const keys = new Set(wanted.map(key));
    return {
        missing: wanted.filter((one) => !known.get(key(one))?.msgstr.every(Boolean)).map(({ text }) => text),
        stale: [...known.keys()].filter((one) => !keys.has(one)).map((one) => one.split("\u0004")[1]),
    };
}

function updated(catalogue, wanted) {
    const translations = { "": { "": catalogue.translations[""][""] } };
    for (const { context, text, plural, where } of wanted) {
        const before = catalogue.translations[context]?.[text];
        (translations[context] ??= {})[text] = {
            ...(context && { msgctxt: context }),
            msgid: text,
            ...(plural && { msgid_plural: plural }),
            msgstr: before?.msgstr ?? (plural ? ["", ""] : [""]),
            comments: { reference: where.join("\n") },
        };
    }
    return { ...catalogue, translations };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
    const wanted = texts(".");
    let complete = true;
    for (const name of readdirSync("po").filter((file) => file.endsWith(".po"))) {
        const catalogue = read(join("po", name));
        const { missing, stale } = drift(catalogue, wanted);
        if (process.argv.includes("--check")) {
            for (const text of missing) console.error(`po/${name} does not translate ${JSON.stringify(text)}`);
            for (const text of stale) console.error(`po/${name} translates what no page says: ${JSON.stringify(text)}`);
            complete &&= missing.length + stale.length === 0;
        } else {
            writeFileSync(join("po", name), gettext.po.compile(updated(catalogue, wanted), { foldLength: 118, sort: false }));
            console.log(`po/${name}: ${wanted.length} texts, ${missing.length} to translate`);
        }
    }
    if (!complete) console.error("Run `npm run po` in cockpit-plugin/ and translate what is empty.");
    process.exit(complete ? 0 : 1);
}
