// Pictures of the memory: fetched with the key of this tab, a few at a time, and only where somebody looks.
//
// Nothing is shown from an address of its own: what came is drawn small on a canvas and let go of, or given to an
// image element, in which a drawing (SVG) runs nothing.

import { memory, part } from "./api.js";
import { fill, h } from "./dom.js";
import { bytes } from "./format.js";
import { link } from "./route.js";

const AT_ONCE = 4; // fetched together
const MOST = 2 << 20; // bytes of a file that is fetched to be shown small; the server has none but the whole
const TALL = 320; // pixels of a small one: twice what it takes on the page, for dense screens
const kept = new Map(); // small ones, by what they are made of: going back and forth fetches none twice
const KEPT = 300;

export const named = (image) => image.caption || "An image without a caption";
export const kindOf = (image) => image.media_type.replace("image/", "").replace("svg+xml", "svg").toUpperCase();

const content = (image) => memory.blob(`images/${part(image.id)}/content`);

/** A small picture, fetched once it is in sight; of a large file its kind and size. `watch` is of `watching()`. */
export function small(image, watch) {
  const place = h("span", { class: "thumb", role: "img", "aria-label": named(image) });
  if (image.size > MOST) {
    fill(place, h("span", { class: "small muted" }, `${kindOf(image)}, ${bytes(image.size)}`));
    return place;
  }
  place.load = async () => {
    try {
      if (!kept.has(image.sha256)) keep(image.sha256, await made(image));
      fill(place, shownAgain(kept.get(image.sha256)));
    } catch (error) {
      fill(place, h("span", { class: "small muted" }, error.status === undefined ? kindOf(image) : "not there"));
    }
  };
  watch.observe(place);
  return place;
}

function keep(key, one) {
  kept.set(key, one);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
}

async function made(image) {
  const data = await content(image);
  if (image.media_type === "image/svg+xml") return data;
  return shrunk(await createImageBitmap(data));
}

async function shrunk(whole) {
  const share = Math.min(1, TALL / whole.height);
  const size = { resizeWidth: Math.max(1, Math.round(whole.width * share)), resizeHeight: Math.max(1, Math.round(whole.height * share)), resizeQuality: "high" };
  const less = share < 1 ? await createImageBitmap(whole, size) : whole;
  if (less !== whole) whole.close();
  return less;
}

function shownAgain(one) {
  if (one instanceof Blob) return drawing(one);
  const canvas = h("canvas", { width: one.width, height: one.height, "aria-hidden": "true" });
  canvas.getContext("2d").drawImage(one, 0, 0);
  return canvas;
}

/** An image element of some data; its address is let go of as soon as it is read. */
function drawing(data, more = {}) {
  const url = URL.createObjectURL(data);
  const element = h("img", { src: url, alt: "", ...more });
  for (const event of ["load", "error"]) element.addEventListener(event, () => URL.revokeObjectURL(url), { once: true });
  return element;
}

/** Who loads small pictures as they come into sight, some at a time; `stop()` forgets those that wait. */
export function watching() {
  const waiting = [];
  let running = 0;
  const next = () => {
    while (running < AT_ONCE && waiting.length) {
      running += 1;
      waiting.shift().load().finally(() => { running -= 1; next(); });
    }
  };
  const watch = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) { watch.unobserve(one.target); waiting.push(one.target); }
    next();
  }, { rootMargin: "300px" });
  return { observe: (place) => watch.observe(place), stop: () => { waiting.length = 0; watch.disconnect(); } };
}

/** The pictures that a promise brings, each a link to its view; nothing where there are none. */
export function strip(work, title, kind = "padded-in") {
  const place = h("section", { class: [kind, "stack tight"], "aria-label": title, hidden: true });
  work.then((images) => {
    if (!images.length) return;
    const watch = watching();
    place.hidden = false;
    fill(place, h("h3", {}, title), h("ul", { class: "thumbs flat" }, images.map((one) => h("li", {},
      h("a", { class: "thumb-link", href: link("images", one.id) }, small(one, watch), h("span", { class: "one-line small", dir: "auto" }, one.caption || kindOf(one)))))));
  }).catch(() => {}); // beside what was asked for: not worth a message of its own
  return place;
}

/** A picture as large as there is room, with its size under it; what a browser cannot show can be kept as a file. */
export async function large(image) {
  const data = await content(image);
  const facts = h("p", { class: "small muted" }, `${kindOf(image)}, ${bytes(image.size)}`);
  const element = drawing(data, { alt: named(image), class: "picture" });
  await new Promise((done) => { element.onload = done; element.onerror = done; });
  if (element.naturalWidth) facts.textContent += `, ${element.naturalWidth} × ${element.naturalHeight}`;
  const shown = element.naturalWidth ? element : h("div", { class: "note" }, `Browsers do not show ${kindOf(image)} files, or this one is damaged.`);
  return [shown, h("div", { class: "line spread" }, facts, h("button", { type: "button", class: "button little", onClick: () => save(image, data) }, "Save the file"))];
}

function save(image, data) {
  const url = URL.createObjectURL(data);
  const file = h("a", { href: url, download: `${image.sha256.slice(0, 16)}.${image.media_type.replace("image/", "").replace("+xml", "")}` });
  file.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
