// Elements, made of text and never of HTML: nothing that a user has written is ever read as anything but text.

const SVG = "http://www.w3.org/2000/svg";
const IN_SVG = new Set(["svg", "path", "line", "circle", "title"]);

/**
 * An element with attributes and children. Children are elements, texts, lists of both, or nothing; an attribute
 * `onclick`, or another that begins with `on`, is a function that hears of the event.
 */
export function el(tag, attributes = {}, ...children) {
  const element = IN_SVG.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), value);
    } else if (value !== undefined && value !== null && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) {
      append(element, child);
    } else if (child instanceof Node) {
      element.append(child);
    } else if (child !== undefined && child !== null && child !== false) {
      element.append(document.createTextNode(String(child)));
    }
  }
}

/**
 * What one does not see, or what changes the order of what one sees: one name could be made to look like another. Of
 * spaces, one sees an ordinary one between letters: not one at an end, nor how many there are, nor that it is another.
 */
const UNSEEN = /((?:(?! )[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Z}\u115f\u1160\u2800\u3164\uffa0])+|^ +| +$| {2,})/u;

/** A text that somebody has written, with names in place of characters that one would not see. */
export function visible(text) {
  const parts = String(text).split(UNSEEN);
  return parts.map((part, at) => (at % 2 === 0 ? part : el("span", { class: "unseen" }, codes(part))));
}

function codes(text) {
  return [...text].map((one) => `U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`).join(" ");
}

/** The same as plain text, for titles and labels. */
export function plain(text) {
  return String(text).split(UNSEEN).map((part, at) => (at % 2 === 0 ? part : `[${codes(part)}]`)).join("");
}

/** A text that somebody has written, which does not change the order of the letters around it. */
export function written(text) {
  return el("bdi", {}, visible(text));
}

/**
 * Makes the children of an element what they should be, and touches only what has changed: so the focus, a selection
 * and the place one has scrolled to stay where they are. What hears of events is not among what is changed.
 */
export function show(element, ...children) {
  const wanted = document.createDocumentFragment();
  append(wanted, children);
  become(element, wanted);
}

function become(now, wanted) {
  const keyed = new Map();
  for (const child of now.children) {
    if (child.dataset?.key) {
      keyed.set(child.dataset.key, child);
    }
  }
  let next = now.firstChild;
  for (const child of [...wanted.childNodes]) {
    const key = child.dataset?.key;
    const found = key === undefined ? next : keyed.get(key);
    if (found && isAlike(found, child)) {
      if (found !== next) {
        now.insertBefore(found, next);
      } else {
        next = next.nextSibling;
      }
      adjust(found, child);
    } else {
      now.insertBefore(child, next);
    }
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    gone.remove();
  }
}

function isAlike(one, other) {
  return one.nodeType === other.nodeType && one.nodeName === other.nodeName && one.dataset?.key === other.dataset?.key;
}

function adjust(found, wanted) {
  if (found.nodeType === Node.TEXT_NODE) {
    if (found.data !== wanted.data) {
      found.data = wanted.data;
    }
    return;
  }
  for (const { name } of [...found.attributes]) {
    if (!wanted.hasAttribute(name)) {
      found.removeAttribute(name);
    }
  }
  for (const { name, value } of wanted.attributes) {
    if (found.getAttribute(name) !== value) {
      found.setAttribute(name, value);
    }
  }
  become(found, wanted);
}

/** The head of a panel: its title, something about it, and what else stands there. */
export function head(title, note, ...more) {
  return el("div", { class: "head" }, el("h2", {}, title), el("span", { class: "muted" }, note), more);
}

/** The element with this id. */
export function by(id) {
  return document.getElementById(id);
}
