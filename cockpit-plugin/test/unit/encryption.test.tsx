// SPDX-License-Identifier: Apache-2.0
/** The card of root's encryption: what opens it, and a recovery key that is shown once and typed on no command line. */
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { RecoveryKey } from "../../src/types/millrace";
import { EncryptionPanel } from "../../src/pages/settings/EncryptionPanel";
import { document, golden } from "../documents";
import { calls, refuses, setAdmin, started } from "../mocks/cockpit";

const KEY = document<RecoveryKey>("encryption-recovery-key.json").key ?? "";
const TYPED = "vliurbgk-ivvhfrei-kncdvjht-lbrgeeki";
const FIELD = /^Present recovery key/;

async function show(variant?: string) {
    golden("encryption show", variant);
    render(<EncryptionPanel />);
    const user = userEvent.setup({ delay: null });
    const panel = within(await screen.findByTestId("encryption"));
    await panel.findByText(/not encrypted/);
    return { user, panel, press: (name: string) => user.click(panel.getByRole("button", { name })) };
}
const dialog = () => within(screen.getByRole("dialog"));
const button = (name: string) => dialog().getByRole("button", { name });
const findings = (panel: { getByLabelText: (name: string) => HTMLElement }) => panel.getByLabelText("Findings").textContent;

test("an encrypted root shows its partition, its TPM, what that asks for, and no finding", async () => {
    const { panel } = await show();
    for (const text of ["/dev/nvme0n1p6, LUKS2, aes-xts-plain64", "MSFT0101:00 (tpm_crb)", /^encrypted since .*2026/, /^by the TPM, .*2026/, /PCR 11.*PCR 7/])
        expect(panel.getByText(text)).toBeDefined();
    expect(panel.queryByLabelText("Findings")).toBeNull();
    expect(started("encryption show")[0]?.options.superuser).toBe("require");
});

test("the first recovery key is shown until it is written down, and then nowhere", async () => {
    golden("encryption recovery-key");
    const { user, panel, press } = await show("first");
    expect(findings(panel)).toContain("Nobody has the recovery key");
    await press("Show the recovery key…");
    expect(dialog().queryByLabelText(FIELD)).toBeNull();
    golden("encryption show");
    await user.click(button("Show the key"));
    await screen.findByText(KEY);
    expect(started("encryption recovery-key").map((one) => one.argv)).toEqual([["millrace", "encryption", "recovery-key", "--json"]]);
    // neither Escape nor a button closes it before
    await user.keyboard("{Escape}");
    expect(screen.getByText(KEY)).toBeDefined();
    expect(button("Close")).toHaveProperty("disabled", true);
    expect(dialog().queryByRole("button", { name: /Download/ })).toBeNull();
    // by keyboard: ticked, then closed
    dialog().getByRole("checkbox", { name: "I have written it down" }).focus();
    await user.keyboard(" ");
    expect(button("Close")).toHaveProperty("disabled", false);
    button("Close").focus();
    await user.keyboard("{Enter}");
    await screen.findByText("The new recovery key is in force.");
    expect(window.document.body.textContent).not.toContain(KEY);
    expect(await panel.findByRole("button", { name: "Replace the recovery key…" })).toBeDefined();
});

test("replacing the recovery key says that the present one ends, and takes it by standard input", async () => {
    golden("encryption recovery-key", "replaced");
    const { user, press } = await show();
    await press("Replace the recovery key…");
    expect(dialog().getByText("The present recovery key is rejected at once.")).toBeDefined();
    expect(button("Replace")).toHaveProperty("disabled", true);
    await user.type(dialog().getByLabelText(FIELD), TYPED);
    await user.click(button("Replace"));
    await screen.findByText(KEY);
    const [made] = started("encryption recovery-key");
    expect([made?.argv, made?.input]).toEqual([["millrace", "encryption", "recovery-key", "--new", "--key-stdin", "--json"], `${TYPED}\n`]);
});

test("a recovery key that is lost is made by the next start, and asks for none", async () => {
    golden("encryption recovery-key", "at-restart");
    const { user, press } = await show();
    await press("Replace the recovery key…");
    await user.click(dialog().getByRole("checkbox", { name: "The key is lost" }));
    expect(dialog().queryByLabelText(FIELD)).toBeNull();
    golden("encryption show", "first");
    await user.click(button("Make at next start"));
    await screen.findByText(/^The next start of the server makes a recovery key/);
    expect(started("encryption recovery-key")[0]?.argv).toEqual(["millrace", "encryption", "recovery-key", "--at-restart", "--json"]);
});

test("a root that the recovery key opened is bound again with it, by standard input alone", async () => {
    golden("encryption rebind");
    const { user, panel, press } = await show("recovery");
    expect(panel.getByText(/^with the recovery key, .*2026/)).toBeDefined();
    expect(findings(panel)).toContain("Bind it to this TPM again.");
    await press("Bind to this TPM again…");
    expect(button("Bind")).toHaveProperty("disabled", true);
    expect(dialog().getByLabelText(FIELD)).toHaveProperty("type", "password");
    await user.type(dialog().getByLabelText(FIELD), TYPED);
    golden("encryption show", "rebound");
    await user.click(button("Bind"));
    await screen.findByText(/opens the root file system, with Secure Boot as it is now/);
    const [made] = started("encryption rebind");
    expect([made?.argv, made?.input]).toEqual([["millrace", "encryption", "rebind", "--key-stdin", "--json"], `${TYPED}\n`]);
    expect(calls.some(({ argv }) => argv.join(" ").includes(TYPED))).toBe(false);
    expect(await panel.findByText(/^not known, or bound again since the start/)).toBeDefined();
});

test("a refusal is the program's sentence, and the key can be typed again", async () => {
    refuses("encryption rebind", "the recovery key was not accepted");
    const { user, press } = await show();
    await press("Bind to this TPM again…");
    await user.type(dialog().getByLabelText(FIELD), "wrong");
    await user.click(button("Bind"));
    expect((await dialog().findByRole("alert")).textContent).toContain("the recovery key was not accepted");
    golden("encryption rebind");
    await user.clear(dialog().getByLabelText(FIELD));
    await user.type(dialog().getByLabelText(FIELD), TYPED);
    await user.click(button("Bind"));
    await screen.findByTestId("done");
    expect(started("encryption rebind").map((one) => one.input)).toEqual(["wrong\n", `${TYPED}\n`]);
});

test("the check of Secure Boot is suspended once", async () => {
    golden("encryption suspend");
    const { user, panel, press } = await show();
    await press("Suspend for a firmware change…");
    await user.type(dialog().getByLabelText(FIELD), TYPED);
    golden("encryption show", "suspended");
    await user.click(button("Suspend"));
    await screen.findByText(/does not ask about Secure Boot until/);
    expect(await panel.findByText(/with Secure Boot off, too/)).toBeDefined();
    expect(panel.queryByRole("button", { name: "Suspend for a firmware change…" })).toBeNull();
});

test.each([["clear", /^A new one would not be encrypted, either: this server has no TPM 2\.0\.$/], ["before", /an existing one is never changed/]])(
    "a root in the clear (%s) says why and what to do, and has no keys", async (variant, reason) => {
        const { panel } = await show(variant);
        expect(panel.getByText(reason)).toBeDefined();
        expect(panel.getByText(/make a factory reset, then adopt the pool/)).toBeDefined();
        expect(panel.queryByRole("button")).toBeNull();
    });

test("without administrative access nothing is asked, and the card says so", async () => {
    setAdmin(false);
    render(<EncryptionPanel />);
    await screen.findByTestId("no-admin");
    expect(started("encryption show")).toEqual([]);
});
