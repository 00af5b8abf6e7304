// The search of the site works in a Worker, and browsers start none for pages that are opened as
// files. There a hidden frame takes its place: the same script, and messages as between threads.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inner = frame.contentWindow;
      inner.document.write("<!doctype html><title>worker</title>");
      inner.document.close();
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inner.importScripts = (...urls) => Promise.all(urls.map((each) => load(inner.document, each)));
      this.ready = load(inner.document, url);
      this.inner = inner;
    }

    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }
  };

  function load(into, url) {
    return new Promise((done, failed) => {
      const script = into.createElement("script");
      script.src = url;
      script.onload = done;
      script.onerror = failed;
      into.head.appendChild(script);
    });
  }
}
