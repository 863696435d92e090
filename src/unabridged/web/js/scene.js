// Points and lines on a canvas, to move and zoom in: the graph and the cloud of vectors.
//
// Every frame draws everything that is in sight. 5,000 points and 10,000 lines stay above 30 frames a second
// without a graphics card.

import { calm, colour, h } from "./dom.js";
import { mixed, packed, Raster } from "./raster.js";

const NEAR = 14; // pixels from a point that still mean it
const LABELS = 30; // at once: more cover each other, and words are the slowest part of a frame
const SMOOTH = 250_000; // pixels of lines in a frame up to which they are drawn without steps
const SAID = 24; // lines of the chosen point up to which their words are drawn
const KEY_STEP = 60; // pixels an arrow key moves

export class Scene {
  /**
   * `points`: {x, y (-1 … 1), size (pixels), tone (a number), label}; `lines`: {source, target, faint}.
   * `onPick(index | null)` when a point is chosen, `onHover(index | null)` when one is pointed at.
   */
  constructor({ label, onPick = () => {}, onHover = () => {} }) {
    this.canvas = h("canvas", { tabindex: "0", role: "application", "aria-roledescription": "drawing", "aria-label": label });
    this.element = h("div", { class: "scene" }, this.canvas);
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.count = 0;
    this.view = { x: 0, y: 0, scale: 1 };
    this.reach = { x: 1, y: 1 }; // how far points lie from the middle
    this.picked = null;
    this.hovered = null;
    this.frames = 0;
    this.spent = 0;
    this.said = null; // the words of a line, by its number
    this.named = true; // whether names stand beside points that nobody points at
    this.onPick = onPick;
    this.onHover = onHover;
    this.wanted = false;
    this.#listen();
  }

  /** What is drawn: columns, which may be changed in place and drawn again by `draw()`. */
  show({ x, y, size, tone, label, source = [], target = [] }) {
    Object.assign(this, { x, y, size, tone, label, source, target, count: x.length });
    this.visible = new Uint8Array(this.count).fill(1);
    this.lines = new Uint8Array(source.length).fill(1); // 0 not at all, 1 holds, 2 has ended
    this.near = null;
    this.reach = { x: farthest(x), y: farthest(y) };
    this.order = [...label.keys()].sort((a, b) => size[b] - size[a]);
    this.pick(null, { quiet: true });
    this.fit();
  }

  /** Draw with the next frame. */
  draw() {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => { this.wanted = false; this.#frame(); });
  }

  /** See everything. */
  fit() {
    this.gliding = null;
    this.#size();
    const room = Math.min(1, 0.3 + 0.07 * this.count); // few points stand in the middle, not in the corners
    this.view = { x: 0, y: 0, scale: room * Math.min(0.47 * this.width / this.reach.x, 0.46 * this.height / this.reach.y) };
    this.draw();
  }

  /** Choose a point, as if it had been clicked. */
  pick(index, { quiet = false, go = false } = {}) {
    this.picked = index;
    this.near = null;
    if (index !== null && index !== undefined) {
      this.near = new Uint8Array(this.count);
      this.near[index] = 1;
      for (let at = 0; at < this.source.length; at += 1) {
        if (!this.lines[at]) continue;
        if (this.source[at] === index) this.near[this.target[at]] = 1;
        else if (this.target[at] === index) this.near[this.source[at]] = 1;
      }
      if (go) this.glide(this.x[index], this.y[index], Math.max(this.view.scale, 1.2 * Math.min(this.width, this.height)));
    }
    if (!quiet) this.onPick(index);
    this.draw();
  }

  /** Move so that a place is in the middle. */
  glide(x, y, scale) {
    const from = { ...this.view };
    const begun = performance.now();
    const length = calm() ? 1 : 320;
    const mine = this.gliding = Symbol("glide");
    const step = (now) => {
      if (this.gliding !== mine) return; // somebody moved it meanwhile
      const part = Math.min(1, (now - begun) / length);
      const ease = 1 - (1 - part) ** 3;
      for (const [name, to] of Object.entries({ x, y, scale })) this.view[name] = from[name] + (to - from[name]) * ease;
      this.draw();
      if (part < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  /** Zoom by a factor around a place of the canvas (its middle by default). */
  zoom(factor, px = this.width / 2, py = this.height / 2) {
    this.gliding = null;
    const scale = Math.min(80, Math.max(0.2, this.view.scale / Math.min(this.width, this.height) * factor)) * Math.min(this.width, this.height);
    const x = (px - this.width / 2) / this.view.scale + this.view.x;
    const y = (py - this.height / 2) / this.view.scale + this.view.y;
    this.view = { x: x - (px - this.width / 2) / scale, y: y - (py - this.height / 2) / scale, scale };
    this.draw();
  }

  /** The point at a place of the canvas, or null. */
  at(px, py) {
    let best = null;
    let least = NEAR * NEAR;
    for (let at = 0; at < this.count; at += 1) {
      if (!this.visible[at]) continue;
      const dx = this.#px(this.x[at]) - px;
      const dy = this.#py(this.y[at]) - py;
      const far = Math.max(0, Math.hypot(dx, dy) - this.size[at]) ** 2;
      if (far < least) { least = far; best = at; }
    }
    return best;
  }

  /** Give back what was listened to. */
  close() {
    this.resized?.disconnect();
    removeEventListener("theme", this.themed);
    matchMedia("(prefers-color-scheme: dark)").removeEventListener("change", this.themed);
  }

  // -- drawing ----------------------------------------------------------------------------------------------

  #px(x) { return (x - this.view.x) * this.view.scale + this.width / 2; }
  #py(y) { return (y - this.view.y) * this.view.scale + this.height / 2; }

  #size() {
    const box = this.element.getBoundingClientRect();
    const ratio = Math.min(2, devicePixelRatio || 1);
    this.width = Math.max(1, box.width);
    this.height = Math.max(1, box.height);
    if (this.canvas.width !== Math.round(this.width * ratio) || this.canvas.height !== Math.round(this.height * ratio)) {
      this.canvas.width = Math.round(this.width * ratio);
      this.canvas.height = Math.round(this.height * ratio);
      this.raster = new Raster(this.context, this.canvas.width, this.canvas.height);
    }
    this.ratio = ratio;
  }

  #frame() {
    const begun = performance.now();
    this.colours ??= colours();
    this.raster.clear(this.colours.ground);
    if (this.count) {
      this.#place();
      this.#drawLines();
      this.#drawPoints();
    }
    this.raster.put();
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    if (this.count) {
      this.#drawRings();
      this.#drawRelations();
      this.#drawLabels();
    }
    this.frames += 1;
    this.spent = performance.now() - begun;
  }

  /** Every point in pixels, once a frame. */
  #place() {
    if (this.sx?.length !== this.count) { this.sx = new Float32Array(this.count); this.sy = new Float32Array(this.count); }
    for (let at = 0; at < this.count; at += 1) {
      this.sx[at] = this.#px(this.x[at]);
      this.sy[at] = this.#py(this.y[at]);
    }
  }

  #drawLines() {
    const { raster, ratio, sx, sy, source, target, visible, lines, near, picked, colours } = this;
    const wide = this.view.scale / Math.min(this.width, this.height);
    const strength = Math.min(0.55, 0.1 + 100 / Math.max(1, source.length) + wide * 0.06) * (near ? 0.35 : 1);
    const smooth = (this.pixels ?? 0) < SMOOTH;
    let pixels = 0;
    const mine = [];
    for (let at = 0; at < source.length; at += 1) {
      const one = source[at];
      const other = target[at];
      if (!lines[at] || !visible[one] || !visible[other]) continue;
      if (near && (one === picked || other === picked)) { mine.push(at); continue; }
      const x1 = sx[one] * ratio;
      const y1 = sy[one] * ratio;
      const x2 = sx[other] * ratio;
      const y2 = sy[other] * ratio;
      const ended = lines[at] === 2;
      raster.line(x1, y1, x2, y2, colours.edge, ended ? strength * 0.6 : strength, smooth, ended);
      pixels += Math.min(raster.width, Math.abs(x2 - x1)) + Math.min(raster.height, Math.abs(y2 - y1));
    }
    this.pixels = pixels;
    this.mine = mine;
    for (const at of mine) this.#strong(sx[source[at]] * ratio, sy[source[at]] * ratio, sx[target[at]] * ratio, sy[target[at]] * ratio, lines[at] === 2);
  }

  /** A line of the chosen point, as wide as two. */
  #strong(x1, y1, x2, y2, dashed) {
    const steep = Math.abs(y2 - y1) > Math.abs(x2 - x1);
    for (const by of [0, 0.8 * this.ratio]) {
      const [dx, dy] = steep ? [by, 0] : [0, by];
      this.raster.line(x1 + dx, y1 + dy, x2 + dx, y2 + dy, this.colours.accentDisc, 0.9, true, dashed);
    }
  }

  /** How much larger points are drawn than their size says: they grow a little with the zoom. */
  get grown() {
    const small = Math.min(1, Math.max(0.55, Math.sqrt(Math.min(this.width, this.height) / 700)));
    return small * Math.min(2.2, Math.max(0.7, Math.sqrt(this.view.scale / Math.min(this.width, this.height) / 0.46)));
  }

  #drawPoints() {
    const { raster, sx, sy, visible, near, ratio, colours, grown } = this;
    const strong = [];
    for (let place = this.count - 1; place >= 0; place -= 1) { // the largest last, so that they are not covered
      const at = this.order[place];
      if (!visible[at]) continue;
      if (near && near[at]) { strong.push(at); continue; }
      this.#disc(raster, at, sx[at] * ratio, sy[at] * ratio, grown * ratio, near ? colours.faint : colours.discs);
    }
    for (const at of strong) this.#disc(raster, at, sx[at] * ratio, sy[at] * ratio, grown * ratio, colours.discs);
  }

  #disc(raster, at, x, y, grown, tones) {
    raster.disc(x, y, Math.max(1.5 * this.ratio, this.size[at] * grown), tones[this.tone[at] % 10], this.colours.ground);
  }

  #drawRings() {
    const { context } = this;
    context.strokeStyle = this.colours.accent;
    context.lineWidth = 2;
    for (const at of new Set([this.picked, this.hovered])) {
      if (at === null || at === undefined || !this.visible[at]) continue;
      context.beginPath();
      context.arc(this.sx[at], this.sy[at], this.size[at] * this.grown + 3, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  /** What the lines of the chosen point say, where there is room for it. */
  #drawRelations() {
    const { context, sx, sy, mine, source, target, said } = this;
    if (!said || !mine?.length || mine.length > SAID) return;
    context.font = `11px ${this.colours.font}`;
    context.textAlign = "center";
    context.lineWidth = 3;
    const words = new Map(); // several facts between the same two stand on one line
    for (const at of mine) {
      const pair = source[at] < target[at] ? `${source[at]} ${target[at]}` : `${target[at]} ${source[at]}`;
      words.set(pair, { at, text: words.has(pair) ? `${words.get(pair).text}, ${said(at)}` : said(at) });
    }
    for (const { at, text } of words.values()) {
      const [dx, dy] = [sx[target[at]] - sx[source[at]], sy[target[at]] - sy[source[at]]];
      if (Math.hypot(dx, dy) < 6 * text.length) continue;
      const [x, y] = [sx[source[at]] + dx / 2, sy[source[at]] + dy / 2 + 3];
      context.strokeStyle = this.colours.paper;
      context.strokeText(text, x, y);
      context.fillStyle = this.colours.accent;
      context.fillText(text, x, y);
    }
  }

  #drawLabels() {
    const { context, sx, sy } = this;
    const zoomed = this.view.scale / Math.min(this.width, this.height);
    const most = this.near ? LABELS : Math.round(Math.min(LABELS, 14 * zoomed ** 1.4 + 6));
    context.font = `12px ${this.colours.font}`;
    context.textAlign = "center";
    context.lineJoin = "round";
    context.lineWidth = 3;
    const taken = [];
    const first = [this.hovered, this.picked].filter((at) => at !== null && at !== undefined);
    for (const at of [...first, ...this.order]) {
      if ((taken.length >= most || !this.named) && !first.includes(at)) break;
      if (!this.visible[at] || (this.near && !this.near[at] && at !== this.hovered)) continue;
      const y = Math.max(14, sy[at] - this.size[at] * this.grown - (first.includes(at) ? 10 : 6)); // over its ring
      if (sx[at] < 0 || sy[at] < 0 || sx[at] > this.width || y > this.height) continue;
      const text = this.label[at].length > 32 ? `${this.label[at].slice(0, 31)}…` : this.label[at];
      const half = 3.4 * text.length + 4;
      const x = Math.min(this.width - half, Math.max(half, sx[at])); // all of it in sight
      if (!first.includes(at) && taken.some((one) => Math.abs(one.x - x) < one.half + half && Math.abs(one.y - y) < 15)) continue;
      taken.push({ x, y, half });
      context.strokeStyle = this.colours.paper;
      context.strokeText(text, x, y);
      context.fillStyle = this.colours.ink;
      context.fillText(text, x, y);
    }
  }

  // -- listening --------------------------------------------------------------------------------------------

  #listen() {
    const { canvas } = this;
    const held = new Map();
    let moved = 0;
    let spread = 0;
    const local = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    canvas.addEventListener("pointerdown", (event) => { this.gliding = null; canvas.setPointerCapture(event.pointerId); held.set(event.pointerId, local(event)); moved = 0; spread = 0; });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = local(event);
      if (!held.has(event.pointerId)) { this.#hover(this.at(x, y)); return; }
      const [ox, oy] = held.get(event.pointerId);
      held.set(event.pointerId, [x, y]);
      if (held.size === 2) { // two fingers
        const [[ax, ay], [bx, by]] = held.values();
        const wide = Math.hypot(ax - bx, ay - by);
        if (spread) this.zoom(wide / spread, (ax + bx) / 2, (ay + by) / 2);
        spread = wide;
        moved = 99;
        return;
      }
      moved += Math.hypot(x - ox, y - oy);
      this.view.x -= (x - ox) / this.view.scale;
      this.view.y -= (y - oy) / this.view.scale;
      this.draw();
    });
    const released = (event) => { held.delete(event.pointerId); spread = 0; };
    canvas.addEventListener("pointerup", (event) => { if (held.size === 1 && moved < 5) this.pick(this.at(...local(event))); released(event); });
    canvas.addEventListener("pointercancel", released);
    canvas.addEventListener("pointerleave", () => this.#hover(null));
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), ...local(event)); }, { passive: false });
    canvas.addEventListener("dblclick", (event) => this.zoom(2, ...local(event)));
    canvas.addEventListener("keydown", (event) => this.#key(event));
    this.themed = () => { this.colours = null; this.raster?.stamps.clear(); this.draw(); };
    addEventListener("theme", this.themed);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.themed);
    this.resized = new ResizeObserver(() => { const before = this.width; this.#size(); if (before !== this.width && this.count && before <= 1) this.fit(); else this.draw(); });
    this.resized.observe(this.element);
  }

  #hover(at) {
    if (at === this.hovered) return;
    this.hovered = at;
    this.canvas.style.setProperty("cursor", at === null ? "grab" : "pointer");
    this.onHover(at);
    this.draw();
  }

  #key(event) {
    const step = KEY_STEP / this.view.scale;
    const done = {
      ArrowLeft: () => { this.view.x -= step; }, ArrowRight: () => { this.view.x += step; },
      ArrowUp: () => { this.view.y -= step; }, ArrowDown: () => { this.view.y += step; },
      "+": () => this.zoom(1.3), "=": () => this.zoom(1.3), "-": () => this.zoom(1 / 1.3), 0: () => this.fit(), Escape: () => this.pick(null),
      Enter: () => this.pick(this.at(this.width / 2, this.height / 2)),
    }[event.key];
    if (!done || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.gliding = null;
    done();
    this.draw();
  }
}

function farthest(values) {
  let most = 0.02; // one point alone is in the middle, and not endlessly large
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most;
}

/** The theme's colours, read once until it changes. */
function colours() {
  const ground = packed(colour("panel"));
  const discs = Array.from({ length: 10 }, (_, at) => packed(colour(`c${at}`)));
  return {
    ground, discs, faint: discs.map((one) => mixed(one, ground, 0.25)), edge: packed(colour("ink-2")), accentDisc: packed(colour("accent")),
    paper: colour("panel"), accent: colour("accent"), ink: colour("ink"),
    font: getComputedStyle(document.body).fontFamily,
  };
}
