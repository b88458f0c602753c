// What every view has: light and dark, and links to the other views that carry the setting along.

const button = document.getElementById("theme");
const dark = matchMedia("(prefers-color-scheme: dark)");
function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : dark.matches;
}
function showTheme() {
  button.setAttribute("aria-pressed", String(isDark()));
}
button.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  localStorage.setItem("leastnoise-theme", document.documentElement.dataset.theme);
  showTheme();
});
dark.addEventListener("change", showTheme);
const kept = localStorage.getItem("leastnoise-theme");
if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
showTheme();

for (const link of document.querySelectorAll("[data-carry]")) {
  const plain = link.getAttribute("href");
  const carry = () => link.setAttribute("href", plain + location.hash);
  for (const name of ["pointerdown", "focus", "click"]) link.addEventListener(name, carry);
}
