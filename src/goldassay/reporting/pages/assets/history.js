"use strict";
/* The list of runs: search, comparing what is ticked, and how far running runs are. */

(() => {
  const at = (id) => document.getElementById(id);
  const rows = [...document.querySelectorAll("#table tbody tr[data-key]")];
  const folders = [...document.querySelectorAll("#table [data-folder]")];
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

  function filter() {
    const words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const open = new Set(folders.filter((each) => each.getAttribute("aria-expanded") === "true").map((each) => each.dataset.folder));
    let left = 0;
    for (const row of rows) {
      const matches = words.every((word) => texts.get(row).includes(word));
      left += matches ? 1 : 0;
      row.hidden = !matches || (row.dataset.parent && !words.length && !open.has(row.dataset.parent));
    }
    at("count").textContent = `${left} of ${rows.length}`;
  }
  for (const button of folders) {
    button.addEventListener("click", () => { button.setAttribute("aria-expanded", String(button.getAttribute("aria-expanded") !== "true")); filter(); });
  }
  at("search").addEventListener("input", filter);
  filter();

  const ticks = [...document.querySelectorAll("#table input[type=checkbox]")];
  const button = at("compare");
  const ticked = () => ticks.filter((one) => one.checked).map((one) => one.value).reverse();
  const first = at("baseline");
  function count() {
    const chosen = first.value;
    first.replaceChildren(goldassay.make("option", { value: "" }, "the earliest"), ...ticked().map((key) => goldassay.make("option", { value: key }, key)));
    first.value = ticked().includes(chosen) ? chosen : "";
    button.disabled = ticked().length < 1;
    button.textContent = ticked().length > 1 ? `Compare ${ticked().length} runs` : "Compare";
  }
  if (button) {
    for (const one of ticks) one.addEventListener("change", count);
    button.addEventListener("click", () => {
      const keys = [...new Set([first.value, ...ticked()].filter(Boolean))];
      location.href = `report?${keys.map((key) => `run=${encodeURIComponent(key)}`).join("&")}`;
    });
    count();
  }

  const going = () => rows.filter((row) => row.dataset.status === "running");
  async function progress() {
    if (document.hidden) return;
    const answer = await fetch("progress", { cache: "no-store" });
    if (!answer.ok) return;
    const found = await answer.json();
    if (found.runs.length !== rows.length) { location.reload(); return; }
    for (const one of found.runs) {
      const row = rows.find((each) => each.dataset.key === one.key);
      if (!row || row.dataset.status !== one.status) { location.reload(); return; }
      const bar = row.querySelector("progress");
      if (bar) { bar.value = one.done; row.querySelector(".status .under").textContent = `${one.done} of ${one.examples}`; }
    }
  }
  if (button) setInterval(() => { progress().catch(() => {}); }, going().length ? 1000 : 4000);

  addEventListener("keydown", (event) => {
    if (/^(INPUT|SELECT)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey) return;
    if (event.key === "t") goldassay.toggle();
    if (event.key === "/") { at("search").focus(); event.preventDefault(); }
  });
})();
