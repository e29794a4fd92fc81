// SPDX-License-Identifier: Apache-2.0
/** Everything that the pages say can be translated, and catalogues become what Cockpit loads. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { catalogues } from "../../scripts/po.mjs";
import { drift, texts } from "../../scripts/pot.mjs";
import { _, ngettext } from "../../src/lib/i18n";

const PO = `msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

#: src/app.tsx
msgid "Storage"
msgstr "Speicher"

#: src/manifest.json
msgid "disk"
msgstr "Platte"

#: src/app.tsx
msgctxt "verb"
msgid "Open"
msgstr "Öffnen"

#: src/app.tsx
msgid "$0 drive"
msgid_plural "$0 drives"
msgstr[0] "$0 Laufwerk"
msgstr[1] "$0 Laufwerke"

#: src/app.tsx
msgid "Not yet"
msgstr ""
`;

function directory(): string {
    const place = mkdtempSync(join(tmpdir(), "po-"));
    writeFileSync(join(place, "de.po"), PO);
    return place;
}

test("a catalogue is what Cockpit's own gettext reads", () => {
    const made = new Map(catalogues(directory()));
    expect([...made.keys()]).toEqual(["po.de.js", "po.manifest.de.js"]);
    new Function("cockpit", made.get("po.de.js") ?? "")(cockpit);
    expect(_("Storage")).toBe("Speicher");
    expect(_("verb", "Open")).toBe("Öffnen");
    expect(ngettext("$0 drive", "$0 drives", 2)).toBe("$0 Laufwerke");
    expect(_("Not yet")).toBe("Not yet");
    expect(made.get("po.manifest.de.js")).toContain("Platte");
    expect(made.get("po.manifest.de.js")).not.toContain("Speicher");
});

test("texts are found in pages and in the menu, with where they are", () => {
    const found = texts(".");
    expect(found.find(({ text }) => text === "Storage")?.where).toContain("src/app.tsx");
    expect(found.find(({ text }) => text === "$0 hour")?.plural).toBe("$0 hours");
    expect(found.find(({ text }) => text === "numa")?.where).toEqual(["src/manifest.json"]);
});

test("what is not translated, and what nobody says any more, is named", () => {
    const catalogue = { translations: { "": { "": { msgid: "", msgstr: [""] }, Old: { msgid: "Old", msgstr: ["Alt"] } } } };
    expect(drift(catalogue, [{ context: "", text: "New" }])).toEqual({ missing: ["New"], stale: ["Old"] });
});
