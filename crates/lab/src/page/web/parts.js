// What the laboratory's pages share: requests, a drawing with its viewer, and how verdicts and numbers are told.
import { by, el, head, visible } from "/web/elements.js";
import { mountViewer } from "/lab/viewer.js";

/** What the laboratory answers; what it refuses is an error with its words. */
export async function ask(path, parameters, signal) {
  return (await request(path, parameters, signal)).json();
}

/** What comes of something that goes on for a while; meanwhile `progress` is told how far it is. */
export async function follow(path, parameters, signal, progress) {
  const response = await request(path, parameters, signal);
  // An event source would not show a refusal, which is an answer that is no stream: so the stream is read by hand.
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read().catch(gone);
    if (done) throw new Error("The laboratory closed the connection before it sent a result. Try again.");
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const lines = event.split("\n");
      const name = lines.find((line) => line.startsWith("event: "))?.slice(7);
      if (!name) continue;
      const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
      const told = JSON.parse(data);
      if (name === "refused") throw new Error(told.error);
      if (name !== "progress") return told;
      progress(told);
    }
  }
}

function gone(error) {
  if (error.name === "AbortError") throw error;
  throw new Error("The laboratory does not answer: is `quorate lab` still running?");
}

async function request(path, parameters, signal) {
  const response = await fetch(`${path}?${parameters ?? ""}`, { signal }).catch(gone);
  if (!response.ok) throw new Error((await response.json()).error);
  return response;
}

/** Says what is wrong, or that nothing is. */
export function complain(error) {
  by("problem").hidden = !error;
  by("problem").replaceChildren(...(error ? visible(error.message) : []));
}

/** A picture that can be stepped through, in this place. */
export function showPicture(place, title, picture, options = {}) {
  const drawing = new DOMParser().parseFromString(picture.svg, "image/svg+xml").documentElement;
  const sheet = el("div", { class: "q-sheet" }, document.importNode(drawing, true));
  const label = "Space-time diagram; click to go to a moment";
  const stage = el("div", { class: "q-stage", tabindex: 0, role: "group", "aria-label": label }, sheet);
  const root = el("div", { class: "q-viewer" }, stage);
  const notes = picture.notes.map((note) => el("p", { class: "muted note" }, `${note}.`));
  place.replaceChildren(title ? head(title) : "", ...notes, root);
  const viewer = mountViewer(root, picture.run, options);
  return { ...viewer, root, picture, time: (step) => Number(picture.run.steps[step]?.[2] ?? 0) };
}

/** The last step of a picture that is not after this time. */
export function stepAt({ run }, time) {
  let [low, high] = [0, run.steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (Number(run.steps[middle][2]) <= time) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** A panel with a table; cells that are numbers are written as such. Without names of columns there is no head. */
export function table(title, note, columns, rows) {
  const isNumber = (value) => value === null || value === undefined || typeof value === "number";
  const cell = (value) => isNumber(value) ? el("td", { class: "number" }, number(value)) : el("td", {}, value);
  const name = (words, at) => el("th", { scope: "col", class: isNumber(rows[0]?.[at]) ? "number" : null }, words);
  return el("section", { class: "panel", "aria-label": title }, head(title, note), el("div", { class: "scroll" },
    el("table", {}, columns.length > 0 && el("thead", {}, el("tr", {}, columns.map(name))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell)))))));
}

export function number(value) {
  if (value === null || value === undefined) return "–";
  return Number.isInteger(value) ? String(value) : String(Number(value.toFixed(4)));
}

const WEIGHTS = {
  held: "good", holds: "good", violated: "bad", refuted: "bad", undecided: "warn", conditional: "warn",
};

/** A verdict in its colour. */
export function verdictBadge(verdict, words = verdict) {
  return el("span", { class: `badge ${WEIGHTS[verdict] ?? ""}` }, words);
}

/** A property with what is to be said of it, and the verdict. */
export function verdictRow(name, { verdict, promised, why, at }, more) {
  const when = at === null || at === undefined ? "" : `at ${number(at)}:`;
  const words = [promised ? "" : "(not promised)", when, why ?? ""].filter(Boolean).join(" ");
  return [el("div", {}, name, words !== "" && el("small", {}, words), more), verdictBadge(verdict)];
}

/** An assumption that does not hold in what was run. */
export function brokenAssumption(words) {
  return el("p", { class: "note" }, el("span", { class: "badge warn" }, "broken assumption"), ` ${words}`);
}

/** The commands that do the same in a shell. */
export function showCommands(place, commands) {
  place.replaceChildren(el("span", { class: "muted" }, "The same in a shell:"),
    ...commands.map((command) => el("div", {}, el("code", {}, visible(command)))));
}
