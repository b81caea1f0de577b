/* The server, and the records that are already here. A request is repeated until the server answers, or its disk has
   room again; what it refuses, and a fault in it (500), is shown. A decision carries an id of its own, so that a
   repeated one is written once. */

const PAUSES = [200, 500, 1000, 2000, 4000];
const AHEAD = 6;
const NEVER = new Promise(() => {}); /* after the end nobody is asked, and an answer under way finds no page to be shown on */
const BREAK = 10 * 60 * 1000; /* after ten minutes without a decision a new sitting begins */

/* The server understood and refused: its line is for the person. */
export class Refusal extends Error {
  constructor(status, answer) {
    super(answer.error ?? `the server answered ${status}`);
    this.status = status;
    this.answer = answer;
  }
}

const pause = (milliseconds) => new Promise((done) => { setTimeout(done, milliseconds); });

export class Server {
  constructor(onWaiting) {
    this.onWaiting = onWaiting;
    this.who = new URLSearchParams(location.search).get("who") ?? localStorage.getItem("goldassay-reviewer");
    this.sitting = sessionStorage.getItem("goldassay-sitting") ?? this.newSitting();
    this.decided = Date.now();
    this.records = new Map();
  }

  newSitting() {
    const id = crypto.randomUUID();
    sessionStorage.setItem("goldassay-sitting", id);
    return id;
  }

  async ask(path, method = "GET", body = undefined) {
    const query = new URLSearchParams({ ...(this.who ? { who: this.who } : {}), sitting: this.sitting });
    const address = `${path}${path.includes("?") ? "&" : "?"}${query}`;
    const headers = body === undefined ? {} : { "Content-Type": "application/json" };
    for (let attempt = 0; ; attempt += 1) {
      let answer = null;
      if (this.ended) await NEVER;
      try { answer = await fetch(address, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) }); } catch { /* asked again */ }
      const content = await answer?.json().catch(() => null);
      if (this.ended) await NEVER;
      if (answer?.ok && content !== null) {
        if (attempt) this.onWaiting(false);
        return content;
      }
      if (answer && !answer.ok && answer.status <= 500) throw new Refusal(answer.status, content ?? {});
      this.onWaiting(true, content?.error);
      await pause(PAUSES[Math.min(attempt, PAUSES.length - 1)]);
    }
  }

  /* A decision is written on disk when this returns. */
  async decide(decision) {
    if (Date.now() - this.decided > BREAK) this.sitting = this.newSitting();
    const answer = await this.ask("decisions", "POST", { decision: crypto.randomUUID(), ...decision });
    this.decided = Date.now();
    return answer;
  }

  async load(items) {
    const missing = items.filter((item) => !this.records.has(item)).slice(0, AHEAD);
    if (!missing.length) return;
    const request = this.ask("records", "POST", { items: missing });
    for (const [place, item] of missing.entries()) this.records.set(item, request.then((answer) => answer.records[place]));
    try { await request; } catch (error) {
      for (const item of missing) this.records.delete(item);
      throw error;
    }
  }

  /* Asked for again if what was fetched is forgotten meanwhile, because modes changed. */
  async record(item) {
    while (!this.records.has(item)) await this.load([item]);
    return this.records.get(item);
  }
}
