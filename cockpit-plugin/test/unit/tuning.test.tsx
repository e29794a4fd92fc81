// SPDX-License-Identifier: Apache-2.0
/** The card of the runtime settings: what changed, by what, why, and what is not in force. */
import { render, screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import type { TuneReport } from "../../src/types/millrace";
import { TuningPanel } from "../../src/pages/settings/TuningPanel";
import { document, golden } from "../documents";
import { refuses, says, started } from "../mocks/cockpit";

const show = async () => {
    render(<TuningPanel />);
    return within(await screen.findByTestId("tuning"));
};

test("settings that changed have value, cause, reason and time", async () => {
    golden("tune");
    const panel = await show();
    const changed = within(await panel.findByLabelText("Changed since the last boot"));
    expect(changed.getByText("nfsd.threads").closest("div")?.textContent).toMatch(
        /32 → 64 \(hardware, policy\)64 physical cores serve the nodes of the ports.*In force since /);
    expect(changed.getByText("md.data.stripe_cache_size").closest("div")?.textContent).toContain("Not in force yet.");
    expect(within(panel.getByLabelText("Not in force")).getByText("60 → 0")).toBeDefined();
    expect(panel.getByText("the port of slot 3 has 8 queues only")).toBeDefined();
    expect(started("tune").map(({ argv }) => argv)).toEqual([["millrace", "tune", "--diff", "--json"]]);
});

test("settings that are as before are said to be in force", async () => {
    says("tune", { ...document<TuneReport>("tune.json"), changes: [], drift: [], warnings: [] });
    expect(await (await show()).findByText("All settings are as they were at the last boot, and in force.")).toBeDefined();
});

test("a program that cannot read the settings is quoted", async () => {
    refuses("tune", "no setting of this server could be read; run millrace tune as root");
    expect(await (await show()).findByText(/no setting of this server could be read/)).toBeDefined();
});
