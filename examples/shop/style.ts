/** The style of the page: light and dark, from 320 px on. */
export const style = `
:root { color-scheme: light dark; --back: light-dark(#f6f0e4, #14171a); --card: light-dark(#fffdf8, #1d2125);
 --text: light-dark(#23201b, #f0eadd); --soft: light-dark(#655d50, #b5ac9c); --line: light-dark(#e2d7c3, #363c42);
 --act: light-dark(#0d5a5c, #86d3cb); --on-act: light-dark(#fff, #0a2927); --tint: light-dark(#efe6d3, #272c31) }
* { box-sizing: border-box; margin: 0 } body { background: var(--back); color: var(--text); font: 100%/1.5 system-ui, sans-serif }
header, main { max-width: 76rem; margin: auto; padding: 1.25rem clamp(1rem, 4vw, 2.5rem) }
header, header a, #orders article { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem .75rem }
header a { margin-inline-end: auto; color: inherit; text-decoration: none }
header a, h1, h2 { font: 600 1.2rem/1.3 ui-serif, Georgia, serif; letter-spacing: -.015em }
header span, p, small { color: var(--soft); overflow-wrap: anywhere }
h1 { max-width: 20ch; margin: clamp(.5rem, 3vw, 2.5rem) 0 clamp(1.5rem, 3vw, 2.5rem); font-size: clamp(2rem, 5vw, 3.5rem); line-height: 1.1 }
button, input { min-height: 2.75rem; padding: .4rem 1.2rem; border: 1px solid var(--act); border-radius: .65rem; font: inherit }
button { background: var(--act); color: var(--on-act); font-weight: 600; cursor: pointer }
#sign-out, [name=new], [action$=end] button { background: none; color: var(--act) }
input { display: block; width: 100%; background: none; border-color: var(--soft); color: inherit }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px }
[role]:empty, section:empty, form:not(.mailed) .code { display: none }
article, dialog, [role=alert] { border: 1px solid var(--line); border-radius: 1rem; background: var(--card); color: inherit }
#shelf { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); gap: 1.25rem }
#shelf article { display: grid; grid-template-columns: 1fr auto; align-items: center; padding-bottom: 1.1rem; overflow: hidden }
#shelf article > * { margin-inline: 1.1rem } #shelf :is(svg, h2, p) { grid-column: 1/-1 } #shelf p { min-height: 2.25em }
#shelf article > :is(form, button) { grid-area: 4/2/6; margin-left: 0 }
#shelf svg { width: 100%; height: 12.5rem; margin: 0 0 1rem; padding: 1.5rem; background: var(--tint) }
#orders { display: grid; gap: .75rem; margin-bottom: 2.5rem } #orders p { flex: 1 1 18rem }
#orders article, [role=alert] { padding: .75rem 1.1rem } [role=alert] { margin-bottom: 1.25rem }
:is(header, #orders) svg { width: 2.75rem; height: 2.75rem } dialog form { display: grid; gap: 1rem }
.paid { color: light-dark(#1d6b3a, #86d39c) } .declined, .sold, [role=status] { color: light-dark(#a3301f, #ff9d8c) }
svg { color: #8a5a3c } .ANCHOR { color: #0d5a5c } .COFFEE-YIRGA { color: #c98b3d } .COFFEE-ANTIGUA { color: #3f7d6e }
.COFFEE-MANDHELING { color: #4a6288 } .COFFEE-HARBOUR { color: #4d565d } .COFFEE-DECAF, .GIFT-BOX { color: #a4485a }
.MUG-BLUE { color: #2f6690 } .MUG-SAND { color: #d3b98c } ::backdrop { background: rgb(0 0 0/50%) }
dialog { width: min(24rem, 100vw - 2rem); margin: auto; padding: 1.5rem }
`
