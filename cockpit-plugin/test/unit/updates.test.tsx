// SPDX-License-Identifier: Apache-2.0
/** The card of the versions: a release is looked at, installed, and rolled back; what failed says why. */
import { cleanup, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { UpdatesPanel } from "../../src/pages/settings/UpdatesPanel";
import { golden } from "../documents";
import { refuses, setAdmin, started } from "../mocks/cockpit";

async function show(variant?: string) {
    golden("update status", variant);
    render(<UpdatesPanel />);
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

test("a version that failed here is not installed, with the reason", async () => {
    golden("update check", "failed");
    const { panel, press } = await show("failed");
    expect(panel.getByText(/^Version 0.2.0 failed; 0.1.0 runs again/)).toBeDefined();
    expect(panel.getByText("NFS does not answer.")).toBeDefined();
    await press("Check for an update…");
    expect((await screen.findByRole("alert")).textContent).toContain("failed on this server");
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

test("progress is shown, and nothing else is started meanwhile", async () => {
    const { panel } = await show("running");
    expect(panel.getByText("An update is under way: staging")).toBeDefined();
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
