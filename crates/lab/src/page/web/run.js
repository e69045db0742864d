// One run, or two side by side: made by the laboratory from what the address says, looked at, and interfered with.
import { by, el, head, show as become, visible } from "/web/elements.js";
import {
  ask, brokenAssumption, complain, follow, number, showCommands, showPicture, stepAt, table, verdictRow,
} from "/lab/parts.js";
import { makeControls } from "/lab/controls.js";
import { hideVariables, showVariables } from "/lab/variables.js";

const DELAYS = ["constant:1", "uniform:0.5..1.5", "exponential:1", "per-link:0.5..2"];
const WORKLOADS = ["contended", "alone", "poisson:0.1", "causal"];
const MUTEX = "mutual exclusion";
const ELECTION = "election";
const OF_THE_PAGE = ["algorithm", "option", "sets"];
const ELECTIONS = [["", "ring"], ["chang-roberts", "chang-roberts"], ["bully", "bully"]];
const ROUNDING = 0.0001;
const INTERVENTIONS = ["crash", "restart", "pause", "partition"];

// What the address says, and of what the run on screen was made: they differ while another is on its way.
let address = new URLSearchParams(location.search);
let state = address;
let views = [];
let controls, catalogue, running, looking, glance;

const fields = () => [
  ["n", "processes", "number", { min: 1, max: catalogue.limits.processes, placeholder: 5 }],
  ["workload", "workload", "text", WORKLOADS, false, MUTEX],
  ["entries", "entries, in total", "number", { min: 1, placeholder: 20 }, false, MUTEX],
  ["entries-each", "entries each", "number", { min: 1 }, true, MUTEX],
  ["starter", "starters", "text", { usual: "smallest id", values: ["1,2", "3@5"] }, false, ELECTION],
  ["delay", "message delay", "text", DELAYS],
  ["loss-rate", "loss rate", "number", { min: 0, max: 1, step: "any", placeholder: 0 }],
  ["recovery", "recovery", "tick", "from crashes", false, MUTEX],
  ["seed", "seed", "number", { min: 0, placeholder: 1 }],
  ["beside", "compare with", "choice", [["", "nothing"], ...catalogue.algorithms.map(({ name }) => [name, name])]],
  ["order", "order", "choice", [["", "as needed"], ["fifo", "fifo"], ["any", "any"]], true],
  ["duplicate-rate", "duplicate rate", "number", { min: 0, max: 1, step: "any", placeholder: 0 }, true],
  ["ask", "requests at (instead of a workload)", "text", { usual: "ID@TIME,…", values: ["1@0,2@0.5"] }, true, MUTEX],
  ["cs", "time inside (δ)", "number", { min: 0, step: "any", placeholder: 1 }, true, MUTEX],
  ["withdraw-rate", "withdraw rate", "number", { min: 0, max: 1, step: "any", placeholder: 0 }, true, MUTEX],
  ["absent", "crashed from the start", "text", { usual: "ID,…", values: ["1", "1,2"] }, true],
  ["shake", "random faults", "number", { min: 0, placeholder: 0 }, true],
  ["delay-bound", "assumed delay bound (δ)", "number", { min: 0, step: "any", placeholder: "true bound" }, true],
  ["detector", "failure detector", "choice", [["", "as needed"], ["none", "none"], ["perfect", "perfect"]], true],
  ["election", "election for recovery", "choice", ELECTIONS, true, "recovery"],
  ["guard", "majority", "tick", "required to enter", true, "recovery"],
  ["until", "until (δ)", "number", { min: 0, step: "any" }, true],
  ["drift-ppm", "clock drift (ppm)", "number", { min: 0, placeholder: 0 }, true],
  ["clocks", "clocks", "choice", [["", "none"], ["lamport", "Lamport"], ["vector", "vector"]], true],
  ["down", "time", "tick", "downwards", true],
  ["fold", "idle intervals", "tick", "shortened", true],
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
    if (String(next) === String(address)) return;
    address = next;
    controls.write(next);
    run(next);
  });
  await run(state);
}

// The algorithm of a run: where none is named, the first.
const algorithmOf = (words) => words.get("algorithm") ?? catalogue.algorithms[0].name;

// Another run, looked at from this time on. It has an address of its own, which names its algorithm, unless it is
// refused: what cannot be done is said, and not kept.
function go(next, time) {
  next.set("algorithm", algorithmOf(next));
  return run(next, time, true);
}

async function run(next, time, isNew) {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  by("result").setAttribute("aria-busy", "true");
  try {
    const names = [algorithmOf(next), next.get("beside")].filter(Boolean);
    const make = (words) => follow("/api/run", words, signal, tell);
    const made = await Promise.all(names.map((name) => make(asked(next, name))));
    const same = sameTimes(made, asked(next, names.at(-1)));
    if (same) made[1] = await make(same);
    if (isNew) {
      history.pushState(null, "", `?${next}`);
      address = next;
    }
    state = next;
    complain(null);
    keepFocus(by("views"), () => show(made, names, time));
  } catch (error) {
    if (error.name === "AbortError") return;
    complain(error);
    if (!isNew) clear(next);
  }
  sayGiven();
  by("going").hidden = true;
  by("result").setAttribute("aria-busy", "false");
}

// What is asked of one of two algorithms: the other's own affairs mean nothing to it.
function asked(next, name) {
  const words = new URLSearchParams(next);
  words.set("algorithm", name);
  if (name === algorithmOf(next)) return words;
  const entry = catalogue.algorithms.find((one) => one.name === name);
  const strange = () => ["option", "sets", ...controls.strange(entry, next.has("recovery"))];
  if (entry) strange().forEach((other) => words.delete(other));
  return words;
}

// Of two runs that are looked at in parts, the second is asked for the times that the first one shows.
function sameTimes([first, second], words) {
  if (!second || !first.picture.run.steps.length || ![first, second].some(isPart)) return null;
  const [begin, end] = times(first);
  const same = new URLSearchParams(words);
  if (first.picture.is_full || same.has("records")) same.set("to", after(end));
  if (!same.has("from")) same.set("from", first.picture.left_out[0] ? before(begin) : 0);
  same.delete("records");
  return String(same) === String(words) ? null : same;
}

const isPart = ({ picture }) => picture.left_out.some((count) => count > 0);
// When the first and the last step of a picture happen, as they are shown: rounded.
const times = ({ picture: { run } }) => [run.steps[0], run.steps.at(-1)].map((step) => Number(step[2]));
const before = (time) => Number(Math.max(0, time - ROUNDING).toFixed(4));
const after = (time) => Number((time + ROUNDING).toFixed(4));

// An address that is refused has no run, and what it says is what can be mended.
function clear(refused) {
  const hadFocus = by("result").contains(document.activeElement);
  state = refused;
  views.forEach((view) => view.destroy());
  views = [];
  for (const id of ["views", "doing", "findings", "command"]) by(id).replaceChildren();
  by("interfere").hidden = true;
  hideVariables(by("variables"));
  if (hadFocus) by("result").focus({ preventScroll: true });
}

// Whatever the address says and no field shows can be taken back.
function sayGiven() {
  const names = [...new Set(state.keys())].filter((name) => !controls.has(name) && !OF_THE_PAGE.includes(name));
  const undo = (name, value) => el("button", {
    type: "button", "aria-label": `Undo ${name} ${value}`, onclick: () => withFaults({ [name]: without(name, value) }),
  }, "✕");
  const chip = (name, value) => el("li", {
    class: INTERVENTIONS.includes(name) ? "fault" : "", "data-key": `${name} ${value}`,
  }, visible(`${name} ${value}`), undo(name, value));
  const chips = names.flatMap((name) => list(name).map((value) => chip(name, value)));
  // Whoever takes one back goes on with the next.
  const buttons = () => [...by("faults").querySelectorAll("button")];
  const index = buttons().indexOf(document.activeElement);
  become(by("faults"), chips);
  by("faults").hidden = chips.length === 0;
  if (index < 0 || by("faults").contains(document.activeElement)) return;
  (buttons()[index] ?? buttons().at(-1) ?? by("result")).focus({ preventScroll: true });
}

// Who has the focus on something of a picture has it on the same of the next one, or else on the drawing.
function keepFocus(place, change) {
  const held = document.activeElement;
  const index = [...place.children].findIndex((side) => side.contains(held));
  change();
  if (held.isConnected) return;
  const name = (element) => element.getAttribute("aria-label") ?? element.textContent;
  const side = place.children[index] ?? place.firstElementChild;
  const same = [...side.querySelectorAll("button:enabled, input, select")].find((other) => name(other) === name(held));
  (same ?? side.querySelector(".q-stage")).focus({ preventScroll: true });
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
  });
  const parts = isAlone ? partsByRecord(made[0]) : partsByTime(made);
  places.forEach((place) => offerParts(place, parts));
  // What happens in one run is told beside it; of two, below each.
  by("doing").replaceChildren(...(isAlone ? [views[0].root.querySelector(".q-panels")] : []));
  makeInterference();
  offer(made[0].report.n);
  shown(views[0].step());
  if (plays) views[0].play();
  const told = made.map((one, index) => findings(one, isAlone ? "" : names[index]));
  by("findings").replaceChildren(...(isAlone ? told[0] : told.map((parts) => el("div", { class: "column" }, parts))));
  showCommands(by("command"), made.map(({ command }) => command));
  controls.fold();
  document.title = `${names.join(" and ")} · Quorate laboratory`;
}

// A long run is looked at in parts: the words of the part before this one and of the one after it, if there are.
function partsByRecord({ picture, kept }) {
  const [earlier, later] = picture.left_out;
  // From where nothing is, one goes back to the beginning.
  const length = kept - earlier - later || kept;
  const part = (first) => ({ records: `${first + 1}..${Math.min(kept, first + length)}` });
  return [earlier ? part(Math.max(0, earlier - length)) : null, later ? part(kept - later) : null];
}

// Two are looked at by time, and go on from where the first of them ends: so nothing of either is passed over.
function partsByTime(made) {
  const shown = made.filter(({ picture }) => picture.run.steps.length);
  const isLeftOut = (side) => made.some(({ picture }) => picture.left_out[side]);
  if (!shown.length) return [isLeftOut(0) ? { from: 0 } : null, null];
  const begin = Math.min(...shown.map((one) => times(one)[0]));
  const full = shown.filter(({ picture }) => picture.is_full).map((one) => times(one)[1]);
  const end = full.length ? Math.min(...full) : Math.max(...shown.map((one) => times(one)[1]));
  // A moment in which more happens than is shown at once would lead to itself.
  const next = before(end) > begin ? before(end) : after(end);
  return [isLeftOut(0) ? { from: before(begin - (end - begin)) } : null, isLeftOut(1) ? { from: next } : null];
}

function offerParts(place, parts) {
  if (!parts.some(Boolean)) return;
  const button = (words, part) => part && el("button", {
    type: "button", class: "quiet",
    onclick: () => {
      const next = new URLSearchParams(state);
      // Either way to choose a part takes the place of the other.
      for (const name of ["records", "from", "to"]) next.delete(name);
      for (const [name, value] of Object.entries(part)) next.set(name, value);
      go(next);
    },
  }, words);
  const buttons = el("div", { class: "buttons" }, button("Earlier", parts[0]), button("Later", parts[1]));
  place.querySelector(".q-viewer").before(buttons);
}

function shown(step) {
  if (!views[0]) return;
  const time = views[0].time(step);
  if (views[1]) views[1].show(stepBeside(views[0].picture, step, views[1].picture));
  const now = by("moment");
  if (now) now.textContent = `after ${number(time)} δ`;
  look(step);
}

// Where the other run is when this one is at a step: at the same time, and there as far as this one.
function stepBeside({ run }, step, other) {
  const at = (steps, index) => Number(steps[index]?.[2]);
  const time = at(run.steps, step);
  let rank = 0;
  while (rank < step && at(run.steps, step - rank - 1) === time) rank++;
  const last = stepAt(other, time);
  let first = last;
  while (first > 0 && at(other.run.steps, first - 1) === time) first--;
  return at(other.run.steps, first) === time ? Math.min(first + rank, last) : last;
}

// What one does to the run.

// Made once, and the same for every run: so whoever has the focus there keeps it.
function makeInterference() {
  if (by("who")) return;
  const who = el("select", { id: "who", "aria-label": "Process", onchange: markChosen });
  const lasts = el("input", { id: "lasts", type: "number", min: 0.001, step: "any", value: 20,
    "aria-label": "For how long, in δ" });
  const button = (name, words, title) =>
    el("button", { type: "button", id: `do-${name}`, title, onclick: () => interfere(name) }, words);
  by("interfere").replaceChildren(head("Inject faults", el("span", { id: "moment" })), el("div", { class: "interfere" },
    who, el("label", { class: "muted" }, "for ", lasts, " δ"),
    el("div", { class: "buttons" },
      button("crash", "Crash", "Crash the process at this moment"),
      button("restart", "Restart", "The crashed process restarts"),
      button("pause", "Pause", "It does nothing for a while"),
      button("resume", "Resume", "Its pause ends here"),
      button("partition", "Cut off", "Partition the network: separate the process from all others for this time"),
      button("heal", "Heal", "End all network partitions at this moment"))));
}

// The processes of the run on screen, to choose from; each card is a way to do so.
function offer(n) {
  const who = by("who");
  const before = Number(who.value);
  become(who, [...Array(n).keys()].map((index) => el("option", { value: index + 1 }, `p${index + 1}`)));
  who.value = 1 <= before && before <= n ? before : 1;
  by("interfere").hidden = false;
  cards().forEach((card, index) => card.addEventListener("click", () => {
    who.value = processOf(index);
    markChosen();
  }));
  markChosen();
}

function markChosen() {
  cards().forEach((card, index) => card.classList.toggle("chosen", processOf(index) === by("who").value));
}

function cards() {
  const told = by("doing").childElementCount > 0 ? by("doing") : views[0].root;
  return [...told.querySelectorAll(".q-card")];
}

const processOf = (line) => views[0].picture.run.lines[line][0].slice(1);

// Some names take several values in one word, and a cut has commas of its own.
function list(name) {
  const values = state.getAll(name);
  return name === "partition" ? values : values.flatMap((value) => value.split(",")).filter(Boolean);
}

const without = (name, value) => list(name).filter((other) => other !== value);

// What is done is done to the run on screen, whatever the fields say by now.
function withFaults(changes, time) {
  const next = new URLSearchParams(state);
  for (const [name, values] of Object.entries(changes)) {
    next.delete(name);
    values.forEach((value) => next.append(name, value));
  }
  return go(next, time ?? views[0]?.time(views[0].step()));
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
  const change = changes[what]();
  const [[name, values]] = Object.entries(change);
  if (String(values) === String(list(name))) {
    const words = what === "heal" ? "The network is not cut here" : `p${id} is not paused here`;
    return complain(new Error(`${words}: there is nothing to end.`));
  }
  return withFaults(change, at);
}

// What a process knows before and after the step that is shown.

function look(step) {
  clearTimeout(looking);
  glance?.abort();
  glance = new AbortController();
  const { signal } = glance;
  by("variables").setAttribute("aria-busy", "true");
  looking = setTimeout(async () => {
    const view = views[0];
    const line = view?.picture.run.steps[step]?.[1];
    if (line === undefined) return hideVariables(by("variables"));
    const words = asked(state, algorithmOf(state));
    words.set("record", view.picture.records[step]);
    words.set("process", processOf(line));
    try {
      const variables = await ask("/api/state", words, signal);
      if (view !== views[0] || view.step() !== step) return;
      showVariables(by("variables"), variables);
      by("variables").setAttribute("aria-busy", "false");
    } catch (error) {
      if (error.name === "AbortError") return;
      // The run itself says what is wrong; this is beside it.
      hideVariables(by("variables"));
    }
  }, 250);
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
    [row.unit ? `${row.measure} (${row.unit})` : row.measure, row.formula ? `${row.formula} (${row.sources})` : "–", range(row), row.measured]);
  const costs = table(`Costs${of}`, "published and in this run", ["", "formula", "published", "measured"], rows);
  const sums = [["messages", report.messages], ["bytes", report.bytes]];
  if (report.leader !== undefined) sums.push(["leader", report.leader ? `p${report.leader}` : "none"]);
  if (report.entries) sums.unshift(["entries", report.entries]);
  const delays = [["client delay (δ)", report.client_delay], ["synchronization delay (δ)", report.sync_delay]];
  for (const [words, summary] of delays) {
    if (summary) sums.push([words, `${number(summary.mean)} on average, ${number(summary.max)} at most`]);
  }
  const kinds = Object.entries(report.messages_by_kind ?? {}).map(([kind, count]) => [`  ${kind}`, count]);
  return [judged, published.length ? costs : "", table(`Totals${of}`, "", [], [...sums, ...kinds])];
}

begin().catch(complain);
