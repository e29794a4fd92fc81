// SPDX-License-Identifier: Apache-2.0
/** The card of the versions: a release is looked at, installed, and rolled back; what failed says why. */
import { cleanup, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { UpdatesPanel } from "../../src/pages/settings/UpdatesPanel";
import { StatusProvider } from "../../src/lib/status";
import { document, golden, read } from "../documents";
import { jobOf, lineOf } from "../jobs";
import { does, refuses, says, setAdmin, started } from "../mocks/cockpit";

async function show(variant?: string) {
    golden("update status", variant);
    render(<StatusProvider><UpdatesPanel /></StatusProvider>);
    const user = userEvent.setup({ delay: null });
    const panel = within(await screen.findByTestId("updates"));
    await panel.findAllByRole("button");
    const press = (name: string) => user.click(panel.getByRole("button", { name }));
    return { user, panel, press };
}
const dialog = () => within(screen.getByRole("dialog"));
const button = (name: string) => dialog().getByRole("button", { name });
const argv = (verb: string) => started(verb).map((one) => one.argv);

test("what the source has is looked at once, shown as text, and installed at the chosen time", async () => {
    golden("update check");
    golden("update apply");
    const { user, press } = await show();
    await press("Check for an update…");
    await screen.findByText("Install version 0.2.0");
    expect(argv("update check")).toEqual([["millrace", "update", "check", "--json"]]);
    expect(dialog().getByLabelText("What is new").textContent).toContain("Faster <b>appends</b>.");
    await user.selectOptions(dialog().getByLabelText(/^Reboot/), "time");
    const time = dialog().getByLabelText(/^Time of the server/);
    await user.clear(time);
    await user.type(time, "25:00");
    expect(dialog().getByText("Enter a time of day, such as 03:30.")).toBeDefined();
    expect(button("Install")).toHaveProperty("disabled", true);
    await user.clear(time);
    await user.type(time, "03:30");
    await user.click(button("Install"));
    await screen.findByText("Version 0.2.0 is installed and starts at the next boot.");
    const [made] = started("update apply");
    expect(made?.argv).toEqual(["millrace", "update", "apply", "--yes", "--reboot=03:30", "--json"]);
    expect(made?.options.superuser).toBe("require");
});

test("without a source a file on the server is looked at and installed", async () => {
    golden("update check");
    golden("update apply");
    const { user, press } = await show("none");
    await press("Check for an update…");
    expect(button("Check")).toHaveProperty("disabled", true);
    await user.type(dialog().getByLabelText(/^File or directory/), "/media/stick/new.tar");
    await user.click(button("Check"));
    await screen.findByText("Install version 0.2.0");
    await user.click(button("Install"));
    await screen.findByText("Version 0.2.0 is installed and starts at the next boot.");
    expect(argv("update check")).toEqual([["millrace", "update", "check", "/media/stick/new.tar", "--json"]]);
    expect(argv("update apply")).toEqual([["millrace", "update", "apply", "/media/stick/new.tar", "--yes", "--reboot=later", "--json"]]);
});

test("a version that failed here is not installed without its tick, with the reason", async () => {
    golden("update check", "failed");
    golden("update apply");
    const { user, panel, press } = await show("failed");
    expect(panel.getByText(/^Version 0.2.0 failed; 0.1.0 runs again/)).toBeDefined();
    expect(panel.getByText("NFS does not answer.")).toBeDefined();
    await press("Check for an update…");
    expect((await screen.findByRole("alert")).textContent).toContain("failed on this server");
    expect(button("Install")).toHaveProperty("disabled", true);
    await user.click(dialog().getByLabelText("Try the version again that failed on this server"));
    await user.click(button("Install"));
    await screen.findByText("Version 0.2.0 is installed and starts at the next boot.");
    expect(argv("update apply")).toEqual([["millrace", "update", "apply", "--yes", "--again", "--reboot=later", "--json"]]);
});

test("a version that runs already is not installed at all", async () => {
    says("update check", { ...document("update-check.json"), refusal: "version 0.1.0 is running already" });
    const { press } = await show();
    await press("Check for an update…");
    expect((await screen.findByRole("alert")).textContent).toBe("version 0.1.0 is running already");
    expect(button("Install")).toHaveProperty("disabled", true);
});

test("files of /etc that were kept, and those that could not be written, are named", async () => {
    const { panel } = await show("failed");
    expect(panel.getByText("/etc/issue; this version has others in /usr/share/factory/etc")).toBeDefined();
    cleanup();
    const { panel: other } = await show("none");
    expect(other.getByText("/etc/issue: No space left on device")).toBeDefined();
});

test("a version on trial shows when it starts, and can be rolled back before it does", async () => {
    golden("update rollback");
    const { user, panel, press } = await show("trial");
    expect(panel.getByText("Planned reboot")).toBeDefined();
    expect(panel.getByText(/^No update can be installed now: version 0.2.0 is not accepted yet/)).toBeDefined();
    expect(panel.getByRole("button", { name: "Check for an update…" })).toHaveProperty("disabled", true);
    await press("Go back…");
    expect(dialog().getByText("Go back to version 0.1.0")).toBeDefined();
    await user.click(button("Go back"));
    await screen.findByText("Version 0.2.0 was rolled back to 0.1.0.");
    expect(argv("update rollback")).toEqual([["millrace", "update", "rollback", "--yes", "--reboot=later", "--json"]]);
});

/** The server takes bytes, reports each megabyte, and prints the last of `lines` when all is there. */
function receives(size: number, last: string): void {
    does("update upload", (call) => {
        if (call.argv.includes("--discard")) { call.end(); return; }
        let said = 0;
        call.heard = () => {
            for (; call.bytes >= said + (1 << 20); said += 1 << 20)
                call.print(`${JSON.stringify({ schema_version: 1, received: said + (1 << 20), size, offer: null })}\n`);
            if (call.ended) call.end(`${last}\n`);
        };
    });
}
// jsdom has no Blob.arrayBuffer()
Blob.prototype.arrayBuffer = function () {
    return new Promise((read) => {
        const reader = new FileReader();
        reader.onload = () => read(reader.result as ArrayBuffer);
        reader.readAsArrayBuffer(this);
    });
};
const file = (size: number) => new File([new Uint8Array(size)], "millrace_0.2.0.tar");
const lines = read("update-upload.jsonl").trim().split("\n");

test("a file of this computer is sent in pieces, looked at, and installed", async () => {
    golden("update apply");
    const size = 10 * (1 << 20) + 5;
    receives(size, lines[2] ?? "");
    const { user, press } = await show("none");
    await press("Check for an update…");
    await user.upload(dialog().getByLabelText(/^File on this computer/), file(size));
    await user.click(button("Upload and check"));
    await screen.findByText("Install version 0.2.0");
    const [sent] = started("update upload");
    expect(sent?.argv).toEqual(["millrace", "update", "upload", `--size=${size}`, "--json"]);
    expect([sent?.bytes, sent?.options.superuser]).toEqual([size, "require"]);
    await user.click(button("Install"));
    await screen.findByText("Version 0.2.0 is installed and starts at the next boot.");
    expect(argv("update apply")).toEqual([["millrace", "update", "apply", "--uploaded", "--yes", "--reboot=later", "--json"]]);
    expect(started("update upload")).toHaveLength(1);
});

test("what waits for the server is no more than a window, and the upload is stopped", async () => {
    does("update upload", (call) => { call.heard = () => undefined; });
    const { user, press } = await show("none");
    await press("Check for an update…");
    await user.upload(dialog().getByLabelText(/^File on this computer/), file(20 * (1 << 20)));
    await user.click(button("Upload and check"));
    const [sent] = started("update upload");
    await waitFor(() => expect(sent?.bytes).toBe(8 << 20));
    expect(sent?.ended).toBe(false);
    await user.click(button("Stop the upload"));
    await dialog().findByText("The upload was stopped.");
    expect(sent?.closed).toBe("cancelled");
    expect(button("Upload and check")).toHaveProperty("disabled", false);
});

test("an upload that is refused says why, and one that is not installed does not stay", async () => {
    refuses("update upload", "the signature of SHA256SUMS is wrong: the release was altered or is damaged; get it again");
    const { user, press } = await show("none");
    await press("Check for an update…");
    await user.upload(dialog().getByLabelText(/^File on this computer/), file(100));
    await user.click(button("Upload and check"));
    await dialog().findByText(/signature of SHA256SUMS is wrong/);
    receives(100, lines[2] ?? "");
    await user.click(button("Upload and check"));
    await screen.findByText("Install version 0.2.0");
    await user.click(button("Cancel"));
    expect(argv("update upload").at(-1)).toEqual(["millrace", "update", "upload", "--discard", "--json"]);
});

test("a planned reboot is changed and cancelled", async () => {
    golden("update reboot");
    const { user, press } = await show("trial");
    await press("Change the reboot…");
    await user.click(button("Change"));
    await screen.findByText("The reboot for the other version has been changed.");
    expect(argv("update reboot")).toEqual([["millrace", "update", "reboot", "later", "--json"]]);
});

test("a reboot that waits for a job says so, and is cancelled", async () => {
    golden("update reboot");
    const { user, panel, press } = await show("deferred");
    expect(panel.getByText(/^It waits and is tried again every 5 minutes: a drive is being erased/)).toBeDefined();
    await press("Change the reboot…");
    await user.click(button("Change"));
    await screen.findByText("The reboot for the other version has been changed.");
    expect(argv("update reboot")).toEqual([["millrace", "update", "reboot", "later", "--json"]]);
    cleanup();
    const { panel: before } = await show("trial");
    expect(before.queryByText(/^It waits/)).toBeNull();
});

test("progress is shown, and nothing else is started meanwhile", async () => {
    const job = jobOf("update", { what: "version 0.2.0: staging", cancellable: false, why: "an installation is not cancelled" });
    says("status", { ...document<object>("1u12-provisioned/status.json"), jobs: [job] });
    does("job follow", (call) => call.print(`${JSON.stringify(lineOf({ ...job, progress: 0.6 }))}\n`));
    const { panel } = await show("running");
    const bar = await panel.findByRole("progressbar", { name: "Update: version 0.2.0: staging" });
    await waitFor(() => expect(bar.getAttribute("aria-valuenow")).toBe("60"));
    expect(panel.getByText("It cannot be stopped: half a version is of no use.")).toBeDefined();
    expect(panel.getByRole("button", { name: "Check for an update…" })).toHaveProperty("disabled", true);
});

test("the source is changed and removed, and a refusal of the program is shown as it is", async () => {
    golden("update source");
    const { user, press } = await show();
    await press("Change the source…");
    const url = dialog().getByLabelText(/^URL of a directory/);
    await user.clear(url);
    await user.click(button("Change"));
    await screen.findByText("The source of updates has been changed.");
    expect(argv("update source")).toEqual([["millrace", "update", "source", "--remove", "--json"]]);
    refuses("update source", "the source is the URL of a directory on a web server, such as https://files.example/millrace/");
    await press("Change the source…");
    await user.type(dialog().getByLabelText(/^URL of a directory/), "x");
    await user.click(button("Change"));
    expect(await dialog().findByText(/the source is the URL of a directory/)).toBeDefined();
});

test("with limited access nothing is changed", async () => {
    setAdmin(false);
    const { panel } = await show("failed");
    for (const one of panel.getAllByRole("button")) expect(one.getAttribute("aria-disabled")).toBe("true");
});

test("warnings of the source and of the offered release are shown", async () => {
    says("update check", { ...document("update-check.json"), warnings: ["version 0.2.0 expired on 2026-01-01"] });
    const { panel, press } = await show();
    expect(panel.queryByRole("alert")).toBeNull();
    await press("Check for an update…");
    expect((await screen.findByText("version 0.2.0 expired on 2026-01-01")).getAttribute("role")).toBe("alert");
});

test("a source without TLS is a warning on the card", async () => {
    says("update status", { ...document("update-status.json"), warnings: ["the source of updates uses http"] });
    render(<StatusProvider><UpdatesPanel /></StatusProvider>);
    expect((await screen.findByText("the source of updates uses http")).getAttribute("role")).toBe("alert");
});
