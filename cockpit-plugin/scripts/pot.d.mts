// SPDX-License-Identifier: Apache-2.0
export interface Text { context: string; text: string; plural?: string; where?: string[] }
export interface Message { msgid: string; msgid_plural?: string; msgctxt?: string; msgstr: string[] }
export interface Catalogue { translations: Record<string, Record<string, Message>> }
export function texts(root: string): Text[];
export function drift(catalogue: Catalogue, wanted: Text[]): { missing: string[]; stale: string[] };
