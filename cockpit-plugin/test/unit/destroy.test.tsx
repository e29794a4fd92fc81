// SPDX-License-Identifier: Apache-2.0
/** Destruction of a pool: what is lost is read first, and only the name of the server begins it. */
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { DestroyPanel } from "../../src/pages/storage/DestroyPanel";
import { document } from "../documents";
import { says, setAdmin, started } from "../mocks/cockpit";

const STATUS = document<Record<string, unknown>>("pool-destroy---status.json");

async function open(changes: Record<string, unknown> = {}) {
    says("pool destroy --status", { ...STATUS, ...changes });
    render(<DestroyPanel onDone={() => undefined} />);
    const user = userEvent.setup({ delay: null });
    await user.click(screen.getByRole("button", { name: "Destroy the pool…" }));
    const dialog = within(await screen.findByRole("dialog"));
    await dialog.findByLabelText("What is lost");
    return { user, dialog, go: () => dialog.getByRole("button", { name: "Destroy pool" }) };
}

test("shares, volumes, clients, jobs and drives are named, those that are missing apart", async () => {
    const { dialog } = await open();
    const lost = dialog.getByLabelText("What is lost").textContent.replaceAll("\u00a0", " ");
    for (const words of ["5 GB", "models (4 GB)", "lun0 (1 GB)", "10.0.0.7", "Checks of the arrays", "SN000"]) expect(lost).toContain(words);
    expect(dialog.getByRole("alert").textContent).toContain("Not in this server: SN001 (bay 2)");
});

test("the name and the consent to disconnect begin it", async () => {
    const { user, dialog, go } = await open();
    await user.type(dialog.getByLabelText("Type “filer” to confirm"), "filer");
    expect(go()).toHaveProperty("disabled", true);
    await user.click(dialog.getByLabelText("Disconnect clients, and end jobs that use the pool"));
    await user.click(go());
    const made = started("pool destroy").find(({ argv }) => !argv.includes("--status"));
    expect(made?.argv).toEqual(["millrace", "pool", "destroy", "--name=filer", "--end", "--json"]);
    expect(made?.options.superuser).toBe("require");
});

test("where it is not possible now nothing can be typed", async () => {
    const { dialog, go } = await open({ obstacle: "a drive is being replaced; wait until that is done" });
    expect(dialog.getAllByRole("alert").some(({ textContent }) => textContent.includes("a drive is being replaced"))).toBe(true);
    expect(dialog.queryByLabelText("Type “filer” to confirm")).toBeNull();
    expect(go()).toHaveProperty("disabled", true);
});

test("without administrative access nothing is opened", async () => {
    setAdmin(false);
    render(<DestroyPanel onDone={() => undefined} />);
    await userEvent.setup({ delay: null }).click(screen.getByRole("button", { name: "Destroy the pool…" }));
    expect(screen.queryByRole("dialog")).toBeNull();
});
