// SPDX-License-Identifier: Apache-2.0
import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";
import { reset } from "./mocks/cockpit";
import { forgetAnswers } from "../src/lib/answers";
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

// Milliseconds: a host that builds an image meanwhile is slow.
configure({ asyncUtilTimeout: 30_000 });

afterEach(() => {
    cleanup();
    reset();
    forgetAnswers();
    forgetPermission();
});
