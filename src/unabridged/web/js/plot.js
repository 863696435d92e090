// Chunkings drawn under each other: every chunk over the document at its place, as high as it is large.

import { fitted, h, measured, s } from "./dom.js";
import { number, plural } from "./format.js";

const LEFT = 2;
const ROW = 74;
const BAR = 44;
const ROOM = 420; // pixels from which a name and its figures stand on one line

/**
 * A picture of some results; `onPick(result, chunk)` when one is chosen with the pointer or the keyboard. It is as
 * wide as its place, and drawn anew when that changes, so that its words keep their size.
 */
export function plot(results, length, onPick) {
  const largest = results.reduce((most, one) => one.chunks.reduce((great, chunk) => Math.max(great, chunk.tokens), Math.max(most, one.cap)), 1);
  return h("figure", {}, measured((wide) => drawn(results, length, largest, wide, onPick)), h("figcaption", { class: "small muted" },
    "Width: where a chunk lies in the document. Height: its tokens. Dashed: the largest size allowed."));
}

function drawn(results, length, largest, wide, onPick) {
  const line = wide < ROOM ? 17 : 0;
  const height = (ROW + line) * results.length + 22;
  return s("svg", { class: "plot", width: wide, height, viewBox: `0 0 ${wide} ${height}`, role: "group", "aria-label": "Chunks over the document" },
    results.map((one, at) => row(one, at, { length, largest, wide, line }, onPick)),
    s("text", { x: LEFT, y: height - 6 }, "0"),
    s("text", { x: wide - LEFT, y: height - 6, "text-anchor": "end" }, `${number(length)} characters`));
}

function row(result, at, { length, largest, wide, line }, onPick) {
  const base = at * (ROW + line) + line + 20 + BAR;
  const x = (offset) => LEFT + (wide - 2 * LEFT) * offset / Math.max(1, length);
  const stats = result.stats;
  const about = `${result.name}: ${plural(stats.n, "chunk")}, median ${number(stats.median)}, largest ${number(stats.max)} of ${number(result.cap)} tokens. Arrow keys go through them.`;
  const tall = (chunk) => BAR * chunk.tokens / largest;
  const over = (chunk) => ({ x: x(chunk.start), y: base - tall(chunk), width: Math.max(0.8, x(chunk.end) - x(chunk.start) - 0.6), height: tall(chunk) });
  // Two paths however many chunks there are: 13,000 elements of their own took seconds.
  const paths = [0, 1].map((side) => s("path", { fill: `var(--c${side ? 0 : 3})`, "fill-opacity": 0.75, d: result.chunks.filter((_, index) => index % 2 === side)
    .map((chunk) => { const box = over(chunk); return `M${box.x.toFixed(1)} ${base}v${-box.height.toFixed(1)}h${box.width.toFixed(1)}v${box.height.toFixed(1)}z`; }).join("") }));
  const spots = [s("rect", { class: "pointed", visibility: "hidden" }), s("rect", { class: "here", visibility: "hidden" })];
  const said = s("title", {});
  const mark = (spot, index) => { for (const [name, value] of Object.entries({ ...over(result.chunks[index]), visibility: "visible" })) spot.setAttribute(name, value); };
  const pointed = (event) => under(result.chunks, (event.clientX - made.ownerSVGElement.getBoundingClientRect().left - LEFT) / (wide - 2 * LEFT) * length);
  let here = -1;
  const made = s("g", { class: "pieces", tabindex: "0", role: "slider", "aria-label": about, "aria-valuemin": 1, "aria-valuemax": Math.max(1, stats.n), "aria-valuenow": 1, "aria-orientation": "horizontal" }, said,
    s("text", { class: "name", x: LEFT, y: base - BAR - 7 - line }, fitted(result.name, line ? wide : wide / 2, 13)),
    s("text", { x: line ? LEFT : wide - LEFT, y: base - BAR - 7, "text-anchor": line ? "start" : "end" }, `${plural(stats.n, "chunk")} · median ${number(stats.median)} · largest ${number(stats.max)}`),
    s("line", { class: "base", x1: LEFT, x2: wide - LEFT, y1: base, y2: base }),
    s("rect", { class: "ground", x: LEFT, y: base - BAR, width: wide - 2 * LEFT, height: BAR }), paths, spots,
    s("line", { class: "cap", x1: LEFT, x2: wide - LEFT, y1: base - BAR * result.cap / largest, y2: base - BAR * result.cap / largest }));
  const pick = (index) => {
    here = Math.min(result.chunks.length - 1, Math.max(0, index));
    mark(spots[1], here);
    made.setAttribute("aria-valuenow", here + 1);
    made.setAttribute("aria-valuetext", `chunk ${here + 1}, ${result.chunks[here].tokens} tokens`);
    onPick(result, here);
  };
  if (!result.chunks.length) return made;
  made.addEventListener("pointermove", (event) => { const index = pointed(event); mark(spots[0], index); said.textContent = `Chunk ${index + 1}: ${plural(result.chunks[index].tokens, "token")}`; });
  made.addEventListener("pointerleave", () => spots[0].setAttribute("visibility", "hidden"));
  made.addEventListener("click", (event) => pick(pointed(event)));
  made.addEventListener("keydown", (event) => {
    const to = { ArrowRight: here + 1, ArrowLeft: here - 1, ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: result.chunks.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    pick(to);
  });
  return made;
}

/** The last chunk that begins at an offset or before it. */
function under(chunks, offset) {
  let [low, high] = [0, chunks.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (chunks[middle].start <= offset) low = middle; else high = middle - 1;
  }
  return low;
}
