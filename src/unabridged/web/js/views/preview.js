// How a document would be cut, before anything is spent: one way or several beside each other.

import { get, post, upload, blob } from "../api.js";
import { announce, debounced, fill, h } from "../dom.js";
import { money, plural } from "../format.js";
import { button, field, icon, note, shown } from "../parts.js";
import { openFolder, openText } from "./preview_open.js";
import { recipeCard, recipeOf } from "./preview_recipe.js";
import { resultsOf } from "./preview_results.js";
import { SAMPLE } from "../sample.js";

const MOST = 4; // beside each other; more do not fit on a screen
const remembered = { document: null, file: null, recipes: null, question: "", tokenizer: "estimate", price: "", cap: "", calls: "" };

export default async function preview(root, { heading, still }) {
  const settings = await get("v1/gb/preview");
  const state = remembered;
  state.recipes ??= [recipeOf("paragraph", { max_tokens: 160 })];
  let answers = [];
  let asked = 0;
  let stop = null;

  const about = h("div", {});
  const cards = h("div", { class: "stack" });
  const run = h("div", { class: "stack tight" });
  const results = h("div", { class: "results stack", "aria-live": "off" });
  const another = button("Compare with another", () => { const one = state.recipes[state.recipes.length - 1]; add({ ...structuredClone(one), method: next(one.method) }); }, { sign: "plus", kind: "quiet" });

  const free = ["paragraph", "sentence", "structural", "recursive", "fixed", "contextual", "semantic"];
  const next = (method) => free.find((one) => !state.recipes.some((each) => each.method === one)) ?? method;

  // -- the document ---------------------------------------------------------------------------------------

  async function open(work, file = null) {
    fill(about, h("div", { class: "busy", role: "status" }, "Opening …"));
    try {
      const opened = await work;
      if (!still()) return;
      state.document = opened;
      state.file = file;
      drawAbout();
      await cut(false);
    } catch (error) {
      if (still()) { fill(about, note(error.message, "bad")); announce(error.message); }
    }
  }
  const sendFile = (file) => upload("v1/gb/preview/uploads", file, { name: file.name });
  const openFile = (file) => {
    if (file.size > settings.limits.bytes) return open(Promise.reject(new Error(`${file.name} is larger than the ${settings.limits.bytes / 2 ** 20} MB that a preview reads.`)));
    return open(sendFile(file), file);
  };
  const paste = (text, name) => open(post("v1/gb/preview/documents", { text }).then((made) => ({ ...made, name: name ?? made.name })));

  function drawAbout() {
    const one = state.document;
    const facts = [one.kind, one.pages && plural(one.pages, "page"), one.sections > 1 && plural(one.sections, "section"), one.kind !== "image" && plural(one.characters, "character")];
    fill(about, h("div", { class: "opened" }, icon("file"), h("div", {}, h("strong", { dir: "auto" }, one.name), h("div", { class: "small muted" }, facts.filter(Boolean).join(" · ")))),
      one.unread_pages?.length ? note(`Without a text layer (scans): ${plural(one.unread_pages.length, "page")}.`, "warn") : null,
      one.warnings?.map((line) => note(line, "warn")));
  }

  // -- cutting ----------------------------------------------------------------------------------------------

  async function cut(spend) {
    const mine = ++asked;
    stop?.abort();
    stop = new AbortController();
    if (state.document.kind === "image") return image();
    const body = {
      document: state.document.id, tokenizer: state.tokenizer, question: state.question, spend,
      recipes: state.recipes.map(asRecipe),
      max_cost_usd: state.cap === "" ? null : Number(state.cap), max_calls: state.calls === "" ? null : Number(state.calls),
    };
    results.setAttribute("aria-busy", "true");
    try {
      const answer = await reopening(() => post("v1/gb/preview/cuts", { ...body, document: state.document.id }, { signal: stop.signal }));
      if (mine !== asked || !still()) return;
      answers = answer.results;
      fill(results, resultsOf(answers, state));
      const made = answers.filter((one) => one.chunks);
      announce(made.map((one) => `${one.name}: ${plural(one.stats.n, "chunk")}`).join("; "));
    } catch (error) {
      if (error.name !== "AbortError" && mine === asked) fill(results, note(error.message, "bad"));
    } finally {
      if (mine === asked) { results.removeAttribute("aria-busy"); drawRun(); }
    }
  }

  /** Once more with the document opened anew, if the server has let go of it. */
  async function reopening(work) {
    try {
      return await work();
    } catch (error) {
      if (error.status !== 404) throw error;
      const one = state.document;
      const again = state.file ? await sendFile(state.file) : one.place ? await post("v1/gb/preview/documents", one.place) : await post("v1/gb/preview/documents", { text: one.text });
      state.document = { ...one, id: again.id };
      return work();
    }
  }

  async function image() {
    await shown(results, blob(`v1/gb/preview/documents/${state.document.id}/image`), (data) => {
      const url = URL.createObjectURL(data);
      const picture = h("img", { src: url, alt: state.document.name, class: "picture" });
      picture.addEventListener("load", () => URL.revokeObjectURL(url));
      return [note("An image has no chunks: where the provider takes images it gets one vector, whole."), picture];
    }, { still });
    drawRun();
  }
  const soon = debounced(() => state.document && cut(false), 140);

  // -- the panel ----------------------------------------------------------------------------------------------

  function drawRun() {
    const costs = answers.filter((one) => one.cost);
    const waiting = costs.some((one) => !one.chunks);
    const calls = costs.reduce((sum, one) => sum + one.cost.calls, 0);
    const usd = costs.every((one) => one.cost.usd !== null) ? costs.reduce((sum, one) => sum + one.cost.usd, 0) : null;
    const models = [...new Set(costs.map((one) => one.cost.model))].join(", ");
    const label = costs.length ? `Preview: calls ${models} about ${plural(calls, "time")}, ${money(usd)}` : "Preview chunks";
    fill(run, button(label, () => state.document && cut(costs.length > 0), { kind: "main", sign: "cut", disabled: !state.document }),
      h("p", { class: "small muted" }, !costs.length ? "No model is called; nothing is spent. The preview follows every change."
        : waiting ? `Nothing has been spent yet.${answers.length > 1 ? " The other methods are shown already." : ""}` : "As it was paid for. A change asks again before it pays."));
  }

  function drawCards() {
    fill(cards, state.recipes.map((recipe, at) => recipeCard(settings, recipe, {
      several: state.recipes.length > 1, number: at + 1,
      onChange: () => soon(),
      onMethod: () => { drawCards(); soon(); },
      onRemove: () => { state.recipes.splice(at, 1); drawCards(); soon(); },
    })));
    another.hidden = state.recipes.length >= MOST;
  }
  function add(recipe) { state.recipes.push(recipe); drawCards(); soon(); }

  const input = h("input", { type: "file", class: "out-of-sight", tabindex: "-1", "aria-hidden": "true", accept: settings.kinds.map((one) => `.${one}`).join(","), onChange: () => input.files[0] && openFile(input.files[0]) });
  const drop = h("div", { class: "drop" },
    h("p", {}, h("strong", {}, "Drop a file here"), h("br"), h("span", { class: "small muted" }, "PDF, Word, text, Markdown, HTML or an image")),
    h("div", { class: "line" },
      button("Choose a file", () => input.click(), { kind: "little" }),
      button("Paste a text", () => openText(paste), { kind: "little" }),
      settings.folders.length ? button("Browse", () => openFolder(settings.folders, (source) => open(post("v1/gb/preview/documents", source).then((made) => ({ ...made, place: source })))), { kind: "little" }) : null),
    input);

  const price = h("input", { type: "number", min: 0, step: "any", value: state.price, placeholder: "unknown", onInput: () => { state.price = price.value; if (answers.length) fill(results, resultsOf(answers, state)); } });
  const question = h("input", { type: "search", value: state.question, placeholder: "Which chunks would it find?", onInput: () => { state.question = question.value; soon(); } });
  const limits = h("details", {}, h("summary", {}, "Counting and cost"), h("div", { class: "stack tight" },
    field("Tokens are counted by", tokenizerOf(settings, state, soon)),
    field("Embedding price", price, "dollars a million tokens"),
    settings.llm || settings.embedder ? [
      field("At most to spend on a preview", capOf(state, soon), `dollars; blank: ${money(settings.limits.max_cost_usd)} as configured`),
      field("At most model calls", callsOf(state, soon), "blank: no limit of calls")] : null));

  fill(root, h("div", { class: "head" }, heading, h("p", {}, "See where a document is cut, how large the pieces are and what they would cost, before anything is spent.")),
    h("div", { class: "split" },
      h("section", { class: "controls stack", "aria-label": "Document and methods" }, h("div", { class: "panel padded stack tight" }, drop, about),
        cards, another, h("div", { class: "panel padded stack" }, field("A question", question), limits), h("div", { class: "run" }, run)),
      h("section", { class: "outcome", "aria-label": "Chunks" }, results)));
  drawCards();
  drawRun();
  const away = dropping(root, drop, openFile);
  if (state.document) { drawAbout(); cut(false); } else paste(SAMPLE.text, SAMPLE.name);
  return () => { stop?.abort(); soon.cancel(); away(); };
}

const asRecipe = (one) => ({
  name: one.label ?? one.method, method: one.method, max_tokens: one.max_tokens, overlap_tokens: one.overlap_tokens,
  min_tokens: one.min_tokens, settings: one.settings[one.method] ?? {}, embedder: one.embedder,
});

function tokenizerOf(settings, state, soon) {
  const names = { estimate: "estimate (any model)", cl100k_base: "cl100k_base (text-embedding-3)", o200k_base: "o200k_base (GPT-4o)" };
  return h("select", { onChange: (event) => { state.tokenizer = event.target.value; soon(); } },
    settings.tokenizers.map((one) => h("option", { value: one, selected: one === state.tokenizer }, names[one] ?? one)));
}
const capOf = (state, soon) => h("input", { type: "number", min: 0, step: "any", value: state.cap, onInput: (event) => { state.cap = event.target.value; soon(); } });
const callsOf = (state, soon) => h("input", { type: "number", min: 0, step: 1, value: state.calls, onInput: (event) => { state.calls = event.target.value; soon(); } });

/** Files dropped anywhere on the view are opened. */
function dropping(root, place, openFile) {
  const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const over = (event) => { if (carries(event)) { event.preventDefault(); place.classList.add("over"); } };
  const out = () => place.classList.remove("over");
  const drop = (event) => { if (!carries(event)) return; event.preventDefault(); out(); const file = event.dataTransfer.files[0]; if (file) openFile(file); };
  const heard = [["dragover", over], ["dragleave", out], ["drop", drop]];
  for (const [name, call] of heard) addEventListener(name, call);
  return () => { for (const [name, call] of heard) removeEventListener(name, call); };
}
