// Chunkings drawn under each other: every chunk over the document at its place, as high as it is large.

import { fill, h, s } from "./dom.js";
import { number, plural } from "./format.js";

const WIDTH = 1000;
const LEFT = 4;
const ROW = 74;
const BAR = 44;

/** A picture of some results; `onPick(result, chunk)` when one is chosen with the pointer or the keyboard. */
export function plot(results, length, onPick) {
  const largest = Math.max(1, ...results.map((one) => Math.max(one.cap, ...one.chunks.map((chunk) => chunk.tokens))));
  const height = ROW * results.length + 22;
  const picture = s("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${height}`, role: "group", "aria-label": "Chunks over the document" },
    results.map((one, at) => row(one, at, length, largest, onPick)),
    s("text", { x: LEFT, y: height - 4 }, "0"),
    s("text", { x: WIDTH - LEFT, y: height - 4, "text-anchor": "end" }, `${number(length)} characters`));
  return h("figure", {}, picture, h("figcaption", { class: "small muted" },
    "Width: where a chunk lies in the document. Height: its tokens. Dashed: the largest size allowed."));
}

function row(result, at, length, largest, onPick) {
  const base = at * ROW + 20 + BAR;
  const x = (offset) => LEFT + (WIDTH - 2 * LEFT) * offset / Math.max(1, length);
  const stats = result.stats;
  const said = `${result.name}: ${plural(stats.n, "chunk")}, median ${number(stats.median)}, largest ${number(stats.max)} of ${number(result.cap)} tokens. Arrow keys go through them.`;
  let here = -1;
  const made = s("g", { tabindex: "0", role: "slider", "aria-label": said, "aria-valuemin": 1, "aria-valuemax": Math.max(1, stats.n), "aria-valuenow": 1, "aria-orientation": "horizontal" },
    s("text", { class: "name", x: LEFT, y: base - BAR - 7 }, result.name),
    s("text", { x: WIDTH - LEFT, y: base - BAR - 7, "text-anchor": "end" }, `${plural(stats.n, "chunk")} · median ${number(stats.median)} · largest ${number(stats.max)}`),
    s("line", { class: "base", x1: LEFT, x2: WIDTH - LEFT, y1: base, y2: base }));
  const pieces = result.chunks.map((chunk, index) => {
    const tall = BAR * chunk.tokens / largest;
    const piece = s("rect", { class: "piece", x: x(chunk.start), y: base - tall, width: Math.max(0.8, x(chunk.end) - x(chunk.start) - 0.6), height: tall, rx: 1, fill: `var(--c${index % 2 ? 0 : 3})`, "fill-opacity": 0.75 },
      s("title", {}, `Chunk ${index + 1}: ${number(chunk.tokens)} tokens`));
    piece.addEventListener("click", () => pick(index));
    return piece;
  });
  const pick = (index) => {
    here = Math.min(pieces.length - 1, Math.max(0, index));
    for (const piece of made.querySelectorAll(".here")) piece.classList.remove("here");
    pieces[here]?.classList.add("here");
    made.setAttribute("aria-valuenow", here + 1);
    made.setAttribute("aria-valuetext", `chunk ${here + 1}, ${result.chunks[here]?.tokens} tokens`);
    onPick(result, here);
  };
  made.addEventListener("keydown", (event) => {
    const to = { ArrowRight: here + 1, ArrowLeft: here - 1, ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: pieces.length - 1 }[event.key];
    if (to === undefined || !pieces.length) return;
    event.preventDefault();
    pick(to);
  });
  fill(made, [...made.childNodes], pieces, s("line", { class: "cap", x1: LEFT, x2: WIDTH - LEFT, y1: base - BAR * result.cap / largest, y2: base - BAR * result.cap / largest }));
  return made;
}
