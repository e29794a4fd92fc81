// SPDX-License-Identifier: Apache-2.0
/** The archive for support: what is in it is shown before it is collected. */
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import type { SupportContents } from "../../src/types/millrace";
import { SupportPanel } from "../../src/pages/settings/SupportPanel";
import { does, says, setAdmin, started } from "../mocks/cockpit";

const CONTENTS: SupportContents = { schema_version: 1, files: [{ name: "journal.txt", what: "journal of this boot" }] };

const saved = vi.hoisted(() => vi.fn());
vi.mock("../../src/lib/download", () => ({ download: saved, copy: vi.fn() }));

const collected = () => started("support").filter((call) => call.argv.includes("-"));

async function open() {
    says("support --list", CONTENTS);
    render(<SupportPanel />);
    const user = userEvent.setup({ delay: null });
    await user.click(await screen.findByRole("button", { name: "Support archive…" }));
    return { user, dialog: within(await screen.findByRole("dialog")) };
}

test("the contents are listed, and the archive is collected when it is asked for", async () => {
    const { user, dialog } = await open();
    await dialog.findByText("journal of this boot");
    expect(dialog.getByText(/Passwords, keys and tokens are not in it/)).toBeDefined();
    expect(collected()).toEqual([]);
    does("support -", (call) => call.end("packed"));
    await user.click(dialog.getByRole("button", { name: "Download" }));
    await vi.waitFor(() => expect(saved).toHaveBeenCalledOnce());
    const [name, content, type] = saved.mock.calls[0] as [string, Uint8Array, string];
    expect([name, new TextDecoder().decode(content), type]).toEqual(["millrace-support.tar.zst", "packed", "application/zstd"]);
    expect(collected()[0]?.argv).toEqual(["millrace", "support", "-"]);
    expect(collected()[0]?.options.superuser).toBe("require");
});

test("an archive that cannot be made says why, in the program's words", async () => {
    const { user, dialog } = await open();
    does("support -", (call) => call.fail({ exit_status: 1, message: "millrace: secrets.json cannot be read" }));
    await user.click(await dialog.findByRole("button", { name: "Download" }));
    expect((await dialog.findByTestId("error")).textContent).toContain("secrets.json cannot be read");
});

test("with limited access there is no archive", async () => {
    setAdmin(false);
    render(<SupportPanel />);
    await userEvent.setup({ delay: null }).click(await screen.findByRole("button", { name: "Support archive…" }));
    expect(screen.queryByRole("dialog")).toBeNull();
});
