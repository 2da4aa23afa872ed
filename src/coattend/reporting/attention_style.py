"""How the attention page looks, beside the looks that all pages share."""

STYLE = """
:root { --warm: #c25400; --right: #00785a; }
@media (prefers-color-scheme: dark) { :root { --warm: #f0a030; --right: #35c49a; } }
main { max-width: 76rem; }
.quiet { color: var(--quiet); }
.controls { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; margin: 0 0 1rem; }
select, button, input { font: inherit; color: inherit; accent-color: var(--accent); }
select, button {
  background: var(--paper); border: 1px solid var(--line); border-radius: 0.3rem; padding: 0.35rem 0.6rem;
  min-height: 2.5rem;
}
#question { flex: 1 1 16rem; min-width: 0; max-width: 44rem; }
#asked { border: 0; padding: 0; margin: 0; font-size: 1.25rem; color: var(--ink); overflow-wrap: anywhere; }
#readers { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 2rem; }
#readers article { min-width: 0; }
#readers h3 { font-size: 1.05rem; font-weight: 600; margin: 1.5rem 0 0.25rem; }
#readers p { max-width: none; }
fieldset { border: 0; margin: 0.5rem 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0.15rem 1rem; }
legend { float: left; padding: 0 0.25rem 0 0; color: var(--quiet); }
fieldset label { display: inline-flex; align-items: center; gap: 0.35rem; min-height: 2rem; }
.level { display: flex; align-items: center; gap: 0.75rem; min-height: 2.5rem; }
.level input { flex: 0 1 14rem; }
.read { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.9; margin: 0.75rem 0; }
.read .token {
  border-radius: 0.2rem; padding: 0.12em 0; background: color-mix(in srgb, var(--hue) var(--share), transparent);
}
.read .special { font-size: 0.8em; padding: 0.12em 0.25em; }
.read .gold { border-bottom: 2px solid var(--right); }
.read .chosen { font-weight: 650; text-decoration: underline; text-underline-offset: 0.3em; }
.read .unread { color: var(--quiet); }
.read .token.pointed { outline: 2px solid var(--accent); }
.scale { display: flex; gap: 0.5rem; align-items: center; font-size: 0.85rem; color: var(--quiet); }
.scale i { width: 9rem; height: 0.7rem; border-radius: 0.2rem; }
.bar { display: block; height: 0.3rem; border-radius: 0.15rem; background: var(--accent); min-width: 1px; }
.right { color: var(--right); font-weight: 600; }
.wrong { color: var(--warm); font-weight: 600; }
#answers td, #answers th[scope=row] { white-space: normal; min-width: 7rem; }
.token, .bar, .scale i { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
@media print {
  .controls, details, .level input { display: none; }
  #readers { display: block; }
}
"""
