// Parts that several views are made of.

import { anotherKey } from "./api.js";
import { announce, append, fill, h, s, unique } from "./dom.js";
import { number } from "./format.js";

const SHAPES = {
  cut: ["M4 5h12", "M4 9h12", "M4 13h7", "M13 12l4 4", "M17 12l-4 4"],
  search: ["M9 3.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11", "M13 13l4 4"],
  graph: ["M5 6.5a1.8 1.8 0 1 0 0-3.6a1.8 1.8 0 0 0 0 3.6", "M15 8.8a1.8 1.8 0 1 0 0-3.6a1.8 1.8 0 0 0 0 3.6", "M8.5 17.1a1.8 1.8 0 1 0 0-3.6a1.8 1.8 0 0 0 0 3.6", "M6.7 5.1l6.5 1.5", "M5.7 6.4l2.2 7.2", "M13.9 8.4l-4.2 5.5"],
  tree: ["M4 4h6v4H4z", "M12 12h5v4h-5z", "M7 8v6h5"],
  sessions: ["M3 5h14v9H9l-4 3v-3H3z"],
  images: ["M3.5 4.5h13v11h-13z", "M6.8 8.6a1.1 1.1 0 1 0 0-2.2a1.1 1.1 0 0 0 0 2.2", "M4 14l4-3.6l2.6 2.2l2.6-3.1l3 3.5"],
  series: ["M4 4v12h12", "M6.5 12.5l2.8-3.4l2.4 1.9l3.8-5"],
  cost: ["M10 3v14", "M13.5 6.2c-.8-1-2-1.4-3.5-1.4c-2 0-3.4 1-3.4 2.6c0 3.6 7 1.6 7 5.2c0 1.6-1.5 2.6-3.6 2.6c-1.6 0-2.9-.5-3.7-1.6"],
  vectors: ["M4 16V4", "M4 16h12", "M8 12.2v.01", "M10.5 8.2v.01", "M14 10.2v.01", "M12 13.2v.01", "M15.5 5.5v.01"],
  jobs: ["M4 5h12", "M4 10h8", "M4 15h5", "M14 13l2 2l3-4"],
  settings: ["M4 6h7", "M15 6h1", "M13 4v4", "M4 14h1", "M9 14h7", "M7 12v4"],
  file: ["M6 3h5l4 4v10H6z", "M11 3v4h4"],
  folder: ["M3 5h5l2 2h7v9H3z"],
  plus: ["M10 4v12", "M4 10h12"],
  minus: ["M4 10h12"],
  close: ["M5 5l10 10", "M15 5L5 15"],
  copy: ["M7 7h9v9H7z", "M13 7V4H4v9h3"],
  play: ["M6 4l10 6l-10 6z"],
  pause: ["M7 4v12", "M13 4v12"],
  fit: ["M4 8V4h4", "M12 4h4v4", "M16 12v4h-4", "M8 16H4v-4"],
  theme: ["M10 3.5a6.5 6.5 0 1 0 0 13z", "M10 3.5a6.5 6.5 0 0 1 0 13"],
  right: ["M8 5l5 5l-5 5"],
};

/** A small drawing beside a word; it says nothing that the word does not. */
export const icon = (name) =>
  s("svg", { viewBox: "0 0 20 20", width: 18, height: 18, fill: "none", stroke: "currentColor", "stroke-width": 1.6, "stroke-linecap": "round", "stroke-linejoin": "round", "aria-hidden": "true" },
    SHAPES[name].map((d) => s("path", { d })));

export const button = (label, onClick, { kind = "", sign = null, ...more } = {}) =>
  h("button", { type: "button", class: ["button", kind], onClick, ...more }, sign && icon(sign), label);

/** A button that is a drawing alone, with its name for those who listen. */
export const iconButton = (name, sign, onClick, more = {}) =>
  h("button", { type: "button", class: "button quiet little", "aria-label": name, title: name, onClick, ...more }, icon(sign));

export const field = (label, control, hint = null) => {
  const said = hint && h("small", { class: "hint", id: unique("hint") }, hint);
  if (said) control.setAttribute("aria-describedby", said.id);
  return h("label", { class: "field" }, h("span", {}, label), control, said);
};

export const select = (options, value, onChange, more = {}) =>
  h("select", { onChange: (event) => onChange(event.target.value), ...more },
    options.map((one) => {
      const [key, label] = Array.isArray(one) ? one : [one, one];
      return h("option", { value: key, selected: String(key) === String(value) }, label);
    }));

/** A number to slide or to type; sliding is coarse where numbers are large. */
export function slider(label, { value, min, max, step = 1, hint = null, scale = "linear" }, onInput) {
  const out = (x) => (scale === "log" ? Math.round(min * (max / min) ** (x / 1000)) : Number(x));
  const place = (v) => (scale === "log" ? 1000 * Math.log(Math.max(v, min) / min) / Math.log(max / min) : v);
  const id = unique("slide");
  const typed = h("input", { type: "number", id, value, min, step, "aria-label": label });
  const slid = h("input", { type: "range", min: scale === "log" ? 0 : min, max: scale === "log" ? 1000 : max, step: scale === "log" ? 1 : step, value: place(value), "aria-label": `${label}, slider` });
  slid.setAttribute("aria-valuetext", number(value));
  const told = (given) => { slid.setAttribute("aria-valuetext", number(given)); onInput(given); };
  slid.addEventListener("input", () => { typed.value = out(slid.value); told(Number(typed.value)); });
  typed.addEventListener("input", () => { if (typed.value !== "") { slid.value = place(Number(typed.value)); told(Number(typed.value)); } });
  return h("div", { class: "field" },
    h("label", { class: "label", for: id }, label, hint && h("span", { class: "hint muted" }, ` ${hint}`)),
    h("div", { class: "slide" }, slid, typed));
}

export const chip = (text, kind = "", tone = null) =>
  h("span", { class: ["chip", kind], title: text }, tone && h("i", { class: "swatch", style: { "--tone": tone } }), text);

export const note = (text, kind = "") => h("div", { class: ["note", kind], role: kind === "bad" ? "alert" : null }, text);
export const busy = (text = "Reading …") => h("div", { class: "busy", role: "status" }, text);
export const empty = (title, text, ...more) => h("div", { class: "empty" }, h("h2", {}, title), text && h("p", {}, text), more);
/** What would be here, and how a text gets in. */
export const unwritten = (title, text) => empty(title, `${text} The command line, the API and agents remember texts:`,
  h("code", { class: "breaks" }, "unabridged remember notes.md"), h("code", { class: "breaks" }, 'POST /v1/gb/remember {"text": "…"}'));

export const figures = (pairs) =>
  h("dl", { class: "figures" }, pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { class: "num" }, value))));

/** A share as a bar, with words for those who do not see it. */
export const bar = (share, label, tone = null) =>
  h("span", { class: "bar", role: "img", "aria-label": label, title: label },
    h("i", { style: { "--share": `${Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10}%`, ...(tone ? { "--tone": tone } : {}) } }));

/** A table: columns are {name, value(row), num, kind, quiet}; a quiet name is for those who listen. */
export const table = (caption, columns, rows, { onPick = null } = {}) =>
  h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {},
      h("caption", { class: "out-of-sight" }, caption),
      h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col", class: column.num && "num" }, column.quiet ? h("span", { class: "out-of-sight" }, column.name) : column.name)))),
      h("tbody", {}, rows.map((row) => h("tr", { class: onPick && "pick", onClick: onPick && (() => onPick(row)) },
        columns.map((column) => h("td", { class: column.num ? "num" : column.kind }, column.value(row))))))));

/** Show what a promise brings, that it is on its way, or what went wrong. */
export async function shown(place, work, draw, { what = "Reading …", still = () => true } = {}) {
  const waits = setTimeout(() => still() && fill(place, busy(what)), 120);
  try {
    const found = await work;
    clearTimeout(waits);
    if (still()) fill(place, await draw(found));
  } catch (error) {
    clearTimeout(waits);
    if (error.name === "AbortError" || !still()) return;
    fill(place, failed(error));
    announce(error.message);
    if (error.status === undefined) console.error(error);
  }
}

/** What went wrong, and what may help. */
export const failed = (error, before = "") => h("div", { class: "stack tight" }, note(`${before}${error.message}`, "bad"),
  h("div", { class: "line" }, passing(error) ? button("Try again", () => dispatchEvent(new Event("hashchange")), { kind: "little" }) : otherKey(error)));
const otherKey = (error) => (error.status === 401 || error.status === 403 ? button("Give another key", anotherKey, { kind: "little" }) : null);

/** Whether asking once more may help: nobody answered, or the server is busy or at fault. */
const passing = (error) => error.status === 0 || error.status === 429 || error.status >= 500;

/** Buttons of which one is on. */
export function tabs(label, options, value, onChange) {
  const made = h("div", { class: "tabs", role: "group", "aria-label": label },
    options.map(([key, name]) => h("button", { type: "button", "aria-pressed": String(key === value), data: { key }, onClick: () => choose(key) }, name)));
  const choose = (key) => {
    for (const each of made.children) each.setAttribute("aria-pressed", String(each.dataset.key === key));
    onChange(key);
  };
  return made;
}

/** A dialog over the page; closed by Escape, which browsers see to. */
export function dialog(title, ...content) {
  const id = unique("title");
  const made = h("dialog", { "aria-labelledby": id }, h("div", { class: "stack" }, h("h2", { id }, title), content));
  made.addEventListener("close", () => made.remove());
  document.body.append(made);
  made.showModal();
  return made;
}

/** A list that grows: pages are fetched as `get(cursor)` gives them, by a button and by scrolling near it. */
export function growing(list, get, draw, { none = null, counted = null } = {}) {
  let cursor = null;
  let count = 0;
  let asking = false;
  const place = h("div", { class: "line" });
  const more = async () => {
    if (asking) return;
    asking = true;
    fill(place, busy());
    try {
      const page = await get(cursor);
      append(list, page.items.map(draw));
      count += page.items.length;
      cursor = page.cursor;
      fill(place, cursor ? button("More", more, { kind: "little" }) : null);
      if (!count && none) fill(place, none);
      if (counted) counted(count, cursor);
      if (cursor && watch) watch.observe(place);
    } catch (error) {
      if (error.name !== "AbortError") fill(place, note(error.message, "bad"), button("Try again", more, { kind: "little" }), otherKey(error));
    } finally {
      asking = false;
    }
  };
  const watch = "IntersectionObserver" in window
    ? new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) { watch.unobserve(place); if (cursor) more(); } }, { rootMargin: "600px" })
    : null;
  return { place, first: more, stop: () => watch?.disconnect() };
}

const TONES = 10;
/** The colour of the n-th of some kinds. */
export const tone = (at) => `var(--c${at % TONES})`;
