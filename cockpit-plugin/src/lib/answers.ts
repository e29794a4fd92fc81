// SPDX-License-Identifier: Apache-2.0
/**
 * Questions to the program without starting it for each: `millrace answer` runs verbs by the line, and most of what a short
 * verb takes is its start. Where that process cannot be had, each question starts the program.
 */
import { lines, started } from "./program";

type Done = (stdout: string) => void;
type Failed = (error: cockpit.ProcessError, stdout?: string) => void;

/** A verb that was asked for; as `cockpit.spawn()`, as far as a question needs it. */
export interface Question {
    then(done: Done, failed: Failed): void;
    close(problem: string): void;
}

interface Waiting {
    words: string[];
    done: Done;
    failed: Failed;
    /** The program that was started for it alone. */
    alone: cockpit.Spawn | undefined;
}

interface Answer { id: number; status: number | null; signal: string | null; out: string; err: string }

/** Seconds until it is tried again to have one. */
const RETRY_SECONDS = 30;

/** One `millrace answer`, with or without root's rights, while the page is open. */
class Answerer {
    private process: cockpit.Spawn | undefined;
    private readonly waiting = new Map<number, Waiting>();
    private last = 0;
    private notBefore = 0;

    constructor(private readonly admin: boolean) {}

    ask(words: string[]): Question {
        const id = ++this.last;
        const one: Waiting = { words, done: () => undefined, failed: () => undefined, alone: undefined };
        return {
            then: (done, failed) => {
                Object.assign(one, { done, failed });
                this.waiting.set(id, one);
                if (this.process === undefined && performance.now() >= this.notBefore) this.start();
                if (this.process === undefined) this.startAlone(id, one);
                else this.say({ id, words });
            },
            close: (problem) => {
                if (one.alone !== undefined) { one.alone.close(problem); return; }
                if (!this.waiting.delete(id)) return;
                this.say({ stop: id });
                // Perhaps it is not the verb that hangs: who else waits is answered without it.
                if (problem === "timeout") this.process?.close(problem);
                one.failed({ message: problem, problem, exit_status: null, exit_signal: null });
            },
        };
    }

    private start(): void {
        const process = started(["answer"], this.admin);
        this.process = process;
        process.stream((text) => lines(text, (line) => this.answered(line)));
        const over = () => this.ended();
        process.then(over, over);
    }

    private say(question: object): void {
        this.process?.input(`${JSON.stringify(question)}\n`, true);
    }

    private answered(line: string): void {
        let answer: Answer;
        try {
            answer = JSON.parse(line) as Answer;
        } catch {
            this.process?.close("garbage");
            return;
        }
        const { id, status, signal, out, err } = answer;
        const one = this.waiting.get(id);
        if (one === undefined) return;
        this.waiting.delete(id);
        if (status === 0) one.done(out);
        else one.failed({ message: err, problem: null, exit_status: status, exit_signal: signal }, out);
    }

    /** What it did not answer is asked without it. */
    private ended(): void {
        this.process = undefined;
        this.notBefore = performance.now() + RETRY_SECONDS * 1000;
        for (const [id, one] of this.waiting) this.startAlone(id, one);
    }

    private startAlone(id: number, one: Waiting): void {
        this.waiting.delete(id);
        one.alone = started(one.words, this.admin);
        one.alone.then(one.done, one.failed);
        one.alone.input("");
    }
}

let asRoot = new Answerer(true);
let asUser = new Answerer(false);

/** Ask for `millrace WORDS`, as root or as who signed in. */
export function asked(words: string[], admin: boolean): Question {
    return (admin ? asRoot : asUser).ask(words);
}

export function forgetAnswers(): void {
    asRoot = new Answerer(true);
    asUser = new Answerer(false);
}
