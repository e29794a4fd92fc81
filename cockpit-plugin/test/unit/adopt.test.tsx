// SPDX-License-Identifier: Apache-2.0
/** A new boot drive before the drives of a pool: the page leads with adopting, never with a plan. */
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import { App } from "../../src/app";
import type { Adoption, FoundHere, KeptState } from "../../src/types/millrace";
import { golden, serverIs } from "../golden";
import { does, open, says, setAdmin, started, type Call } from "../mocks/cockpit";

beforeEach(() => { open(["storage"]); serverIs("1u12-found"); });

const here = (): FoundHere => golden("1u12-found", "pool found");
const UUID = here().found?.pool?.uuid ?? "";
const UNDER_WAY: Adoption = {
    schema_version: 1, pool: UUID, generation: 42, by: "admin", at: "2026-11-24T10:00:00+00:00", secrets: true, ports: {}, problem: null, again: false, without: [],
};

const begin = async () => {
    await userEvent.click(await screen.findByRole("button", { name: "Adopt…" }));
    return screen.findByRole("dialog", { name: "Adopt the pool of filer?" });
};

test("a pool on the drives comes before any plan, with what comes back and what does not", async () => {
    render(<App />);
    const shown = await screen.findByTestId("adopt");
    expect(shown.dataset.level).toBe("WARN");
    expect(shown.textContent).toContain("The drives carry the pool of filer");
    expect(shown.textContent).toContain("1 member is missing");
    expect(shown.textContent).toContain(UUID);
    expect(screen.getByTestId("adopt-kept").textContent).toContain("models, results");
    expect(screen.getByTestId("adopt-kept").textContent).toContain("the passphrase is needed");
    const lost = screen.getByTestId("adopt-lost").textContent;
    for (const words of ["etc/krb5.keytab", "000043.tar.gz", "10.0.2.5/24"]) expect(lost).toContain(words);
    expect(within(screen.getByTestId("adopt-arrays")).getByRole("row", { name: /data/ }).textContent).toContain("9 of 10 membersMRD00000000010");
    expect(within(screen.getByTestId("adopt-ports")).getByRole("row", { name: /10\.0\.1\.5/ }).textContent).toContain("enp9s0name of the port");
    expect(started("plan")).toHaveLength(0);
    expect(screen.queryByTestId("plan")).toBeNull();
    expect(document.body.textContent).not.toMatch(/[Ee]rase…/);
});

test("the overview leads to the pool on the drives, and to no plan", async () => {
    open([]);
    render(<App />);
    const button = await screen.findByRole("link", { name: "Review the pool on the drives" });
    expect(button.getAttribute("href")).toContain("storage");
    expect(screen.queryByRole("link", { name: "Review the plan" })).toBeNull();
});

test("an adoption is confirmed with the passphrase, which is on no command line, and is followed to the pool", async () => {
    let adopting: Call | undefined;
    does("pool adopt", (call) => { adopting = call; });
    render(<App />);
    const dialog = await begin();
    expect(dialog.textContent).toContain("10.0.0.5/24, 10.0.1.5/24");
    const confirm = within(dialog).getByRole("button", { name: "Adopt pool" });
    expect(confirm.hasAttribute("disabled")).toBe(true);
    await userEvent.type(within(dialog).getByLabelText(/Passphrase of the kept state/), "open sesame");
    await userEvent.click(confirm);
    await waitFor(() => expect(adopting).toBeDefined());
    expect(adopting?.argv).toEqual(["millrace", "pool", "adopt", "--detach", UUID, "--yes", "--passphrase-stdin", "--json"]);
    expect(adopting?.options.superuser).toBe("require");
    expect(adopting?.input).toBe("open sesame\n");

    const now: FoundHere = { ...here(), adoption: UNDER_WAY, running: true };
    says("pool found", now);
    adopting?.end(JSON.stringify(now));
    expect((await screen.findByTestId("adopting")).textContent).toContain("The pool of filer is being adopted");
    expect(screen.queryByRole("dialog")).toBeNull();

    serverIs("1u12-provisioned");
    const missing = ["etc/krb5.keytab could not be kept: it does not come back"];
    says("pool found", {
        schema_version: 1, found: null, adoption: null, running: false, progress: null,
        adopted: { schema_version: 1, pool: UUID, generation: 42, host: "filer", shares: ["models", "results"], users: ["anna"], missing },
    });
    expect(await screen.findByTestId("array-data")).toBeTruthy();
    const end = await screen.findByTestId("adopted");
    expect(end.textContent).toContain("The pool of filer is adopted: 2 shares, 1 user");
    expect(end.textContent).toContain(missing[0]);
});

test("without the passphrase the pool is adopted without its secrets, and what that costs is said", async () => {
    does("pool adopt", (call) => call.end(JSON.stringify(here())));
    render(<App />);
    const dialog = await begin();
    await userEvent.selectOptions(within(dialog).getByLabelText("Passwords, keys and SIDs"), "without");
    expect(dialog.textContent).toContain("the membership in a domain are lost");
    await userEvent.click(within(dialog).getByRole("button", { name: "Adopt pool" }));
    await waitFor(() => expect(started("pool adopt")).toHaveLength(1));
    expect(started("pool adopt")[0]?.argv).toContain("--without-secrets");
    expect(started("pool adopt")[0]?.input).toBe("");
});

test("what the drives let in is named, and each of it can be left out", async () => {
    does("pool adopt", (call) => call.end(JSON.stringify(here())));
    render(<App />);
    const dialog = await begin();
    expect((await screen.findByTestId("adopt-kept")).textContent).toContain("The URL of updates https://updates.example/millrace");
    await userEvent.type(within(dialog).getByLabelText(/Passphrase of the kept state/), "open sesame");
    expect(dialog.textContent).toContain("The administrator then has the password of the pool");
    await userEvent.click(within(dialog).getByLabelText("The URL of updates"));
    await userEvent.click(within(dialog).getByLabelText("The password of the last server's administrator"));
    expect(dialog.textContent).not.toContain("The administrator then has the password of the pool");
    await userEvent.click(within(dialog).getByRole("button", { name: "Adopt pool" }));
    await waitFor(() => expect(started("pool adopt")).toHaveLength(1));
    expect(started("pool adopt")[0]?.argv).toEqual(["millrace", "pool", "adopt", "--detach", UUID, "--yes", "--passphrase-stdin", "--without=updates", "--without=password", "--json"]);
});

test("a wrong passphrase leaves the dialog open with the reason", async () => {
    does("pool adopt", (call) => call.fail({ exit_status: 1, message: "millrace: the passphrase is wrong; nothing was written" }));
    render(<App />);
    const dialog = await begin();
    await userEvent.type(within(dialog).getByLabelText(/Passphrase of the kept state/), "no{Enter}");
    expect((await within(dialog).findByTestId("error")).textContent).toContain("the passphrase is wrong; nothing was written");
});

test("an adoption that was begun before a reload is followed, and offers no second one", async () => {
    says("pool found", { ...here(), adoption: UNDER_WAY, running: true });
    render(<App />);
    expect((await screen.findByTestId("adopting")).textContent).toContain("It continues when this page is closed");
    expect(screen.queryByRole("button", { name: "Adopt…" })).toBeNull();
});

test("an adoption that stopped says why and can be continued", async () => {
    says("pool found", { ...here(), adoption: { ...UNDER_WAY, problem: "tdbrestore failed: parse error" } });
    does("pool adopt", (call) => {
        const now = { ...here(), adoption: UNDER_WAY, running: true };
        says("pool found", now);
        call.end(JSON.stringify(now));
    });
    render(<App />);
    expect((await screen.findByTestId("adopting")).textContent).toContain("tdbrestore failed: parse error");
    await userEvent.click(screen.getByRole("button", { name: "Continue" }));
    await waitFor(() => expect(screen.getByTestId("adopting").textContent).toContain("is being adopted"));
    expect(started("pool adopt")[0]?.argv).toEqual(["millrace", "pool", "adopt", "--detach", "--yes", "--json"]);
});

test("drives of two pools are named with the remedy, and nothing can be adopted or planned", async () => {
    const problem = "the drives of two pools are in this server";
    const { found } = here();
    says("pool found", {
        ...here(), found: { ...found, pool: { ...found?.pool, uuid: null, kept: null, missing: 0, problem }, problem, todo: "leave the drives of one in it" },
    });
    render(<App />);
    const shown = await screen.findByTestId("adopt");
    expect(shown.dataset.level).toBe("FAIL");
    expect(shown.textContent).toContain(problem);
    expect(shown.textContent).toContain("leave the drives of one in it");
    expect(screen.queryByRole("button", { name: "Adopt…" })).toBeNull();
    expect(started("plan")).toHaveLength(0);
    does("pool find", (call) => { says("pool found", here()); call.end(JSON.stringify(found)); });
    await userEvent.click(screen.getByRole("button", { name: "Search again" }));
    expect(await screen.findByRole("button", { name: "Adopt…" })).toBeTruthy();
    expect(started("pool find --json")[0]?.options.superuser).toBe("require");
});

test("without administrative access the pool is shown and cannot be adopted", async () => {
    setAdmin(false);
    render(<App />);
    const button = await screen.findByRole("button", { name: "Adopt…" });
    expect(button.getAttribute("aria-disabled")).toBe("true");
});

test("the step of an adoption is shown, wherever it was begun", async () => {
    says("pool found", { ...here(), adoption: UNDER_WAY, running: true, progress: { step: "accounts", done: 1, total: 5 } });
    render(<App />);
    const panel = await screen.findByTestId("adopting");
    expect(panel.textContent).toContain("Restoring users and passwords");
    expect(within(panel).getByRole("progressbar").getAttribute("aria-valuenow")).toBe("20");
});

const closed = (change: Partial<KeptState>): FoundHere => {
    const found = here();
    const kept = found.found?.pool?.kept;
    if (!found.found?.pool || !kept) throw new Error("the golden document has a pool");
    return { ...found, found: { ...found.found, pool: { ...found.found.pool, kept: { ...kept, sealed: false, users: [], ports: [], problems: [], damaged: [], ...change } } } };
};

test("a state without people names who forgot them, and nobody opens the shares", async () => {
    says("pool found", closed({ origin: "forgotten", trusted: [], forgotten: { by: "mallory", at: "2026-11-24T10:00:00+00:00" } }));
    render(<App />);
    expect((await screen.findByTestId("adopt")).textContent).toMatch(/A factory reset by mallory, .* no share is exported until you allow/);
    expect(screen.getByTestId("adopt-lost").textContent).toContain("Users, passwords, certificates, keys, SIDs and addresses.");
    const dialog = await begin();
    expect(dialog.textContent).toContain("The shares come back closed");
    expect(dialog.textContent).not.toContain("The administrator then has the password of the pool");
});

test("a pool without a kept state shows its directories as shares, and what is no share", async () => {
    says("pool found", closed({ origin: "drives", host: "another server", problems: ["directory twin has the quota project of data: it is no share of its own"] }));
    render(<App />);
    expect((await screen.findByTestId("adopt")).textContent).toContain("The drives carry a pool without a kept state");
    const lost = screen.getByTestId("adopt-lost").textContent;
    for (const words of ["Types and sizes of the shares.", "directory twin has"]) expect(lost).toContain(words);
    expect(screen.getByTestId("adopt-kept").textContent).not.toContain("another server");
});
