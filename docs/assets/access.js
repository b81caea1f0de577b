// What a screen reader or a keyboard needs and the theme does not give: a name for the search, no landmark for the buttons
// of each block of code, and a way to scroll a wide table. The theme adds buttons and wraps tables while the page loads.
const mend = () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search")
  document.querySelectorAll("nav.md-code__nav:not([role])").forEach(buttons => buttons.setAttribute("role", "none"))
  document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])").forEach(table => { table.tabIndex = 0 })
}
mend()
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true })
