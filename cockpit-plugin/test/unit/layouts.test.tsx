// SPDX-License-Identifier: Apache-2.0
/** The choice of a layout before approval. */
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { Layouts } from "../../src/pages/storage/Layouts";
import { golden } from "../documents";

test("capacity, safety and speed of each layout are shown, and the plan of another one is opened", async () => {
    golden("plan --layouts");
    const show = vi.fn();
    render(<Layouts shown="PROPOSED" onShow={show} />);
    const table = within(await screen.findByRole("grid", { name: "Possible layouts" }));
    const [, first, second] = table.getAllByRole("row").map(({ textContent }) => textContent.replaceAll("\u00a0", " "));
    for (const words of ["raid6 (proposed)", "61.4 TB", "2", "21 hours", "48 GB/s (drives, data sheet)", "shown"]) expect(first).toContain(words);
    for (const words of ["1 of each of 2 legs", "unreadable sector: 0.3 %", "unknown"]) expect(second).toContain(words);
    await userEvent.setup({ delay: null }).click(table.getByRole("button", { name: "Show the plan of raid50-2x5" }));
    expect(show).toHaveBeenCalledWith("raid50-2x5");
});

test("the way back to the proposed plan names no layout", async () => {
    golden("plan --layouts");
    const show = vi.fn();
    render(<Layouts shown="OTHER" onShow={show} />);
    await userEvent.setup({ delay: null }).click(await screen.findByRole("button", { name: "Show the plan of raid6" }));
    expect(show).toHaveBeenCalledWith(undefined);
});
