// What the built pages do beyond Doxygen: formulas, the buttons, help for screen readers, and the search.
(function () {
  "use strict";

  const all = (selector) => Array.from(document.querySelectorAll(selector));

  // Formulas. Doxygen writes \(…\) and \[…\]; listings are left alone.
  renderMathInElement(document.body, {
    delimiters: [
      { left: "\\[", right: "\\]", display: true },
      { left: "\\(", right: "\\)", display: false },
    ],
    ignoredClasses: ["fragment", "memname", "memproto", "find"],
    throwOnError: false,
  });

  DoxygenAwesomeDarkModeToggle.init();
  DoxygenAwesomeFragmentCopyButton.init();
  DoxygenAwesomeParagraphLink.init();
  DoxygenAwesomeInteractiveToc.init();

  // Whatever is wider than the page scrolls inside itself, also with the keyboard.
  function wrapTables() {
    for (const table of all(".contents table.markdownTable, .contents table.doxtable, .contents table.fieldtable")) {
      const frame = document.createElement("div");
      frame.className = "scroll";
      table.replaceWith(frame);
      frame.append(table);
    }
  }

  function reachByKeyboard(selector, label) {
    for (const element of all(selector)) {
      if (element.scrollWidth <= element.clientWidth) continue;
      element.tabIndex = 0;
      element.setAttribute("role", "region");
      element.setAttribute("aria-label", label);
    }
  }

  // Landmarks and levels of headings, which Doxygen leaves out.
  function describePage() {
    const set = (selector, attributes) => {
      for (const element of all(selector)) {
        for (const name in attributes) element.setAttribute(name, attributes[name]);
      }
    };
    set("#titlearea", { role: "banner" });
    set("#main-nav", { role: "navigation", "aria-label": "Site" });
    set("#side-nav", { role: "navigation", "aria-label": "Pages" });
    set("#nav-path", { role: "navigation", "aria-label": "You are here" });
    set("div.toc", { role: "navigation", "aria-label": "On this page" });
    set("div.nav", { role: "navigation", "aria-label": "Chapters around" });
    set("#doc-content", { role: "main", tabindex: "-1" });
    set(".headertitle .title", { role: "heading", "aria-level": "1" });
    set("div.toc h3", { role: "presentation" });
    for (const level of [4, 3, 2, 1]) {
      set(".contents .textblock > h" + level, { role: "heading", "aria-level": String(level + 1) });
    }
    set("doxygen-awesome-dark-mode-toggle, doxygen-awesome-fragment-copy-button", { role: "button", tabindex: "0" });
    for (const button of all("doxygen-awesome-dark-mode-toggle, doxygen-awesome-fragment-copy-button")) {
      button.setAttribute("aria-label", button.title);
      button.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        button.click();
      });
    }
    set("#main-menu-state", { "aria-label": "Menu" });
    for (const frame of all("iframe:not([title])")) frame.title = "Search results";
  }

  // On paper nothing is folded, and the ground is white.
  const page = document.documentElement.classList;
  let dark = false;
  window.addEventListener("beforeprint", () => {
    for (const folded of all(".contents details")) folded.open = true;
    dark = page.contains("dark-mode");
    if (dark) page.replace("dark-mode", "light-mode");
  });
  window.addEventListener("afterprint", () => {
    if (dark) page.replace("light-mode", "dark-mode");
  });

  // The search: one box over the sections of the pages and the symbols of the library.

  const small = (text) => text.toLowerCase();
  const pages = ATTN_SEARCH.map((section) => ({
    url: section.url,
    label: section.heading || section.title,
    place: section.heading ? section.title : "",
    text: section.text,
    low: small(section.title + " " + section.heading + " " + section.text),
  }));
  let symbols = [];

  function plainText(html) {
    return new DOMParser().parseFromString(html, "text/html").body.textContent;
  }

  // Doxygen's own search data: one script for each first letter, each setting the same variable.
  function loadSymbols() {
    loadSymbols = () => {};
    const letters = typeof indexSectionsWithContent === "undefined" ? "" : indexSectionsWithContent[0] || "";
    const own = new Set(pages.map((page) => page.url.split("#")[0]));
    const load = (index) => {
      if (index >= Array.from(letters).length) return show();
      const script = document.createElement("script");
      script.src = "search/all_" + index.toString(16) + ".js";
      script.onload = () => {
        for (const [, [name, ...places]] of searchData) {
          for (const [url, , scope] of places) {
            const here = url.replace(/^\.\.\//, "");
            if (own.has(here.split("#")[0])) continue;
            const label = plainText(name);
            symbols.push({ url: here, label, place: plainText(scope || ""), low: small(label) });
          }
        }
        load(index + 1);
      };
      script.onerror = () => load(index + 1);
      document.head.append(script);
    };
    load(0);
  }

  function symbolScore(symbol, query) {
    if (symbol.low === query) return 200;
    if (symbol.low.startsWith(query)) return 90;
    return symbol.low.includes(query) ? 25 : 0;
  }

  function sectionScore(section, words) {
    let score = 0;
    for (const word of words) {
      const times = section.low.split(word).length - 1;
      if (times === 0) return 0;
      score += Math.min(times, 8) + (small(section.label).includes(word) ? 40 : 0);
      if (small(section.place).includes(word)) score += 10;
    }
    return score;
  }

  function hits(query) {
    const low = small(query.trim());
    const words = low.split(/\s+/).filter(Boolean);
    if (words.length === 0) return [];
    const found = [];
    for (const section of pages) found.push({ entry: section, score: sectionScore(section, words), words });
    for (const symbol of symbols) found.push({ entry: symbol, score: symbolScore(symbol, low), words: [low] });
    return found.filter((hit) => hit.score > 0).sort((a, b) => b.score - a.score).slice(0, 40);
  }

  // Text with the words that were looked for marked.
  function marked(text, words) {
    const span = document.createElement("span");
    const low = small(text);
    let at = 0;
    while (at < text.length) {
      let next = -1;
      let length = 0;
      for (const word of words) {
        const place = low.indexOf(word, at);
        if (place >= 0 && (next < 0 || place < next)) [next, length] = [place, word.length];
      }
      if (next < 0) break;
      span.append(text.slice(at, next));
      const mark = document.createElement("mark");
      mark.textContent = text.slice(next, next + length);
      span.append(mark);
      at = next + length;
    }
    span.append(text.slice(at));
    return span;
  }

  function excerpt(text, words) {
    const low = small(text);
    const first = Math.max(0, Math.min(...words.map((word) => low.indexOf(word)).filter((place) => place >= 0)));
    const start = Number.isFinite(first) ? Math.max(0, text.lastIndexOf(" ", Math.max(0, first - 50)) + 1) : 0;
    const end = start + 150;
    return (start > 0 ? "… " : "") + text.slice(start, end) + (end < text.length ? " …" : "");
  }

  const find = document.createElement("div");
  find.className = "find";
  find.setAttribute("role", "search");
  find.innerHTML =
    '<input id="find-field" type="search" placeholder="Search" autocomplete="off" spellcheck="false"' +
    ' role="combobox" aria-label="Search the pages and the library" aria-expanded="false"' +
    ' aria-controls="find-hits" aria-autocomplete="list" aria-keyshortcuts="/">' +
    '<div id="find-panel" hidden><p id="find-count" role="status"></p>' +
    '<div id="find-hits" role="listbox" aria-label="Found"></div></div>';
  const field = find.querySelector("input");
  const panel = find.querySelector("#find-panel");
  const count = find.querySelector("#find-count");
  const list = find.querySelector("#find-hits");
  let chosen = -1;

  function choose(index) {
    const items = Array.from(list.children);
    chosen = items.length === 0 ? -1 : (index + items.length) % items.length;
    items.forEach((item, i) => item.setAttribute("aria-selected", String(i === chosen)));
    if (chosen < 0) return field.removeAttribute("aria-activedescendant");
    field.setAttribute("aria-activedescendant", items[chosen].id);
    items[chosen].scrollIntoView({ block: "nearest" });
  }

  function close() {
    panel.hidden = true;
    field.setAttribute("aria-expanded", "false");
  }

  function item(hit, index) {
    const { entry, words } = hit;
    const line = document.createElement("div");
    line.id = "find-hit-" + index;
    line.setAttribute("role", "option");
    const link = document.createElement("a");
    link.href = entry.url;
    link.tabIndex = -1;
    const label = document.createElement(entry.text === undefined ? "code" : "strong");
    label.append(marked(entry.label, words));
    link.append(label);
    if (entry.place) {
      const place = document.createElement("small");
      place.append(marked(entry.place, words));
      link.append(place);
    }
    if (entry.text) {
      const text = document.createElement("span");
      text.className = "excerpt";
      text.append(marked(excerpt(entry.text, words), words));
      link.append(text);
    }
    line.append(link);
    return line;
  }

  function show() {
    const query = field.value;
    if (query.trim() === "" || (document.activeElement !== field && panel.hidden)) return close();
    const found = hits(query);
    count.textContent = found.length === 0 ? "Nothing found." : found.length === 40 ? "The best 40:" : found.length + " found";
    list.replaceChildren(...found.map(item));
    panel.hidden = false;
    field.setAttribute("aria-expanded", "true");
    choose(0);
  }

  field.addEventListener("focus", () => {
    loadSymbols();
    show();
  });
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      close();
      list.children[chosen].querySelector("a").click();
    } else if (event.key === "Escape") {
      if (panel.hidden) field.value = "";
      close();
    }
  });
  document.addEventListener("pointerdown", (event) => {
    if (!find.contains(event.target)) close();
  });
  list.addEventListener("click", close);
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.focus();
  });

  // Doxygen rebuilds its box whenever the menu folds; ours takes its place beside it.
  function place() {
    const box = document.getElementById("MSearchBox");
    if (box && find.nextSibling !== box) box.before(find);
  }

  wrapTables();
  place();
  new MutationObserver(place).observe(document.getElementById("top"), { childList: true, subtree: true });
  window.addEventListener("load", () => {
    describePage();
    reachByKeyboard("div.fragment, pre.fragment", "Code");
    reachByKeyboard("div.scroll", "Table");
    reachByKeyboard(".katex-display, .formulaDsp", "Formula");
  });
})();
