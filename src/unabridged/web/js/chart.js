// A line over time: points as they are, or windows with their range; read with the pointer or the arrow keys.

import { h, measured, s } from "./dom.js";
import { figure, ticksOf } from "./format.js";

const HIGH = 260;
const TOP = 12;
const BOTTOM = 26;
const RIGHT = 14;
const LETTER = 7.2; // pixels of a digit beside the axis

/**
 * A chart of rows {at (milliseconds), value, low, high, said}; `low` and `high` where a row stands for several points.
 * What is read of it stands in the place of the caption.
 */
export function chart(rows, { label, caption }) {
  const out = h("figcaption", { class: "small muted num" }, caption);
  const read = (text) => { out.textContent = text ?? caption; };
  return h("figure", { class: "stack tight" }, measured((wide) => drawn(rows, wide, { label, said: read }), "chart"), out);
}

function drawn(rows, wide, { label, said }) {
  const low = Math.min(...rows.map((row) => row.low ?? row.value));
  const high = Math.max(...rows.map((row) => row.high ?? row.value));
  const heights = steps(low, high);
  const left = 12 + LETTER * Math.max(...heights.map((one) => figure(one).length));
  const [bottom, top] = [heights[0], heights[heights.length - 1]];
  const [first, last] = [rows[0].at, rows[rows.length - 1].at];
  const x = (at) => (last > first ? left + (wide - left - RIGHT) * (at - first) / (last - first) : (left + wide - RIGHT) / 2);
  const y = (value) => TOP + (HIGH - TOP - BOTTOM) * (top - value) / (top - bottom);
  const band = rows.some((row) => row.high !== undefined);
  const point = (row, value) => `${x(row.at).toFixed(1)},${y(value).toFixed(1)}`;
  const dot = s("circle", { class: "dot", r: 4, visibility: "hidden" });
  const line = s("line", { class: "cross", y1: TOP, y2: HIGH - BOTTOM, visibility: "hidden" });
  const made = s("svg", { class: "plot", width: wide, height: HIGH, viewBox: `0 0 ${wide} ${HIGH}`, tabindex: "0", role: "slider", "aria-label": `${label} Arrow keys read it.`, "aria-orientation": "horizontal", "aria-valuemin": 1, "aria-valuemax": rows.length, "aria-valuenow": 1, "aria-valuetext": rows[0].said },
    heights.map((one) => [s("line", { class: "tick", x1: left, x2: wide - RIGHT, y1: y(one), y2: y(one) }), s("text", { x: left - 6, y: y(one) + 4, "text-anchor": "end" }, figure(one))]),
    ticksOf(first, last, Math.max(3, Math.floor((wide - left) / 90))).map(({ at, text }) => s("text", { x: x(at), y: HIGH - 6, "text-anchor": x(at) < left + 30 ? "start" : x(at) > wide - 40 ? "end" : "middle" }, text)),
    band ? s("polygon", { class: "band", points: [...rows.map((row) => point(row, row.high)), ...[...rows].reverse().map((row) => point(row, row.low))].join(" ") }) : null,
    s("polyline", { class: "curve", points: rows.map((row) => point(row, row.value)).join(" ") }),
    rows.length <= wide / 12 ? rows.map((row) => s("circle", { class: "spot", cx: x(row.at), cy: y(row.value), r: 2.5 })) : null, line, dot);
  let here = -1;
  const read = (at) => {
    here = Math.max(0, Math.min(rows.length - 1, at));
    const row = rows[here];
    const spot = { cx: x(row.at), cy: y(row.value), x1: x(row.at), x2: x(row.at), visibility: "visible" };
    for (const name of ["cx", "cy", "visibility"]) dot.setAttribute(name, spot[name]);
    for (const name of ["x1", "x2", "visibility"]) line.setAttribute(name, spot[name]);
    made.setAttribute("aria-valuenow", here + 1);
    made.setAttribute("aria-valuetext", row.said);
    said(row.said);
  };
  const away = () => { for (const one of [dot, line]) one.setAttribute("visibility", "hidden"); said(null); };
  made.addEventListener("pointermove", (event) => {
    const at = first + (event.clientX - made.getBoundingClientRect().left - left) / (wide - left - RIGHT) * (last - first);
    read(nearest(rows, at));
  });
  made.addEventListener("pointerleave", away);
  made.addEventListener("blur", away);
  made.addEventListener("keydown", (event) => {
    const leap = Math.max(1, Math.round(rows.length / 10));
    const to = { ArrowRight: here + 1, ArrowUp: here + 1, ArrowLeft: here - 1, ArrowDown: here - 1, PageUp: here + leap, PageDown: here - leap, Home: 0, End: rows.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    read(to);
  });
  return made;
}

function nearest(rows, at) {
  let low = 0;
  let high = rows.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].at < at) low = middle + 1; else high = middle;
  }
  return low && at - rows[low - 1].at < rows[low].at - at ? low - 1 : low;
}

/** Round numbers from below the least to above the greatest. */
export function steps(low, high) {
  if (high === low) { const by = Math.abs(low) * 0.1 || 1; return [low - by, low, low + by]; }
  const rough = (high - low) / 5;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * ten).find((one) => one >= rough);
  const found = [];
  for (let at = Math.floor(low / step); at * step < high + step * 0.999; at += 1) found.push(Number((at * step).toPrecision(12)));
  return found;
}
