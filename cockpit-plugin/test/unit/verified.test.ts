// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { servedState } from "../../src/pages/shares/verified";
import type { Share, ShareVerification } from "../../src/types/millrace";

const share = { networks: ["10.0.0.0/24"], smb: null, direct: null, obstacle: null } as unknown as Share;

function state(result: Partial<ShareVerification>) {
    const whole = { name: "data", seen: [], problem: null, files: [], ...result };
    return servedState(share, { result: whole, at: "2026-11-20T12:00:00+00:00" });
}

test("names that SMB clients cannot use are a warning of a share that is served", () => {
    expect(state({}).level).toBe("OK");
    const warned = state({ files: ["names that are not UTF-8 are not visible over SMB (1): x"] });
    expect(warned.level).toBe("WARN");
    expect(warned.why).toContain("not UTF-8");
    expect(state({ problem: "SMB fails", files: ["x"] }).level).toBe("FAIL");
});
