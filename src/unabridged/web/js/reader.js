// A document that is read: its text as it is, and marks over ranges of it.

import { calm, h } from "./dom.js";

const BLOCK = 4000; // characters drawn together; what is out of sight is not laid out

/** From offsets in UTF-8 bytes to offsets in a JavaScript string. */
export function byteIndex(text) {
  const ascii = !/[^\0-\x7f]/.test(text);
  if (ascii) return (at) => Math.min(at, text.length);
  const step = 1024;
  const marks = [[0, 0]];
  let bytes = 0;
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at);
    at += code > 0xffff ? 2 : 1;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (bytes - marks[marks.length - 1][0] >= step) marks.push([bytes, at]);
  }
  return (wanted) => {
    let low = 0;
    let high = marks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (marks[middle][0] <= wanted) low = middle; else high = middle - 1;
    }
    let [seen, at] = marks[low];
    while (seen < wanted && at < text.length) {
      const code = text.codePointAt(at);
      at += code > 0xffff ? 2 : 1;
      seen += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    }
    return at;
  };
}

/** Ranges in order, none over another: what is covered twice is one mark. */
export function merged(ranges) {
  const found = [];
  for (const range of [...ranges].filter((one) => one.end > one.start).sort((a, b) => a.start - b.start)) {
    const before = found[found.length - 1];
    if (before && range.start < before.end) {
      before.end = Math.max(before.end, range.end);
      before.here ||= range.here;
    } else found.push({ ...range });
  }
  return found;
}

/** The text with its marks; ranges are {start, end, here} in string offsets. */
export function reader(text, ranges, { label = "Document" } = {}) {
  const marks = merged(ranges);
  const made = h("div", { class: "reader", dir: "auto", role: "document", "aria-label": label, tabindex: "0" });
  let next = 0;
  for (let start = 0; start < text.length || start === 0;) {
    const end = blockEnd(text, start);
    const block = h("div", {});
    let at = start;
    while (next < marks.length && marks[next].start < end) {
      const mark = marks[next];
      const from = Math.max(mark.start, start);
      const to = Math.min(mark.end, end);
      block.append(text.slice(at, from), h("mark", { class: mark.here && "here" }, text.slice(from, to)));
      at = to;
      if (mark.end > end) break;
      next += 1;
    }
    block.append(text.slice(at, end));
    made.append(block);
    start = end;
    if (!text.length) break;
  }
  return made;
}

function blockEnd(text, start) {
  if (text.length - start <= BLOCK) return text.length;
  const line = text.indexOf("\n", start + BLOCK);
  if (line >= 0 && line - start < 4 * BLOCK) return line + 1;
  const end = start + BLOCK;
  return /[\ud800-\udbff]/.test(text[end - 1]) ? end + 1 : end;
}

/** Bring the mark that matters into sight, by scrolling the box around the text and nothing else. */
export function reveal(made) {
  const mark = made.querySelector("mark.here") ?? made.querySelector("mark");
  const box = made.closest(".pane-body");
  if (!mark || !box) return;
  const place = () => mark.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop - box.clientHeight / 3;
  requestAnimationFrame(() => {
    box.scrollTo({ top: place(), behavior: "auto" });
    // What was out of sight is laid out only now, and may be taller than was guessed.
    requestAnimationFrame(() => box.scrollTo({ top: place(), behavior: calm() ? "auto" : "smooth" }));
  });
}
