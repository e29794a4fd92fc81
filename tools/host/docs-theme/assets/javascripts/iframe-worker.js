// SPDX-License-Identifier: Apache-2.0
// Browsers start no worker from a file: the search of the theme runs in a frame then, with the interface of a worker.
if (location.protocol === "file:") {
    window.IFrameWorker = class extends EventTarget {
        constructor(url) {
            super();
            this.frame = document.createElement("iframe");
            this.frame.hidden = true;
            this.frame.answer = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
            this.ready = new Promise((resolve) => this.frame.addEventListener("load", resolve));
            this.frame.srcdoc =
                "<script>postMessage = (data) => frameElement.answer(data);</script>" + `<script src="${url}"></script>`;
            document.body.append(this.frame);
        }

        async postMessage(data) {
            await this.ready;
            this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
        }
    };
    window.Worker = window.IFrameWorker;
}
