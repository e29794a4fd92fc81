// SPDX-License-Identifier: Apache-2.0
/**
 * Catalogues for Cockpit: po/de.po becomes po.de.js (the pages) and po.manifest.de.js (the menu).
 *
 * By hand around gettext-parser: Cockpit's own bundler plugin is LGPL-2.1-or-later and in no npm package, see pot.mjs.
 */
import gettext from "gettext-parser";
import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";

const PLURAL = /^nplurals=\d+;\s*plural=\(?([n0-9\s?:<>=!&|()%]+?)\)?;?$/;
const CONTEXT = "\u0004";

/** The plural rule as JavaScript; only what gettext allows gets through. */
function plural(header) {
    const [, rule] = PLURAL.exec(header) ?? [];
    if (!rule) throw new Error(`this plural rule is not understood: ${header}`);
    return `(n) => ${rule}`;
}

function script(language, header, messages) {
    const lines = [
        `"": {"plural-forms": ${plural(header)}, "language": ${JSON.stringify(language)}, "language-direction": "ltr"}`,
        ...messages.map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`),
    ];
    return `cockpit.locale({\n${lines.join(",\n")}\n});\n`;
}

/** [key, [plural of the original or null, translation…]] of everything that is translated. */
function translated(catalogue) {
    return Object.values(catalogue.translations)
        .flatMap((messages) => Object.values(messages))
        .filter(({ msgid, msgstr, comments }) => msgid && msgstr.every(Boolean) && !comments?.flag?.includes("fuzzy"))
        .map(({ msgctxt, msgid, msgid_plural, msgstr, comments }) => ({
            where: comments?.reference ?? "",
            entry: [msgctxt ? msgctxt + CONTEXT + msgid : msgid, [msgid_plural ?? null, ...msgstr]],
        }))
        .sort((a, b) => (a.entry[0] < b.entry[0] ? -1 : 1));
}

export function read(file) {
    return gettext.po.parse(readFileSync(file));
}

/** [file name, text] for every language in `directory`. */
export function catalogues(directory) {
    return readdirSync(directory).filter((name) => name.endsWith(".po")).sort().flatMap((name) => {
        const language = basename(name, ".po");
        const catalogue = read(join(directory, name));
        const header = catalogue.headers["Plural-Forms"] ?? "";
        const messages = translated(catalogue);
        const menu = messages.filter(({ where }) => where.includes("manifest.json"));
        return [
            [`po.${language}.js`, script(language, header, messages.map(({ entry }) => entry))],
            [`po.manifest.${language}.js`, script(language, header, menu.map(({ entry }) => entry))],
        ];
    });
}
