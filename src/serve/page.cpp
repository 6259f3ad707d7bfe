// See page.h. The page keeps conversations in the browser and speaks /v1/chat/completions like any other client.
//
// What the model writes is put into the page as text nodes only, never as HTML.
#include "serve/page.h"

namespace sluice::serve {

std::string_view page_policy() {
  return "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
         "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

std::string_view page_html() {
  return R"page(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>sluice</title>
<style>
:root { color-scheme: light dark; --back: #fbfbf9; --front: #1d1f21; --soft: #6d6f73; --line: #dcdcd6; --mine: #eceef4;
  --code: #f1f1ec; --mark: #2257c4; }
@media (prefers-color-scheme: dark) { :root { --back: #16181b; --front: #e4e4e0; --soft: #989ba1; --line: #33363b;
  --mine: #24282f; --code: #202327; --mark: #8ab0ff; } }
* { box-sizing: border-box; }
body { margin: 0; height: 100dvh; display: grid; grid-template-columns: 17rem 1fr; font: 16px/1.5 system-ui, sans-serif;
  background: var(--back); color: var(--front); }
button { font: inherit; color: inherit; background: none; border: 1px solid var(--line); border-radius: .4rem;
  padding: .15rem .6rem; cursor: pointer; }
button:hover { border-color: var(--mark); }
aside { border-right: 1px solid var(--line); padding: .8rem; overflow: auto; display: flex; flex-direction: column; gap: .5rem; }
aside a { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; color: inherit;
  text-decoration: none; padding: .2rem .4rem; border-radius: .4rem; }
aside a[aria-current=true] { background: var(--mine); }
aside .row { display: flex; } aside .row a { flex: 1; } aside .row button { border: none; color: var(--soft); }
#list { flex: 1; overflow: auto; min-height: 4rem; }
#live { font-size: .78rem; color: var(--soft); border-top: 1px solid var(--line); padding-top: .6rem; }
#live h2 { font-size: .78rem; margin: .5rem 0 .2rem; color: var(--front); font-weight: 600; } #live h2:first-child { margin-top: 0; }
.bar { display: flex; height: .6rem; border-radius: .3rem; overflow: hidden; background: var(--line); } .bar i { display: block; }
.key { display: grid; grid-template-columns: auto 1fr auto; gap: 0 .4rem; align-items: center; margin-top: .2rem; }
.key i { width: .6rem; height: .6rem; border-radius: .15rem; } .key b { font-weight: 400; text-align: right; font-variant-numeric: tabular-nums; }
#fall { display: flex; align-items: end; gap: 1px; height: 3rem; margin-top: .3rem; } #fall div { flex: 1; display: flex; flex-direction: column-reverse;
  min-width: 1px; max-width: .5rem; } .c1 { background: #4a8f6b; } .c2 { background: #7ab894; } .c3 { background: #d98a3d; } .c4 { background: #b9539a; } .c5 { background: #8d8f96; }
.empty { text-align: center; color: var(--soft); padding-top: 18dvh; } .empty h1 { color: var(--front); font-size: 1.4rem; margin: 0 0 .3rem; }
.empty button { margin: .3rem .2rem; }
header { display: none; align-items: center; gap: .6rem; padding: .5rem .8rem; border-bottom: 1px solid var(--line); }
header span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
main { display: flex; flex-direction: column; min-width: 0; height: 100dvh; }
#talk { flex: 1; overflow: auto; padding: 1rem; }
#talk > * { max-width: 46rem; margin: 0 auto 1rem; }
.user { background: var(--mine); border-radius: .6rem; padding: .6rem .9rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.assistant { overflow-wrap: anywhere; }
.assistant p { margin: .5rem 0; white-space: pre-wrap; }
details { color: var(--soft); font-size: .9rem; } details div { white-space: pre-wrap; border-left: 2px solid var(--line); padding-left: .8rem; }
.code { position: relative; background: var(--code); border-radius: .5rem; margin: .6rem 0; }
.code pre { margin: 0; padding: .8rem 5rem .8rem .8rem; overflow: auto; font: .875rem/1.45 ui-monospace, monospace; }
.code button { position: absolute; top: .4rem; right: .4rem; font-size: .75rem; background: var(--back); }
code { font: .9em ui-monospace, monospace; background: var(--code); padding: .1em .3em; border-radius: .3em; } pre code { padding: 0; }
.wide { overflow: auto; margin: .6rem 0; } table { border-collapse: collapse; } th, td { border: 1px solid var(--line); padding: .2rem .6rem; text-align: left; }
#talk > .tools { margin-top: -.7rem; display: flex; gap: .4rem; } .tools button { font-size: .75rem; color: var(--soft); border-color: transparent; padding: .1rem .5rem; }
.error { color: #c4342b; }
form { border-top: 1px solid var(--line); padding: .8rem 1rem; }
form > div { max-width: 46rem; margin: 0 auto; display: flex; gap: .5rem; align-items: end; } #send { padding: .5rem .9rem; }
textarea { flex: 1; resize: none; font: inherit; color: inherit; background: var(--back); border: 1px solid var(--line);
  border-radius: .5rem; padding: .5rem .7rem; max-height: 40dvh; }
:focus-visible { outline: 2px solid var(--mark); outline-offset: 1px; }
@media (max-width: 42rem) { body { grid-template-columns: 1fr; } aside { display: none; position: fixed; inset: 0 15% 0 0;
  background: var(--back); z-index: 1; box-shadow: 0 0 0 100vmax #0006; } body.menu aside { display: flex; } header { display: flex; } }
</style>
</head>
<body>
<aside aria-label="Conversations">
  <button id="new">New conversation</button>
  <div id="list"></div>
  <button id="key">API key…</button>
  <div id="live"></div>
</aside>
<main>
  <header><button type="button" id="menu" aria-label="Conversations">☰</button><span id="name">sluice</span></header>
  <div id="talk" aria-live="polite"></div>
  <form id="ask"><div>
    <textarea id="text" rows="1" placeholder="Say something" aria-label="Message" autofocus></textarea>
    <button id="send">Send</button>
  </div></form>
</main>
<script>
"use strict";
const $ = id => document.getElementById(id);
const make = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};
const stored = name => { try { return JSON.parse(localStorage.getItem(name)); } catch { return null; } };
const store = (name, value) => { try { localStorage.setItem(name, JSON.stringify(value)); } catch { /* full, or forbidden */ } };

let all = stored("sluice.conversations") || [];
let current = all[0] || null;
const model = { name: "sluice", summary: "" };
let running = null;  // AbortController of the answer that is being written

function fresh() {
  current = { id: Date.now(), messages: [] };
  all.unshift(current);
}
function save() { store("sluice.conversations", all.filter(one => one.messages.length)); }
function headers() {
  const key = stored("sluice.key");
  return Object.assign({ "Content-Type": "application/json" }, key ? { Authorization: "Bearer " + key } : {});
}

// **bold**, *italic* and `code` of one line, as nodes.
function inline(parent, text) {
  const pattern = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*/g;
  let from = 0;
  for (const found of text.matchAll(pattern)) {
    parent.append(text.slice(from, found.index));
    if (found[1] !== undefined) parent.append(make("code", "", found[1]));
    else if (found[2] !== undefined) parent.append(make("strong", "", found[2]));
    else parent.append(make("em", "", found[3]));
    from = found.index + found[0].length;
  }
  parent.append(text.slice(from));
}
function codeBlock(text) {
  const box = make("div", "code"), pre = make("pre"), copy = make("button", "", "Copy");
  pre.append(make("code", "", text));
  copy.type = "button";
  copy.onclick = () => navigator.clipboard.writeText(text).then(() => { copy.textContent = "Copied"; });
  box.append(pre, copy);
  return box;
}
function table(lines) {
  const box = make("div", "wide"), node = make("table");
  lines.forEach((line, number) => {
    if (number === 1) return;
    const row = make("tr");
    for (const cell of line.trim().replace(/^\||\|$/g, "").split("|")) {
      const item = make(number ? "td" : "th");
      inline(item, cell.trim());
      row.append(item);
    }
    node.append(row);
  });
  box.append(node);
  return box;
}
function markdown(parent, text) {
  text.split(/^```[^\n]*\n?/m).forEach((part, index) => {
    if (index % 2) return parent.append(codeBlock(part.replace(/\n$/, "")));
    for (const block of part.split(/\n{2,}/)) {
      if (!block.trim()) continue;
      const lines = block.replace(/^\n|\n$/g, "").split("\n"), heading = /^(#{1,4}) +(.*)$/.exec(lines[0]);
      if (heading) {
        const node = make("h" + (heading[1].length + 1));
        inline(node, heading[2]);
        parent.append(node);
        lines.shift();
      }
      if (lines.length && lines.every(line => /^\s*([-*]|\d+[.)]) /.test(line))) {
        const list = make(/^\s*\d/.test(lines[0]) ? "ol" : "ul");
        for (const line of lines) {
          const item = make("li");
          inline(item, line.replace(/^\s*([-*]|\d+[.)]) /, ""));
          list.append(item);
        }
        parent.append(list);
      } else if (lines.length > 1 && lines.every(line => line.trim().startsWith("|")) && /^[\s|:-]+$/.test(lines[1])) {
        parent.append(table(lines));
      } else if (lines.length) {
        const node = make("p");
        inline(node, lines.join("\n"));
        parent.append(node);
      }
    }
  });
}

function fill(node, message, live) {
  const open = node.querySelector("details")?.open;
  node.replaceChildren();
  if (message.reasoning_content) {
    const fold = make("details"), body = make("div", "", message.reasoning_content);
    fold.append(make("summary", "", live && !message.content ? "Thinking…" : "Reasoning"), body);
    fold.open = Boolean(open);
    node.append(fold);
  }
  markdown(node, message.content || "");
  for (const call of message.tool_calls || []) node.append(codeBlock(call.function.name + " " + call.function.arguments));
  if (live && !node.childNodes.length) node.append(make("p", "", "…"));
  if (message.note) node.append(make("p", message.failed ? "error" : "", message.note));
}
function button(text, action) {
  const node = make("button", "", text);
  node.type = "button";
  node.onclick = action;
  return node;
}
function show() {
  const list = $("list");
  list.replaceChildren();
  for (const one of all) {
    if (!one.messages.length && one !== current) continue;
    const row = make("div", "row"), link = make("a", "", one.messages[0]?.content || "New conversation");
    link.href = "#";
    link.setAttribute("aria-current", one === current);
    link.onclick = event => { event.preventDefault(); stop(); current = one; document.body.classList.remove("menu"); show(); };
    const drop = button("×", () => { if (one === current) stop(); all = all.filter(other => other !== one); if (one === current) current = all[0] || null; if (!current) fresh(); save(); show(); });
    drop.setAttribute("aria-label", "Delete");
    row.append(link, drop);
    list.append(row);
  }
  const talk = $("talk");
  talk.replaceChildren();
  if (!current.messages.length) {
    const empty = make("div", "empty");
    empty.append(make("h1", "", model.name), make("div", "", model.summary));
    talk.append(empty);
  }
  current.messages.forEach((message, index) => {
    const node = make("div", message.role);
    if (message.role === "user") node.textContent = message.content;
    else fill(node, message, false);
    talk.append(node);
    const tools = make("div", "tools");
    if (message.role === "user")
      tools.append(button("Edit", () => { stop(); current.messages.length = index; $("text").value = message.content; save(); show(); grow(); $("text").focus(); }));
    else if (index === current.messages.length - 1)
      tools.append(button("Retry", () => { stop(); current.messages.length = index; answer(); }));
    if (tools.childNodes.length) talk.append(tools);
  });
  talk.scrollTop = talk.scrollHeight;
  $("send").textContent = running ? "Stop" : "Send";
}
function stop() { if (running) running.abort(); running = null; }

function take(message, delta) {
  if (delta.content) message.content += delta.content;
  if (delta.reasoning_content) message.reasoning_content = (message.reasoning_content || "") + delta.reasoning_content;
  for (const call of delta.tool_calls || []) {
    message.tool_calls ||= [];
    const mine = message.tool_calls[call.index] ||= { id: call.id, type: "function", function: { name: "", arguments: "" } };
    mine.function.name += call.function.name || "";
    mine.function.arguments += call.function.arguments || "";
  }
}
async function answer() {
  const conversation = current, control = running = new AbortController();
  const asked = conversation.messages.filter(one => !one.failed).map(({ note, failed, ...message }) => message);
  const message = { role: "assistant", content: "" };
  conversation.messages.push(message);
  show();
  const node = [...$("talk").querySelectorAll(".assistant")].pop();
  let prompt = "";
  const draw = () => {
    if (conversation !== current) return;
    const talk = $("talk"), low = talk.scrollHeight - talk.scrollTop - talk.clientHeight < 80;
    fill(node, message, true);
    if (prompt && !message.content && !message.reasoning_content) node.append(make("p", "", prompt));
    if (low) talk.scrollTop = talk.scrollHeight;
  };
  try {
    const response = await fetch("/v1/chat/completions", { method: "POST", headers: headers(), signal: control.signal,
      body: JSON.stringify({ messages: asked, stream: true }) });
    if (!response.ok) throw new Error((await response.json()).error.message);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part; !(part = await reader.read()).done;) {
      const events = (rest + part.value).split("\n\n");
      rest = events.pop();
      for (const event of events) {
        if (event.startsWith(": ")) prompt = event.slice(2);
        if (!event.startsWith("data: ") || event === "data: [DONE]") continue;
        const chunk = JSON.parse(event.slice(6));
        if (chunk.error) throw new Error(chunk.error.message);
        const choice = chunk.choices[0];
        if (!choice) continue;
        take(message, choice.delta);
        if (choice.finish_reason === "length") message.note = "(cut at the end of the context)";
      }
      draw();
    }
  } catch (error) {
    if (error.name === "AbortError") message.note = "(stopped)";
    else { message.note = error.message; message.failed = true; }
  }
  if (running === control) running = null;
  save();
  show();
}

// What the server says of itself: how memory is used, and where the weights of the last forward passes came from.
const sizes = bytes => { let unit = 0; while (bytes >= 1024 && unit < 4) { bytes /= 1024; ++unit; } return bytes.toFixed(bytes < 10 && unit ? 1 : 0) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][unit]; };
const times = seconds => seconds >= 1 ? seconds.toFixed(1) + " s" : (seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0) + " ms";
function bar(parts, whole) {
  const node = make("div", "bar");
  for (const [color, , amount] of parts) {
    const part = make("i", color);
    part.style.width = (whole > 0 ? 100 * amount / whole : 0) + "%";
    node.append(part);
  }
  return node;
}
function legend(parts, spelled) {
  const node = make("div", "key");
  for (const [color, name, amount] of parts) node.append(make("i", color), make("span", "", name), make("b", "", spelled(amount)));
  return node;
}
const total = parts => parts.reduce((sum, part) => sum + part[2], 0);
let before = null, last = null;
const fall = [];  // of the last looks at a running model: the times of a pass
// The difference of two looks, for one forward pass.
function passes(now, then) {
  const count = now.steps - then.steps;
  if (count <= 0) return null;
  const of = (what, field) => (now[what][field] - then[what][field]) / count;
  const seconds = (now.time - then.time) / 1000 / count, trunkWait = of("trunk", "waited"), expertWait = of("experts", "waited");
  return {
    bytes: [["c1", "trunk, in memory", now.trunk.pinned], ["c2", "experts, in memory", of("experts", "hits") * now.experts.bytes_each],
      ["c3", "trunk, from disk", of("trunk", "read")], ["c4", "experts, from disk", of("experts", "read")]],
    times: [["c1", "computing", Math.max(seconds - trunkWait - expertWait, 0)], ["c3", "waiting for trunk", trunkWait], ["c4", "waiting for experts", expertWait]],
    busy: then.running > 0 && now.running > 0,
  };
}
function draw_live(now) {
  const memory = now.memory, parts = [["c1", "trunk", memory.trunk], ["c2", "experts", memory.experts], ["c4", "conversations", memory.state], ["c5", "the rest", memory.rest]];
  const nodes = [make("h2", "", `Memory: ${sizes(memory.planned)} of ${sizes(memory.budget)}`), bar(parts, Math.max(total(parts), memory.planned)), legend(parts, sizes)];
  if (last) {
    const disk = last.bytes[2][2] + last.bytes[3][2];
    nodes.push(make("h2", "", `Weights of a token: ${sizes(total(last.bytes))}`), bar(last.bytes, total(last.bytes)), legend(last.bytes, sizes));
    nodes.push(make("h2", "", `Time of a token: ${times(total(last.times))}`), bar(last.times, total(last.times)), legend(last.times, times));
    if (disk === 0) nodes.push(make("div", "", "nothing was read from disk"));
    const chart = make("div"), most = Math.max(...fall.map(total));
    chart.id = "fall";
    chart.title = "time of a token, over the last looks";
    for (const one of fall) {
      const column = make("div");
      for (const [color, , seconds] of one) { const part = make("i", color); part.style.height = 3 * seconds / most + "rem"; column.append(part); }
      chart.append(column);
    }
    nodes.push(chart);
  }
  if (now.waiting || now.running > 1) nodes.push(make("div", "", `${now.running} running, ${now.waiting} waiting`));
  $("live").replaceChildren(...nodes);
}
async function look() {
  try {
    const response = await fetch("/live", { headers: headers() });
    if (!response.ok) throw new Error((await response.json()).error.message);
    const now = Object.assign(await response.json(), { time: performance.now() });
    if (model.name !== now.model) { model.name = now.model; model.summary = now.summary; $("name").textContent = document.title = now.model; if (!current.messages.length) show(); }
    const made = before && passes(now, before);
    if (made && made.busy) {
      last = made;
      fall.push(made.times);
      if (fall.length > 48) fall.shift();
    }
    draw_live(now);
    before = now;
  } catch (error) { $("live").replaceChildren(make("div", "", error instanceof TypeError ? "the server does not answer" : error.message)); }
  setTimeout(look, document.hidden ? 5000 : running ? 300 : 2000);
}

function grow() { const box = $("text"); box.style.height = "auto"; box.style.height = box.scrollHeight + 2 + "px"; }
$("text").oninput = grow;
$("text").onkeydown = event => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); $("ask").requestSubmit(); } };
$("ask").onsubmit = event => {
  event.preventDefault();
  if (running) { stop(); return; }
  const text = $("text").value;
  if (!text.trim()) return;
  $("text").value = "";
  grow();
  current.messages.push({ role: "user", content: text });
  save();
  answer();
};
$("new").onclick = () => { stop(); fresh(); document.body.classList.remove("menu"); show(); $("text").focus(); };
$("menu").onclick = () => document.body.classList.toggle("menu");
$("key").onclick = () => { const key = prompt("API key of this server (kept in this browser)", stored("sluice.key") || ""); if (key !== null) store("sluice.key", key); };
if (!current) fresh();
show();
look();
</script>
</body>
</html>
)page";
}

}  // namespace sluice::serve
