// SPDX-License-Identifier: Apache-2.0
/** The card of the metrics endpoint: who reads, and a token that the server makes and that is shown once. */
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { MetricsEndpoint } from "../../src/types/millrace";
import { MetricsPanel } from "../../src/pages/settings/MetricsPanel";
import { document, golden } from "../documents";
import { does, refuses, says, setAdmin, started } from "../mocks/cockpit";

const MADE = document<MetricsEndpoint>("metrics-on.json").new_token ?? "none";
const URL = "https://localhost:19100/metrics";
const NOT_AGAIN = /It is not shown again/;

async function show(variant?: string) {
    golden("metrics status", variant);
    render(<MetricsPanel />);
    const user = userEvent.setup({ delay: null });
    const panel = within(await screen.findByTestId("metrics"));
    await panel.findAllByRole("button");
    const press = (name: string) => user.click(panel.getByRole("button", { name }));
    return { user, panel, press };
}
const dialog = () => within(screen.getByRole("dialog"));
const argv = (verb: string) => started(verb).map((one) => one.argv);
const button = (name: string) => dialog().getByRole("button", { name });

test("an endpoint that is off is switched on with a token that is shown once and hidden on request", async () => {
    golden("metrics on");
    const { user, panel, press } = await show("off");
    expect(panel.getByText(/^Off\./)).toBeDefined();
    expect(panel.queryByRole("button", { name: "Switch off…" })).toBeNull();
    expect(panel.queryByRole("button", { name: "Replace the token…" })).toBeNull();
    await press("Switch on…");
    expect(dialog().queryByLabelText(/^Addresses/)).toBeNull();
    golden("metrics status");
    await user.click(button("Switch on"));
    await screen.findByText("Metrics are served.");
    expect(panel.getByRole("group", { name: "Token" }).textContent).toContain(MADE);
    expect(panel.getByText(NOT_AGAIN)).toBeDefined();
    await panel.findByText(URL);
    const [made] = started("metrics on");
    expect(made?.argv).toEqual(["millrace", "metrics", "on", "--new-token", "--json"]);
    expect(made?.options.superuser).toBe("require");
    await press("Hide the token");
    expect(panel.queryByText(NOT_AGAIN)).toBeNull();
    expect(window.document.body.textContent).not.toContain(MADE);
});

test("an endpoint that is on with a token says where and to whom, without a token", async () => {
    const { panel } = await show();
    expect(panel.getByText(URL)).toBeDefined();
    expect(panel.getByText("Any address with the token")).toBeDefined();
    expect(panel.queryByText("Allowed addresses")).toBeNull();
    expect(panel.queryByRole("group", { name: "Token" })).toBeNull();
    expect(panel.queryByRole("button", { name: "Switch on…" })).toBeNull();
});

test("an endpoint that is on for addresses lists them and has no token to replace", async () => {
    const { panel } = await show("addresses");
    expect(panel.getByText("Certain addresses, without a token")).toBeDefined();
    expect(panel.getByText("10.1.0.9/32, 10.2.0.0/24")).toBeDefined();
    expect(panel.queryByRole("button", { name: "Replace the token…" })).toBeNull();
});

test("many addresses are behind their number", async () => {
    const addresses = [1, 2, 3, 4, 5, 6].map((one) => `10.1.0.${one}/32`);
    says("metrics status", { ...document("metrics-status.addresses.json"), addresses });
    render(<MetricsPanel />);
    const summary = await screen.findByText("6 addresses and networks");
    expect(summary.closest("details")?.open).toBe(false);
    expect(summary.closest("details")?.textContent).toContain("10.1.0.6/32");
});

test("addresses are checked as they are typed, and need no token", async () => {
    golden("metrics on", "addresses");
    const { user, panel, press } = await show("off");
    await press("Switch on…");
    await user.selectOptions(dialog().getByLabelText(/^Readers/), "addresses");
    expect(button("Switch on")).toHaveProperty("disabled", true);
    const field = dialog().getByLabelText(/^Addresses/);
    await user.type(field, "10.1.0.9 nas7");
    expect(dialog().getByText("'nas7' is not an address or a network: write it like 10.1.0.9 or 10.1.0.0/24")).toBeDefined();
    expect(button("Switch on")).toHaveProperty("disabled", true);
    await user.clear(field);
    await user.type(field, "10.1.0.9, 10.2.0.0/24");
    golden("metrics status", "addresses");
    await user.click(button("Switch on"));
    await panel.findByText("10.1.0.9/32, 10.2.0.0/24");
    expect(argv("metrics on")).toEqual([["millrace", "metrics", "on", "--from=10.1.0.9", "--from=10.2.0.0/24", "--json"]]);
    expect(panel.queryByText(NOT_AGAIN)).toBeNull();
});

test("readers are changed from what they are", async () => {
    golden("metrics on", "both");
    const { user, panel, press } = await show("addresses");
    await press("Change readers…");
    expect(dialog().getByLabelText(/^Readers/)).toHaveProperty("value", "addresses");
    expect(dialog().getByLabelText(/^Addresses/)).toHaveProperty("value", "10.1.0.9/32 10.2.0.0/24");
    await user.selectOptions(dialog().getByLabelText(/^Readers/), "both");
    golden("metrics status", "both");
    await user.click(button("Change"));
    await panel.findByText("Certain addresses with the token");
    expect(panel.getByRole("group", { name: "Token" }).textContent).toContain(MADE);
    expect(argv("metrics on")[0]?.slice(3)).toEqual(["--new-token", "--from=10.1.0.9/32", "--from=10.2.0.0/24", "--json"]);
});

test("replacing the token keeps the addresses and shows the new one", async () => {
    golden("metrics on", "both");
    const { user, panel, press } = await show("both");
    await press("Replace the token…");
    expect(dialog().getByText("Allowed addresses stay: 10.1.0.9/32, 10.2.0.0/24")).toBeDefined();
    expect(started("metrics on")).toEqual([]);
    await user.click(button("Replace"));
    await screen.findByText("The token has been replaced.");
    expect(panel.getByRole("group", { name: "Token" }).textContent).toContain(MADE);
    expect(argv("metrics on")[0]?.slice(3)).toEqual(["--new-token", "--from=10.1.0.9/32", "--from=10.2.0.0/24", "--json"]);
});

test("switching off is confirmed and takes a shown token away", async () => {
    golden("metrics on");
    says("metrics off", document("metrics-status.off.json"));
    const { user, panel, press } = await show();
    await press("Replace the token…");
    await user.click(button("Replace"));
    await panel.findByText(NOT_AGAIN);
    await press("Switch off…");
    expect(dialog().getByText(/the token are deleted/)).toBeDefined();
    expect(started("metrics off")).toEqual([]);
    golden("metrics status", "off");
    await user.click(button("Switch off"));
    await screen.findByText("Metrics are switched off.");
    await panel.findByText(/^Off\./);
    expect(window.document.body.textContent).not.toContain(MADE);
    expect(argv("metrics off")).toEqual([["millrace", "metrics", "off", "--json"]]);
});

test("what the program refuses stays in the dialog, in its words, and shows no token", async () => {
    refuses("metrics on", "systemctl restart millrace-metrics.service failed: Unit is masked.");
    const { user, panel, press } = await show("off");
    await press("Switch on…");
    await user.click(button("Switch on"));
    expect((await dialog().findByTestId("error")).textContent).toContain("Unit is masked.");
    expect(screen.queryByTestId("done")).toBeNull();
    expect(panel.queryByText(NOT_AGAIN)).toBeNull();
    await user.click(button("Cancel"));
    expect(screen.queryByRole("dialog")).toBeNull();
});

test("a token stays to be copied where the server does not report its state", async () => {
    golden("metrics on");
    const { user, panel, press } = await show("off");
    await press("Switch on…");
    does("metrics status", (call) => call.fail({ exit_status: 1, message: "millrace: endpoint.json cannot be read" }));
    await user.click(button("Switch on"));
    await panel.findByTestId("stale");
    expect(panel.getByRole("group", { name: "Token" }).textContent).toContain(MADE);
});

test("a viewer without rights reads the state and changes nothing", async () => {
    setAdmin(false);
    const { user, panel } = await show();
    expect(panel.getByText(URL)).toBeDefined();
    for (const name of ["Change readers…", "Replace the token…", "Switch off…"]) {
        expect(panel.getByRole("button", { name }).getAttribute("aria-disabled")).toBe("true");
        await user.click(panel.getByRole("button", { name }));
        expect(screen.queryByRole("dialog")).toBeNull();
    }
    await waitFor(() => expect(started("metrics status")[0]?.options.superuser).toBeNull());
    expect(started("metrics on").concat(started("metrics off"))).toEqual([]);
});
