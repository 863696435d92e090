// Elements from data. Text is always text: nothing here reads markup, so nothing out of a document can run.

const SVG = "http://www.w3.org/2000/svg";
const SAFE_LINK = /^(?:https?:|blob:|#|\/|assets\/)/i;

/** An HTML element: properties, then children (nodes, texts, arrays of them; null is left out). */
export const h = (tag, props, ...children) => built(document.createElement(tag), props, children);

/** The same in SVG. */
export const s = (tag, props, ...children) => built(document.createElementNS(SVG, tag), props, children);

function built(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) set(element, name, value);
  append(element, children);
  return element;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) {
    if (typeof value !== "function") throw new TypeError(`${name}: a function, or nothing`);
    element.addEventListener(name.slice(2).toLowerCase(), value);
  } else if (name === "class") {
    element.setAttribute("class", Array.isArray(value) ? value.filter(Boolean).join(" ") : value);
  } else if (name === "style") {
    for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
  } else if (name === "data") {
    Object.assign(element.dataset, value);
  } else if (name === "value" || name === "checked" || name === "indeterminate" || name === "open") {
    element[name] = value;
  } else if (name === "href" || name === "src") {
    if (SAFE_LINK.test(value)) element.setAttribute(name, value);
  } else {
    element.setAttribute(name, value === true ? "" : value);
  }
}

/** Add children to a node. */
export function append(parent, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return parent;
}

/** Put other children in the place of a node's own. */
export function fill(parent, ...children) {
  parent.replaceChildren();
  return append(parent, ...children);
}

/** Say something to people who listen to the page. */
export function announce(text) {
  const place = document.getElementById("status");
  if (!place) return;
  place.textContent = "";
  requestAnimationFrame(() => { place.textContent = text; });
}

/** Call later, once, however often it is asked for meanwhile. */
export function debounced(call, milliseconds) {
  let timer = 0;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), milliseconds);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

let last = 0;
/** An id that no other element of the page has. */
export const unique = (name) => `${name}-${++last}`;

/** Whether somebody asked for less motion. */
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** A place for a drawing that is as wide as there is room: `draw(pixels)`, again when that changes. */
export function measured(draw, kind = null) {
  const place = h("div", { class: kind });
  let wide = 0;
  new ResizeObserver(() => {
    const now = Math.round(place.clientWidth);
    if (now < 50 || now === wide) return;
    wide = now;
    fill(place, draw(now));
  }).observe(place);
  return place;
}

let pen = null;
/** As much of a text as fits so many pixels, in the page's letters of a size. */
export function fitted(text, pixels, size) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  if (pen.measureText(text).width <= pixels) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(`${text.slice(0, middle)}…`).width <= pixels) low = middle; else high = middle - 1;
  }
  return `${text.slice(0, /[\ud800-\udbff]/.test(text[low - 1] ?? "") ? low - 1 : low)}…`;
}

/** A colour of the theme in force. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Where parts stand under each other, bring one that was filled into sight. */
export function bring(element) {
  if (element.getBoundingClientRect().top > innerHeight * 0.7) element.scrollIntoView({ block: "start", behavior: calm() ? "auto" : "smooth" });
}
