// Every run of an algorithm, explored by the laboratory with progress while it goes on; what breaks it is shown.
import { by, el } from "/web/elements.js";
import {
  ask, brokenAssumption, complain, follow, number, showCommands, showPicture, table, verdictRow,
} from "/lab/parts.js";
import { makeControls } from "/lab/controls.js";

let state = new URLSearchParams(location.search);
let controls, source, view;

const TIMINGS = [["", "as needed"], ["synchronous", "synchronous"], ["asynchronous", "asynchronous"]];
const GOALS = [
  "mutual-exclusion", "deadlock-freedom", "starvation-freedom", "request-order", "fencing", "resource-safety",
  "no-lost-update", "single-leader", "decided", "accuracy", "completeness",
];
const most = (words) => ["number", { min: 0, placeholder: words }];
const fields = (limits) => [
  ["n", "processes", "number", { min: 1, max: limits.explored, placeholder: 3 }],
  ["entries-each", "entries each", "text", ["1", "2", "endless"]],
  ["crashes", "crashes", ...most(0)],
  ["restarts", "restarts", ...most(0)],
  ["losses", "losses", ...most(0)],
  ["recovery", "recovery", "tick", "from crashes"],
  ["property", "properties", "text", { usual: "all", values: GOALS }],
  ["order", "order", "choice", [["", "as needed"], ["fifo", "fifo"], ["any", "any"]], true],
  ["duplicates", "duplicates", ...most(0), true],
  ["pokes", "application messages", ...most(0), true],
  ["withdrawals", "withdrawals", ...most(0), true],
  ["writes", "writes", ...most(0), true],
  ["suspicions", "false suspicions", ...most(0), true],
  ["timeouts", "timeouts", ...most(""), true],
  ["timing", "timing", "choice", TIMINGS, true],
  ["stop", "stop", "tick", "at the first violation", true],
];

async function begin() {
  const catalogue = await ask("/api/catalogue");
  by("controls").dataset.verb = "Check";
  controls = makeControls(by("controls"), catalogue, fields(catalogue.limits), state, () => {
    state = controls.read(state);
    history.pushState(null, "", `?${state}`);
    explore();
  });
  by("stop").addEventListener("click", () => {
    source.abort();
    busy(false);
    by("progress").append(": stopped, so no property is decided.");
  });
  addEventListener("popstate", () => {
    const next = new URLSearchParams(location.search);
    if (String(next) === String(state)) return;
    state = next;
    controls.write(state);
    begun();
  });
  await begun();
}

// What the address asks for; one that names no algorithm asks for nothing yet.
async function begun() {
  if (state.has("algorithm")) return explore();
  source?.abort();
  clear();
  complain(null);
  busy(false);
  document.title = "Check · Quorate laboratory";
  by("progress").textContent = "Choose an algorithm to explore all runs of a small group.";
}

async function explore() {
  source?.abort();
  source = new AbortController();
  const mine = source;
  clear();
  controls.fold();
  busy(true);
  by("progress").textContent = "Exploring …";
  try {
    const asked = new URLSearchParams(state);
    asked.delete("goal");
    complain(null);
    show(await follow("/api/check", asked, mine.signal, tell));
  } catch (error) {
    if (error.name === "AbortError") return;
    by("progress").textContent = "";
    complain(error);
  }
  busy(false);
}

function busy(is) {
  by("result").setAttribute("aria-busy", is);
  by("stop").hidden = !is;
}

function tell({ states, depth, frontier, seconds }) {
  by("progress").textContent = `${states.toLocaleString("en")} states, depth ${depth}, ` +
    `${frontier.toLocaleString("en")} to expand, ${number(seconds)} s`;
}

function clear() {
  view?.destroy();
  view = undefined;
  by("sides").classList.remove("beside");
  by("findings").replaceChildren();
  by("views").replaceChildren();
  by("command").replaceChildren();
}

function show(found) {
  const how = found.complete ? "all runs were explored" : "not all runs were explored";
  by("progress").textContent = `${found.states.toLocaleString("en")} states, deepest state: ${found.depth} steps; ` +
    `${how}, in ${number(found.seconds)} s.`;
  const open = (one) => el("button", {
    type: "button", class: "quiet", "data-goal": one.goal, onclick: () => {
      state.set("goal", one.goal);
      history.replaceState(null, "", `?${state}`);
      openRun(one);
    },
  }, `Open the counterexample (${one.steps} steps)`);
  const rows = found.verdicts.map((one) => verdictRow(one.goal, one, one.picture && el("div", {}, open(one))));
  const told = table(found.algorithm, found.bounds.join(", "), [], rows);
  told.append(...found.broken_assumptions.map(brokenAssumption),
    ...found.without_effect.map((words) => el("p", { class: "muted note" }, `${words}.`)));
  by("findings").replaceChildren(told);
  showCommands(by("command"), [found.command]);
  document.title = `Check ${found.algorithm} · Quorate laboratory`;
  const broken = found.verdicts.filter((one) => one.picture);
  const wanted = broken.find((one) => one.goal === state.get("goal"));
  if (wanted) openRun(wanted);
}

function openRun(one) {
  view?.destroy();
  const again = one.repeats_from === null ? "" : `; it repeats for ever from step ${one.repeats_from + 1} on`;
  const place = el("section", { class: "panel view" });
  by("sides").classList.add("beside");
  by("views").replaceChildren(place);
  view = showPicture(place, `Counterexample to ${one.goal}: ${one.why}${again}`, one.picture);
  place.scrollIntoView({ block: "nearest" });
}

begin().catch(complain);
