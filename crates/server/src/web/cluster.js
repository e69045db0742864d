// The members, who of them leads, and how far behind or how far away the others are.

import { el, head, show } from "./elements.js";
import { count, number, span } from "./words.js";

/** The panel of the members. */
export function renderMembers(into, status) {
  const isPeer = status.engine === "peer";
  const facts = isPeer
    ? [
        `peer engine: ${status.turns.algorithm}`,
        `election: ${status.turns.election}`,
        `incarnation ${status.turns.incarnation}`,
      ]
    : ["replicated", `term ${number(status.term)}`, `${number(status.applied)} applied`];
  show(
    into,
    head("Members", facts.join(" · ")),
    status.trouble && el("p", { class: "problem" }, status.trouble),
    el(
      "ul",
      { class: "members" },
      status.members.map((member) => (isPeer ? peer(status, member) : replica(status, member))),
    ),
    !isPeer && status.leader !== status.node && elsewhere(status),
  );
}

function row(status, member, badges, rest) {
  const isHere = member.node === status.node;
  return el(
    "li",
    { "data-key": member.node, class: isHere ? "here" : "" },
    el("span", { class: "number" }, member.node),
    el("span", { class: "where" }, member.address, isHere && el("span", { class: "muted" }, " this node")),
    el("span", { class: "badges" }, badges, rest),
  );
}

function leads() {
  return el("span", { class: "badge good" }, "leader");
}

function replica(status, member) {
  const isLeader = member.node === status.leader;
  const badges = [];
  if (isLeader) badges.push(leads());
  if (!member.votes) badges.push(el("span", { class: "badge plain" }, "learner"));
  let lag = null;
  if (member.silent_ms !== undefined) {
    badges.push(el("span", { class: "badge bad" }, `no answer for ${span(member.silent_ms)}`));
  } else if (member.lag !== undefined && !isLeader) {
    const behind = member.lag === 0 ? "up to date" : `${count(member.lag, "entry", "entries")} behind`;
    lag = el("span", { class: member.lag > 1000 ? "bad" : "muted" }, behind);
  }
  return row(status, member, badges, lag);
}

function peer(status, member) {
  const other = status.turns.peers.find((one) => one.node === member.node);
  const badges = [];
  if (member.node === status.leader) badges.push(leads());
  if (other?.suspected) badges.push(el("span", { class: "badge bad" }, "suspected"));
  else if (other && !other.connected) badges.push(el("span", { class: "badge warn" }, "not connected"));
  const isThere = other?.round_trip_us != null && !other.suspected;
  const trip = isThere && el("span", { class: "muted" }, `round trip ${span(other.round_trip_us / 1000)}`);
  return row(status, member, badges, trip);
}

/** Only the leader knows how far the others are. */
function elsewhere(status) {
  const leader = status.members.find((member) => member.node === status.leader);
  if (!leader) {
    return el("p", { class: "problem" }, "This node knows no leader: nothing can be changed until one is elected.");
  }
  const href = `${location.protocol}//${leader.address}/`;
  const link = el("a", { href, rel: "noreferrer" }, `node ${leader.node}`);
  return el("p", { class: "muted note" }, "How far the other members are behind is shown by the leader, ", link, ".");
}
