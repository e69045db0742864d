// A run that can be stepped through, on a drawing that Rust has made.
//
// mountViewer(root, run) takes an element with a `.q-stage` and, in it, a `.q-sheet` with the drawing; everything else
// it makes itself, as text and never as markup. `run` says where things are on the drawing and what happens at each
// step (diagram/html/mod.rs writes it). It gives { show(step), step(), plays(), play(), destroy() }. Options: `start`
// is the step to begin with, and `shown(step)` hears of each step that is shown. With `alone: false` there are others
// on the page: the address is not its own, and keys are its own only while it has the focus.
//
// While one scrubs, nothing of the drawing changes: a line, a veil and a few strokes move above it.

const PHASES = {
  idle: "idle", wanting: "waiting", inside: "inside", candidate: "in an election", leading: "leader",
  paused: "paused", "paused-inside": "paused inside", crashed: "crashed", stopped: "stopped",
};
const PACE_MS = 900;
const TOGETHER = 100;
const FAR = 4000;
const KEYS = [
  ["→  ←", "next step, previous step"],
  ["Shift →  ←", "next or previous entry, leader, crash or mark"],
  ["Space", "play or pause; on a button, press it"],
  ["Home  End", "first step, last step"],
  ["+  −  0", "zoom in, zoom out, reset the zoom"],
  ["click", "on a message or an event: go to its step"],
  ["?", "show this help"],
];
const EVERYWHERE = "The keys work unless an input field has the focus.";
const WITHIN = "The keys work on the run that has the focus: click its drawing, or move there with Tab.";

export function mountViewer(root, run, options = {}) {
  const viewer = new Viewer(root, run, options);
  viewer.begin();
  return {
    show: (step) => viewer.show(step),
    step: () => viewer.now,
    plays: () => viewer.timer !== 0,
    play: () => viewer.toggle(),
    destroy: () => viewer.destroy(),
  };
}

class Viewer {
  constructor(root, run, { start, shown, alone = true }) {
    this.root = root;
    this.run = run;
    Object.assign(this, { start, shown, alone });
    this.now = -1;
    this.zoom = 1;
    this.timer = 0;
    this.frame = 0;
    this.aborter = new AbortController();
    this.stage = root.querySelector(".q-stage");
    this.sheet = root.querySelector(".q-sheet");
    this.drawing = this.sheet.querySelector("svg");
    makeQuick(this.drawing);
    root.classList.toggle("q-down", run.down);
    // What each process is doing from which step on, and which arrows belong to a step.
    this.changes = run.lines.map(([, , phase, note]) => [[-1, phase, note]]);
    for (const [step, line, phase, note] of run.changes) this.changes[line].push([step, phase, note]);
    this.arrowsOf = new Map();
    run.arrows.forEach((arrow, index) => {
      for (const step of new Set([arrow[4], arrow[5]])) {
        if (step < 0) continue;
        if (!this.arrowsOf.has(step)) this.arrowsOf.set(step, []);
        this.arrowsOf.get(step).push(index);
      }
    });
    this.marks = new Map();
    for (const [step, text] of run.marks) this.marks.set(step, [...(this.marks.get(step) ?? []), text]);
    const isNotable = (index) => run.steps[index][4] || this.marks.has(index);
    this.notable = [...run.steps.keys()].filter(isNotable);
  }

  begin() {
    this.makeOverlay();
    this.makeBar();
    this.makePanels();
    this.makeHelp();
    this.listen();
    this.scale(this.usualZoom());
    const wanted = this.alone && /^#step=(\d+)$/.exec(location.hash);
    this.show(this.start ?? (wanted ? Number(wanted[1]) - 1 : 0));
  }

  destroy() {
    this.pause();
    clearTimeout(this.remembering);
    cancelAnimationFrame(this.frame);
    this.aborter.abort();
    for (const made of [this.glass, this.mark, this.names, this.bar, this.panels, this.help]) made.remove();
  }

  // What is made.

  makeOverlay() {
    this.glass = make("div", "q-glass", this.sheet);
    this.veil = make("div", "q-veil", this.glass);
    this.line = make("div", "q-now", this.glass);
    this.mark = make("div", "q-mark", this.sheet);
    this.marked = this.mark.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "svg"));
    this.names = make("div", "q-names");
    this.stage.prepend(this.names);
    this.tags = this.run.lines.map(([name]) => make("b", "", this.names, name));
  }

  makeBar() {
    const bar = (this.bar = make("div", "q-bar", this.root));
    bar.setAttribute("role", "toolbar");
    bar.setAttribute("aria-label", "Steps");
    this.first = button(bar, "|◀", "First step", () => this.go(0));
    this.back = button(bar, "◀", "Previous step", () => this.go(this.now - 1));
    this.playing = button(bar, "Play", "Play or pause", () => this.toggle());
    this.playing.classList.add("q-main");
    this.on = button(bar, "▶", "Next step", () => this.go(this.now + 1));
    this.last = button(bar, "▶|", "Last step", () => this.go(this.run.steps.length - 1));
    this.slider = make("input", "", bar);
    Object.assign(this.slider, { type: "range", min: 0, max: Math.max(0, this.run.steps.length - 1), value: 0 });
    this.slider.setAttribute("aria-label", "Step");
    this.time = make("output", "q-time", bar);
    this.pace = make("select", "q-select", bar);
    this.pace.setAttribute("aria-label", "Speed");
    for (const pace of [0.5, 1, 2, 4, 10]) {
      const choice = make("option", "", this.pace, `${pace}×`);
      choice.value = pace;
      choice.selected = pace === 1;
    }
    button(bar, "−", "Zoom out", () => this.scale(this.zoom / 1.25));
    button(bar, "+", "Zoom in", () => this.scale(this.zoom * 1.25));
    button(bar, "?", "Keyboard shortcuts", () => this.help.showModal());
  }

  makePanels() {
    this.panels = make("div", "q-panels", this.root);
    this.said = make("section", "q-said", this.panels);
    make("h2", "", this.said, "Events of this step");
    this.words = make("ul", "q-lines", this.said);
    this.words.setAttribute("aria-live", "polite");
    const states = make("section", "", this.panels);
    make("h2", "", states, "Processes");
    const cards = make("ul", this.run.lines.length > 12 ? "q-cards q-many" : "q-cards", states);
    this.cards = this.run.lines.map(([name]) => {
      const card = make("li", "q-card", cards);
      make("b", "", card, name);
      return { card, phase: make("span", "", card), note: make("small", "", card) };
    });
  }

  makeHelp() {
    this.help = make("dialog", "q-help", this.root);
    this.help.setAttribute("aria-label", "Keyboard shortcuts");
    make("p", "q-note", this.help, this.alone ? EVERYWHERE : WITHIN);
    const list = make("dl", "", this.help);
    const upright = ["↓  ↑", this.run.down ? "the same" : "the same, when the drawing has the focus"];
    const [along, ...others] = KEYS;
    for (const [key, meaning] of [along, upright, ...others]) {
      make("dt", "", list, key);
      make("dd", "", list, meaning);
    }
    button(this.help, "Close", "Close", () => this.help.close());
  }

  listen() {
    const signal = this.aborter.signal;
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)), { signal });
    this.sheet.addEventListener("click", (event) => this.click(event), { signal });
    this.stage.addEventListener("scroll", () => this.scrolled(), { signal, passive: true });
    addEventListener("resize", () => this.move(), { signal });
    // Of several runs on a page, the one that has the focus has the keys.
    (this.alone ? document : this.root).addEventListener("keydown", (event) => this.key(event), { signal });
    if (!this.alone) return;
    addEventListener("hashchange", () => {
      const wanted = /^#step=(\d+)$/.exec(location.hash);
      if (wanted) this.show(Number(wanted[1]) - 1);
    }, { signal });
  }

  // What one does.

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open || !this.hears(event)) return;
    const forward = event.key === "ArrowRight" || event.key === "ArrowDown";
    switch (event.key) {
      case "ArrowRight": case "ArrowLeft": case "ArrowDown": case "ArrowUp":
        this.go(event.shiftKey ? this.nextNotable(forward) : this.now + (forward ? 1 : -1));
        break;
      case " ": this.toggle(); break;
      case "Home": this.go(0); break;
      case "End": this.go(this.run.steps.length - 1); break;
      case "+": case "=": this.scale(this.zoom * 1.25); break;
      case "-": case "−": this.scale(this.zoom / 1.25); break;
      case "0": this.scale(this.usualZoom()); break;
      case "?": this.help.showModal(); break;
      default: return;
    }
    event.preventDefault();
  }

  // Whether a key is meant for this run, and not for what has the focus.
  hears({ target, key }) {
    if (target === this.stage) return true;
    const isUpright = key === "ArrowDown" || key === "ArrowUp";
    // On a slider, up is on: it knows these itself.
    if (target === this.slider) return !isUpright;
    if (target.closest("input, select, textarea, [contenteditable]")) return false;
    if (target.closest("button, a, summary") && (key === " " || key === "Enter")) return false;
    const other = target.closest(".q-viewer, [tabindex='0']");
    if ((other && other !== this.root) || isScroller(target)) return false;
    // The page itself is scrolled by these, unless the run goes that way.
    return !isUpright || this.run.down;
  }

  click(event) {
    const box = this.sheet.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / this.zoom, (event.clientY - box.top) / this.zoom];
    const { steps, arrows, down } = this.run;
    let [best, chosen] = [14, -1];
    steps.forEach(([along, line], index) => {
      const across = this.run.lines[line][1];
      const distance = down ? Math.hypot(x - across, y - along) : Math.hypot(x - along, y - across);
      if (distance < best) [best, chosen] = [distance, index];
    });
    if (chosen < 0) {
      best = 9;
      for (const arrow of arrows) {
        const distance = fromSegment(x, y, arrow);
        if (distance >= best) continue;
        best = distance;
        // Its sending first; a second click goes on to its end.
        chosen = arrow[4] >= 0 && arrow[4] !== this.now ? arrow[4] : arrow[5] >= 0 ? arrow[5] : arrow[4];
      }
    }
    if (chosen < 0) chosen = this.stepAt(down ? y : x);
    this.go(chosen);
  }

  // Going somewhere by hand ends playing.
  go(step) {
    this.pause();
    this.show(step);
  }

  toggle() {
    if (!this.run.steps.length) return;
    if (this.timer) return this.pause();
    if (this.now >= this.run.steps.length - 1) this.show(0);
    this.playing.textContent = "Pause";
    const next = () => {
      this.show(this.now + 1);
      if (this.now >= this.run.steps.length - 1) return this.pause();
      this.timer = setTimeout(next, PACE_MS / Number(this.pace.value));
    };
    this.timer = setTimeout(next, PACE_MS / Number(this.pace.value) / 2);
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.playing.textContent = "Play";
  }

  nextNotable(forward) {
    const found = forward ? this.notable.find((at) => at > this.now) : this.notable.findLast((at) => at < this.now);
    return found ?? (forward ? this.run.steps.length - 1 : 0);
  }

  // The last step that is not after this place on the axis.
  stepAt(place) {
    let [low, high] = [0, this.run.steps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.run.steps[middle][5] <= place + 1) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  // What one sees.

  show(step) {
    const last = this.run.steps.length - 1;
    this.now = Math.max(0, Math.min(last, step));
    if (last < 0) {
      // There is nowhere to go, and nothing to play.
      const controls = [this.first, this.back, this.playing, this.on, this.last, this.slider];
      controls.forEach((control) => (control.disabled = true));
      return this.showStates();
    }
    this.slider.value = this.now;
    const { unit, steps } = this.run;
    const at = unit === "step" ? `step ${steps[this.now][2]}` : `${steps[this.now][2]} ${unit}`;
    this.slider.setAttribute("aria-valuetext", `${this.now + 1} of ${last + 1}, at ${at}`);
    this.time.textContent = `${this.now + 1}/${last + 1} · ${at}`;
    const held = document.activeElement;
    this.back.disabled = this.first.disabled = this.now === 0;
    this.on.disabled = this.last.disabled = this.now === last;
    // A button that cannot be pressed any more would lose the focus to nobody.
    if (held?.disabled && this.bar.contains(held)) this.playing.focus();
    this.showWords();
    this.showStates();
    this.move();
    this.shown?.(this.now);
    if (!this.alone) return;
    clearTimeout(this.remembering);
    this.remembering = setTimeout(() => history.replaceState(null, "", `#step=${this.now + 1}`), 400);
  }

  showWords() {
    const [, , , words] = this.run.steps[this.now];
    const lines = words.map((text) => item(text, /[A-Z]{4}/.test(text) ? "q-strong" : ""));
    const marks = (this.marks.get(this.now) ?? []).map((text) => item(text, "q-alarm"));
    this.words.replaceChildren(...marks, ...lines);
  }

  showStates() {
    const acting = this.run.steps[this.now]?.[1];
    this.cards.forEach(({ card, phase, note }, line) => {
      const [, state, more] = latest(this.changes[line], this.now);
      if (card.dataset.phase !== state) {
        card.dataset.phase = this.tags[line].dataset.phase = state;
        phase.textContent = PHASES[state] ?? state;
      }
      if (note.textContent !== more) note.textContent = more;
      card.classList.toggle("q-acts", line === acting);
    });
  }

  // A hand that scrubs is quicker than the screen: however many steps it goes in a frame, the drawing moves once.
  move() {
    if (!this.run.steps.length) return;
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.follow();
      this.showPlace();
    });
  }

  showPlace() {
    const { steps, down, lines } = this.run;
    const zoom = this.zoom;
    const [along, line, , , , present] = steps[this.now];
    const move = (place) => (down ? `translateY(${place * zoom}px)` : `translateX(${place * zoom}px)`);
    this.veil.style.transform = move(present + 6);
    this.line.style.transform = move(present - 1);
    const parts = (this.arrowsOf.get(this.now) ?? []).map((index) => {
      const [x, y, toX, toY] = this.run.arrows[index].map((place) => place * zoom);
      return shape("path", { d: `M${x} ${y}L${toX} ${toY}` });
    });
    const [x, y] = down ? [lines[line][1], along] : [along, lines[line][1]];
    parts.push(shape("circle", { cx: x * zoom, cy: y * zoom, r: 9 }));
    this.marked.replaceChildren(...parts);
  }

  // Keeps the present moment in sight, and what happens, which may be drawn before it: if not both fit, the latter.
  follow() {
    const { steps, lines, down } = this.run;
    const place = steps[this.now][5] * this.zoom;
    const line = lines[steps[this.now][1]][1] * this.zoom;
    const [along, across] = down ? ["Top", "Left"] : ["Left", "Top"];
    const keep = (side, length, at, from, to, goal) => {
      const begin = this.stage[`scroll${side}`];
      if (at < begin + from * length || at > begin + to * length) this.stage[`scroll${side}`] = at - goal * length;
    };
    const { clientWidth, clientHeight } = this.stage;
    const [long, wide] = down ? [clientHeight, clientWidth] : [clientWidth, clientHeight];
    keep(along, long, place, 0.12, 0.8, 0.4);
    keep(along, long, steps[this.now][0] * this.zoom, 0.12, 0.88, 0.3);
    keep(across, wide, line, 0.08, 0.92, 0.5);
  }

  usualZoom() {
    const [width, height] = this.run.size;
    const room = this.run.down ? this.stage.clientWidth / width : (0.66 * innerHeight) / height;
    return Math.max(0.55, Math.min(1, room));
  }

  scale(zoom) {
    const { size, axis, across, down, lines } = this.run;
    this.zoom = Math.max(0.1, Math.min(4, zoom));
    const [width, height] = size.map((length) => `${length * this.zoom}px`);
    for (const element of [this.sheet, this.drawing]) Object.assign(element.style, { width, height });
    // The legend is not part of the run, and does not pale.
    const below = `${(down ? axis[1] : across[1]) * this.zoom}px`;
    for (const element of [this.glass, this.veil]) Object.assign(element.style, { width, height: below });
    Object.assign(this.line.style, down ? { width, height: "2px" } : { width: "2px", height });
    this.tags.forEach((tag, line) => {
      const place = `${lines[line][1] * this.zoom}px`;
      Object.assign(tag.style, down ? { left: place, top: "4px", transform: "translateX(-50%)" }
        : { top: place, left: "4px", transform: "translateY(-50%)" });
    });
    if (this.now >= 0) this.move();
    this.scrolled();
  }

  scrolled() {
    const away = this.run.down ? this.stage.scrollTop : this.stage.scrollLeft;
    this.root.classList.toggle("q-scrolled", away > this.run.axis[0] * this.zoom * 0.6);
  }
}

// Spares the browser what nobody sees of a large drawing. Shapes that follow each other are mostly near each other: out
// of sight, a group of them is passed over as one. And all dashes of a stroke are reckoned wherever it is, so that one
// which is too long to be seen whole has none.
function makeQuick(drawing) {
  const shapes = [...drawing.children].filter((part) => part.matches("path, rect, circle, text"));
  for (let from = 0; from < shapes.length; from += TOGETHER) {
    const group = shape("g", {});
    shapes[from].before(group);
    group.append(...shapes.slice(from, from + TOGETHER));
  }
  for (const arrow of drawing.querySelectorAll("path.arrow")) {
    const [x, y, toX, toY] = arrow.getAttribute("d").match(/[\d.]+/g);
    if (Math.hypot(toX - x, toY - y) > FAR) arrow.style.strokeDasharray = "none";
  }
}

// Whether an element has what it shows scrolled by keys: browsers give such a one the focus even if nobody asks for it.
function isScroller(element) {
  return element !== document.body && /auto|scroll/.test(getComputedStyle(element).overflow);
}

function make(tag, classes, parent, text) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  if (text !== undefined) element.textContent = text;
  parent?.append(element);
  return element;
}

function button(parent, text, label, act) {
  const element = make("button", "q-button", parent, text);
  element.type = "button";
  element.title = label;
  element.setAttribute("aria-label", label);
  element.addEventListener("click", act);
  return element;
}

function item(text, classes) {
  return make("li", classes, null, text);
}

function shape(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// The last change that is not after this step.
function latest(changes, step) {
  let [low, high] = [0, changes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (changes[middle][0] <= step) low = middle + 1;
    else high = middle;
  }
  return changes[low - 1];
}

function fromSegment(x, y, [beginX, beginY, endX, endY]) {
  const [dx, dy] = [endX - beginX, endY - beginY];
  const part = ((x - beginX) * dx + (y - beginY) * dy) / (dx * dx + dy * dy || 1);
  const nearest = Math.max(0, Math.min(1, part));
  return Math.hypot(x - beginX - nearest * dx, y - beginY - nearest * dy);
}
