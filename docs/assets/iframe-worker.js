// A browser starts no worker for a page that was opened from disk, so the search would be dead there.
// This stands in for it: the worker's script runs in a hidden frame of the page.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      const inside = frame.contentWindow
      const load = address => new Promise((done, failed) => {
        const script = inside.document.createElement("script")
        script.src = address
        script.onload = done
        script.onerror = failed
        inside.document.head.appendChild(script)
      })
      inside.importScripts = (...addresses) => addresses.reduce((before, one) => before.then(() => load(one)), Promise.resolve())
      inside.postMessage = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      inside.__index = window.__index
      this.inside = inside
      this.ready = load(new URL(url, location.href).href)
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })))
    }

    terminate() {
      this.inside.frameElement.remove()
    }
  }
}
