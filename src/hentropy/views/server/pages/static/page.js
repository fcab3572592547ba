// The page without reloading: forms are sent and news fetched in the background, and of the page that the server
// returns only the parts that are new are put in place. There is one way of making a page: the server's templates.
"use strict";

(() => {
  const main = document.getElementById("main");
  const PAUSE = 250; // milliseconds in which several pieces of news become one fetch
  const shown = new Map(); // the parts by key as the server last sent them, before anything here was changed

  const key = (part) => part.dataset.part;
  const part = (root, name) => root.querySelector(`[data-part="${CSS.escape(name)}"]`);

  // Times are absolute in the page that the server sends, and are said here as how long ago.
  const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];
  function ago(seconds) {
    for (const [unit, length] of UNITS) {
      const count = Math.floor(seconds / length);
      if (count >= 1) return `${count} ${unit}${count === 1 ? "" : "s"} ago`;
    }
    return "just now";
  }

  function tellTimes() {
    for (const time of document.querySelectorAll("time[data-ago]")) {
      time.title ||= time.textContent;
      const said = ago((Date.now() - Date.parse(time.dateTime)) / 1000);
      if (time.textContent !== said) time.textContent = said;
    }
  }

  function tellSeconds() {
    for (const element of document.querySelectorAll("[data-since]")) {
      element.began ??= performance.now() - 1000 * Number(element.dataset.since);
      element.textContent = `${Math.round((performance.now() - element.began) / 1000)} s`;
    }
  }

  // Pictures are drawn when they come near the window.
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
  }, { rootMargin: "600px" });

  async function draw(figure) {
    const plot = figure.querySelector(".plot");
    const source = figure.dataset.source;
    if (!plot || !source || plot.dataset.drawn === source) return;
    plot.dataset.drawn = source;
    try {
      const answer = await fetch(source, { headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(String(answer.status));
      await window.hentropy.draw(plot, await answer.json(), { label: figure.dataset.label });
    } catch {
      delete plot.dataset.drawn;
    }
  }

  function watchPictures() {
    near.disconnect();
    for (const figure of document.querySelectorAll("figure[data-source]")) near.observe(figure);
  }

  // A part in which somebody types is left alone, and one that says what is wrong with what was typed.
  function changed(field) {
    if (field.type === "checkbox") return field.checked !== field.defaultChecked;
    if (field.tagName === "SELECT") return [...field.options].some((one) => one.selected !== one.defaultSelected);
    if (field.type === "file") return field.files.length > 0;
    return field.value !== field.defaultValue;
  }

  function inUse(element) {
    if (element.querySelector("form .mistake, form .message")) return true;
    const fields = [...element.querySelectorAll("input:not([type=hidden]), textarea, select")];
    return fields.some((field) => field === document.activeElement || changed(field));
  }

  function put(here, fresh) {
    const focused = here.contains(document.activeElement) ? document.activeElement.id : "";
    const opened = [...here.querySelectorAll("details")].map((one) => one.open);
    [...fresh.querySelectorAll("details")].forEach((one, i) => { one.open ||= Boolean(opened[i]); });
    const plot = here.querySelector(".plot");
    const place = fresh.querySelector(".plot");
    if (plot && place) place.replaceWith(plot); // it is drawn anew where it stands
    here.replaceWith(fresh);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  // Each page has a new idempotency key for the form that asks: that alone is no change.
  function textOf(element) {
    const copy = element.cloneNode(true);
    copy.querySelector("input[name=key]")?.remove();
    return copy.outerHTML;
  }

  function renewPart(here, there, force) {
    const html = textOf(there);
    if (shown.get(key(there)) === html && !(force && force === key(there))) return;
    if (force !== key(there) && inUse(here)) return;
    shown.set(key(there), html);
    if (there.dataset.say && there.dataset.say !== here.dataset.say) announce(there.dataset.say);
    put(here, document.importNode(there, true));
  }

  // What somebody types stays, also when others were faster: then it says so.
  function warn(element) {
    if (!element.dataset.gone || element.querySelector(".overtaken")) return;
    const link = document.createElement("a");
    link.href = element.dataset.page;
    link.textContent = element.dataset.gone;
    const message = document.createElement("p");
    message.className = "message mistake overtaken";
    message.append(link);
    element.querySelector("form")?.prepend(message);
    announce(element.dataset.gone);
  }

  function renewList(here, there, force) {
    const fresh = [...there.children].filter(key);
    const names = new Set(fresh.map(key));
    for (const old of [...here.children]) {
      const going = key(old) && !names.has(key(old));
      if (going && force !== key(old) && inUse(old)) {
        warn(old);
      } else if (going) {
        shown.delete(key(old));
        old.remove();
      }
    }
    fresh.forEach((one, i) => {
      const old = part(here, key(one));
      if (old) {
        renewPart(old, one, force);
      } else {
        shown.set(key(one), textOf(one));
        here.insertBefore(document.importNode(one, true), here.children[i] ?? null);
      }
    });
  }

  function renew(page, force) {
    for (const there of page.querySelectorAll("[data-list]")) {
      const here = document.querySelector(`[data-list="${there.dataset.list}"]`);
      if (here) renewList(here, there, force);
    }
    for (const there of page.querySelectorAll("[data-part]")) {
      if (there.closest("[data-list]")) continue;
      const here = part(document, key(there));
      if (here) renewPart(here, there, force);
    }
    dress();
  }

  function dress() {
    tellTimes();
    tellSeconds();
    watchPictures();
  }

  function announce(text) {
    const region = document.getElementById("announce");
    if (region) region.textContent = text;
  }

  function say(text, kind) {
    const message = document.createElement("p");
    message.className = `message ${kind}`;
    message.textContent = text;
    document.getElementById("said")?.replaceChildren(message);
  }

  async function pageOf(answer) {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const shows = page.getElementById("main")?.dataset.study;
    if (shows && shows === main.dataset.study) return page;
    if (shows) {
      lose();
      throw new Error("This study was deleted, and another one took its place. Nothing was changed.");
    }
    if (answer.redirected && answer.ok) throw new Error("You are signed out. Load the page again to sign in.");
    const problem = page.querySelector("main.problem > p")?.textContent;
    throw new Error(problem || `The server answered with ${answer.status}.`);
  }

  // Forms: sent in the background; the answer is the page, with what was done or with mistakes at their fields.
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("form[data-inplace]")) return;
    event.preventDefault();
    if (form.ariaBusy === "true") return;
    form.ariaBusy = "true";
    const data = new FormData(form, event.submitter);
    const body = form.enctype === "multipart/form-data" ? data : new URLSearchParams(data);
    const name = key(form.closest("[data-part]"));
    try {
      const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" } });
      const page = await pageOf(answer);
      document.getElementById("said").replaceChildren(...page.getElementById("said").childNodes);
      renew(page, name);
      attend(part(document, name), answer.ok);
    } catch (error) {
      const away = error instanceof TypeError;
      say(away ? "The server is unreachable. What you typed is still here." : error.message, "mistake");
      document.getElementById("said").scrollIntoView({ block: "nearest" });
    } finally {
      form.ariaBusy = "false";
    }
  });

  // Where the keyboard goes on: to the field with the mistake, or to what was said.
  function attend(element, well) {
    const wrong = element?.querySelector('[aria-invalid="true"], [role="alert"]');
    if (wrong) {
      wrong.focus();
      wrong.scrollIntoView({ block: "nearest" });
    } else if (!element || !element.contains(document.activeElement)) {
      const said = document.getElementById("said");
      said.focus({ preventScroll: well && Boolean(element) });
    }
  }

  // Links that show the same page otherwise: another order of the trials.
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a[data-inplace]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    history.replaceState(null, "", link.href);
    await refresh();
  });

  // News: the server says that there are some, and the page is fetched anew.
  let fetching = false;
  let again = false;
  let timer = 0;

  async function refresh() {
    if (fetching) {
      again = true;
      return;
    }
    fetching = true;
    try {
      const address = new URL(location.href);
      address.searchParams.delete("said");
      address.searchParams.delete("number");
      const answer = await fetch(address.pathname + address.search, { headers: { Accept: "text/html" } });
      renew(await pageOf(answer));
    } catch (error) {
      if (!(error instanceof TypeError)) say(error.message, "mistake");
    } finally {
      fetching = false;
      if (again) {
        again = false;
        soon();
      }
    }
  }

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(refresh, PAUSE);
  }

  function state(name, words) {
    const live = document.getElementById("live");
    if (!live) return;
    live.dataset.state = name;
    const place = live.querySelector("[data-words]");
    if (place.textContent !== words) place.textContent = words;
  }

  let events = null;
  let away = false;
  let gone = false;

  // a browser has few connections to one server: a page that nobody sees needs none
  function listen() {
    if (events || gone || document.hidden) return;
    events = new EventSource(main.dataset.events);
    events.addEventListener("open", () => {
      state("live", "Live");
      if (away) soon(); // something may have happened meanwhile
      away = false;
    });
    events.addEventListener("error", () => {
      away = true;
      state("away", "The server is unreachable; reconnecting");
      if (events && events.readyState === EventSource.CLOSED) {
        soon(); // which says why, if the server is there
        events = null;
        setTimeout(listen, 5000);
      }
    });
    for (const name of ["snapshot", "trials", "job", "look"]) events.addEventListener(name, soon);
    events.addEventListener("gone", lose);
  }

  // the study of this page is no more: the page stays as it is
  function lose() {
    gone = true;
    hush();
    state("away", "This study was deleted");
  }

  function hush() {
    if (events) events.close();
    events = null;
  }

  function followVisibility() {
    addEventListener("pagehide", hush);
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) {
        hush();
      } else if (!gone) {
        soon();
        listen();
      }
    });
    listen();
  }

  for (const element of document.querySelectorAll("[data-part]")) shown.set(key(element), textOf(element));
  dress();
  setInterval(tellTimes, 20000);
  setInterval(tellSeconds, 1000);
  if (main.dataset.events) followVisibility();
})();
