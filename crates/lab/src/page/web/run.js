// One run, or two side by side: made by the laboratory from what the address says, looked at, and interfered with.
import { by, el, head } from "/web/elements.js";
import {
  ask, brokenAssumption, complain, follow, number, showCommands, showPicture, stepAt, table, verdictRow,
} from "/lab/parts.js";
import { makeControls } from "/lab/controls.js";

const DELAYS = ["constant:1", "uniform:0.5..1.5", "exponential:1", "per-link:0.5..2"];
const WORKLOADS = ["contended", "alone", "poisson:0.1", "causal"];
const INTERVENTIONS = ["crash", "restart", "pause", "partition"];

let state = new URLSearchParams(location.search);
let views = [];
let controls, catalogue, running, looking, glance;

const fields = () => [
  ["n", "processes", "number", { min: 1, max: catalogue.limits.processes, placeholder: 5 }],
  ["workload", "who asks", "text", WORKLOADS],
  ["entries", "entries", "number", { min: 1, placeholder: 20 }],
  ["delay", "delay of messages", "text", DELAYS],
  ["loss", "loss", "number", { min: 0, max: 1, step: "any", placeholder: 0 }],
  ["recovery", "recovery", "tick", "from crashes"],
  ["seed", "seed", "number", { min: 0, placeholder: 1 }],
  ["beside", "beside it", "choice", [["", "nothing"], ...catalogue.algorithms.map(({ name }) => [name, name])]],
  ["order", "order", "choice", [["", "as needed"], ["fifo", "fifo"], ["any", "any"]], true],
  ["duplicate", "duplicates", "number", { min: 0, max: 1, step: "any", placeholder: 0 }, true],
  ["cs", "time inside (δ)", "number", { min: 0, step: "any", placeholder: 1 }, true],
  ["withdraw", "withdrawn", "number", { min: 0, max: 1, step: "any", placeholder: 0 }, true],
  ["until", "until (δ)", "number", { min: 0, step: "any" }, true],
  ["drift", "drift (ppm)", "number", { min: 0, placeholder: 0 }, true],
  ["clocks", "clocks", "choice", [["", "none"], ["lamport", "Lamport"], ["vector", "vector"]], true],
  ["down", "time", "tick", "downwards", true],
  ["fold", "idle stretches", "tick", "cut out", true],
];

async function begin() {
  catalogue = await ask("/api/catalogue");
  controls = makeControls(by("controls"), catalogue, fields(), state, () => {
    const next = controls.read(state);
    // What was done to another group means nothing to this one, and neither does the part that was looked at.
    const isOther = next.get("n") !== state.get("n");
    for (const name of ["records", ...(isOther ? INTERVENTIONS : [])]) next.delete(name);
    go(next);
  });
  // A link to what is not there says so, rather than to show something else.
  const wanted = state.get("algorithm");
  if (wanted && wanted !== controls.entry().name) throw new Error(`There is no algorithm ${wanted}.`);
  addEventListener("popstate", () => {
    const next = new URLSearchParams(location.search);
    if (String(next) === String(state)) return;
    state = next;
    controls.write(state);
    run();
  });
  await run();
}

// Another run, with an address of its own; looked at from this time on.
function go(next, time) {
  state = next;
  history.pushState(null, "", `?${state}`);
  return run(time);
}

async function run(time) {
  running?.abort();
  running = new AbortController();
  by("result").setAttribute("aria-busy", "true");
  try {
    const names = [controls.entry().name, state.get("beside")].filter(Boolean);
    const made = await Promise.all(names.map((name) => {
      const asked = new URLSearchParams(state);
      asked.set("algorithm", name);
      if (name !== names[0]) asked.delete("option");
      return follow("/api/run", asked, running.signal, tell);
    }));
    complain(null);
    show(made, names, time);
  } catch (error) {
    if (error.name === "AbortError") return;
    complain(error);
  }
  by("going").hidden = true;
  by("result").setAttribute("aria-busy", "false");
}

// A long run says how far it is; a short one is there before that.
function tell({ events, entries }) {
  by("going").hidden = false;
  by("going").textContent = `${events.toLocaleString("en")} events, ${entries.toLocaleString("en")} entries …`;
}

function show(made, names, time) {
  // Whoever interferes while it plays sees it play on.
  const plays = time !== undefined && views[0]?.plays();
  views.forEach((view) => view.destroy());
  const isAlone = made.length === 1;
  by("sides").classList.toggle("beside", isAlone);
  for (const id of ["views", "findings"]) by(id).classList.toggle("two", !isAlone);
  const places = made.map(() => el("section", { class: "panel view" }));
  by("views").replaceChildren(...places);
  views = [];
  // The second follows the first, by time.
  [...made.keys()].reverse().forEach((index) => {
    const { picture } = made[index];
    const isFirst = index === 0;
    const options = { alone: isFirst, start: time === undefined ? undefined : stepAt(picture, time) };
    if (isFirst) options.shown = shown;
    views[index] = showPicture(places[index], isAlone ? "" : names[index], picture, options);
    pages(places[index], made[index]);
  });
  // What happens in one run is told beside it; of two, below each.
  by("doing").replaceChildren(...(isAlone ? [views[0].root.querySelector(".q-panels")] : []));
  makeInterference(made[0].report.n);
  shown(views[0].step());
  if (plays) views[0].play();
  const told = made.map((one, index) => findings(one, isAlone ? "" : names[index]));
  by("findings").replaceChildren(...(isAlone ? told[0] : told.map((parts) => el("div", { class: "column" }, parts))));
  showCommands(by("command"), made.map(({ command }) => command));
  controls.fold();
  document.title = `${names.join(" and ")} · Quorate laboratory`;
}

// A long run is looked at in parts.
function pages(place, { picture, kept }) {
  const [before, after] = picture.left_out;
  if (!before && !after) return;
  const length = kept - before - after;
  const part = (words, first) => el("button", {
    type: "button", class: "quiet",
    onclick: () => {
      const next = new URLSearchParams(state);
      next.set("records", `${first + 1}..${Math.min(kept, first + length)}`);
      go(next);
    },
  }, words);
  place.querySelector(".q-viewer").before(el("div", { class: "buttons" },
    before ? part("Earlier", Math.max(0, before - length)) : "", after ? part("Later", kept - after) : ""));
}

function shown(step) {
  if (!views[0]) return;
  const time = views[0].time(step);
  views[1]?.show(stepAt(views[1].picture, time));
  const now = by("moment");
  if (now) now.textContent = `after ${number(time)} δ`;
  look(step);
}

// What one does to the run.

function makeInterference(n) {
  const before = by("who")?.value;
  const who = el("select", { id: "who", "aria-label": "Process" },
    [...Array(n).keys()].map((index) => el("option", { value: index + 1 }, `p${index + 1}`)));
  if (before && Number(before) <= n) who.value = before;
  const lasts = el("input", { id: "lasts", type: "number", min: 0.001, step: "any", value: by("lasts")?.value ?? 20,
    "aria-label": "For how long, in δ" });
  const button = (name, words, title) =>
    el("button", { type: "button", id: `do-${name}`, title, onclick: () => interfere(name) }, words);
  const undo = (name, value) => el("button", {
    type: "button", "aria-label": `Undo ${name} ${value}`, onclick: () => withFaults({ [name]: without(name, value) }),
  }, "✕");
  const faults = INTERVENTIONS.flatMap((name) => list(name).map((value) => [name, value]));
  const done = faults.map(([name, value]) => el("li", {}, `${name} ${value}`, undo(name, value)));
  by("interfere").replaceChildren(head("Interfere", el("span", { id: "moment" })), el("div", { class: "interfere" },
    who, el("label", { class: "muted" }, "for ", lasts, " δ"),
    el("div", { class: "buttons" },
      button("crash", "Crash", "The process dies here"),
      button("restart", "Restart", "The dead process begins another life"),
      button("pause", "Pause", "It does nothing for a while"),
      button("resume", "Resume", "Its pause ends here"),
      button("partition", "Cut off", "The network is cut between it and the others for a while"),
      button("heal", "Heal", "The network is whole again")),
    done.length > 0 && el("ul", { id: "faults", class: "faults", "aria-label": "What was done" }, done)));
  by("interfere").hidden = false;
  const told = by("doing").childElementCount > 0 ? by("doing") : views[0].root;
  const cards = [...told.querySelectorAll(".q-card")];
  const mark = () => cards.forEach((card, index) =>
    card.classList.toggle("chosen", views[0].picture.run.lines[index][0] === `p${who.value}`));
  cards.forEach((card, index) => card.addEventListener("click", () => {
    who.value = views[0].picture.run.lines[index][0].slice(1);
    mark();
  }));
  who.addEventListener("change", mark);
  mark();
}

// Some names take several values in one word, and a cut has commas of its own.
function list(name) {
  const values = state.getAll(name);
  return name === "partition" ? values : values.flatMap((value) => value.split(",")).filter(Boolean);
}

const without = (name, value) => list(name).filter((other) => other !== value);

function withFaults(changes, time) {
  const next = controls.read(state);
  for (const [name, values] of Object.entries(changes)) {
    next.delete(name);
    values.forEach((value) => next.append(name, value));
  }
  return go(next, time ?? views[0].time(views[0].step()));
}

// Between the present step and what comes next, at a time with as few digits as possible.
function soon() {
  const { steps } = views[0].picture.run;
  const now = views[0].time(views[0].step());
  const next = steps.map((step) => Number(step[2])).find((time) => time > now) ?? now + 1;
  const middle = (now + next) / 2;
  for (let digits = 0; digits <= 6; digits++) {
    const rounded = Number(middle.toFixed(digits));
    if (now < rounded && rounded < next) return rounded;
  }
  return next;
}

function interfere(what) {
  const [id, at] = [by("who").value, soon()];
  const end = Number((at + Math.max(0.001, Number(by("lasts").value) || 20)).toFixed(6));
  // Whatever lasts beyond now ends now.
  const ended = (name, isIt) => list(name).map((value) => {
    const [, head, from, to] = /^(.*@)(.*)\.\.(.*)$/.exec(value) ?? [];
    return head && isIt(head) && Number(from) < at && at < Number(to) ? `${head}${from}..${at}` : value;
  });
  const changes = {
    crash: () => ({ crash: [...list("crash"), `${id}@${at}`] }),
    restart: () => ({ restart: [...list("restart"), `${id}@${at}`] }),
    pause: () => ({ pause: [...list("pause"), `${id}@${at}..${end}`] }),
    resume: () => ({ pause: ended("pause", (head) => head === `${id}@`) }),
    partition: () => ({ partition: [...list("partition"), `${id}@${at}..${end}`] }),
    heal: () => ({ partition: ended("partition", () => true) }),
  };
  return withFaults(changes[what](), at);
}

// What a process knows before and after the step that is shown.

function look(step) {
  clearTimeout(looking);
  glance?.abort();
  glance = new AbortController();
  const { signal } = glance;
  looking = setTimeout(async () => {
    const view = views[0];
    const line = view?.picture.run.steps[step]?.[1];
    if (line === undefined) return;
    const asked = new URLSearchParams(state);
    asked.set("algorithm", controls.entry().name);
    asked.set("record", view.picture.records[step]);
    asked.set("process", view.picture.run.lines[line][0].slice(1));
    try {
      const { process, before, after } = await ask("/api/state", asked, signal);
      if (view !== views[0] || view.step() !== step) return;
      by("variables").replaceChildren(head(`The variables of ${process}`, "before and after this step"),
        el("div", { class: "pair" }, different(before, after), different(after, before)));
      by("variables").hidden = false;
    } catch (error) {
      if (error.name === "AbortError") return;
      // The run itself says what is wrong; this is beside it.
      by("variables").hidden = true;
    }
  }, 250);
}

// A text, with the lines marked that the other has not.
function different(text, other) {
  if (!text) return el("pre", { class: "muted" }, "nothing: it is dead");
  const there = new Map();
  for (const line of other.split("\n")) there.set(line, (there.get(line) ?? 0) + 1);
  const parts = text.split("\n").map((line) => {
    const count = there.get(line) ?? 0;
    there.set(line, count - 1);
    return [count > 0 ? line : el("mark", {}, line), "\n"];
  });
  return el("pre", { tabindex: 0 }, parts);
}

// What is to be said of a run.

function findings({ report, verdicts, published, ending }, name) {
  const of = name ? ` of ${name}` : "";
  const judged = table(`Verdicts${of}`, "", [], verdicts.map((one) => verdictRow(one.property, one)));
  judged.append(...report.broken_assumptions.map(brokenAssumption), el("p", { class: "muted note" }, `${ending}.`));
  if (!name) judged.id = "verdicts";
  const range = ({ published, published_most: most }) => most === null || most === undefined
    ? published : el("span", { class: "range" }, `${number(published)} – ${number(most)}`);
  const rows = published.map((row) =>
    [row.measure, row.formula ? `${row.formula} (${row.sources})` : "–", range(row), row.measured]);
  const costs = table(`Costs${of}`, "published and in this run", ["", "published", "that is", "here"], rows);
  const sums = [["messages", report.messages], ["bytes", report.bytes]];
  if (report.leader !== undefined) sums.push(["leader", report.leader ? `p${report.leader}` : "none"]);
  if (report.entries) sums.unshift(["entries", report.entries]);
  const delays = [["client delay (δ)", report.client_delay], ["synchronization delay (δ)", report.sync_delay]];
  for (const [words, summary] of delays) {
    if (summary) sums.push([words, `${number(summary.mean)} on average, ${number(summary.max)} at most`]);
  }
  const kinds = Object.entries(report.messages_by_kind ?? {}).map(([kind, count]) => [`  ${kind}`, count]);
  return [judged, published.length ? costs : "", table(`Sums${of}`, "", [], [...sums, ...kinds])];
}

begin().catch(complain);
