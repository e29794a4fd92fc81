// SPDX-License-Identifier: Apache-2.0
/** Blank drives prove themselves before they become members: begun, followed and stopped on the page, with the result beside them. */
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import { catalogues } from "../../scripts/po.mjs";
import { App } from "../../src/app";
import type { DriveRow, DriveTest, DriveTestProgress } from "../../src/types/millrace";
import { golden, serverIs } from "../golden";
import { does, open, refuses, says, setAdmin, started, type Call } from "../mocks/cockpit";

const [ONE, TWO, PASSED, FAILED, QUICK, LEFT, NEW] = ["01", "02", "03", "04", "05", "06", "07"].map((number) => `MRD000000000${number}`) as
    [string, string, string, string, string, string, string];
const BLANKS = golden("1u12-blank", "drive list").drives.filter(({ actions }) => actions.includes("test")).map(({ serial }) => serial);

beforeEach(() => open(["storage"]));

const row = async (serial: string) => {
    const list = within(await screen.findByTestId("drives-list"));
    return list.getAllByRole("row").find(({ textContent }) => textContent.includes(serial)) ?? document.body;
};
const dialogFor = async (serial: string) => {
    await userEvent.click(within(await row(serial)).getByRole("button", { name: `Test drive ${serial}` }));
    return within(await screen.findByRole("dialog", { name: `Test the drive ${serial}?` }));
};
const drives = (change: (one: DriveRow) => DriveRow) =>
    says("drive list", { schema_version: 1, drives: golden("1u12-blank", "drive list").drives.map(change) });

function tested(serial: string, of: Partial<DriveTest> = {}): DriveTest {
    const test = golden("1u12-testing", "drive list").drives.find((one) => one.serial === PASSED)?.test;
    if (!test) throw new Error("the golden document has a test");
    return { ...test, serial, ...of };
}

function progress(serial: string): DriveTestProgress {
    return { schema_version: 1, serial, what: "writing", done: 1, total: 3, bytes_per_second: 1_000_000_000, seconds_left: 7200 };
}

test("a test under way has its phase, percent, rate, time left and temperature, and no second one is offered", async () => {
    serverIs("1u12-testing");
    render(<App />);
    const running = (await row(ONE)).textContent;
    for (const words of ["being tested", "Reading test data back", "50%", "1.2\u00a0GB/s", "3 hours left", "40 °C"]) expect(running).toContain(words);
    expect(running).not.toContain("state unknown");
    // begun, and not yet known how far
    const begun = await row(TWO);
    expect(begun.textContent).toContain("time left unknown");
    expect(within(begun).queryByRole("progressbar", { name: "Writing test data" })?.getAttribute("aria-valuenow") ?? null).toBeNull();
    expect(screen.queryByRole("button", { name: /^Test drive/ })).toBeNull();
    expect(screen.queryByRole("button", { name: "Test blank drives…" })).toBeNull();
    expect(screen.getByRole("button", { name: "Stop tests…" })).toBeTruthy();
});

test("the last result stands beside its drive: when it passed, and why it failed", async () => {
    serverIs("1u12-testing");
    render(<App />);
    const passed = await row(PASSED);
    expect(passed.textContent).toMatch(/passed full test, Nov 20, 2026/);
    expect(passed.textContent).toContain("one request took 1.4 s");
    expect(passed.querySelector("[data-level=OK]")?.textContent).toContain("blank");
    const failed = await row(FAILED);
    expect(failed.textContent).toContain("failed its test");
    // once, not in two cells
    expect(failed.textContent.match(/the drive returns at byte 1048576/g)).toHaveLength(1);
    expect(failed.querySelector("[data-level=FAIL]")?.textContent).toBe("failed");
    expect((await row(QUICK)).textContent).toContain("stopped quick test");
    expect((await row(LEFT)).textContent).toContain("test was cancelled; test it again or erase it");
    expect((await row(NEW)).textContent).not.toMatch(/passed|failed|stopped/);
});

test("a test that was recorded as running before a restart is interrupted", async () => {
    serverIs("1u12-blank");
    drives((one) => (one.serial === NEW ? { ...one, test: tested(NEW, { state: "running", ended: null }) } : one));
    render(<App />);
    expect((await row(NEW)).textContent).toContain("interrupted");
});

test("a blank drive is tested after the dialog said what is written to it, and the dialog ends when the test begins", async () => {
    serverIs("1u12-blank");
    let testing: Call | undefined;
    does("drive test", (call) => { testing = call; });
    render(<App />);
    const dialog = await dialogFor(NEW);
    expect(dialog.getByText(/Test data is written to this drive and read back/)).toBeTruthy();
    expect(dialog.getByRole("list", { name: "Drives to be tested" }).textContent).toMatch(new RegExp(`${NEW}.*7.68\\sTB, bay 7`));
    expect(dialog.getByText(/Expected duration: 6 hours/)).toBeTruthy();
    expect(started("drive test")).toHaveLength(0);
    await userEvent.click(dialog.getByRole("button", { name: "Test drive" }));
    await waitFor(() => expect(testing).toBeDefined());
    expect(testing?.argv).toEqual(["millrace", "drive", "test", NEW, "--yes", "--json"]);
    expect(testing?.options.superuser).toBe("require");
    expect(screen.getByRole("dialog")).toBeTruthy();

    drives((one) => (one.serial === NEW ? { ...one, verdict: "unknown", what: "is being tested", actions: [], testing: progress(NEW) } : one));
    testing?.print(`${JSON.stringify(progress(NEW))}\n`);
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    // it goes on without the process that began it
    await waitFor(() => expect(testing?.closed).toBe("cancelled"));
    await waitFor(async () => expect((await row(NEW)).textContent).toContain("Writing test data"));
});

test("all blank drives are tested by one order, as a sample where that is chosen", async () => {
    serverIs("1u12-blank");
    does("drive test", (call) => call.end(`${JSON.stringify(tested(NEW, { scope: "quick" }))}\n`));
    render(<App />);
    await userEvent.click(await screen.findByRole("button", { name: "Test blank drives…" }));
    const dialog = within(await screen.findByRole("dialog", { name: `Test ${BLANKS.length} drives?` }));
    expect(dialog.getByText(/Test data is written to these drives/)).toBeTruthy();
    await userEvent.click(dialog.getByRole("radio", { name: /Quick test/ }));
    await userEvent.click(dialog.getByRole("button", { name: "Test drives" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(started("drive test")[0]?.argv).toEqual(["millrace", "drive", "test", ...BLANKS, "--yes", "--quick", "--json"]);
});

test("what a test left that did not end is tested as a whole only", async () => {
    serverIs("1u12-blank");
    const what = "test was interrupted; test it again or erase it";
    drives((one) => (one.serial === NEW ? { ...one, verdict: "unknown", what } : one));
    render(<App />);
    const dialog = await dialogFor(NEW);
    expect(dialog.getByRole<HTMLInputElement>("radio", { name: /Quick test/ }).disabled).toBe(true);
    expect(dialog.getByText("Not possible: the last test left data on the drive.")).toBeTruthy();
});

test("a test that is refused because another job writes to drives leaves the dialog with the sentence", async () => {
    serverIs("1u12-blank");
    const sentence = "returned members are being re-added; `millrace pool show` shows their progress";
    refuses("drive test", sentence);
    render(<App />);
    const dialog = await dialogFor(NEW);
    await userEvent.click(dialog.getByRole("button", { name: "Test drive" }));
    expect((await dialog.findByTestId("error")).textContent).toContain(sentence);
    expect(dialog.getByRole<HTMLButtonElement>("button", { name: "Test drive" }).disabled).toBe(false);
});

test("the tests are stopped after a confirmation, and the dialog says which drives are blank", async () => {
    serverIs("1u12-testing");
    let stopping: Call | undefined;
    does("drive test --cancel", (call) => { stopping = call; });
    render(<App />);
    await userEvent.click(await screen.findByRole("button", { name: "Stop tests…" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Stop the tests?" }));
    expect(dialog.getByText(new RegExp(`end without a result: ${ONE}, ${TWO}`))).toBeTruthy();
    await userEvent.click(dialog.getByRole("button", { name: "Stop tests" }));
    await waitFor(() => expect(stopping).toBeDefined());
    expect(stopping?.argv).toEqual(["millrace", "drive", "test", "--cancel", "--json"]);
    expect(stopping?.options.superuser).toBe("require");
    const asked = started("drive list").length;
    stopping?.end(JSON.stringify({
        schema_version: 1, tests: [tested(ONE, { state: "cancelled", blank: true }), tested(TWO, { state: "cancelled", blank: false })],
    }));
    const ended = within(await screen.findByRole("dialog", { name: "The tests are stopped" }));
    expect(ended.getByText(`Drive ${ONE}: stopped. The drive is blank.`)).toBeTruthy();
    expect(ended.getByText(`Drive ${TWO}: stopped. The drive is not blank: test it again or erase it.`)).toBeTruthy();
    await waitFor(() => expect(started("drive list").length).toBeGreaterThan(asked));
});

test("a stop that is refused says why", async () => {
    serverIs("1u12-testing");
    refuses("drive test --cancel", "no drive is being tested; how the last tests ended: millrace drive show SERIAL");
    render(<App />);
    await userEvent.click(await screen.findByRole("button", { name: "Stop tests…" }));
    await userEvent.click(await screen.findByRole("button", { name: "Stop tests" }));
    expect((await screen.findByTestId("error")).textContent).toContain("no drive is being tested");
});

test("with limited access tests are seen, and neither begun nor stopped", async () => {
    setAdmin(false);
    serverIs("1u12-testing");
    const first = render(<App />);
    const stop = await screen.findByRole("button", { name: "Stop tests…" });
    expect(stop.getAttribute("aria-disabled")).toBe("true");
    await userEvent.click(stop);
    expect(screen.queryByRole("dialog")).toBeNull();
    expect((await row(ONE)).textContent).toContain("50%");
    first.unmount();

    serverIs("1u12-blank");
    render(<App />);
    const button = within(await row(NEW)).getByRole("button", { name: `Test drive ${NEW}` });
    expect(button.getAttribute("aria-disabled")).toBe("true");
    await userEvent.click(button);
    expect(screen.queryByRole("dialog")).toBeNull();
});

test("a pool whose drives are all in use has neither a column nor a button for tests", async () => {
    serverIs("1u12-provisioned");
    render(<App />);
    const list = within(await screen.findByTestId("drives-list"));
    expect(list.getByRole("columnheader", { name: "State" })).toBeTruthy();
    expect(list.queryByRole("columnheader", { name: "Test" })).toBeNull();
    expect(screen.queryByRole("button", { name: /^Test/ })).toBeNull();
});

test("tests are one of the running jobs on the overview", async () => {
    serverIs("1u12-testing");
    open([]);
    render(<App />);
    const jobs = await screen.findByTestId("jobs");
    await waitFor(() => expect(jobs.textContent).toContain(`Test of drives: drive ${ONE}: reading back`));
});

test("tests are shown and confirmed in German", async () => {
    serverIs("1u12-testing");
    new Function("cockpit", new Map(catalogues("po")).get("po.de.js") ?? "")(cockpit);
    const first = render(<App />);
    const running = (await row(ONE)).textContent;
    for (const words of ["wird getestet", "Testdaten werden zurückgelesen"]) expect(running).toContain(words);
    expect((await row(PASSED)).textContent).toContain("bestanden");
    expect((await row(FAILED)).textContent).toContain("Test nicht bestanden");
    await userEvent.click(screen.getByRole("button", { name: "Tests anhalten …" }));
    await screen.findByRole("dialog", { name: "Die Tests anhalten?" });
    first.unmount();

    serverIs("1u12-blank");
    render(<App />);
    await userEvent.click(within(await row(NEW)).getByRole("button", { name: `Laufwerk ${NEW} testen` }));
    const dialog = within(await screen.findByRole("dialog", { name: `Das Laufwerk ${NEW} testen?` }));
    expect(dialog.getByText(/Testdaten werden auf dieses Laufwerk geschrieben/)).toBeTruthy();
    expect(dialog.getByRole("radio", { name: /Schnelltest/ })).toBeTruthy();
});
