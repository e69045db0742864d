// What the pages share: elements made of text and never of markup, requests, and a drawing with its viewer.
import { mountViewer } from "/lab/viewer.js";

/** An element with attributes and children: elements, texts, or nothing. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

export const by = (id) => document.getElementById(id);

/** What the laboratory answers; what it refuses is an error with its words. */
export async function ask(path, parameters, signal) {
  let response;
  try {
    response = await fetch(`${path}?${parameters ?? ""}`, { signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The laboratory does not answer: is `quorate lab` still running?");
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** Says what is wrong, or that nothing is. */
export function complain(error) {
  by("problem").hidden = !error;
  by("problem").textContent = error ? error.message : "";
}

/** A picture that can be stepped through, in this place. */
export function showPicture(place, title, picture, options = {}) {
  const drawing = new DOMParser().parseFromString(picture.svg, "image/svg+xml").documentElement;
  const sheet = el("div", { class: "q-sheet" }, document.importNode(drawing, true));
  const label = "Space-time diagram; click to go to a moment";
  const stage = el("div", { class: "q-stage", tabindex: 0, role: "group", "aria-label": label }, sheet);
  const root = el("div", { class: "q-viewer" }, stage);
  const notes = picture.notes.map((note) => el("p", { class: "q-note buttons" }, `${note}.`));
  place.replaceChildren(title ? el("h2", {}, title) : "", ...notes, root);
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

/** A table; cells that are numbers are written as such. */
export function table(caption, head, rows) {
  const cell = (value) => value instanceof Node || typeof value === "string"
    ? el("td", {}, value) : el("td", { class: "number" }, number(value));
  return el("div", { class: "table" }, el("table", {},
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell))))));
}

export function number(value) {
  if (value === null || value === undefined) return "–";
  return Number.isInteger(value) ? String(value) : String(Number(value.toFixed(4)));
}

/** A verdict in its colour, with what is to be said of it. */
export function verdictRow(name, { verdict, promised, why, at }) {
  const when = at === null || at === undefined ? "" : `at ${number(at)}:`;
  const more = [promised ? "" : "(not promised)", when, why ?? ""];
  return [name, el("span", { class: verdict }, verdict), more.filter(Boolean).join(" ")];
}
