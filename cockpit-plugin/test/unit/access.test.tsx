// SPDX-License-Identifier: Apache-2.0
/** The page Access: people with key and code, sessions, the log, and what each role may press. */
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import { AdminButton } from "../../src/components/AdminButton";
import Access from "../../src/pages/access";
import { golden } from "../documents";
import { refuses, setAdmin, started } from "../mocks/cockpit";

const PASSWORD = "mends-7-servers-at-night";
const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDtp3oVJyKl5xGkNVHtgmiVCcUuhmO1Eq9JZSdlIxkOE carol@laptop";

beforeEach(() => {
    for (const verb of ["access list", "access who", "access sessions", "access log"]) golden(verb);
});

async function show() {
    render(<Access />);
    const people = within(await screen.findByTestId("people"));
    await within(screen.getByTestId("access-log")).findByText("millrace drive replace S1");
    await screen.findByRole("button", { name: "Disconnect session 4 of bob" });
    return { user: userEvent.setup({ delay: null }), people };
}
const dialog = () => within(screen.getByRole("dialog"));

test("people are listed with role, lock, key and second factor", async () => {
    const { people } = await show();
    expect(people.getByRole("rowheader", { name: "bob (Bob Miller)" })).toBeDefined();
    expect(people.getByText("Operator, locked")).toBeDefined();
    expect(people.getByText(/security key/)).toBeDefined();
    expect(people.getByRole("button", { name: "Second factor of bob" }).textContent).toBe("On, 7 recovery codes left");
    expect(people.queryByRole("button", { name: "Remove admin" })).toBeNull();
    expect(people.getByRole("button", { name: "Unlock otto" })).toBeDefined();
});

test("an administrator with a key is one change, and secrets are on standard input", async () => {
    golden("access create");
    const { user } = await show();
    await user.click(screen.getByRole("button", { name: "New person" }));
    await user.type(dialog().getByLabelText(/^Account/), "carol");
    await user.type(dialog().getByLabelText(/^Password(?! again)/), PASSWORD);
    await user.type(dialog().getByLabelText(/^Password again/), PASSWORD);
    await user.type(dialog().getByLabelText(/^Public SSH key/), KEY);
    await user.click(dialog().getByRole("button", { name: "Create person" }));
    await screen.findByText("Created carol, administrator.");
    const [made] = started("access create");
    expect(made?.argv).toEqual(["millrace", "access", "create", "carol", "--role=administrator", "--password-stdin", "--key-stdin", "--json"]);
    expect(made?.input).toBe(`${PASSWORD}\n${KEY}\n`);
});

test("a second factor is turned on with one code, and the recovery codes stay until they are written down", async () => {
    golden("access second-factor enroll");
    golden("access second-factor confirm");
    const { user } = await show();
    await user.click(screen.getByRole("button", { name: "Second factor of admin" }));
    await screen.findByText("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
    const picture = dialog().getByRole("img", { name: "QR code with the secret of admin" });
    // version 5 and above: 37 modules a side and a margin of 4 hold the link
    expect(Number(picture.getAttribute("viewBox")?.split(" ")[2])).toBeGreaterThanOrEqual(45);
    expect(dialog().getByRole("button", { name: "Turn on" })).toHaveProperty("disabled", true);
    await user.type(dialog().getByLabelText(/^Code/), "287082");
    await user.click(dialog().getByRole("button", { name: "Turn on" }));
    const codes = within(await screen.findByTestId("codes-shown"));
    expect(codes.getByText(/10000001/)).toBeDefined();
    expect(codes.getByRole("button", { name: "Close" })).toHaveProperty("disabled", true);
    await user.click(codes.getByLabelText("I have written them down"));
    await user.click(codes.getByRole("button", { name: "Close" }));
    await screen.findByText("admin signs in with a code from now on.");
    expect(started("access second-factor confirm")[0]?.input).toBe("287082\n");
});

test("a clock that is off is reported in the dialog", async () => {
    golden("access second-factor enroll");
    refuses("access second-factor confirm", "this code is of a clock that is 5 min ahead: the clock of this server shows 12:00:10 UTC");
    const { user } = await show();
    await user.click(screen.getByRole("button", { name: "Second factor of admin" }));
    await user.type(await dialog().findByLabelText(/^Code/), "287082");
    await user.click(dialog().getByRole("button", { name: "Turn on" }));
    await dialog().findByText(/5 min ahead/);
});

test("the log says who, from where and how it ended", async () => {
    await show();
    const log = within(screen.getByTestId("access-log"));
    expect(log.getByText("Not ended")).toBeDefined();
    expect(log.getByText("Failed (1)")).toBeDefined();
    expect(log.getByText("page")).toBeDefined();
});

test("an operator presses what operators may, and starts the program by sudo", async () => {
    setAdmin(false);
    golden("access who", "operator");
    render(<><AdminButton least="operator">Replace</AdminButton><AdminButton>Remove share</AdminButton></>);
    await waitFor(() => expect(screen.getByRole("button", { name: "Replace" }).getAttribute("aria-disabled")).not.toBe("true"));
    const user = userEvent.setup({ delay: null });
    await user.tab();
    await user.tab();
    await screen.findByText("This action is for administrators.");
    expect(screen.getByRole("button", { name: "Remove share" }).getAttribute("aria-disabled")).toBe("true");
});

test("an operator reads as root by sudo, without administrative access", async () => {
    setAdmin(false);
    golden("access who", "operator");
    await show();
    const [log] = started("access log");
    expect(log?.argv).toEqual(["sudo", "-n", "/usr/bin/millrace", "access", "log", "--json"]);
    expect(log?.options.superuser).toBeNull();
    expect(screen.getByRole("button", { name: "New person" }).getAttribute("aria-disabled")).toBe("true");
});

test("a viewer presses nothing and is told why", async () => {
    setAdmin(false);
    golden("access who", "viewer");
    render(<AdminButton least="operator">Replace</AdminButton>);
    const user = userEvent.setup({ delay: null });
    await waitFor(() => expect(started("access who")).toHaveLength(1));
    await user.tab();
    await screen.findByText("This action is for operators and administrators.");
});
