// SPDX-License-Identifier: Apache-2.0
import { cleanup } from "@testing-library/react";
import { afterEach } from "vitest";
import { reset } from "./mocks/cockpit";
import { forgetPermission } from "../src/lib/permission";

// jsdom has no media queries.
window.matchMedia = (query: string) => ({
    matches: false,
    media: query,
    onchange: null,
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
    addListener: () => undefined,
    removeListener: () => undefined,
    dispatchEvent: () => false,
});

afterEach(() => {
    cleanup();
    reset();
    forgetPermission();
});
