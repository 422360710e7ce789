/**
 * The card looks like a ticket: the amount, and a stub with the QR code. On a phone the copy-and-paste code comes
 * first, because a phone cannot scan its own screen.
 */
export const style = `
:root {
  color-scheme: light dark;
  --ground: #e9f0ee; --paper: #fff; --ink: #12211d; --quiet: #52605b; --line: #c9d5d1; --tint: #f2f7f5; --accent: #0b7a6f; --on-accent: #fff; --warn: #a8420b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0d1211; --paper: #1a2220; --ink: #eef4f2; --quiet: #a5b3af; --line: #3a4844; --tint: #222c29; --accent: #3cc4ad; --on-accent: #04211c; --warn: #ffb07a;
  }
}
* { box-sizing: border-box; margin: 0; }
[hidden] { display: none !important; }
html { background: var(--ground); }
body {
  min-height: 100vh; min-height: 100dvh; padding: 16px; display: grid; place-items: center;
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  -webkit-text-size-adjust: 100%; text-size-adjust: 100%;
}
main { width: 100%; }
.simulated {
  width: fit-content; margin: 0 auto 16px; padding: 4px 14px; border: 1px solid var(--line); border-radius: 99px; color: var(--quiet);
  font-size: 13px; text-align: center;
}
article {
  max-width: 440px; margin: 0 auto; background: var(--paper); border-radius: 20px; box-shadow: 0 1px 2px #0d1f1a14, 0 12px 40px #0d1f1a1f; overflow: hidden;
}
.what, .how, .stub { padding: 24px; }
h1 { font-size: 17px; font-weight: 600; line-height: 1.3; color: var(--accent); }
h2 { font-size: 15px; font-weight: 600; }
.amount { margin-top: 4px; font-size: clamp(26px, 19vw - 34px, 40px); font-weight: 700; line-height: 1.15; letter-spacing: -.02em; font-variant-numeric: tabular-nums; }
.logo { display: block; max-width: 200px; max-height: 56px; margin: 0 auto 16px; object-fit: contain; }
.bought, .items, .bank { margin-top: 8px; font-size: 15px; overflow-wrap: anywhere; }
.bank { color: var(--quiet); }
.bank b { color: var(--ink); }
.items { padding: 0; list-style: none; }
.items li { display: flex; justify-content: space-between; gap: 16px; padding: 3px 0; }
.items span + span { white-space: nowrap; font-variant-numeric: tabular-nums; }
.next { margin-top: 12px; padding: 10px 14px; border-radius: 12px; background: var(--tint); font-weight: 600; font-size: 15px; }
.receipt { margin-top: 24px; padding-top: 20px; border-top: 2px dashed var(--line); text-align: left; }
.receipt dl div { padding: 6px 0; }
dt { color: var(--quiet); font-size: 13px; }
dd { margin: 0; font-size: 15px; overflow-wrap: anywhere; }
.tools { margin-top: 12px; display: flex; flex-wrap: wrap; gap: 4px 20px; align-items: center; }
.tools a, .tools button { width: auto; min-height: 44px; padding: 0; background: none; color: var(--accent); font-size: 15px; font-weight: 600; text-decoration: underline; text-underline-offset: 3px; display: inline-flex; align-items: center; }
.merchant { overflow-wrap: anywhere; }
.merchant b { font-weight: 600; }
.quiet, .steps, .until { color: var(--quiet); font-size: 15px; text-wrap: pretty; }
.stub .quiet, .end .quiet { text-wrap: balance; }
.until { margin-top: 8px; font-variant-numeric: tabular-nums; }
[data-soon] .left { color: var(--warn); font-weight: 600; }
.how { padding-top: 0; }
button, .go {
  width: 100%; min-height: 56px; padding: 12px 20px; border: 0; border-radius: 14px; background: var(--accent); color: var(--on-accent);
  font: inherit; font-size: 17px; font-weight: 600; cursor: pointer; display: flex; gap: 10px; align-items: center; justify-content: center;
  touch-action: manipulation;
}
button:hover, .go:hover { filter: brightness(1.08); }
button.pay { margin-top: 20px; background: none; border: 2px dashed var(--line); color: var(--ink); }
button.done { background: var(--tint); color: var(--accent); }
button:focus-visible, a:focus-visible { outline: 3px solid var(--ink); outline-offset: 3px; }
.code { margin-top: 16px; }
#code {
  display: block; margin-top: 6px; padding: 12px 14px; border-radius: 12px; background: var(--tint); color: var(--ink);
  font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; word-break: break-all; user-select: all; -webkit-user-select: all;
}
.steps { margin-top: 16px; padding-left: 20px; }
.stub { position: relative; border-top: 2px dashed var(--line); text-align: center; }
.stub::before, .stub::after {
  content: ""; position: absolute; width: 24px; height: 24px; border-radius: 50%; background: var(--ground); top: -13px; left: -12px;
}
.stub::after { left: auto; right: -12px; }
.stub img {
  display: block; width: 100%; max-width: 240px; height: auto; margin: 12px auto; border-radius: 12px; background: #fff; image-rendering: pixelated;
}
.end { padding: 40px 24px; text-align: center; }
.end .amount { margin: 12px 0 4px; }
.end .quiet { margin-top: 12px; }
.badge { display: block; width: 72px; height: 72px; margin: 0 auto 20px; border-radius: 50%; padding: 18px; background: var(--tint); color: var(--quiet); }
[data-state=paid] .badge { background: var(--accent); color: var(--on-accent); animation: come .4s cubic-bezier(.2, 1.4, .4, 1); }
.end h1 { font-size: 22px; color: var(--ink); }
[data-state=expired] .amount, [data-state=canceled] .amount, [data-state=failed] .amount { font-size: 24px; color: var(--quiet); }
.go { margin-top: 28px; text-decoration: none; overflow-wrap: anywhere; }
.back { margin-top: 20px; text-align: center; font-size: 15px; }
.back a { color: var(--quiet); text-underline-offset: 3px; }
article:has(.go) ~ .back, [data-framed] .close { display: none; }
[data-framed] body { min-height: 0; padding: 16px; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
svg { fill: none; stroke: currentColor; stroke-width: 2.2; stroke-linecap: round; stroke-linejoin: round; flex: none; }
@keyframes come { from { transform: scale(.4); opacity: 0; } }
@media (prefers-reduced-motion: reduce) { * { animation: none !important; } }
@media (min-width: 800px) {
  body { padding: 40px; }
  [data-state=waiting] { max-width: 880px; display: grid; grid-template: auto 1fr / 380px 1fr; }
  .what { grid-area: 1 / 2; padding: 36px 40px 20px; }
  .how { grid-area: 2 / 2; padding: 0 40px 36px; }
  .stub {
    grid-area: 1 / 1 / 3 / 2; display: flex; flex-direction: column; justify-content: center; padding: 32px;
    border-top: 0; border-right: 2px dashed var(--line);
  }
  .stub::before, .stub::after { top: -12px; left: auto; right: -13px; }
  .stub::after { top: auto; bottom: -12px; }
  .stub img { max-width: 300px; }
  .amount { font-size: 44px; }
  .end { padding: 48px 40px; }
}
@media print {
  :root { color-scheme: light; --ground: #fff; --paper: #fff; --ink: #000; --quiet: #444; --tint: #fff; --line: #999; --accent: #000; --on-accent: #fff; }
  body { display: block; min-height: 0; padding: 0; }
  article { box-shadow: none; max-width: none; overflow: visible; }
  button, .go, .back, .tools, .close, .badge, .left { display: none !important; }
  .end { padding: 0; text-align: left; }
}
`
