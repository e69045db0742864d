// The variables of a process before and after a step: what has changed, and where it is; on demand, everything.
import { by, el, head, show } from "/web/elements.js";

let isWhole = false;
let latest;

/** Shows both in this place, where the focus and what one has scrolled to stay as they are. */
export function showVariables(place, variables) {
  latest = variables;
  const { process, before, after } = variables;
  const [mine, other] = [lines(before, after), lines(after, before)];
  const hasChanged = [...mine, ...other].some((line) => line.isNew);
  const isFolded = !isWhole && [...mine, ...other].some((line) => !line.isShown);
  const again = () => {
    isWhole = !isWhole;
    showVariables(place, latest);
  };
  const words = isWhole ? "Only what changes" : "Show all";
  const canFold = isWhole || isFolded;
  const note = hasChanged ? "before and after this step" : "unchanged by this step";
  const hadFocus = place.contains(document.activeElement);
  show(place,
    head(`The variables of ${process}`, note,
      canFold && el("button", { type: "button", class: "quiet", id: "whole", onclick: again }, words)),
    el("div", { class: "pair" }, shown(before, mine), hasChanged || isWhole ? shown(after, other) : ""));
  place.hidden = false;
  // What had the focus may have nothing to say of this step.
  if (hadFocus && !place.contains(document.activeElement)) place.querySelector("pre").focus({ preventScroll: true });
}

/** Shows none; who was reading there goes on with the run. */
export function hideVariables(place) {
  const hadFocus = place.contains(document.activeElement);
  place.hidden = true;
  if (hadFocus) by("result").focus({ preventScroll: true });
}

const depth = (line) => line.length - line.trimStart().length;

/** The lines of a text: whether the other has it, and whether it says something about what has changed. */
function lines(text, other) {
  const there = new Map();
  for (const line of other.split("\n")) there.set(line, (there.get(line) ?? 0) + 1);
  const found = text.split("\n").map((line) => {
    const count = there.get(line) ?? 0;
    there.set(line, count - 1);
    return { text: line, isNew: count <= 0, isShown: false };
  });
  // What is around a change says where it is: everything that contains it. Of the rest, the outermost is shown.
  found.forEach((line, at) => {
    line.isShown ||= depth(line.text) === 0;
    if (!line.isNew) return;
    line.isShown = true;
    let outer = depth(line.text);
    for (let above = at - 1; above >= 0 && outer > 0; above--) {
      if (depth(found[above].text) < outer) {
        outer = depth(found[above].text);
        found[above].isShown = true;
      }
    }
  });
  // Where nothing has changed, the fields themselves are of interest.
  if (!found.some((line) => line.isNew)) {
    found.forEach((line) => {
      line.isShown = depth(line.text) <= 4;
    });
  }
  return found;
}

function shown(text, all) {
  if (!text) return el("pre", { class: "muted", tabindex: 0 }, "no variables: the process has crashed");
  const parts = [];
  let hidden = 0;
  const gap = (indent) => {
    if (hidden > 0) parts.push(el("span", { class: "muted" }, `${" ".repeat(indent)}… ${hidden} more\n`));
    hidden = 0;
  };
  for (const line of all) {
    if (!isWhole && !line.isShown) {
      hidden++;
      continue;
    }
    gap(depth(line.text));
    parts.push(line.isNew ? el("mark", {}, line.text) : line.text, "\n");
  }
  gap(0);
  return el("pre", { tabindex: 0 }, parts);
}
