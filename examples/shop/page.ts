import { randomUUID } from 'node:crypto'
import { html } from 'hono/html'
import type { Product } from './inventory.ts'
import type { Order } from './orders.ts'
import shopFile from './shop.json' with { type: 'json' }

type Html = ReturnType<typeof html>
const colours: Readonly<Record<string, string>> = shopFile.colours
const euro = new Intl.NumberFormat('en', { style: 'currency', currency: 'EUR' })
/** Draws the parts that all pages have. The tag `html` escapes what it is given. */
const drawShell = (title: string, beside: Html | string, main: Html) => html`<!doctype html><html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>
<link rel="icon" href="/pictures.svg"><link rel="stylesheet" href="/style.css"></head>
<body><header><a href="/">${drawPicture('ANCHOR')}Nordhavn Coffee</a>${beside}</header><main>${main}</main></body></html>`
/** The page of an address that leads nowhere. */
export const drawNotFound = (): Html =>
  drawShell('Not found', '', html`<h1>Nothing is at this address</h1><p><a href="/">Back to the shop</a></p>`)

/** The page of the shop. */
export const drawPage = (email: string, goods: readonly Product[], orders: readonly Order[], problem: string): Html => {
  const beside = html`<span>${email}</span>${email ? html`<button type="button" id="sign-out">Sign out</button>` : signIn('Sign in')}`
  const main = html`<script type="module" src="/sign-in.js"></script>
<h1>Roasted at the harbour, sent the same day</h1><p role="alert">${problem}</p>
${orders.length > 0 && html`<section id="orders"><h2>Your orders</h2>${orders.map(drawOrder)}</section>`}
<section id="shelf" aria-label="Products">${goods.map((product) => drawProduct(product, email))}</section>
<dialog popover id="sign-in" aria-labelledby="welcome"><form name="sign-in" data-email="${email}"><h2 id="welcome">Sign in</h2>
<button type="button" popovertarget="sign-in" popovertargetaction="hide" aria-label="Close">×</button><p role="status"></p>
<label class="who">Email <input name="email" type="email" autocomplete="username" required autofocus></label>
<label class="who">Password <input name="password" type="password" autocomplete="current-password" required></label>
<label class="code">Code <input name="code" inputmode="numeric" autocomplete="one-time-code"></label>
<button>Sign in</button><button class="who" name="new">Create an account</button>
<button class="code" type="reset">Use another email</button></form></dialog>`
  return drawShell('Nordhavn Coffee', beside, main)
}
/** A button that posts, or asks a visitor to sign in. It is named after its subject too, because many buttons say the same. */
const act = (path: string, text: string, name: string, sku = '') =>
  html`<form method="post" action="/orders/${path}"><button name="sku" value="${sku}" aria-label="${text} ${name}">${text}</button></form>`
const signIn = (text: string, name = '') =>
  html`<button type="button" popovertarget="sign-in" aria-label="${text} ${name}">${text}</button>`

function drawProduct({ sku, name, about, price, available }: Product, email: string) {
  const stock = available > 5 ? 'In stock' : available > 0 ? `Only ${available} left` : 'Sold out'
  // The order has its id before it is placed, so a double click is one order.
  const buy = email ? act(randomUUID(), 'Buy', name, sku) : signIn('Buy', name)
  return html`<article>${drawPicture(sku)}<h2>${name}</h2><p>${about}</p><footer>
<div><strong>${euro.format(price / 100)}</strong><br><small>${stock}</small></div>${available > 0 && buy}</footer></article>`
}

function drawOrder({ id, product: { sku, name, price }, state, reservation: { expiresAt } }: Order) {
  const shown = state === 'reserved' && expiresAt < new Date().toISOString() ? 'late' : state
  const until = shown === 'reserved' && new Date(expiresAt).toLocaleTimeString('en-GB', { timeStyle: 'short' })
  return html`<article>${drawPicture(sku)}<h2>${name}</h2><strong>${euro.format(price / 100)}</strong>
<div><p class="${state}">${shopFile.states[shown]} ${until}</p>
${['reserved', 'declined'].includes(state) && html`${act(id, 'Pay', name)}${act(`${id}/end`, 'Cancel', name)}`}
${state === 'paid' && act(`${id}/end`, 'Return', name)}</div></article>`
}
/** The first word of a SKU names its picture, which has the colour of the product. */
const drawPicture = (sku: string) =>
  html`<svg color="${colours[sku] ?? '#8a5a3c'}" aria-hidden="true"><use href="/pictures.svg#${sku.split('-', 1)[0]}"/></svg>`
/** The style of the page: light and dark, from 320 px on. */
export const style = `
:root { color-scheme: light dark; --back: light-dark(#f6f0e4, #14171a); --card: light-dark(#fffdf8, #1d2125); --line: light-dark(#e2d7c3, #363c42);
 --text: light-dark(#23201b, #f0eadd); --soft: light-dark(#655d50, #b5ac9c); --bad: light-dark(#a3301f, #ff9d8c); --good: light-dark(#1d6b3a, #86d39c);
 --act: light-dark(#0d5a5c, #86d3cb); --on-act: light-dark(#fff, #0a2927); --pad: clamp(.75rem, 3vw, 1.1rem) }
* { box-sizing: border-box; margin: 0 } body { background: var(--back); color: var(--text); font: 100%/1.5 system-ui, sans-serif }
header, main { max-width: 76rem; margin: auto; padding: 1.25rem clamp(1rem, 4vw, 2.5rem) } main { padding-top: clamp(0rem, 3vw, 2.5rem) }
header, header a, #orders div { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .6rem } header svg { width: 2.25rem; height: 2.25rem }
main a { color: var(--act) } header a, h1, h2 { color: inherit; font: 600 1.15rem/1.3 ui-serif, Georgia, serif; letter-spacing: -.015em; text-wrap: balance; text-decoration: none }
header span { margin-inline-start: auto } h1 { max-width: 20ch; margin-bottom: clamp(1.25rem, 3vw, 2.5rem); font-size: clamp(2rem, 5vw, 3.5rem); line-height: 1.1 }
span, p, small { color: var(--soft); overflow-wrap: anywhere } .paid { color: var(--good) } .declined, .sold, .refused p { color: var(--bad) }
button, input { min-height: 2.75rem; padding: .4rem 1.1rem; border: 1px solid var(--act); border-radius: .65rem; font: inherit }
button { background: var(--act); color: var(--on-act); font-weight: 600; cursor: pointer } :focus-visible { outline: 3px solid var(--act); outline-offset: 2px }
#sign-out, [name=new], [type=reset], [action$=end] button { background: none; color: var(--act) } header button { padding-inline: .65rem }
input { display: block; width: 100%; margin-top: .35rem; background: none; border-color: var(--soft); color: inherit }
[role]:empty, form:not(.mailed) .code, .mailed .who { display: none } ::backdrop { background: rgb(0 0 0/50%) }
#shelf article, #orders, dialog, [role=alert] { border: 1px solid var(--line); border-radius: 1rem; background: var(--card); color: inherit }
#shelf { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, clamp(10rem, 22vw, 15rem)), 1fr)); gap: var(--pad) }
#shelf article { display: flex; flex-direction: column; overflow: hidden } #shelf article > * { margin-inline: var(--pad) }
#shelf footer { display: flex; align-items: center; justify-content: space-between; margin-block: auto var(--pad); padding-top: .5rem } #shelf p::first-letter { text-transform: uppercase }
#shelf svg { width: 100%; height: clamp(9rem, 16vw, 12.5rem); margin: 0 0 .75rem; padding: 1.25rem }
article svg { background: light-dark(color-mix(in oklab, currentColor 20%, #fffdf8), color-mix(in oklab, currentColor 40%, #1d2125)) }
#orders svg { grid-row: span 2; width: 3rem; height: 3rem; padding: .35rem; border-radius: .65rem } #orders p { flex: 1 1 14rem } #orders, [role=alert] { margin-bottom: 2rem; padding: .75rem var(--pad) }
#orders article { display: grid; grid-template-columns: 3rem 1fr auto; gap: .25rem 1rem; padding-block: .75rem } #orders div { grid-column: 2/-1 }
#orders article + article { border-top: 1px solid var(--line) } dialog h2, #orders > h2 { font-size: 1.4rem }
dialog { width: min(24rem, 100vw - 2rem); margin: auto; padding: 1.25rem 1.5rem 1.5rem } dialog form { display: grid; grid-template: auto / 1fr auto; align-items: center; gap: 1rem }
dialog form > :not(h2, h2 + *) { grid-column: 1/-1 } [aria-label=Close] { margin: -.5rem -.75rem; border: 0; background: none; color: inherit; font-size: 1.5rem }
`
