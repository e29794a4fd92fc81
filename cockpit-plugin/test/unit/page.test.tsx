// SPDX-License-Identifier: Apache-2.0
/** A page that is loaded when it is opened: shown when it is there, and an error that leads back where it is not. */
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Suspense } from "react";
import { expect, test, vi } from "vitest";
import { Boundary } from "../../src/components/Boundary";
import { page } from "../../src/lib/page";

function show(load: () => Promise<{ default: () => null | string }>): void {
    const Shown = page(load);
    render(<Boundary><Suspense fallback="still loading"><Shown /></Suspense></Boundary>);
}

test("a page is shown when it has been loaded", async () => {
    show(() => Promise.resolve({ default: () => "the page itself" }));
    expect(screen.getByText("still loading")).toBeDefined();
    expect(await screen.findByText("the page itself")).toBeDefined();
});

test("a page that cannot be loaded says so, and the pages are loaded again", async () => {
    const reload = vi.fn();
    vi.stubGlobal("location", { ...window.location, reload });
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    show(() => Promise.reject(new Error("Failed to fetch dynamically imported module")));
    expect(await screen.findByText("This page could not be loaded.")).toBeDefined();
    await userEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(reload).toHaveBeenCalledOnce();
    vi.unstubAllGlobals();
});
