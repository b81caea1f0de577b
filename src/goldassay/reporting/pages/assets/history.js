"use strict";
/* The list of runs: search, comparing what is ticked, and how far running runs are. */

(() => {
  const at = (id) => document.getElementById(id);
  const rows = [...document.querySelectorAll("#table tbody tr")];
  const texts = new Map(rows.map((row) => [row, row.innerText.toLowerCase()]));

  function filter() {
    const words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const row of rows) {
      row.hidden = !words.every((word) => texts.get(row).includes(word));
      left += row.hidden ? 0 : 1;
    }
    at("count").textContent = `${left} of ${rows.length}`;
  }
  at("search").addEventListener("input", filter);
  filter();

  const ticks = [...document.querySelectorAll("#table input[type=checkbox]")];
  const button = at("compare");
  const ticked = () => ticks.filter((one) => one.checked).map((one) => one.value).reverse();
  function count() {
    button.disabled = ticked().length < 1;
    button.textContent = ticked().length > 1 ? `Compare ${ticked().length} runs` : "Compare";
  }
  if (button) {
    for (const one of ticks) one.addEventListener("change", count);
    button.addEventListener("click", () => {
      location.href = `report?${ticked().map((key) => `run=${encodeURIComponent(key)}`).join("&")}`;
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
