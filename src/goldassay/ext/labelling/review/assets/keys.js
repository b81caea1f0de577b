/* Keys: small letters are commands, digits and capitals choose. */

import { shut } from "./dom.js";
import { inOrder, isBusy } from "./sequence.js";

/* A key for each of several names: digits for up to nine; with more, a label that is one capital has itself, and the
   others have digits, then the first free capital of their name. What is left has none, and is found with "/". */
export function choiceKeys(names) {
  const few = names.length <= 9;
  const isOwn = (name) => !few && /^[A-Z]$/.test(name);
  const taken = new Set(names.filter(isOwn));
  let digit = 0;
  return names.map((name) => {
    if (isOwn(name)) return name;
    if (digit < 9) return String(digit += 1);
    const free = [...name.toUpperCase(), ..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].find((letter) => /^[A-Z]$/.test(letter) && !taken.has(letter)) ?? null;
    taken.add(free);
    return free;
  });
}

/* The name of a pressed key: "a", "A", "Shift+ArrowRight", "Alt+ArrowLeft" (Ctrl is the same as Alt). */
export function keyName(event) {
  const named = event.key.length > 1;
  return `${event.altKey || event.ctrlKey ? "Alt+" : ""}${event.shiftKey && named ? "Shift+" : ""}${event.key}`;
}

const SIGNS = { ArrowRight: "→", ArrowLeft: "←", ArrowUp: "↑", ArrowDown: "↓", " ": "Space", Backspace: "⌫", Enter: "⏎", "Shift+": "⇧", "Alt+": "Alt " };
export const sign = (key) => key.replace(/ArrowRight|ArrowLeft|ArrowUp|ArrowDown|Backspace|Enter|Shift\+|Alt\+|^ $/g, (name) => SIGNS[name]);

const isField = (element) => element.matches?.("input:not([type=checkbox]), textarea, select") ?? false;

/* Runs `bindings()`: [{ keys, label, run, group }]. Digits and letters that are typed into a field stay there. */
export class Keys {
  constructor(bindings) {
    this.bindings = bindings;
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  pressed(event) {
    if (event.metaKey || event.isComposing) return;
    const dialog = document.querySelector("dialog[open]");
    if (dialog) {
      if (event.key === "Escape") shut(dialog); /* at once: the next key is already for the record */
      return;
    }
    const key = keyName(event);
    if (isField(event.target)) {
      this.inField(event, key);
      return;
    }
    if (event.target.matches?.("button, summary, a, [type=checkbox]") && ["Enter", " "].includes(key)) return; /* the control's own keys */
    if (!this.binding(key) && !(isBusy() && event.key.length === 1 && !event.ctrlKey && !event.altKey)) return;
    event.preventDefault();
    this.later(key);
  }

  /* In a field only Escape, and Enter where the field has one line, are keys of the page. */
  inField(event, key) {
    const field = event.target;
    if (key === "Escape") field.blur();
    const isLine = field.tagName === "INPUT" && !field.dataset.own;
    if (key === "Alt+Enter" || (key === "Enter" && isLine)) {
      event.preventDefault();
      field.dispatchEvent(new Event("change", { bubbles: true }));
      field.blur();
      if (field.id !== "note") this.later("Enter");
    }
  }

  binding(key) {
    return this.bindings().find((each) => each.keys.includes(key));
  }

  later(key) {
    inOrder(() => this.run(key));
  }

  /* What was typed while a decision was being saved goes where it would have gone. */
  run(key) {
    const focused = document.activeElement;
    if (isField(focused) && key.length === 1) {
      focused.setRangeText(key, focused.selectionStart, focused.selectionEnd, "end");
      focused.dispatchEvent(new Event("input", { bubbles: true }));
      return undefined;
    }
    return this.binding(key)?.run(key);
  }
}
