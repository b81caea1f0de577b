"use strict";
/* The list of examples: only what is on the screen is drawn, only what is looked at is unpacked. */

(async () => {
  const list = document.getElementById("list");
  if (!list) return;
  const make = goldassay.make;
  const at = (id) => document.getElementById(id);
  const HEIGHT = 56;
  const index = JSON.parse(await goldassay.unpack("index-data"));
  const n = index.ids.length;
  const runs = index.scores.length;
  const names = at("which") ? [...at("which").options].map((one) => one.textContent) : [""];
  const place = new Map(index.ids.map((id, number) => [id, number]));
  const state = { show: "all", type: "", sort: "order", search: "", strata: {}, found: null };
  const space = make("div", { class: "space" });
  list.append(space);
  let shown = [];
  let picked = -1;

  /* Whole examples, a hundred at a time; the last few chunks stay. */
  const chunks = new Map();
  async function example(number) {
    const chunk = Math.floor(number / index.chunk);
    if (!chunks.has(chunk)) {
      if (chunks.size > 20) chunks.delete(chunks.keys().next().value);
      chunks.set(chunk, goldassay.unpack(`rows-${chunk}`).then((text) => text.split("\n")));
    }
    return JSON.parse((await chunks.get(chunk))[number % index.chunk]);
  }

  const texts = [];
  async function search(words) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const found = new Set();
    for (let part = 0; part * index.texts < n; part += 1) {
      texts[part] ??= goldassay.unpack(`texts-${part}`).then((text) => text.split("\n"));
      const lines = await texts[part];
      if (words !== state.search) return null;
      lines.forEach((line, offset) => { if (wanted.every((word) => line.includes(word))) found.add(part * index.texts + offset); });
    }
    return found;
  }

  const which = () => Math.min(runs - 1, Number(at("which")?.value ?? runs - 1));
  const gain = (number) => index.scores[which()][number] - index.scores[0][number];
  const tests = {
    all: () => true,
    wrong: (number) => index.wrong[which()][number] === 1,
    right: (number) => index.wrong[which()][number] === 0,
    failed: (number) => index.failed[which()][number] === 1,
    different: (number) => index.different[number] === 1,
    won: (number) => gain(number) > 1e-9,
    lost: (number) => gain(number) < -1e-9,
  };
  const orders = {
    low: (a, b) => index.scores[which()][a] - index.scores[which()][b],
    high: (a, b) => index.scores[which()][b] - index.scores[which()][a],
    gain: (a, b) => gain(b) - gain(a),
    loss: (a, b) => gain(a) - gain(b),
    slow: (a, b) => index.seconds[which()][b] - index.seconds[which()][a],
    tokens: (a, b) => index.tokens[which()][b] - index.tokens[which()][a],
  };

  function filter() {
    const type = state.type === "" ? -1 : Number(state.type);
    const strata = Object.entries(state.strata).filter(([, value]) => value !== "").map(([name, value]) => [index.strata[name], Number(value)]);
    shown = [];
    for (let number = 0; number < n; number += 1) {
      if (!tests[state.show](number)) continue;
      if (type >= 0 && !index.types[number].includes(type)) continue;
      if (strata.some(([column, key]) => column[number] !== key)) continue;
      if (state.found && !state.found.has(number)) continue;
      shown.push(number);
    }
    if (orders[state.sort]) shown.sort((a, b) => orders[state.sort](a, b) || a - b);
    at("count").textContent = `${shown.length.toLocaleString("en")} of ${n.toLocaleString("en")}`;
    for (const button of document.querySelectorAll("[data-show]")) button.setAttribute("aria-pressed", String(button.dataset.show === state.show));
    space.style.height = `${shown.length * HEIGHT}px`;
    draw(true);
  }

  function flag(number) {
    const own = which();
    if (index.failed[own][number]) return make("span", { class: "flag" }, "failed");
    if (index.wrong[own][number]) return make("span", { class: "flag" }, "wrong");
    return make("span", { class: "flag ok" }, "✓");
  }

  const drawn = new Map();
  function draw(fresh) {
    if (fresh) { space.replaceChildren(); drawn.clear(); }
    const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - 4);
    const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / HEIGHT) + 4);
    for (const [row, element] of drawn) if (row < first || row >= last) { element.remove(); drawn.delete(row); }
    for (let row = first; row < last; row += 1) {
      if (drawn.has(row)) continue;
      const number = shown[row];
      const element = make("div", { class: "item", role: "option", id: `item-${number}`, "aria-selected": String(number === picked), "aria-setsize": shown.length, "aria-posinset": row + 1 },
        make("div", { class: "line" }, make("b", { dir: "auto" }, index.ids[number]), flag(number),
          make("span", { class: "num" }, index.scores.map((column) => column[number].toFixed(2)).join(" → "))),
        make("div", { class: "words", dir: "auto" }, index.words[number]));
      element.style.top = `${row * HEIGHT}px`;
      element.addEventListener("click", () => pick(number));
      drawn.set(row, element);
      space.append(element);
    }
  }
  list.addEventListener("scroll", () => requestAnimationFrame(() => draw(false)), { passive: true });
  addEventListener("resize", () => draw(false));

  async function pick(number, silent) {
    picked = number;
    const row = shown.indexOf(number);
    if (row >= 0) {
      const top = row * HEIGHT;
      if (top < list.scrollTop) list.scrollTop = top;
      else if (top + HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + HEIGHT - list.clientHeight;
    }
    draw(true);
    list.setAttribute("aria-activedescendant", `item-${number}`);
    const open = at("detail").querySelector("details.calls")?.open;
    const one = await example(number);
    if (picked !== number) return;
    at("detail").replaceChildren(goldassay.render(one, names));
    at("detail").scrollTop = 0;
    if (open) for (const each of at("detail").querySelectorAll("details.calls")) each.open = true;
    if (!silent) at("detail").setAttribute("aria-live", "polite"); /* what opened by itself is not read out */
    if (!silent) history.replaceState(null, "", `#example=${encodeURIComponent(index.ids[number])}`);
  }

  function step(by) {
    if (!shown.length) return;
    const row = shown.indexOf(picked);
    pick(shown[row < 0 ? (by > 0 ? 0 : shown.length - 1) : Math.max(0, Math.min(shown.length - 1, row + by))]);
  }

  function follow() {
    const found = /^#example=(.*)$/.exec(location.hash);
    if (!found) return;
    let id = found[1];
    try { id = decodeURIComponent(id); } catch { /* as it stands */ }
    const number = place.get(id);
    if (number === undefined) return;
    if (!shown.includes(number)) reset();
    at("examples").scrollIntoView();
    pick(number, true);
  }

  function reset() {
    Object.assign(state, { show: "all", type: "", sort: "order", search: "", found: null });
    for (const name of Object.keys(state.strata)) state.strata[name] = "";
    at("filters").reset();
    filter();
  }

  /* Filters */
  const some = index.type_names.map((name, number) => [name, number]).sort((a, b) => a[0].localeCompare(b[0]));
  for (const [name, number] of some) at("type").append(make("option", { value: number }, name.replaceAll("_", " ")));
  at("type").closest("label").hidden = !some.length;
  for (const [name, keys] of Object.entries(index.strata_names)) {
    if (keys.length < 2 || keys.length > 200) continue;
    state.strata[name] = "";
    const select = make("select", { "data-facet": name }, make("option", { value: "" }, "any"), keys.map((key, number) => make("option", { value: number }, key)));
    select.addEventListener("change", () => { state.strata[name] = select.value; filter(); });
    at("strata").append(make("label", {}, `${name.replaceAll("_", " ")} `, select), " ");
  }
  for (const button of document.querySelectorAll("[data-show]")) button.addEventListener("click", () => { state.show = button.dataset.show; filter(); });
  at("type").addEventListener("change", () => { state.type = at("type").value; filter(); });
  at("sort").addEventListener("change", () => { state.sort = at("sort").value; filter(); });
  at("which")?.addEventListener("change", filter);
  at("clear").addEventListener("click", reset);
  at("filters").addEventListener("submit", (event) => event.preventDefault());
  let waiting = 0;
  at("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      state.search = at("search").value.trim();
      at("count").textContent = "searching …";
      const found = state.search ? await search(state.search) : null;
      if (state.search && found === null) return;
      state.found = found;
      list.scrollTop = 0;
      filter();
    }, 120);
  });
  for (const button of document.querySelectorAll("[data-filter]")) {
    button.addEventListener("click", () => {
      reset();
      at("which").value = button.dataset.run;
      state.show = button.dataset.filter;
      filter();
      at("examples").scrollIntoView();
    });
  }
  for (const button of document.querySelectorAll("[data-type]")) {
    const number = index.type_names.indexOf(button.dataset.type);
    if (number < 0) button.replaceWith(button.dataset.type);
    else button.addEventListener("click", () => {
      reset();
      at("type").value = String(number);
      at("type").dispatchEvent(new Event("change"));
      at("examples").scrollIntoView();
    });
  }
  for (const button of document.querySelectorAll("[data-stratum]")) {
    button.addEventListener("click", () => {
      const select = [...document.querySelectorAll("[data-facet]")].find((one) => one.dataset.facet === button.dataset.stratum);
      if (!select) return;
      reset();
      select.value = String(index.strata_names[button.dataset.stratum].indexOf(button.dataset.key));
      select.dispatchEvent(new Event("change"));
      at("examples").scrollIntoView();
    });
  }

  /* Keys */
  const help = at("help");
  at("close").addEventListener("click", () => help.close());
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape") { event.target.blur?.(); return; }
    if (typing) return;
    const keys = { j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1), t: goldassay.toggle,
      "/": () => at("search").focus(), "?": () => help.showModal(),
      p: () => { for (const one of document.querySelectorAll("details.calls")) one.open = !one.open; } };
    const shows = { a: "all", w: "wrong", r: "right", f: "failed", d: "different" };
    const arrow = event.key.startsWith("Arrow");
    if (arrow && document.activeElement !== list) return;
    if (keys[event.key]) keys[event.key]();
    else if (shows[event.key] && (event.key !== "d" || runs > 1)) { state.show = shows[event.key]; filter(); } else return;
    event.preventDefault();
  });

  addEventListener("hashchange", follow);
  filter();
  follow();
  if (picked < 0 && n) pick(Math.max(0, index.wrong[which()].indexOf(1)), true); /* an empty place says nothing */
  goldassay.ready = performance.now(); /* milliseconds since the page was asked for */
  document.documentElement.dataset.ready = "yes";
  dispatchEvent(new Event("goldassay-ready"));
})();
