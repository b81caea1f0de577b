/* A text whose parts are selected with the mouse or, by words, with the keyboard, and marked. Offsets that go in and
   come out are code points; inside they are those of JavaScript's strings (UTF-16). The selection is the browser's own. */

import { make } from "./dom.js";

/* What is drawn at once: a line, or of a very long one up to the end of a word, since browsers lay it out as a whole. */
const PIECE = /[^\n]{2000,3000}(?<=\s)(?=\S)|[^\n]{3000}(?![\udc00-\udfff])|[^\n]*\n|[^\n]+$/g;
const WINDOW = 64; /* characters around a place in which its grapheme is looked for */

/* Code points of a text: [to a string's offset, from it]. */
export function codePoints(text) {
  if (!/[\ud800-\udfff]/.test(text)) return [(at) => at, (at) => at];
  const starts = [];
  for (let at = 0; at < text.length; at += text.codePointAt(at) > 0xffff ? 2 : 1) starts.push(at);
  starts.push(text.length);
  const from = (at) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle] <= at) low = middle; else high = middle - 1;
    }
    return low;
  };
  return [(at) => starts[Math.max(0, Math.min(at, starts.length - 1))], from];
}

/* The last place of a sorted list whose value is at most `limit`. */
function lastUpTo(values, limit) {
  let low = -1;
  let high = values.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (values[middle] <= limit) low = middle; else high = middle - 1;
  }
  return low;
}

export class TextView {
  /* `onPick(mark)` is called for a click on a mark, `onSelect` when words are selected, `onStretch` when the mouse moved
     an end of the active mark. */
  constructor(text, { onPick = () => {}, onSelect = () => {}, onStretch = null, label = "Text" } = {}) {
    this.text = text;
    this.onPick = onPick;
    this.onSelect = onSelect;
    this.onStretch = onStretch;
    [this.inside, this.outside] = codePoints(text);
    this.range = null;
    this.from = 0; /* where the next word is, if nothing is selected */
    this.isStart = false; /* which end moves */
    this.lines = [...text.matchAll(PIECE)].map((match) => ({ start: match.index, end: match.index + match[0].length, state: null, element: make("div", { class: "line", dir: "auto" }) }));
    this.starts = this.lines.map((line) => line.start);
    this.element = make("div", { class: "source", tabindex: "0", role: "group", "aria-label": label }, this.lines.map((line) => line.element));
    this.element.addEventListener("mouseup", () => setTimeout(() => this.released()));
    this.draw([]);
  }

  /* Marks: { start, end, kind, label, active, item }, in code points. Only lines whose marks changed are drawn anew. */
  draw(marks) {
    const inner = marks.map((mark) => ({ ...mark, start: this.inside(mark.start), end: this.inside(mark.end) })).filter((mark) => mark.start < mark.end);
    let isChanged = false;
    for (const line of this.lines) {
      const own = inner.filter((mark) => mark.start < line.end && mark.end > line.start);
      const state = JSON.stringify(own.map(({ start, end, kind, label, active }) => [start, end, kind, label, active]));
      line.marks = own;
      if (state === line.state) continue;
      line.state = state;
      isChanged = true;
      line.element.replaceChildren(...this.pieces(line, own));
    }
    if (isChanged && this.range) this.show();
  }

  pieces(line, marks) {
    const edges = [...new Set([line.start, line.end, ...marks.flatMap((mark) => [Math.max(mark.start, line.start), Math.min(mark.end, line.end)])])].sort((a, b) => a - b);
    return edges.slice(0, -1).map((from, place) => {
      const to = edges[place + 1];
      const over = marks.filter((mark) => mark.start <= from && mark.end >= to);
      const text = this.text.slice(from, to);
      if (!over.length) return text;
      /* Of several over one another the active and then the shortest is in front; the others are lines below. */
      const front = over.toSorted((a, b) => (b.active ?? false) - (a.active ?? false) || (a.end - a.start) - (b.end - b.start))[0];
      const ending = over.filter((mark) => mark.end === to).map((mark) => mark.label);
      const element = make("mark", { class: `${front.kind}${over.length > 1 ? " over" : ""}${over.some((mark) => mark.active) ? " active" : ""}`, title: over.map((mark) => mark.label).join("; "), "data-label": ending.length ? ending.join(" ") : null }, text);
      element.mark = front;
      const active = this.onStretch ? over.find((mark) => mark.active) : null;
      if (active?.start === from) element.prepend(this.handle(active, true));
      if (active?.end === to) element.append(this.handle(active, false));
      return element;
    });
  }

  /* An end of the active mark, which the mouse drags by characters. */
  handle(mark, isStart) {
    const element = make("span", { class: "handle", "aria-hidden": "true" });
    const move = (event) => {
      const caret = document.caretPositionFromPoint?.(event.clientX, event.clientY) ?? document.caretRangeFromPoint(event.clientX, event.clientY);
      const node = caret?.offsetNode ?? caret?.startContainer;
      if (!this.element.contains(node)) return;
      const at = this.offset(node, caret.offset ?? caret.startOffset);
      if (isStart ? at >= mark.end : at <= mark.start) return;
      this.range = isStart ? [at, mark.end] : [mark.start, at];
      this.show();
    };
    element.addEventListener("pointerdown", (event) => {
      event.preventDefault(); /* nothing is selected anew, and no click follows */
      element.setPointerCapture(event.pointerId);
      element.addEventListener("pointermove", move);
      element.addEventListener("pointerup", () => this.onStretch(), { once: true });
    });
    return element;
  }

  /* Places in the document and in the text. */

  offset(node, at) {
    const before = document.createRange();
    before.setStart(this.element, 0);
    before.setEnd(node, at);
    return before.toString().length;
  }

  place(offset) {
    const line = this.lines[Math.max(0, lastUpTo(this.starts, Math.min(offset, this.text.length - 1)))];
    const walker = document.createTreeWalker(line.element, NodeFilter.SHOW_TEXT);
    let start = line.start;
    let node = walker.nextNode();
    while (start + node.data.length < offset) {
      start += node.data.length;
      node = walker.nextNode();
    }
    return [node, offset - start];
  }

  /* The mouse was released: a selection, or a click on a mark. */
  released() {
    const selection = getSelection();
    const isOwn = selection.rangeCount && this.element.contains(selection.anchorNode) && this.element.contains(selection.focusNode);
    if (!isOwn) return;
    if (!selection.isCollapsed) {
      const range = selection.getRangeAt(0);
      this.range = this.trimmed([this.offset(range.startContainer, range.startOffset), this.offset(range.endContainer, range.endOffset)]);
      this.onSelect();
      return;
    }
    this.range = null;
    const mark = selection.anchorNode.parentElement?.closest("mark")?.mark;
    if (mark) this.onPick(mark.item);
  }

  trimmed([start, end]) {
    const text = this.text.slice(start, end);
    const blank = text.length - text.trimStart().length;
    return text.trim() ? [start + blank, start + blank + text.trim().length] : null;
  }

  /* The selection in code points, with its words. */
  get selection() {
    const range = this.range && this.trimmed(this.range);
    return range && { start: this.outside(range[0]), end: this.outside(range[1]), text: this.text.slice(...range) };
  }

  select(start, end) {
    this.isStart = false;
    this.range = [this.inside(start), this.inside(end)];
    this.show();
  }

  clear() {
    this.from = this.range?.[1] ?? this.from;
    this.range = null;
    getSelection().removeAllRanges();
  }

  show() {
    const [start, end] = this.range;
    getSelection().setBaseAndExtent(...this.place(start), ...this.place(end));
    this.reveal(end);
  }

  reveal(offset) {
    const line = this.lines[Math.max(0, lastUpTo(this.starts, Math.min(offset, this.text.length - 1)))];
    const range = document.createRange();
    range.setStart(...this.place(offset));
    let box = range.getBoundingClientRect();
    if (!box.height) box = line.element.getBoundingClientRect();
    const frame = this.element.getBoundingClientRect();
    const margin = 48;
    if (box.top < frame.top + margin) this.element.scrollTop -= frame.top + margin - box.top;
    else if (box.bottom > frame.bottom - margin) this.element.scrollTop += box.bottom - frame.bottom + margin;
    this.element.scrollIntoView({ block: "nearest" });
  }

  /* Words and characters as readers see them. */

  get words() {
    if (!this.wordStarts) {
      const words = [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(this.text)].filter((word) => word.isWordLike);
      this.wordStarts = words.map((word) => word.index);
      this.wordEnds = words.map((word) => word.index + word.segment.length);
    }
    return [this.wordStarts, this.wordEnds];
  }

  /* Where right is forward: 1, or -1 in a text that runs from right to left. */
  get forward() {
    const at = this.range?.[1] ?? 0;
    const line = this.lines[Math.max(0, lastUpTo(this.starts, at))];
    return line && getComputedStyle(line.element).direction === "rtl" ? -1 : 1;
  }

  /* The next word, or the one before. */
  word(step) {
    const [starts, ends] = this.words;
    if (!starts.length) return;
    const [start, end] = this.range ?? [this.from, this.from];
    const place = step > 0 ? lastUpTo(starts, end - 1) + 1 : lastUpTo(ends, start);
    const word = Math.max(0, Math.min(place, starts.length - 1));
    this.range = [starts[word], ends[word]];
    this.isStart = false;
    this.show();
  }

  /* Where an edge is after a step of a word or a character. */
  moved(at, step, isStart, byCharacter) {
    if (byCharacter) {
      const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
      if (step > 0) return at + (segmenter.segment(this.text.slice(at, at + WINDOW))[Symbol.iterator]().next().value?.segment.length ?? 0);
      return at - ([...segmenter.segment(this.text.slice(Math.max(0, at - WINDOW), at))].at(-1)?.segment.length ?? 0);
    }
    const edges = this.words[isStart ? 0 : 1];
    const place = step > 0 ? lastUpTo(edges, at) + 1 : lastUpTo(edges, at - 1);
    return edges[place] ?? at;
  }

  /* Moves an end of the selection; false where nothing is selected. */
  stretch(step, isStart = false, byCharacter = false) {
    if (!this.range) return false;
    const [start, end] = this.range;
    const range = isStart ? [this.moved(start, step, true, byCharacter), end] : [start, this.moved(end, step, false, byCharacter)];
    if (range[0] < range[1]) this.range = range;
    this.show();
    return true;
  }

  /* Selects the next place of some words, up to the end of the last of them; at the end it begins again. */
  find(words) {
    const from = this.range ? this.range[0] + 1 : 0;
    const folded = this.text.toLowerCase();
    const query = words.toLowerCase();
    const source = folded.length === this.text.length ? folded : this.text;
    const hit = source.indexOf(query, from);
    const at = hit >= 0 ? hit : source.indexOf(query);
    if (!query || at < 0) return false;
    const [starts, ends] = this.words;
    const last = lastUpTo(starts, at + query.length - 1);
    this.range = [at, Math.max(at + query.length, ends[last] ?? 0)];
    this.show();
    return true;
  }
}

/* Keys that every task with a text has: select by words, stretch, find. `view.changed` hears of a moved edge. */
export function textKeys(view, context, { moved = () => {}, before = () => {} } = {}) {
  const step = (by) => () => { before(); view.word(by * view.forward); };
  const stretch = (by, byCharacter) => () => { if (view.stretch(by * view.forward, view.isStart, byCharacter)) moved(); };
  async function find() {
    const option = await context.find({ title: "Find in the text", search: (query) => (query ? [{ label: query }] : []) });
    if (!option) return;
    before();
    if (!view.find(option.label)) context.say("Not in the text.", true);
  }
  return [
    { keys: ["ArrowRight"], label: "Next word", run: step(1) },
    { keys: ["ArrowLeft"], label: "Previous word", run: step(-1) },
    { keys: ["Shift+ArrowRight"], label: "Move the end on by a word", run: stretch(1, false) },
    { keys: ["Shift+ArrowLeft"], label: "Move the end back by a word", run: stretch(-1, false) },
    { keys: ["Alt+ArrowRight", "Alt+Shift+ArrowRight"], label: "… on by a character", run: stretch(1, true) },
    { keys: ["Alt+ArrowLeft", "Alt+Shift+ArrowLeft"], label: "… back by a character", run: stretch(-1, true) },
    { keys: ["e"], label: "The other end moves: beginning or end", run: () => { view.isStart = !view.isStart; context.say(view.isStart ? "The beginning moves now." : "The end moves now."); } },
    { keys: ["/"], label: "Find in the text", run: find },
  ];
}
