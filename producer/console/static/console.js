// Adds live updates and shortcuts to the pages. Without it everything works, only more slowly.
const page = document.documentElement;
const speaker = document.getElementById("speaker");
const words = document.body.dataset;
const say = (text) => { if (speaker) speaker.textContent = text; };

// remove a result from the address, so that a reload or a copied address does not show it again
if (location.search.includes("did=")) {
  const address = new URL(location.href);
  for (const name of ["did", "sent", "of"]) address.searchParams.delete(name);
  history.replaceState(null, "", address);
}

if (matchMedia("(max-width: 50rem)").matches) document.querySelector(".menu")?.removeAttribute("open");

// --- times: shown in the reader's time zone, with UTC in the title
const days = new Intl.DateTimeFormat(page.lang, { year: "numeric", month: "numeric", day: "numeric" });
const formats = (options) => ["today", "lately", "long ago"].map((age) => new Intl.DateTimeFormat(page.lang, {
  hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...options,
  ...(age !== "today" && { day: "numeric", month: "short" }), ...(age === "long ago" && { year: "numeric" }),
}));
const inFull = new Intl.DateTimeFormat(page.lang, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
const toTheMinute = formats({}), toTheSecond = formats({ second: "2-digit" });
const localTime = (moment, [today, lately, longAgo]) => {
  const now = new Date();
  if (days.format(moment) === days.format(now)) return today.format(moment);
  return (moment.getFullYear() === now.getFullYear() ? lately : longAgo).format(moment);
};
const localTimes = (root) => {
  for (const one of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const moment = new Date(one.dateTime), kind = one.dataset.time, utc = one.title;
    const words = one.textContent.replace(` (${utc})`, "");
    const local = localTime(moment, kind ? toTheSecond : toTheMinute);
    one.dataset.local = "";
    one.title = [inFull.format(moment), ...(kind === "exact" ? [] : [words]), utc].join(" · ");
    if (kind === "exact" || one.closest("td, th, dt, .story, .attempt")) one.textContent = local;
    else one.textContent = `${words} (${local})`;
  }
};
localTimes(document);

for (const one of document.querySelectorAll("input[name=offset]")) one.value = new Date().getTimezoneOffset();

// --- the key / moves the focus to the search field
const find = document.getElementById("q");
document.addEventListener("keydown", (event) => {
  if (!find || event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable], dialog")) return;
  event.preventDefault();
  find.focus(); find.select();
});

// --- live parts: request the same page again, and replace what has changed
const isLive = document.querySelector("main [data-live]") !== null;
const EVERY = isLive ? 5000 : 30000; // other pages update only the counts in the navigation
let pause = EVERY, tag = null, timer = null;
const isUsed = (node) => {
  const chosen = getSelection();
  if (chosen && !chosen.isCollapsed && chosen.containsNode(node, true)) return true;
  if (node.nodeType !== Node.ELEMENT_NODE) return false;
  const focus = document.activeElement;
  return node.contains(focus) && focus !== document.body
    || node.matches("details[open]:not([data-was]), input[name=id]:checked")
    || node.querySelector("details[open]:not([data-was]), input[name=id]:checked") !== null;
};
const keyed = (nodes) => { // each by its id, or by its position among nodes of its kind
  const seen = {}, found = new Map();
  for (const one of nodes) found.set(one.getAttribute?.("id") || `${one.nodeName} ${seen[one.nodeName] = (seen[one.nodeName] || 0) + 1}`, one);
  return found;
};
// keep an element that a person is using while the page has it, and renew everything inside and around it
const renew = (was, now) => {
  if (was.isEqualNode(now)) return;
  if (!isUsed(was)) { was.replaceWith(document.adoptNode(now)); return; }
  if (was.nodeType !== Node.ELEMENT_NODE || was.matches("input, select, textarea")) return;
  for (const { name, value } of now.attributes) was.setAttribute(name, value);
  const before = keyed(was.childNodes), after = keyed(now.childNodes);
  for (const [key, one] of before) if (!isUsed(one) || !after.has(key)) one.remove();
  let place = was.firstChild;
  for (const [key, one] of after) {
    const kept = before.get(key);
    if (kept?.parentNode === was) { renew(kept, one); place = kept.nextSibling; }
    else was.insertBefore(document.adoptNode(one), place);
  }
};
const ask = () => new Promise((done, failed) => {
  const request = new XMLHttpRequest();
  request.open("GET", location.href);
  request.responseType = "document";
  request.timeout = 10000;
  if (tag) request.setRequestHeader("If-None-Match", tag);
  request.onload = () => done(request);
  request.onerror = request.ontimeout = failed;
  request.send();
});
const asking = () => document.querySelector("dialog[open]") !== null; // a form asks for confirmation and must not change meanwhile
const look = async () => {
  if (document.hidden || asking()) return plan();
  try {
    const answer = await ask();
    if (asking()) return plan();
    if (answer.status === 304) { pause = EVERY; old(false); seen(); return plan(); }
    if (answer.status >= 500) throw new Error("not now");
    if (answer.responseURL.includes("/sign-in")) { say(words.signedOut); pause = 30000; return plan(); }
    if (answer.status === 200 && answer.response) { tag = answer.getResponseHeader("ETag"); put(answer.response); seen(); }
    pause = EVERY; old(false);
  } catch { pause = Math.min(pause * 2, 60000); old(true); }
  plan();
};
const old = (is) => { if (is) say(words.old); else if (speaker && [words.old, words.signedOut].includes(speaker.textContent)) say(""); };
const put = (fresh) => {
  for (const part of document.querySelectorAll("[data-live]")) {
    const now = fresh.getElementById(part.id);
    if (!now) continue;
    localTimes(now);
    renew(part, now);
  }
  const token = fresh.querySelector("input[name=form_token]")?.value;
  if (token) for (const one of document.querySelectorAll("input[name=form_token]")) one.value = token;
};
const plan = () => { clearTimeout(timer); timer = setTimeout(look, pause); };
// show the age of the page's data
const sign = document.getElementById("live");
let seenAt = Date.now();
const LATE_S = 20;
const tell = () => {
  const seconds = Math.round((Date.now() - seenAt) / 1000), late = seconds >= LATE_S;
  sign.textContent = (late ? words.late : words.fresh).replace("#", seconds);
  sign.classList.toggle("late", late);
};
const seen = () => { seenAt = Date.now(); tell(); };
if (isLive) {
  sign.hidden = false;
  tell();
  setInterval(() => { if (!document.hidden) tell(); }, 1000);
}
if (document.querySelector("[data-live]")) {
  plan();
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
}

// --- an action is confirmed before its form is sent, and the form is sent only once
document.addEventListener("submit", (event) => {
  const form = event.target, button = event.submitter;
  if (form.method === "dialog") return;
  const question = button?.dataset.ask;
  if (question && !form.dataset.sure) {
    event.preventDefault();
    const dialog = document.getElementById("asking");
    dialog.querySelector("p").textContent = question;
    const yes = dialog.querySelector("[value=yes]");
    yes.textContent = button.textContent.trim();
    dialog.returnValue = "";
    dialog.onclose = () => {
      if (dialog.returnValue !== "yes") return;
      form.dataset.sure = "1";
      form.requestSubmit(button);
    };
    dialog.showModal();
    return;
  }
  if (form.method === "post") {
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = "1";
    if (button?.dataset.wait) say(button.dataset.wait);
    setTimeout(() => { delete form.dataset.sent; delete form.dataset.sure; }, 8000);
  }
});
window.addEventListener("pageshow", () => { for (const one of document.forms) { delete one.dataset.sent; delete one.dataset.sure; } });

// --- turn a field for an id into one that searches for names
const fetchJson = async (path, options) => {
  const answer = await fetch(path, { headers: { Accept: "application/json" }, ...options });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
};
let serial = 0;
const combos = [];
for (const input of document.querySelectorAll("input[data-search]")) {
  const box = document.createElement("div"), shown = document.createElement("input"), list = document.createElement("ul");
  const id = `list-${serial++}`;
  box.className = "combo";
  shown.value = input.dataset.name || input.value;
  shown.id = input.id; shown.autocomplete = "off";
  for (const [name, value] of [["role", "combobox"], ["aria-expanded", "false"], ["aria-controls", id], ["aria-autocomplete", "list"]]) shown.setAttribute(name, value);
  for (const name of ["aria-describedby", "aria-invalid", "placeholder"]) if (input.hasAttribute(name)) shown.setAttribute(name, input.getAttribute(name));
  list.id = id; list.setAttribute("role", "listbox"); list.hidden = true;
  list.setAttribute("aria-label", document.querySelector(`label[for="${input.id}"]`)?.textContent.trim() || "");
  input.removeAttribute("id"); input.type = "hidden";
  input.after(box); box.append(shown, list);
  let at = -1, waiting = null;
  const close = () => { list.hidden = true; shown.setAttribute("aria-expanded", "false"); shown.removeAttribute("aria-activedescendant"); at = -1; };
  const choose = (option) => {
    input.value = option.dataset.id; shown.value = option.dataset.name; close();
    input.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const point = (next) => {
    const options = list.querySelectorAll("[role=option][data-id]");
    if (!options.length) return;
    at = (next + options.length) % options.length;
    options.forEach((one, n) => one.setAttribute("aria-selected", String(n === at)));
    shown.setAttribute("aria-activedescendant", options[at].id);
    options[at].scrollIntoView({ block: "nearest" });
  };
  const search = async () => {
    const other = input.dataset.with && document.querySelector(`input[name="${input.dataset.with}"]`)?.value || "0";
    const path = `${input.dataset.search}?q=${encodeURIComponent(shown.value)}&project=${other}`;
    try {
      const found = await fetchJson(path);
      list.replaceChildren(...found.map((one, n) => {
        const option = document.createElement("li");
        option.id = `${id}-${n}`; option.dataset.id = one.id; option.dataset.name = one.name;
        option.setAttribute("role", "option"); option.setAttribute("aria-selected", "false");
        option.append(one.name);
        if (one.more) { const more = document.createElement("span"); more.textContent = one.more; option.append(more); }
        option.addEventListener("mousedown", (event) => { event.preventDefault(); choose(option); });
        return option;
      }));
      if (!found.length) {
        const none = document.createElement("li");
        none.setAttribute("role", "option"); none.setAttribute("aria-disabled", "true"); none.textContent = words.nothing;
        list.append(none);
      }
      list.hidden = false; shown.setAttribute("aria-expanded", "true"); at = -1;
    } catch { say(words.old); }
  };
  // typing a name exactly selects it, as clicking it does
  const settle = async () => {
    const text = shown.value.trim();
    if (input.value || !text) return;
    const other = input.dataset.with && document.querySelector(`input[name="${input.dataset.with}"]`)?.value || "0";
    const found = await fetchJson(`${input.dataset.search}?q=${encodeURIComponent(text)}&project=${other}`);
    if (input.value || shown.value.trim() !== text) return;
    const same = found.filter((one) => one.name.toLowerCase() === text.toLowerCase());
    if (same.length === 1) choose({ dataset: { id: String(same[0].id), name: same[0].name } });
    else shown.setCustomValidity(words.nothing);
  };
  combos.push({ form: input.form, settle, text: () => shown.value, isOpen: () => !input.value && shown.value.trim() !== "" });
  shown.addEventListener("blur", () => { settle().catch(() => {}); });
  shown.addEventListener("input", () => { shown.setCustomValidity(""); });
  shown.addEventListener("input", () => { input.value = /^\d+$/.test(shown.value.trim()) ? shown.value.trim() : ""; clearTimeout(waiting); waiting = setTimeout(search, 150); });
  shown.addEventListener("focus", () => { shown.select(); });
  shown.addEventListener("click", search);
  shown.addEventListener("blur", close);
  shown.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { event.preventDefault(); if (list.hidden) search(); else point(at + 1); }
    else if (event.key === "ArrowUp") { event.preventDefault(); point(at - 1); }
    else if (event.key === "Enter" && !list.hidden && at >= 0) { event.preventDefault(); choose(list.querySelectorAll("[role=option][data-id]")[at]); }
    else if (event.key === "Escape") close();
  });
}

document.addEventListener("submit", (event) => {
  const form = event.target, button = event.submitter;
  const open = combos.filter((one) => one.form === form && one.isOpen());
  if (!open.length) return;
  event.preventDefault(); event.stopImmediatePropagation();
  Promise.all(open.map((one) => one.settle())).then(() => form.requestSubmit(button), () => say(words.old));
}, true);

// --- ask before a person leaves a form with unsaved changes
for (const form of document.querySelectorAll("form[data-guard]")) {
  const typed = () => combos.filter((one) => one.form === form).map((one) => one.text());
  const now = () => JSON.stringify([[...new FormData(form)].filter(([name]) => name !== "form_token"), typed()]);
  let was = form.dataset.guard === "typed" ? "" : now();
  window.addEventListener("submit", (event) => { if (event.target === form && !event.defaultPrevented) was = null; });
  window.addEventListener("beforeunload", (event) => { if (was !== null && now() !== was) event.preventDefault(); });
}

// --- a button that copies a text; without TLS browsers offer no clipboard, but they copy a selection
for (const button of document.querySelectorAll("button[data-copy]")) {
  const from = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(from.textContent);
    } catch {
      getSelection().selectAllChildren(from);
      document.execCommand("copy");
    }
    say(button.dataset.copied);
  });
}

// --- parts of a form that depend on a choice
const choices = () => {
  for (const part of document.querySelectorAll("[data-when]")) {
    const [name, value] = part.dataset.when.split("=");
    const chosen = document.querySelector(`[name="${name}"]:checked`)?.value;
    part.hidden = chosen !== value;
  }
};
if (document.querySelector("[data-when]")) { document.addEventListener("change", choices); choices(); }

// --- the template editor
const editor = document.querySelector(".editor");
if (editor) {
  const area = editor.querySelector("textarea"), tints = editor.querySelector(".tints"), lines = editor.querySelector(".lines");
  const shown = document.getElementById("shown"), told = document.getElementById("told"), context = document.getElementById("context");
  let fault = area.dataset.line ? { line: Number(area.dataset.line), column: Number(area.dataset.column) } : null;
  const paint = () => {
    const rows = area.value.split("\n");
    lines.textContent = rows.map((_, n) => n + 1).join("\n");
    tints.replaceChildren();
    rows.forEach((row, n) => {
      const bad = fault && fault.line === n + 1 ? fault.column - 1 : -1;
      let from = 0;
      for (const found of row.matchAll(/\{\{.*?\}\}/g)) {
        piece(row.slice(from, found.index), from, bad); piece(found[0], found.index, bad, true);
        from = found.index + found[0].length;
      }
      piece(row.slice(from), from, bad);
      if (bad >= row.length) { const u = document.createElement("u"); u.textContent = " "; tints.append(u); }
      tints.append("\n");
    });
    move();
  };
  const piece = (text, start, bad, tag) => {
    const parent = tag ? document.createElement("mark") : tints;
    if (bad >= start && bad < start + text.length) {
      const length = /^\w+/.exec(text.slice(bad - start))?.[0].length || 1;
      const u = document.createElement("u");
      u.textContent = text.slice(bad - start, bad - start + length);
      parent.append(text.slice(0, bad - start), u, text.slice(bad - start + length));
    } else parent.append(text);
    if (tag) tints.append(parent);
  };
  const move = () => { tints.scrollTop = lines.scrollTop = area.scrollTop; tints.scrollLeft = area.scrollLeft; };
  let waiting = null, turn = 0;
  const preview = async () => {
    const mine = ++turn, form = new URLSearchParams(new FormData(area.form));
    if (context) form.set("event", context.value);
    try {
      const found = await fetchJson("/console/templates/preview", { method: "POST", body: form });
      if (mine !== turn) return;
      fault = found.fault; paint();
      shown.textContent = found.fault ? "" : found.payload;
      told.replaceChildren(...found.told.map((one) => { const p = document.createElement("p"); p.className = one.bad ? "fault" : "hint"; p.textContent = one.text; return p; }));
      area.setAttribute("aria-invalid", String(Boolean(found.fault)));
    } catch { say(words.old); }
  };
  area.addEventListener("input", () => { fault = null; paint(); clearTimeout(waiting); waiting = setTimeout(preview, 400); });
  area.addEventListener("scroll", move);
  area.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); preview(); } });
  context?.addEventListener("change", preview);
  for (const one of document.querySelectorAll("[data-insert]")) one.addEventListener("click", () => {
    area.focus();
    area.setRangeText(one.dataset.insert, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input"));
  });
  const variable = document.getElementById("find-variable");
  variable?.addEventListener("input", () => {
    for (const one of document.querySelectorAll(".palette li")) one.hidden = !one.textContent.toLowerCase().includes(variable.value.toLowerCase());
  });
  // a link to an error contains its line number
  const asked = Number(new URLSearchParams(location.search).get("line"));
  if (asked > 0) {
    const start = area.value.split("\n").slice(0, asked - 1).join("\n").length + (asked > 1 ? 1 : 0);
    area.focus(); area.setSelectionRange(start, start);
    area.scrollTop = Math.max(0, (asked - 3) * 20);
  }
  let saved = area.value;
  area.form.addEventListener("submit", () => { saved = area.value; });
  window.addEventListener("beforeunload", (event) => { if (area.value !== saved) event.preventDefault(); });
  paint(); preview();
}
