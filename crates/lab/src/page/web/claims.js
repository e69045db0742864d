// What the literature claims, with the verdicts of this release: each sentence is judged here when it is opened, or all
// one after the other, until somebody says that it is enough.
import { by, el, head } from "/web/elements.js";
import { ask, complain, showCommands, showPicture, verdictBadge } from "/lab/parts.js";

const VERDICTS = { holds: "holds", conditional: "holds only if …", refuted: "refuted", definition: "definition",
  "not-yet": "not yet" };
const SEVERAL = { holds: "hold", conditional: "hold only if …", refuted: "refuted", definition: "definitions",
  "not-yet": "not yet judged" };
const rulings = new Map();
const said = new Map();
const views = new Map();
let judging;

async function begin() {
  const { sections, documents } = await ask("/api/claims");
  by("claims").replaceChildren(...sections.filter(({ claims }) => claims.length).map(({ title, claims }) =>
    el("section", { class: "panel", "aria-label": title }, head(title, claims.length), claims.map(row))));
  by("documents").textContent = documents.map(([letter, title]) => `${letter}: ${title}`).join("; ");
  const all = sections.flatMap(({ claims }) => claims);
  by("progress").textContent = `${counted(all.map(({ verdict }) => verdict))}: the verdicts of this release. ` +
    "Open a claim, and it is judged here.";
  by("all").addEventListener("click", () => {
    if (judging) judging.abort();
    else judgeAll();
  });
  addEventListener("hashchange", follow);
  follow();
}

function counted(verdicts) {
  const counts = new Map();
  for (const verdict of verdicts) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  const all = Object.keys(SEVERAL).filter((verdict) => counts.has(verdict));
  return all.map((verdict) => `${counts.get(verdict)} ${SEVERAL[verdict]}`).join(", ");
}

function row({ id, statement, documents, verdict, words }) {
  const details = el("details", { class: "claim", id },
    el("summary", {}, el("b", {}, id), el("span", {}, statement, " ", el("span", { class: "muted" }, `(${documents})`)),
      el("span", { class: "verdict", title: words }, verdict && verdictBadge(verdict, VERDICTS[verdict]))),
    el("div", { class: "evidence" }));
  details.addEventListener("toggle", () => {
    if (!details.open) return close(details);
    history.replaceState(null, "", `#${id}`);
    open(details);
  });
  return details;
}

function follow() {
  const details = by(decodeURIComponent(location.hash.slice(1)));
  if (!details?.classList.contains("claim")) return;
  details.open = true;
  details.scrollIntoView({ block: "start" });
}

// Judged once; who asks again gets the same. If it is not judged after all, what was said of it before is said again.
async function judge(details, signal) {
  const id = details.id;
  const place = details.querySelector(".verdict");
  if (!rulings.has(id)) {
    said.set(id, [...place.childNodes]);
    place.replaceChildren("judging …");
    rulings.set(id, ask("/api/claim", new URLSearchParams({ id }), signal));
  }
  const asked = rulings.get(id);
  try {
    const ruling = await asked;
    place.replaceChildren(verdictBadge(ruling.verdict, VERDICTS[ruling.verdict]));
    complain(null);
    return ruling;
  } catch (error) {
    if (rulings.get(id) === asked) {
      rulings.delete(id);
      place.replaceChildren(...said.get(id));
    }
    // Who stops the judging of all still wants to read what is open.
    if (error.name === "AbortError" && !signal && details.open) return judge(details);
    if (error.name !== "AbortError") complain(error);
    return null;
  }
}

async function open(details) {
  const ruling = await judge(details);
  // Who closes it and opens it again while it is judged comes here twice, and finds it there.
  if (!ruling || !details.open || details.querySelector(".evidence").hasChildNodes()) return;
  const place = details.querySelector(".evidence");
  const { exhibit } = ruling;
  const stage = el("div", { class: "panel view" });
  const commands = el("div", { class: "command" });
  if (ruling.commands.length) showCommands(commands, ruling.commands);
  place.replaceChildren(el("p", {}, el("strong", {}, ruling.words)),
    el("ul", {}, ruling.evidence.map((sentence) => el("li", {}, sentence))), commands, stage);
  if (!exhibit) return;
  // Each open claim has a run of its own, and the keys go to the one that has the focus.
  const title = `${exhibit.algorithm}, ${exhibit.n} processes: ${exhibit.why}`;
  views.set(details.id, showPicture(stage, title, exhibit.picture, { alone: false }));
}

// What nobody sees does not play on.
function close(details) {
  views.get(details.id)?.destroy();
  views.delete(details.id);
  details.querySelector(".evidence").replaceChildren();
}

async function judgeAll() {
  judging = new AbortController();
  by("all").textContent = "Stop";
  const all = [...document.querySelectorAll(".claim")];
  const verdicts = [];
  for (const details of all) {
    by("progress").textContent = `${verdicts.length} of ${all.length} judged`;
    const ruling = await judge(details, judging.signal);
    if (!ruling || judging.signal.aborted) break;
    verdicts.push(ruling.verdict);
  }
  const so = verdicts.length < all.length ? `stopped after ${verdicts.length} of ${all.length}` : "judged here";
  by("progress").textContent = [so, counted(verdicts)].filter(Boolean).join(": ");
  by("all").textContent = "Judge all";
  judging = undefined;
}

begin().catch(complain);
