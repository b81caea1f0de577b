/* A dialog that finds: type, arrows, Enter. For labels, ids, ends of links, kinds of failure. */

import { byId, make, shut } from "./dom.js";

const MOST = 12;

/* Names that contain all the typed words; those that begin with them come first. */
export function matching(options, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (option) => `${option.label} ${option.description ?? ""}`.toLowerCase();
  const hits = options.filter((option) => words.every((word) => text(option).includes(word)));
  const rank = (option) => (option.label.toLowerCase().startsWith(query.toLowerCase()) ? 0 : 1);
  return hits.sort((a, b) => rank(a) - rank(b)).slice(0, MOST);
}

/* Resolves to the chosen option, or null. `search(query)` gives the options; `free` makes one of what was typed. */
export function find({ title, search, free = null }) {
  const dialog = byId("finder");
  const field = make("input", { role: "combobox", "aria-label": title, "aria-controls": "finder-list", "aria-expanded": "true", "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false" });
  const list = make("ul", { id: "finder-list", role: "listbox", "aria-label": title });
  const empty = make("p", { class: "quiet", hidden: true }, "Nothing matches.");
  let options = [];
  let chosen = 0;
  let asked = 0;
  let result = null;

  function draw() {
    list.replaceChildren(...options.map((option, place) => make("li", { role: "option", id: `option-${place}`, "aria-selected": String(place === chosen), dir: "auto", click: () => { chosen = place; finish(); } },
      make("span", {}, option.label), option.description ? make("span", { class: "quiet" }, option.description) : null)));
    list.hidden = !options.length;
    empty.hidden = options.length > 0;
    if (options.length) field.setAttribute("aria-activedescendant", `option-${chosen}`);
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }
  async function update() {
    list.ariaBusy = "true";
    asked += 1;
    const number = asked;
    const query = field.value.trim();
    const answer = [...await search(query)];
    if (number !== asked) return; /* a later word is being looked up */
    if (free && query && !answer.some((option) => option.label === query)) answer.push(free(query));
    options = answer;
    chosen = 0;
    draw();
    list.ariaBusy = null;
  }
  async function finish() {
    list.ariaBusy = "true"; /* until the dialog is closed */
    await searching;
    result = options[chosen] ?? null;
    shut(dialog);
  }
  let searching = update();
  field.addEventListener("input", () => { searching = update(); });
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && options.length) { chosen = (chosen + step + options.length) % options.length; draw(); }
    if (event.key === "Enter") finish();
    if (!step && event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation(); /* the dialog closes before the event would reach the page */
  });
  dialog.replaceChildren(make("h2", {}, title), field, list, empty);
  dialog.showModal();
  field.focus();
  return new Promise((done) => { dialog.addEventListener("close", () => done(result), { once: true }); });
}
