// SPDX-License-Identifier: Apache-2.0
/** German is complete: no text of a page or of the menu stays English, and none lost what belongs into it. */
import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { catalogues, read } from "../../scripts/po.mjs";
import { drift, texts } from "../../scripts/pot.mjs";
import Clients from "../../src/pages/clients";
import { golden } from "../documents";
import { says } from "../mocks/cockpit";

const GERMAN = read("po/de.po");
const messages = Object.values(GERMAN.translations).flatMap((context) => Object.values(context)).filter(({ msgid }) => msgid !== "");
const placeholders = (text: string) => [...new Set(text.match(/\$\d/g))].sort();

test("every text has a translation, and no translation is left over; if not: npm run po", () => {
    expect(drift(GERMAN, texts("."))).toEqual({ missing: [], stale: [] });
});

test("what is filled in stands in the translation too, once more for each number", () => {
    for (const { msgid, msgid_plural, msgstr } of messages) {
        const originals = msgid_plural === undefined ? [msgid] : [msgid, msgid_plural];
        expect([msgid, msgstr.map(placeholders)]).toEqual([msgid, originals.map(placeholders)]);
    }
});

test("a page speaks German with the catalogue that Cockpit loads", async () => {
    golden("share list", "empty");
    says("client recipe", {});
    new Function("cockpit", new Map(catalogues("po")).get("po.de.js") ?? "")(cockpit);
    render(<Clients />);
    await screen.findByRole("heading", { level: 1, name: "Clients" });
    await screen.findByText("Noch keine Freigaben zum Einhängen");
    expect(screen.getByRole("link").textContent).toBe("Zu den Freigaben");
});
