// The service, as this page speaks to it: requests with a token, what goes wrong as the server says it, and events.

const TOKEN = "quorate-token";
/** A node says at least every 15 seconds that it is there. One that is silent for longer than this is gone. */
const SILENCE_MS = 40_000;
/** It says so at once when somebody connects. */
const GREETING_MS = 10_000;
/** It answers within ten seconds, if only that it cannot. Who hears nothing for longer will not hear anything. */
const ANSWER_MS = 15_000;
/** How long to wait before the next attempt to connect: from, and at most. */
const PAUSES_MS = [500, 5_000];

/** What the server said of a request that it did not do, in its own words. */
export class Problem extends Error {
  constructor(status, said) {
    super(said?.detail ?? said?.title ?? `the server answered with status ${status}`);
    this.status = status;
    this.kind = said?.type;
  }
}

/** Nothing was heard. */
export class Silence extends Error {
  constructor(ms) {
    super(`nothing received for ${ms / 1000} s`);
  }
}

/** The token, if there is one. It is kept by this tab only. */
export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (value) => sessionStorage.setItem(TOKEN, value),
  forget: () => sessionStorage.removeItem(TOKEN),
};

let onRefused = () => {};
/** By how much the server's calendar is ahead of this one's, in milliseconds. */
let skew = 0;

/** What to do when the server does not know who this is. */
export function whenRefused(ask) {
  onRefused = ask;
}

/** What the server's calendar shows now, as far as one can tell. */
export function now() {
  return Date.now() + skew;
}

async function send(path, options = {}) {
  const headers = { ...options.headers };
  if (token.get()) {
    headers.authorization = `Bearer ${token.get()}`;
  }
  const answer = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit" });
  const date = Date.parse(answer.headers.get("date") ?? "");
  if (!Number.isNaN(date)) {
    const ahead = date + 500 - Date.now();
    // It is told in whole seconds, so that a small difference means nothing.
    skew = Math.abs(ahead) > 2_000 ? ahead : 0;
  }
  if (answer.ok) {
    return answer;
  }
  const problem = new Problem(answer.status, await answer.json().catch(() => null));
  if (problem.status === 401) {
    onRefused(problem);
  }
  throw problem;
}

let looks = new AbortController();

/** Looks at something. */
export async function get(path) {
  const signal = AbortSignal.any([looks.signal, AbortSignal.timeout(ANSWER_MS)]);
  try {
    return await (await send(path, { signal })).json();
  } catch (error) {
    throw error.name === "TimeoutError" ? new Silence(ANSWER_MS) : error;
  }
}

/** Gives up whatever is being looked at, with an `AbortError`: on a path that is dead, nothing is ever answered. */
export function giveUpLooking() {
  looks.abort();
  looks = new AbortController();
}

/** Changes something. */
export async function post(path, body) {
  const headers = { "content-type": "application/json" };
  const signal = AbortSignal.timeout(ANSWER_MS);
  try {
    await send(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  } catch (error) {
    if (error.name !== "TimeoutError") throw error;
    throw new Error(`${new Silence(ANSWER_MS).message}, so the change may have been made: check before you try again`);
  }
}

/** The address of a part of a list. */
export function listed(path, asked) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asked)) {
    if (value) {
      query.set(name, value);
    }
  }
  return `${path}?${query}`;
}

/**
 * Everything that happens, for as long as the page is open. `onEvent` is told each event; `onState` whether the
 * connection is there (`live`), was lost (`lost`, with the reason), or is not wanted (`refused`).
 * A stream that nobody reads is not to be kept: a browser has six connections to a node, for all of its tabs.
 */
export class Feed {
  constructor(onEvent, onState) {
    this.onEvent = onEvent;
    this.onState = onState;
    this.pause = PAUSES_MS[0];
    this.attempt = 0;
  }

  /** Connects, or connects anew. */
  start() {
    this.stop();
    this.connect(++this.attempt);
  }

  stop() {
    this.attempt++;
    clearTimeout(this.again);
    clearTimeout(this.watchdog);
    this.abort?.abort();
  }

  async connect(attempt) {
    this.abort = new AbortController();
    try {
      this.expectSigns(GREETING_MS);
      const answer = await send("/v1/events", { signal: this.abort.signal });
      await this.read(answer.body.getReader(), attempt);
      throw new Error("the server closed the connection");
    } catch (error) {
      clearTimeout(this.watchdog);
      if (attempt !== this.attempt) return;
      if (error instanceof Problem && error.status === 401) {
        this.onState("refused", error);
        return;
      }
      this.onState("lost", error);
      this.again = setTimeout(() => this.connect(attempt), this.pause);
      this.pause = Math.min(this.pause * 2, PAUSES_MS[1]);
    }
  }

  /** Who hears nothing at all for too long hangs up. */
  expectSigns(withinMs) {
    clearTimeout(this.watchdog);
    const { abort } = this;
    this.watchdog = setTimeout(() => abort.abort(new Silence(withinMs)), withinMs);
  }

  async read(reader, attempt) {
    const decoder = new TextDecoder();
    let unread = "";
    while (true) {
      const { done, value } = await reader.read();
      if (done || attempt !== this.attempt) return;
      this.expectSigns(SILENCE_MS);
      unread += decoder.decode(value, { stream: true });
      const parts = unread.split("\n\n");
      unread = parts.pop();
      for (const part of parts) {
        const event = parse(part);
        if (event?.event === "connected") {
          this.pause = PAUSES_MS[0];
          this.onState("live");
        } else if (event) {
          this.onEvent(event);
        }
      }
    }
  }
}

/** An event, if this is one and not a sign of life. */
function parse(text) {
  const event = { event: undefined, index: undefined };
  let data = "";
  for (const line of text.split("\n")) {
    const at = line.indexOf(":");
    const field = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (field === "event") event.event = value;
    if (field === "id") event.index = Number(value);
    if (field === "data") data += value;
  }
  if (event.event === undefined) return null;
  try {
    return { ...JSON.parse(data), ...event };
  } catch {
    return null;
  }
}
