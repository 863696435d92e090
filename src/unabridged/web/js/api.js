// The server, as the page asks it: one place for addresses, keys, datasets and what goes wrong.

const KEY = "unabridged.key";
const base = document.baseURI;
let dataset = null;
let keyAsker = null;

/** What the server said went wrong, in its own words. */
export class Problem extends Error {
  constructor(status, detail, code = "") {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

export const currentDataset = () => dataset ?? "default";
export function useDataset(name) { dataset = name; }

/** Another key than the one given; the view is then drawn anew. */
export async function anotherKey() {
  if (await keyAsker?.(false)) dispatchEvent(new Event("hashchange"));
}

/** Who is asked for a key when the server wants one: a function that resolves to true once there is one. */
export function askKeyWith(asker) { keyAsker = asker; }
export const keepKey = (key) => { try { sessionStorage.setItem(KEY, key); } catch { kept.key = key; } };
const forgetKey = () => { kept.key = null; try { sessionStorage.removeItem(KEY); } catch { /* it was never there */ } };
const kept = { key: null };
const key = () => { try { return sessionStorage.getItem(KEY) ?? kept.key; } catch { return kept.key; } };

/** An address below the page's own, with a query; null and empty values are left out. */
export function address(path, query = {}) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== "") url.searchParams.append(name, each);
    }
  }
  return url;
}

async function send(method, path, { query, body, raw, signal, headers } = {}) {
  const shown = { Accept: "application/json", ...headers };
  if (key()) shown.Authorization = `Bearer ${key()}`;
  if (body !== undefined && !raw) shown["Content-Type"] = "application/json";
  let reply;
  try {
    reply = await fetch(address(path, query), { method, headers: shown, signal, body: raw ?? (body === undefined ? undefined : JSON.stringify(body)) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The server does not answer. Is it still running?", "unreachable");
  }
  if (reply.status === 401) {
    const wrong = Boolean(key());
    const other = wrong && shown.Authorization !== `Bearer ${key()}`; // given meanwhile
    if (wrong && !other) forgetKey();
    if (other || await keyAsker?.(wrong)) return send(method, path, { query, body, raw, signal, headers });
  }
  if (!reply.ok) throw await problem(reply);
  return reply;
}

async function problem(reply) {
  let told = {};
  try { told = await reply.json(); } catch { /* no body, or not ours */ }
  const detail = told.detail ?? told.error?.message ?? told.message;
  const said = typeof detail === "string" ? detail : detail ? JSON.stringify(detail) : `${reply.status} ${reply.statusText}`;
  return new Problem(reply.status, said, told.code);
}

const json = async (reply) => (await reply).json();

/** Anything under the server's root. */
export const get = (path, query, signal) => json(send("GET", path, { query, signal }));
export const post = (path, body, { query, signal } = {}) => json(send("POST", path, { query, body, signal }));
export const upload = (path, file, query) =>
  json(send("POST", path, { query, raw: file, headers: { "Content-Type": "application/octet-stream" } }));
export const blob = async (path, query) => (await send("GET", path, { query })).blob();

/** The memory's API, for the dataset that is chosen. */
const gb = (path) => `v1/gb/${path}`;
const under = new Map(); // what was asked before the view that wants it was there, by its address
export const memory = {
  get: (path, query, signal) => {
    const asked = { dataset: currentDataset(), ...query };
    const key = address(gb(path), asked).href;
    const found = under.get(key) ?? get(gb(path), asked, signal);
    under.delete(key);
    return found;
  },
  /** Ask already: whoever asks the same next gets this answer. */
  ahead: (path, query) => {
    const asked = { dataset: currentDataset(), ...query };
    under.clear();
    const answer = get(gb(path), asked);
    answer.catch(() => {}); // told to whoever wants it
    under.set(address(gb(path), asked).href, answer);
  },
  post: (path, body, signal) => post(gb(path), body, { query: { dataset: currentDataset() }, signal }),
  blob: (path, query) => blob(gb(path), { dataset: currentDataset(), ...query }),
  remove: (path, query) => json(send("DELETE", gb(path), { query: { dataset: currentDataset(), ...query } })),
};

/** One piece of a path, whatever it holds. */
export const part = (value) => encodeURIComponent(value);
