// SPDX-License-Identifier: Apache-2.0
/** The card of the policy: keys with their meaning, a change of one key, and a file that cannot be read. */
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { PolicyPanel, typed } from "../../src/pages/settings/PolicyPanel";
import { golden } from "../documents";
import { refuses, setAdmin, started } from "../mocks/cockpit";

async function show(variant?: string) {
    golden("policy show", variant);
    render(<PolicyPanel />);
    const user = userEvent.setup({ delay: null });
    const panel = within(await screen.findByTestId("policy"));
    await panel.findByLabelText("Show all keys");
    return { user, panel };
}
const dialog = () => within(screen.getByRole("dialog"));

test("the keys that are set are listed with value, meaning, range and effect, the others on request", async () => {
    const { user, panel } = await show();
    const row = within(panel.getByText("layout.spares").closest("tr") as HTMLElement);
    expect(row.getByText("2")).toBeDefined();
    expect(row.getByText("number of hot spares in all")).toBeDefined();
    expect(row.getByText("0 to 64")).toBeDefined();
    expect(row.getByText("Only in a new pool")).toBeDefined();
    expect(panel.queryByText("scrub.every")).toBeNull();
    await user.click(panel.getByLabelText("Show all keys"));
    expect(panel.getByText("scrub.every")).toBeDefined();
    expect(panel.getAllByText("At the next boot").length).toBeGreaterThan(0);
});

test("a key is changed, and the card says when that takes effect", async () => {
    golden("policy set");
    const { user, panel } = await show();
    await user.click(panel.getByRole("button", { name: "Change layout.spares" }));
    expect(dialog().getByText("Takes effect: Only in a new pool.")).toBeDefined();
    await user.clear(dialog().getByLabelText("Value"));
    await user.type(dialog().getByLabelText("Value"), "3");
    await user.click(dialog().getByRole("button", { name: "Change" }));
    await screen.findByText("The policy has been changed.");
    expect(screen.getByText("layout.spares: 2 → 3 (Only in a new pool)")).toBeDefined();
    const [made] = started("policy set");
    expect(made?.argv).toEqual(["millrace", "policy", "set", "layout.spares=3", "--json"]);
    expect(made?.options.superuser).toBe("require");
});

test("an empty value leaves the decision to Millrace", async () => {
    golden("policy set");
    const { user, panel } = await show();
    await user.click(panel.getByRole("button", { name: "Change nfs.networks" }));
    expect((dialog().getByLabelText("Value") as HTMLInputElement).value).toBe("10.1.0.0/24");
    await user.clear(dialog().getByLabelText("Value"));
    await user.click(dialog().getByRole("button", { name: "Change" }));
    await screen.findByText("The policy has been changed.");
    expect(started("policy set")[0]?.argv).toContain("nfs.networks=default");
});

test("a value that is refused stays in the dialog with the reason", async () => {
    const { user, panel } = await show();
    refuses("policy set", "layout.spares: must be at most 64");
    await user.click(panel.getByRole("button", { name: "Change layout.spares" }));
    await user.clear(dialog().getByLabelText("Value"));
    await user.type(dialog().getByLabelText("Value"), "65");
    await user.click(dialog().getByRole("button", { name: "Change" }));
    expect(await dialog().findByText(/must be at most 64/)).toBeDefined();
});

test("a file that cannot be read is named, with the policy that stays in force", async () => {
    const { panel } = await show("broken");
    expect(panel.getByRole("alert").textContent).toContain("stays in force");
});

test("who may not change the policy sees it", async () => {
    setAdmin(false);
    const { panel } = await show();
    expect(panel.getByRole("button", { name: "Change layout.spares" }).getAttribute("aria-disabled")).toBe("true");
});

test("values are as the command line takes them", () => {
    expect([typed(null), typed(["a", "b"]), typed(true), typed(3)]).toEqual(["", "a,b", "true", "3"]);
});
