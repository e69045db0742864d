// The controls: what the address says, as fields, and what the fields say, as an address.
import { el } from "/web/elements.js";

const NARROW = matchMedia("(max-width: 40rem)");

/**
 * A form about an algorithm. `fields` are [name, label, kind, hint or choices, whether it is among what is more,
 * where alone it means something]. Where there is little room, the form is folded (`fold`) when there is something
 * else to look at.
 */
export function makeControls(form, catalogue, fields, state, changed) {
  const inputs = new Map();
  const families = [...new Set(catalogue.algorithms.map((algorithm) => algorithm.family))];
  const names = (family) => catalogue.algorithms.filter((entry) => entry.family === family).map(({ name }) => name);
  const group = (family) => el("optgroup", { label: family }, names(family).map((name) => el("option", {}, name)));
  const algorithm = el("select", { id: "algorithm" }, families.map(group));
  const chosen = () => catalogue.algorithms.find(({ name }) => name === algorithm.value);
  const about = el("p", { class: "about" });
  const options = el("div", { id: "options" });

  const make = ([name, label, kind, hint]) => {
    const id = `field-${name}`;
    let input;
    if (kind === "tick") {
      input = el("input", { type: "checkbox", id });
      inputs.set(name, input);
      return el("label", { class: "field" }, label, el("span", { class: "tick" }, input, hint ?? ""));
    }
    if (kind === "choice") {
      input = el("select", { id }, hint.map(([value, words]) => el("option", { value }, words)));
    } else if (kind === "number") {
      input = el("input", { type: "number", id, inputmode: "decimal", ...hint });
    } else {
      const { usual: placeholder, values } = Array.isArray(hint) ? { usual: hint[0], values: hint } : hint;
      const list = el("datalist", { id: `${id}-list` }, values.map((value) => el("option", { value })));
      const usual = { placeholder, autocomplete: "off", spellcheck: "false" };
      input = el("input", { type: "text", id, list: `${id}-list`, ...usual });
      inputs.set(name, input);
      return el("label", { class: "field" }, label, input, list);
    }
    inputs.set(name, input);
    return el("label", { class: "field" }, label, input);
  };

  const folded = form.closest("details");
  const fold = () => {
    const hadFocus = form.contains(document.activeElement);
    folded.open = !NARROW.matches;
    if (hadFocus && NARROW.matches) folded.querySelector("summary").focus({ preventScroll: true });
  };
  NARROW.addEventListener("change", fold);

  const makeOptions = (given) => {
    const entry = chosen();
    folded.querySelector("summary").replaceChildren(el("strong", {}, entry.name), " ",
      el("span", { class: "muted" }, "change"));
    const summary = entry.summary.charAt(0).toUpperCase() + entry.summary.slice(1);
    const assumes = `Assumes ${entry.assumes.join(", ") || "nothing"}`;
    about.textContent = `${summary}. ${assumes}${entry.recovery ? `; with recovery: ${entry.recovery}` : ""}.`;
    options.replaceChildren(...entry.options.map((option) => {
      const input = option.values.length
        ? el("select", {}, option.values.map((value) => el("option", {}, value)))
        : el("input", { type: "text", inputmode: "numeric" });
      Object.assign(input, { value: given.get(option.key) ?? option.default, title: option.meaning });
      input.dataset.option = option.key;
      input.dataset.default = option.default;
      return el("label", { class: "field" }, option.key, input);
    }));
    const recovery = inputs.get("recovery");
    if (recovery) {
      recovery.disabled = entry.recovery === null;
      recovery.checked &&= entry.recovery !== null;
      recovery.title = entry.recovery ?? "this algorithm has no recovery from crashes";
    }
    adapt();
  };

  // What means nothing here is not seen, and not said either.
  const adapt = () => {
    for (const [name, , , , , where] of fields) {
      inputs.get(name).closest(".field").hidden = !suits(where, chosen(), isRecovering());
    }
  };
  const isRecovering = () => {
    const recovery = inputs.get("recovery");
    return Boolean(recovery?.checked) && !recovery.closest(".field").hidden;
  };

  // Voting sets have a parameter of their own, as they have an option of their own in a shell.
  const given = (parameters) => new Map([
    ...parameters.getAll("option").map((pair) => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
    ...parameters.getAll("sets").map((sets) => ["sets", sets]),
  ]);

  const write = (parameters) => {
    algorithm.value = parameters.get("algorithm") ?? catalogue.algorithms[0].name;
    if (!chosen()) algorithm.selectedIndex = 0;
    for (const [name, input] of inputs) {
      if (input.type === "checkbox") input.checked = parameters.has(name);
      else input.value = parameters.getAll(name).join(",");
    }
    makeOptions(given(parameters));
  };

  // What the fields say, in place of what the address said of the same.
  const read = (parameters) => {
    const next = new URLSearchParams(parameters);
    next.set("algorithm", algorithm.value);
    for (const [name, input] of inputs) {
      const said = input.type === "checkbox" ? (input.checked ? "1" : "") : input.value.trim();
      const isHidden = input.closest(".field").hidden;
      if (said === "" || isHidden) next.delete(name);
      else next.set(name, said);
    }
    for (const name of ["option", "sets"]) next.delete(name);
    for (const { value, dataset: { option, default: usual } } of options.querySelectorAll("[data-option]")) {
      if (value === usual) continue;
      if (option === "sets") next.set("sets", value);
      else next.append("option", `${option}=${value}`);
    }
    return next;
  };

  const seen = fields.filter(([, , , , more]) => !more).map(make);
  const hidden = fields.filter(([, , , , more]) => more).map(make);
  const go = el("button", { class: "primary", type: "submit" }, form.dataset.verb ?? "Run");
  form.replaceChildren(el("label", { class: "field" }, "algorithm", algorithm), ...seen, go,
    about, el("details", { id: "more", class: "more" }, el("summary", {}, "More options"),
      el("div", {}, hidden, options)));
  algorithm.addEventListener("change", () => makeOptions(new Map()));
  inputs.get("recovery")?.addEventListener("change", adapt);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    changed();
  });
  write(state);
  // The words of an address that have a field here; and those that mean nothing to another algorithm.
  const has = (name) => inputs.has(name);
  const strange = (entry, hasRecovery) => {
    // What is about recovery goes with it.
    const [, , , , , whose] = fields.find(([name]) => name === "recovery") ?? [];
    const recovers = hasRecovery && suits(whose, entry);
    return fields.filter(([, , , , , where]) => !suits(where, entry, recovers)).map(([name]) => name);
  };
  return { read, write, fold, has, strange, entry: chosen };
}

/** Whether a field that is for a family, or for recovery, means something to an algorithm. */
function suits(where, entry, hasRecovery) {
  return where === undefined || where === entry.family || (where === "recovery" && Boolean(hasRecovery));
}
