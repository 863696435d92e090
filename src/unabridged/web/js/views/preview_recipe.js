// One way to cut, with every setting that it has.

import { h, unique } from "../dom.js";
import { chip, field, iconButton, select, slider } from "../parts.js";

const LARGEST = 8192; // of the slider; larger ones can be typed
const WITHOUT_OVERLAP = new Set(["page", "proposition"]);
const WITHOUT_MINIMUM = new Set(["fixed", "page"]);
const ADDS = new Set(["structural", "contextual", "proposition"]); // overlap that follows the text needs plain spans

/** A recipe as it begins; each method keeps its own settings. */
export const recipeOf = (method, sizes = {}) => ({
  method, max_tokens: 1200, overlap_tokens: 0, min_tokens: 0, embedder: "lexical", settings: {}, ...sizes,
});

export function recipeCard(about, recipe, { several, number, onChange: changed, onMethod, onRemove }) {
  const written = h("pre", { class: "code", tabindex: "0" }, asCode(recipe));
  const onChange = () => { written.textContent = asCode(recipe); changed(); };
  const row = about.segmenters.find((one) => one.name === recipe.method) ?? about.segmenters[0];
  const own = (recipe.settings[recipe.method] ??= {});
  const put = (name, value) => { if (value === null || value === "") delete own[name]; else own[name] = value; onChange(); };
  const size = (name) => (value) => { recipe[name] = value; onChange(); };
  const id = unique("recipe");
  return h("article", { class: "panel padded stack tight recipe", "aria-labelledby": id, style: { "--tone": `var(--c${number - 1})` } },
    h("div", { class: "line spread" }, h("h2", { id }, several ? `Method ${number}` : "Method"), h("span", { class: "line" }, costChip(row, recipe, about),
      several ? iconButton(`Remove method ${number}`, "close", onRemove) : null)),
    h("div", { class: "field" },
      select(about.segmenters.map((one) => one.name), recipe.method, (name) => { recipe.method = name; onMethod(); }, { "aria-label": several ? `Method ${number}` : "Method" }),
      h("p", { class: "small muted" }, sentence(row.hypothesis))),
    slider("Largest chunk", { value: recipe.max_tokens, min: 32, max: LARGEST, scale: "log", hint: "tokens" }, size("max_tokens")),
    WITHOUT_OVERLAP.has(row.name) ? null : slider("Overlap", { value: recipe.overlap_tokens, min: 0, max: 512, hint: "tokens shared with the chunk before" }, size("overlap_tokens")),
    WITHOUT_MINIMUM.has(row.name) ? null : slider("Smallest chunk", { value: recipe.min_tokens, min: 0, max: 512, hint: "smaller ones are merged" }, size("min_tokens")),
    (OWN[row.name] ?? (() => null))({ own, put, recipe, about, onMethod }),
    WITHOUT_OVERLAP.has(row.name) || ADDS.has(row.name) ? null
      : checkbox("Overlap follows the text: wider where a cut is weak", own.adaptive_overlap ?? false, (on) => put("adaptive_overlap", on || null)),
    h("details", {}, h("summary", {}, "As code"), written));
}

/** The recipe as a line of Python, to take along. */
export function asCode(recipe) {
  const sizes = { max_tokens: recipe.max_tokens, overlap_tokens: recipe.overlap_tokens || null, min_tokens: recipe.min_tokens || null };
  const given = { ...sizes, ...recipe.settings[recipe.method] };
  if (recipe.method === "semantic" && recipe.embedder === "lexical") given.embedder = "lexical";
  const options = Object.entries(given).filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name}=${value === true ? "True" : value === false ? "False" : JSON.stringify(value)}`);
  return `unabridged.split(document, ${[JSON.stringify(recipe.method), ...options].join(", ")})`;
}

const OWN = {
  recursive: ({ own, put }) => {
    const written = (own.separators ?? []).map((one) => one.replaceAll("\n", "\\n").replaceAll(" ", "␣")).join("\n");
    const area = h("textarea", { rows: 4, class: "mono", spellcheck: "false", placeholder: "\\n\\n\n\\n\n.␣\n,␣", onInput: () => {
      const lines = area.value.split("\n").filter((line) => line !== "").map((line) => line.replaceAll("\\n", "\n").replaceAll("\\t", "\t").replaceAll("␣", " "));
      put("separators", lines.length ? lines : null);
    } });
    area.value = written;
    return field("Separators, strongest first", area, "One a line; \\n is a line's end, ␣ a space. Blank: paragraph, line, sentence, clause, word.");
  },
  structural: ({ own, put }) => checkbox("Open each chunk with its section's heading", own.prefix_section ?? true, (on) => put("prefix_section", on ? null : false)),
  semantic: ({ own, put, recipe, about, onMethod }) => h("div", { class: "stack tight" },
    slider("Sentences in a window", { value: own.semantic_window ?? 2, min: 1, max: 10 }, (value) => put("semantic_window", value)),
    slider("Cut above this percentile of distances", { value: own.semantic_percentile ?? 90, min: 0, max: 100 }, (value) => put("semantic_percentile", value)),
    about.embedder ? field("Windows are compared by", select([["lexical", "their words (free)"], ["api", about.embedder.name]], recipe.embedder, (value) => { recipe.embedder = value; onMethod(); })) : null),
  contextual: ({ own, put, about, onMethod }) => field("The line is written", select(
    [["metadata", "from file, section, page and position (free)"], ["llm", about.llm ? `by ${about.llm.name}` : "by a model (none is configured)"]],
    own.context_source ?? "metadata", (value) => { put("context_source", value === "metadata" ? null : value); onMethod(); })),
  proposition: ({ own, put }) => slider("Tokens a request", { value: own.proposition_batch_tokens ?? 900, min: 100, max: 4000, step: 50 }, (value) => put("proposition_batch_tokens", value)),
};

function costChip(row, recipe, about) {
  const own = recipe.settings[recipe.method] ?? {};
  if (row.name === "proposition" || own.context_source === "llm") return about.llm ? chip("calls a model", "warn") : chip("no model: falls back", "warn");
  if (row.name === "semantic" && recipe.embedder === "api") return chip("calls a model", "warn");
  return chip("free", "good");
}

function checkbox(label, on, onChange) {
  const box = h("input", { type: "checkbox", checked: on, onChange: () => onChange(box.checked) });
  return h("label", { class: "check small" }, box, h("span", {}, label));
}

const sentence = (text) => (text ? `${text[0].toUpperCase()}${text.slice(1)}.` : "");
