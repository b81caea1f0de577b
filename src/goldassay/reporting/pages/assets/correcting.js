"use strict";
/* Drafted gold, a record at a time: what is decided is saved in the browser under the key of the drafts. */

(async () => {
  const { outputs, records } = JSON.parse(await goldassay.unpack("drafts"));
  const store = `goldassay-drafts-${document.getElementById("main").dataset.key}`;
  const place = document.getElementById("record");
  const hidden = ["meta", "split", "language", "document"];
  let decided = {};
  let at = 0;
  try { decided = JSON.parse(localStorage.getItem(store)) || {}; } catch { /* a file may have no storage */ }

  const shown = (value) => typeof value === "string" ? value : JSON.stringify(value, null, 1);
  const current = (record, name) => decided[record.id]?.values?.[name] ?? record[name];

  function save() {
    try { localStorage.setItem(store, JSON.stringify(decided)); } catch { /* the export still has it */ }
    const done = records.filter((record) => decided[record.id]?.status);
    document.getElementById("progress").textContent = `${done.length} of ${records.length} decided`;
  }

  /* The values of the fields; null if a field that held JSON holds none now. */
  function values(record) {
    const read = {};
    for (const field of place.querySelectorAll("textarea")) {
      const text = field.value.trim();
      field.setCustomValidity("");
      if (record[field.name] === undefined && !text) continue;
      if (typeof (record[field.name] ?? "") === "string") { read[field.name] = text; continue; }
      try { read[field.name] = JSON.parse(text); } catch (error) {
        field.setCustomValidity(`not JSON: ${error.message}`);
        field.reportValidity();
        return null;
      }
    }
    return read;
  }

  function show() {
    const record = records[at];
    const { make } = goldassay;
    const inputs = Object.entries(record).filter(([name]) => ![...outputs, ...hidden, "id"].includes(name));
    const others = Object.entries(record.meta?.other_answers ?? {});
    place.replaceChildren(
      make("h2", {}, `${at + 1} of ${records.length}: ${record.id} `, make("span", { class: "quiet", id: "state" }, decided[record.id]?.status ?? "open")),
      ...inputs.map(([name, value]) => [make("h3", {}, name), make("pre", {}, shown(value))]).flat(),
      ...outputs.map((name) => make("label", { class: "correct" }, name,
        make("textarea", { name, rows: Math.min(12, shown(current(record, name) ?? "").split("\n").length + 1), spellcheck: "false" }, shown(current(record, name) ?? "")))),
      make("p", { class: "quiet" }, `Suggested by ${(record.meta?.suggested_by ?? []).join(", ")}.`),
      ...others.map(([name, answer]) => make("p", {}, `${name}: `, make("code", {}, shown(answer)))),
    );
    save();
    goldassay.reach();
  }

  function go(step) {
    at = Math.max(0, Math.min(records.length - 1, at + step));
    show();
  }
  function decide(status) {
    const record = records[at];
    const read = values(record);
    if (status !== "skipped" && read === null) return;
    const changed = outputs.some((name) => JSON.stringify(read?.[name]) !== JSON.stringify(record[name]));
    decided[record.id] = status === "skipped" ? { status } : { status: changed ? "edited" : "accepted", values: read };
    if (at < records.length - 1) go(1); else show();
  }
  function edit() { place.querySelector("textarea")?.focus(); }

  const actions = { j: () => go(1), k: () => go(-1), a: () => decide("accepted"), e: edit, s: () => decide("skipped") };
  const buttons = { next: "j", previous: "k", accept: "a", edit: "e", skip: "s" };
  for (const [id, key] of Object.entries(buttons)) document.getElementById(id).addEventListener("click", actions[key]);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("textarea")) { if (event.key === "Escape") event.target.blur(); return; }
    if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
  });
  document.getElementById("export").addEventListener("click", () => {
    const lines = records.filter((record) => decided[record.id]?.values)
      .map((record) => `${JSON.stringify({ ...record, ...decided[record.id].values })}\n`);
    const link = goldassay.make("a", { href: URL.createObjectURL(new Blob(lines, { type: "application/jsonl" })), download: "gold.jsonl" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  show();
  document.documentElement.dataset.ready = "yes";
})();
