// What the literature claims: each sentence is judged when it is opened, or all one after the other.
import { by, el, head } from "/web/elements.js";
import { ask, complain, showCommands, showPicture, verdictBadge } from "/lab/parts.js";

const VERDICTS = { holds: "holds", conditional: "holds only if …", refuted: "refuted", definition: "definition",
  "not-yet": "not yet" };
const rulings = new Map();
let opened;

async function begin() {
  const { sections, documents } = await ask("/api/claims");
  by("claims").replaceChildren(...sections.filter(({ claims }) => claims.length).map(({ title, claims }) =>
    el("section", { class: "panel", "aria-label": title }, head(title, claims.length), claims.map(row))));
  by("documents").textContent = documents.map(([letter, title]) => `${letter}: ${title}`).join("; ");
  by("all").addEventListener("click", judgeAll);
  addEventListener("hashchange", follow);
  follow();
}

function row({ id, statement, documents }) {
  const details = el("details", { class: "claim", id },
    el("summary", {}, el("b", {}, id), el("span", {}, statement, " ", el("span", { class: "muted" }, `(${documents})`)),
      el("span", { class: "verdict" })),
    el("div", { class: "evidence" }));
  details.addEventListener("toggle", () => {
    if (details.open) {
      history.replaceState(null, "", `#${id}`);
      open(details);
    }
  });
  return details;
}

function follow() {
  const details = by(decodeURIComponent(location.hash.slice(1)));
  if (!details?.classList.contains("claim")) return;
  details.open = true;
  details.scrollIntoView({ block: "start" });
}

// Judged once; who asks again gets the same.
async function judge(details) {
  const id = details.id;
  const place = details.querySelector(".verdict");
  if (!rulings.has(id)) {
    place.textContent = "…";
    rulings.set(id, ask("/api/claim", new URLSearchParams({ id })));
  }
  try {
    const ruling = await rulings.get(id);
    place.replaceChildren(verdictBadge(ruling.verdict, VERDICTS[ruling.verdict]));
    complain(null);
    return ruling;
  } catch (error) {
    rulings.delete(id);
    place.textContent = "";
    complain(error);
    return null;
  }
}

async function open(details) {
  const ruling = await judge(details);
  if (!ruling || !details.open) return;
  const place = details.querySelector(".evidence");
  const { exhibit } = ruling;
  const stage = el("div", { class: "panel view" });
  const commands = el("div", { class: "command" });
  if (ruling.commands.length) showCommands(commands, ruling.commands);
  place.replaceChildren(el("p", {}, el("strong", {}, ruling.words)),
    el("ul", {}, ruling.evidence.map((sentence) => el("li", {}, sentence))), commands, stage);
  if (!exhibit) return;
  // One run at a time has the keys.
  opened?.destroy();
  const title = `${exhibit.algorithm}, ${exhibit.n} processes: ${exhibit.why}`;
  opened = showPicture(stage, title, exhibit.picture, { alone: false });
}

async function judgeAll() {
  by("all").disabled = true;
  const all = [...document.querySelectorAll(".claim")];
  const counts = {};
  for (const [index, details] of all.entries()) {
    by("progress").textContent = `${index} of ${all.length} judged`;
    const ruling = await judge(details);
    if (!ruling) break;
    counts[ruling.verdict] = (counts[ruling.verdict] ?? 0) + 1;
  }
  by("progress").textContent =
    Object.entries(counts).map(([verdict, count]) => `${count} ${VERDICTS[verdict] ?? verdict}`).join(", ");
  by("all").disabled = false;
}

begin().catch(complain);
