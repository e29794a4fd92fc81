// SPDX-License-Identifier: Apache-2.0
/** Factory reset: what goes and what stays is read first, and only what was typed exactly begins it. */
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { ResetPanel } from "../../src/pages/settings/ResetPanel";
import { golden } from "../documents";
import { setAdmin, started } from "../mocks/cockpit";

async function open(which: string, variant?: string) {
    golden("reset show", variant);
    golden("reset start");
    render(<ResetPanel />);
    const user = userEvent.setup({ delay: null });
    await user.click(screen.getByRole("button", { name: which }));
    const dialog = within(await screen.findByRole("dialog"));
    await dialog.findByLabelText("What stays");
    const go = () => dialog.getByRole("button", { name: "Reset and restart" });
    const type = (field: string, text: string) => user.type(dialog.getByLabelText(`Type “${field}” to confirm`), text);
    return { user, dialog, go, type };
}

test("keeping the pool takes the host name typed, and names the clients", async () => {
    const { user, dialog, go, type } = await open("Reset and keep the pool…");
    expect(dialog.getByLabelText("What stays").textContent).toContain("They come back when the pool is adopted.");
    expect(dialog.getByText("1 client is disconnected: 10.0.0.7")).toBeDefined();
    await type("filer", "file");
    expect(go()).toHaveProperty("disabled", true);
    await type("filer", "r");
    await user.click(go());
    await screen.findByText("The server restarts and is reset.");
    const [made] = started("reset start");
    expect(made?.argv).toEqual(["millrace", "reset", "start", "--host=filer", "--json"]);
    expect(made?.options.superuser).toBe("require");
});

test("forgetting people takes the word, too, and says what is forgotten", async () => {
    const { user, dialog, go, type } = await open("Reset and forget people…");
    expect(dialog.getByLabelText("What is removed").textContent).toContain("users (anna)");
    expect(dialog.getByLabelText("What stays").textContent).toContain("data, models");
    await type("filer", "filer");
    expect(go()).toHaveProperty("disabled", true);
    await type("FORGET", "FORGET");
    await user.click(go());
    await screen.findByText("The server restarts and is reset.");
    expect(started("reset start")[0]?.argv).toEqual(["millrace", "reset", "start", "--host=filer", "--forget-people", "--word=FORGET", "--json"]);
});

test("where it is not possible now nothing can be typed", async () => {
    const { dialog, go } = await open("Reset and keep the pool…", "obstacle");
    expect(dialog.getByRole("alert").textContent).toContain("array data is busy with a rebuild");
    expect(dialog.queryByLabelText("Type “filer” to confirm")).toBeNull();
    expect(go()).toHaveProperty("disabled", true);
});

test("without administrative access nothing is opened", async () => {
    setAdmin(false);
    render(<ResetPanel />);
    await userEvent.setup({ delay: null }).click(screen.getByRole("button", { name: "Reset and forget people…" }));
    expect(screen.queryByRole("dialog")).toBeNull();
});
