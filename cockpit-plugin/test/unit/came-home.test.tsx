// SPDX-License-Identifier: Apache-2.0
/** A pool that another server used meanwhile is not served before an administrator decides, on the page or elsewhere. */
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import { catalogues } from "../../scripts/po.mjs";
import { App } from "../../src/app";
import type { Adoption, FoundHere, KeepStatus, KeptElsewhere } from "../../src/types/millrace";
import { golden, serverIs } from "../golden";
import { does, open, refuses, says, setAdmin, started, type Call } from "../mocks/cockpit";

beforeEach(() => { open(["storage"]); serverIs("1u12-home"); });

const here = (): FoundHere => golden("1u12-home", "pool found");

function newest(): KeptElsewhere {
    const { elsewhere } = here();
    if (elsewhere === null) throw new Error("the golden document has a state of another server");
    return elsewhere;
}

const differs = (of: Partial<KeptElsewhere>) => says("pool found", { ...here(), elsewhere: { ...newest(), ...of } });
const decided = (of: Partial<FoundHere> = {}) => says("pool found", { ...here(), elsewhere: null, ...of });
const STATUS: KeepStatus = {
    schema_version: 1, directory: "/srv/pool/.millrace/keep", generation: 58, written: "2026-11-20T12:00:00+00:00", verified: "2026-11-20T12:00:00+00:00",
    problem: null, unread: [], damaged: [], sealed: false, seal: null,
};

/** The title of a dialog that warns has a word of PatternFly's before it. */
const ask = async (button: string, title: string) => {
    await userEvent.click(await screen.findByRole("button", { name: button }));
    return within(await screen.findByRole("dialog", { name: (name) => name.endsWith(title) }));
};
const takeOver = () => ask("Use the state on the pool…", "Use the state on the pool?");
const useLocal = () => ask("Use the state of this server…", "Use the state of this server?");

test("the page says who used the pool, what that state has, and that neither decision changes files", async () => {
    render(<App />);
    const shown = await screen.findByTestId("came-home");
    expect(shown.dataset.level).toBe("FAIL");
    for (const words of ["another server used it meanwhile", "filer", "number 57, by version 0.1.0", "models, results", "anna, carl", "Neither decision changes files"])
        expect(shown.textContent).toContain(words);
    // the same is not said twice
    expect(screen.queryByTestId("storage-verdict")?.textContent ?? "").not.toContain("The pool is not served");
});

test("the question shows the power that the state gives", async () => {
    render(<App />);
    const dialog = await takeOver();
    const power = dialog.getByRole("region", { name: "Power over this server" });
    expect(power.textContent).toContain("The host that receives the journal");
    expect(power.textContent).toContain("https://logs.example.com");
});

test("the overview leads to the decision", async () => {
    open([]);
    render(<App />);
    const link = await screen.findByRole("link", { name: "Decide how the pool is served" });
    expect(link.getAttribute("href")).toContain("storage");
});

test("a server whose pool stayed at home has nothing to decide", async () => {
    serverIs("1u12-provisioned");
    render(<App />);
    await screen.findByTestId("array-data");
    expect(screen.queryByTestId("came-home")).toBeNull();
    expect(screen.queryByRole("button", { name: /^Use the state/ })).toBeNull();
});

test("the state on the pool is taken over after its losses were named, and the adoption is followed", async () => {
    let adopting: Call | undefined;
    does("pool adopt", (call) => { adopting = call; });
    render(<App />);
    const dialog = await takeOver();
    for (const words of [/takes the name filer/, /Lost: users, alert routes, keys and the policy of this server/, /password of the pool/, /addresses of the ports/])
        expect(dialog.getByText(words)).toBeTruthy();
    expect(dialog.queryByLabelText(/Passphrase/)).toBeNull();
    expect(started("pool adopt")).toHaveLength(0);
    await userEvent.click(dialog.getByRole("button", { name: "Replace the state of this server" }));
    await waitFor(() => expect(adopting).toBeDefined());
    expect(adopting?.argv).toEqual(["millrace", "pool", "adopt", "--detach", newest().pool, "--yes", "--json"]);
    expect(adopting?.options.superuser).toBe("require");
    expect(adopting?.input).toBe("");

    const adoption: Adoption = {
        schema_version: 1, pool: newest().pool, generation: 57, by: "admin", at: "2026-11-28T10:00:00+00:00", secrets: true, ports: {}, problem: null, again: true, without: [],
    };
    const now: FoundHere = { ...here(), elsewhere: null, adoption, running: true, progress: { step: "accounts", done: 1, total: 5 } };
    says("pool found", now);
    says("status", { ...golden("1u12-home", "status"), pool: null });
    adopting?.end(JSON.stringify(now));
    expect((await screen.findByTestId("adopting")).textContent).toContain("Restoring users and passwords");
    expect(screen.queryByRole("dialog")).toBeNull();

    serverIs("1u12-provisioned");
    decided({ adopted: { schema_version: 1, pool: newest().pool, generation: 57, host: "filer", shares: ["models", "results"], users: ["anna", "carl"], missing: [] } });
    expect((await screen.findByTestId("adopted")).textContent).toContain("The pool of filer is adopted: 2 shares, 2 users");
    expect(screen.queryByTestId("came-home")).toBeNull();
});

test("a state with a passphrase needs it, and it is on no command line", async () => {
    differs({ sealed: true });
    does("pool adopt", (call) => call.fail({ exit_status: 1, message: "millrace: the passphrase is wrong; nothing was written" }));
    render(<App />);
    const dialog = await takeOver();
    const confirm = dialog.getByRole<HTMLButtonElement>("button", { name: "Replace the state of this server" });
    expect(confirm.disabled).toBe(true);
    await userEvent.type(dialog.getByLabelText(/Passphrase of the kept state/), "open sesame{Enter}");
    expect((await dialog.findByTestId("error")).textContent).toContain("the passphrase is wrong; nothing was written");
    expect(started("pool adopt")[0]?.argv).toEqual(["millrace", "pool", "adopt", "--detach", newest().pool, "--yes", "--passphrase-stdin", "--json"]);
    expect(started("pool adopt")[0]?.input).toBe("open sesame\n");
});

test("the server goes on with its own state after the losses were named, and says where that is kept", async () => {
    let using: Call | undefined;
    does("keep use-local", (call) => { using = call; });
    render(<App />);
    const dialog = await useLocal();
    for (const words of [/served with the shares, users, keys and addresses of this boot drive/, /Lost: changes to shares, users, passwords and keys on filer/, /stays on the pool as number 57/])
        expect(dialog.getByText(words)).toBeTruthy();
    expect(started("keep use-local")).toHaveLength(0);
    await userEvent.click(dialog.getByRole("button", { name: "Serve with the state of this server" }));
    await waitFor(() => expect(using).toBeDefined());
    expect(using?.argv).toEqual(["millrace", "keep", "use-local", "--yes", "--json"]);
    expect(using?.options.superuser).toBe("require");
    serverIs("1u12-provisioned");
    using?.end(JSON.stringify(STATUS));
    const done = await screen.findByTestId("used-local");
    expect(done.textContent).toContain("The pool is served with the state of this server");
    expect(done.textContent).toContain("kept on the pool as number 58");
    await waitFor(() => expect(screen.queryByTestId("came-home")).toBeNull());
    expect(screen.queryByRole("dialog")).toBeNull();
});

test("a state that could not be kept afterwards is a warning with the reason", async () => {
    does("keep use-local", (call) => { decided(); call.end(JSON.stringify({ ...STATUS, problem: "No space left on device" })); });
    render(<App />);
    await userEvent.click((await useLocal()).getByRole("button", { name: "Serve with the state of this server" }));
    expect((await screen.findByTestId("used-local")).textContent).toContain("It is not kept on the pool: No space left on device");
});

test.each([
    ["pool adopt", takeOver, "Replace the state of this server"],
    ["keep use-local", useLocal, "Serve with the state of this server"],
] as const)("%s that is refused while another job runs leaves the dialog with the sentence", async (verb, dialogOf, action) => {
    const sentence = "provisioning is running; `millrace status` shows its progress";
    refuses(verb, sentence);
    render(<App />);
    const dialog = await dialogOf();
    const button = dialog.getByRole<HTMLButtonElement>("button", { name: action });
    await userEvent.click(button);
    expect((await dialog.findByTestId("error")).textContent).toContain(sentence);
    expect(button.disabled).toBe(false);
    expect(screen.getByTestId("came-home")).toBeTruthy();
});

test("a decision that was made elsewhere ends the question", async () => {
    render(<App />);
    await useLocal();
    decided();
    await waitFor(() => expect(screen.queryByTestId("came-home")).toBeNull());
    expect(screen.queryByRole("dialog")).toBeNull();
});

test("an older copy of the boot drive is named as one", async () => {
    differs({ same_drive: true });
    render(<App />);
    expect((await screen.findByTestId("came-home")).textContent).toContain("this boot drive is an older copy");
    expect((await useLocal()).getByText(/passwords and keys since then/)).toBeTruthy();
});

test("a state of a later version names the version, and only the other decision is offered", async () => {
    differs({ written: null, host: null, release: "0.3.0", shares: [], users: [] });
    render(<App />);
    expect((await screen.findByTestId("came-home")).textContent).toContain("requires version 0.3.0");
    expect(screen.queryByRole("button", { name: "Use the state on the pool…" })).toBeNull();
    expect(screen.getByRole("button", { name: "Use the state of this server…" })).toBeTruthy();
});

test("with limited access the state is shown and cannot be decided", async () => {
    setAdmin(false);
    render(<App />);
    for (const name of ["Use the state on the pool…", "Use the state of this server…"]) {
        const button = await screen.findByRole("button", { name });
        expect(button.getAttribute("aria-disabled")).toBe("true");
        await userEvent.click(button);
        expect(screen.queryByRole("dialog")).toBeNull();
    }
});

test("the decision is explained in German", async () => {
    new Function("cockpit", new Map(catalogues("po")).get("po.de.js") ?? "")(cockpit);
    render(<App />);
    expect((await screen.findByTestId("came-home")).textContent).toContain("Ein anderer Server hat ihn inzwischen verwendet");
    const over = await ask("Stand auf dem Pool verwenden …", "Den Stand auf dem Pool verwenden?");
    expect(over.getByText(/^Verloren gehen Benutzer, Alarmrouten, Schlüssel und die Richtlinie dieses Servers/)).toBeTruthy();
    await userEvent.keyboard("{Escape}");
    const local = await ask("Stand dieses Servers verwenden …", "Den Stand dieses Servers verwenden?");
    expect(local.getByText(/^Verloren gehen Änderungen an Freigaben, Benutzern, Passwörtern und Schlüsseln auf filer/)).toBeTruthy();
});
