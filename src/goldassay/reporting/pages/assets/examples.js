"use strict";
/* The table of examples: only what is on the screen is drawn, only what is looked at is unpacked. */

(async () => {
  const list = document.getElementById("list");
  if (!list) return;
  const make = goldassay.make;
  const at = (id) => document.getElementById(id);
  const HEIGHT = 48;
  const index = JSON.parse(await goldassay.unpack("index-data"));
  const n = index.ids.length;
  const runs = index.scores.length;
  const names = at("which") ? [...at("which").options].map((option) => option.textContent) : [at("runs")?.querySelector("tbody th")?.textContent.trim() ?? "run"];
  const place = new Map(index.ids.map((id, number) => [id, number]));
  const state = { show: "all", type: "", sort: "order", search: "", strata: {}, matches: null };
  let shown = [];
  let picked = -1;

  /* Whole examples, a hundred at a time, and cells, some thousands at a time; the last few chunks stay. */
  function cache(name, most, parse) {
    const chunks = new Map();
    return (chunk) => {
      if (!chunks.has(chunk)) {
        if (chunks.size > most) chunks.delete(chunks.keys().next().value);
        chunks.set(chunk, goldassay.unpack(`${name}-${chunk}`).then(parse));
      }
      return chunks.get(chunk);
    };
  }
  const lines = (text) => text.split("\n");
  const rowsOf = cache("rows", 20, lines);
  const textsOf = cache("texts", Infinity, lines);
  const cellsOf = cache("cells", 60, JSON.parse);
  const example = async (number) => JSON.parse((await rowsOf(Math.floor(number / index.chunk)))[number % index.chunk]);
  const cells = async (number) => (await cellsOf(Math.floor(number / index.texts)))[number % index.texts];

  async function search(words) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = new Set();
    for (let part = 0; part * index.texts < n; part += 1) {
      const texts = await textsOf(part);
      if (words !== state.search) return null;
      texts.forEach((line, offset) => { if (wanted.every((word) => line.includes(word))) matches.add(part * index.texts + offset); });
    }
    return matches;
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

  /* Columns: the content of a cell, the key that it is sorted by, whether it is shown at first. */
  const text = (value, kind = "") => make("span", { class: `cell-text ${kind}`, dir: "auto" }, value);
  const pending = (number, part) => {
    const span = make("span", { dir: "auto" }, "…");
    cells(number).then((row) => { span.textContent = row[part]; span.title = row[part]; });
    return span;
  };
  const mark = (run, number) => index.failed[run][number] ? ["✗", "bad"] : index.wrong[run][number] ? ["✗", "bad"] : ["✓", "good"];
  const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(value).toFixed(3);
  const columns = [
    { name: "example", width: "minmax(4.5rem, .6fr)", cell: (number) => make("b", { dir: "auto", class: "cell-text" }, index.ids[number]), key: (number) => index.ids[number], fixed: true },
    { name: "text", width: "minmax(6rem, 2fr)", cell: (number) => text(index.words[number]), key: (number) => index.words[number] },
    { name: "gold", width: "minmax(4.5rem, 1.2fr)", cell: (number) => make("div", { class: "cell-text" }, pending(number, 0)) },
    ...names.slice(0, runs).map((name, run) => ({
      name, run, width: "minmax(5.5rem, 1.3fr)", key: (number) => index.scores[run][number],
      cell: (number) => {
        const [sign, kind] = mark(run, number);
        const differs = run > 0 && Math.abs(index.scores[run][number] - index.scores[0][number]) > 1e-9;
        return make("div", { class: `cell-text answer${differs ? " differs" : ""}` }, make("span", { class: `num ${kind}` }, `${sign} ${index.scores[run][number].toFixed(2)} `), pending(number, run + 1));
      },
    })),
    ...(runs > 1 ? [{ name: "change", width: "4.5rem", number: true, key: gain, cell: (number) => make("span", { class: `num ${gain(number) > 1e-9 ? "good" : gain(number) < -1e-9 ? "bad" : "quiet"}` }, signed(gain(number))) }] : []),
    { name: "seconds", width: "5rem", number: true, hidden: true, key: (number) => index.seconds[which()][number], cell: (number) => make("span", { class: "num" }, index.seconds[which()][number].toFixed(2)) },
    { name: "tokens", width: "5rem", number: true, hidden: true, key: (number) => index.tokens[which()][number], cell: (number) => make("span", { class: "num" }, index.tokens[which()][number].toLocaleString("en")) },
    ...Object.entries(index.strata_names).map(([name, keys]) => ({
      name: name.replaceAll("_", " "), width: "minmax(4rem, .6fr)", hidden: true, key: (number) => keys[index.strata[name][number]] ?? "", cell: (number) => text(keys[index.strata[name][number]] ?? ""),
    })),
  ];
  const visible = () => columns.filter((column) => !column.hidden);

  /* Sorting: "order", or a column with its direction, "change-" being the largest first. */
  const orders = { low: ["", 1], high: ["", -1], gain: ["change", -1], loss: ["change", 1], slow: ["seconds", -1], tokens: ["tokens", -1] };
  function ordering() {
    const [name, direction] = orders[state.sort] ?? [state.sort.slice(0, -1), state.sort.endsWith("-") ? -1 : 1];
    const column = name ? columns.find((each) => each.name === name) : columns.find((each) => each.run === which());
    if (state.sort === "order" || !column?.key) return null;
    const pairs = shown.map((number) => [column.key(number), number]);
    pairs.sort((a, b) => (a[0] === b[0] ? a[1] - b[1] : a[0] < b[0] ? -direction : direction));
    shown = pairs.map((pair) => pair[1]);
    return { column, direction };
  }

  const head = make("div", { class: "row head", role: "row" });
  const space = make("div", { class: "space", role: "rowgroup" });
  list.append(make("div", { role: "rowgroup", class: "heads" }, head), space);

  function heads(order) {
    list.style.setProperty("--columns", visible().map((column) => column.width).join(" "));
    head.replaceChildren(...visible().map((column) => {
      const sorted = order?.column === column ? (order.direction > 0 ? "ascending" : "descending") : null;
      const label = [column.run === undefined ? null : make("span", { class: `key k${column.run % 7}`, "aria-hidden": "true" }), column.name, sorted ? make("span", { "aria-hidden": "true" }, sorted === "ascending" ? " ▲" : " ▼") : null];
      const button = column.key ? make("button", { type: "button", class: "sort", tabindex: "-1" }, label) : make("span", {}, label);
      button.addEventListener("click", () => { state.sort = `${column.name}${sorted === "descending" ? "+" : "-"}`; at("sort").value = ""; filter(); });
      return make("div", { role: "columnheader", "aria-sort": column.key ? sorted ?? "none" : null, class: column.number ? "num" : "" }, button);
    }));
    list.setAttribute("aria-colcount", visible().length);
    list.setAttribute("aria-rowcount", shown.length + 1);
  }

  function filter() {
    list.ariaBusy = null;
    const type = state.type === "" ? -1 : Number(state.type);
    const strata = Object.entries(state.strata).filter(([, value]) => value !== "").map(([name, value]) => [index.strata[name], Number(value)]);
    shown = [];
    for (let number = 0; number < n; number += 1) {
      if (!tests[state.show](number)) continue;
      if (type >= 0 && !index.types[number].includes(type)) continue;
      if (strata.some(([column, key]) => column[number] !== key)) continue;
      if (state.matches && !state.matches.has(number)) continue;
      shown.push(number);
    }
    heads(ordering());
    at("count").textContent = `${shown.length.toLocaleString("en")} of ${n.toLocaleString("en")}`;
    for (const button of document.querySelectorAll("[data-show]")) button.setAttribute("aria-pressed", String(button.dataset.show === state.show));
    space.style.height = `${shown.length * HEIGHT}px`;
    draw(true);
  }

  const drawn = new Map();
  function draw(fresh) {
    if (fresh) { space.replaceChildren(); drawn.clear(); }
    const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - 4);
    const last = Math.min(shown.length, Math.ceil((list.scrollTop + (list.clientHeight || 800)) / HEIGHT) + 4);
    for (const [row, element] of drawn) if (row < first || row >= last) { element.remove(); drawn.delete(row); }
    for (let row = first; row < last; row += 1) {
      if (drawn.has(row)) continue;
      const number = shown[row];
      const element = make("div", { class: "row item", role: "row", id: `item-${number}`, "aria-selected": String(number === picked), "aria-rowindex": row + 2 },
        visible().map((column) => make("div", { role: "gridcell", class: column.number ? "num" : "" }, column.cell(number))));
      element.style.top = `${row * HEIGHT}px`;
      element.addEventListener("click", () => pick(number));
      drawn.set(row, element);
      space.append(element);
    }
  }
  list.addEventListener("scroll", () => requestAnimationFrame(() => draw(false)), { passive: true });
  addEventListener("resize", () => draw(false));
  addEventListener("goldassay-tab", () => draw(true));

  async function pick(number, silent) {
    picked = number;
    const row = shown.indexOf(number);
    if (row >= 0 && list.clientHeight) {
      const top = row * HEIGHT;
      if (top < list.scrollTop) list.scrollTop = top;
      else if (top + 2 * HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + 2 * HEIGHT - list.clientHeight;
    }
    draw(true);
    list.setAttribute("aria-activedescendant", `item-${number}`);
    const open = at("detail").querySelector("details.calls")?.open;
    const whole = await example(number);
    if (picked !== number) return;
    at("detail").replaceChildren(goldassay.render(whole, names, which()), opinion(whole));
    at("detail").scrollTop = 0;
    goldassay.reach();
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
    const match = /^#example=(.*)$/.exec(location.hash);
    if (!match) return;
    let id = match[1];
    try { id = decodeURIComponent(id); } catch { /* unchanged */ }
    const number = place.get(id);
    if (number === undefined) return;
    goldassay.open("examples");
    if (!shown.includes(number)) reset();
    pick(number, true);
  }

  function reset() {
    Object.assign(state, { show: "all", type: "", sort: "order", search: "", matches: null });
    for (const name of Object.keys(state.strata)) state.strata[name] = "";
    at("filters").reset();
    filter();
  }

  /* Thumbs and comments stay in this browser; they are exported as labels for a judge. */
  const drawer = `goldassay-labels-${index.key}`;
  let opinions = {};
  try { opinions = JSON.parse(localStorage.getItem(drawer) ?? "{}"); } catch { /* a file may have no storage */ }
  const opinionOf = (id) => opinions[`${which()}:${id}`] ?? {};
  function express(whole, change) {
    const record = { ...opinionOf(whole.id), ...change };
    opinions[`${which()}:${whole.id}`] = { ...record, run: names[which()], inputs: { ...whole.inputs, ...whole.runs[which()].prediction } };
    try { localStorage.setItem(drawer, JSON.stringify(opinions)); } catch { /* kept until the page is closed */ }
    at("export").hidden = false;
  }
  function opinion(whole) {
    const own = opinionOf(whole.id);
    const buttons = [["yes", "good", "Good answer (+)"], ["no", "bad", "Bad answer (-)"]].map(([label, sign, title]) => {
      const button = make("button", { type: "button", class: "thumb", title, "aria-label": title, "aria-pressed": String(own.label === label), "data-label": label }, sign);
      button.addEventListener("click", () => {
        express(whole, { label: opinionOf(whole.id).label === label ? null : label });
        for (const each of buttons) each.setAttribute("aria-pressed", String(each.dataset.label === opinionOf(whole.id).label));
      });
      return button;
    });
    const comment = make("textarea", { rows: 2, "aria-label": "Comment", placeholder: `Comment on ${names[which()]}` });
    comment.value = own.reason ?? "";
    comment.addEventListener("input", () => express(whole, { reason: comment.value }));
    return make("div", { class: "opinion" }, buttons, comment);
  }
  const plain = (value) => typeof value === "string" ? value : JSON.stringify(value);
  at("export").hidden = !Object.keys(opinions).length;
  at("export").addEventListener("click", () => {
    const rows = Object.entries(opinions).map(([id, one]) => JSON.stringify({ id: id.slice(id.indexOf(":") + 1), run: one.run,
      inputs: Object.fromEntries(Object.entries(one.inputs ?? {}).map(([name, value]) => [name, plain(value)])), label: one.label ?? null, reason: one.reason ?? "" }));
    const link = make("a", { href: URL.createObjectURL(new Blob([`${rows.join("\n")}\n`], { type: "application/jsonl" })), download: "labels.jsonl" });
    link.click();
    URL.revokeObjectURL(link.href);
  });

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
  for (const column of columns.filter((each) => !each.fixed)) {
    const box = make("input", { type: "checkbox", checked: !column.hidden });
    box.addEventListener("change", () => { column.hidden = !box.checked; filter(); });
    at("columns").append(make("label", {}, box, ` ${column.name}`));
  }
  for (const button of document.querySelectorAll("[data-show]")) button.addEventListener("click", () => { state.show = button.dataset.show; filter(); });
  at("type").addEventListener("change", () => { state.type = at("type").value; filter(); });
  at("sort").addEventListener("change", () => { state.sort = at("sort").value; filter(); });
  at("which")?.addEventListener("change", () => { filter(); if (picked >= 0) pick(picked, true); });
  at("clear").addEventListener("click", reset);
  at("filters").addEventListener("submit", (event) => event.preventDefault());
  let waiting = 0;
  at("search").addEventListener("input", () => {
    clearTimeout(waiting);
    list.ariaBusy = "true";
    waiting = setTimeout(async () => {
      state.search = at("search").value.trim();
      at("count").textContent = "searching …";
      const matches = state.search ? await search(state.search) : null;
      if (state.search && matches === null) return;
      state.matches = matches;
      list.scrollTop = 0;
      filter();
    }, 120);
  });

  /* Links from the other tabs: won and lost, a type, a stratum. */
  function jump(button, change) {
    button.addEventListener("click", () => {
      reset();
      change();
      filter();
      goldassay.open("examples");
      if (shown.length) pick(shown[0], true);
    });
  }
  for (const button of document.querySelectorAll("[data-filter]")) {
    jump(button, () => { at("which").value = button.dataset.run; state.show = button.dataset.filter; state.sort = button.dataset.filter === "lost" ? "loss" : "gain"; at("sort").value = state.sort; });
  }
  for (const button of document.querySelectorAll("[data-type]")) {
    const number = index.type_names.indexOf(button.dataset.type);
    if (number < 0) button.replaceWith(button.textContent);
    else jump(button, () => { state.type = at("type").value = String(number); });
  }
  for (const button of document.querySelectorAll("[data-stratum]")) {
    const select = [...document.querySelectorAll("[data-facet]")].find((each) => each.dataset.facet === button.dataset.stratum);
    if (!select) button.replaceWith(button.textContent);
    else jump(button, () => { select.value = state.strata[button.dataset.stratum] = String(index.strata_names[button.dataset.stratum].indexOf(button.dataset.key)); });
  }

  /* Keys */
  const help = at("help");
  at("close").addEventListener("click", () => help.close());
  const thumb = (label) => at("detail").querySelector(`.thumb[data-label=${label}]`)?.click();
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape") { event.target.blur?.(); return; }
    if (typing) return;
    const keys = { j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1), t: goldassay.toggle,
      "/": () => at("search").focus(), "?": () => help.showModal(), "+": () => thumb("yes"), "-": () => thumb("no"),
      ".": () => goldassay.steps.move(at("detail"), 1), ",": () => goldassay.steps.move(at("detail"), -1), l: () => goldassay.steps.look(at("detail")), h: () => goldassay.steps.goWrong(at("detail")),
      p: () => { for (const calls of document.querySelectorAll("details.calls")) calls.open = !calls.open; } };
    const shows = { a: "all", w: "wrong", r: "right", f: "failed", d: "different" };
    const arrow = event.key.startsWith("Arrow");
    if (arrow && document.activeElement !== list) return;
    if (keys[event.key]) { if (!"t?".includes(event.key)) goldassay.open("examples"); keys[event.key](); }
    else if (shows[event.key] && (event.key !== "d" || runs > 1)) { goldassay.open("examples"); state.show = shows[event.key]; filter(); } else return;
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
