import { randomUUID } from 'node:crypto'
import { html } from 'hono/html'
import type { Product } from './inventory.ts'
import type { Order } from './orders.ts'
import shopFile from './shop.json' with { type: 'json' }

type Html = ReturnType<typeof html>
const euro = new Intl.NumberFormat('en', { style: 'currency', currency: 'EUR' })
/** The page of the shop. The tag `html` escapes what it is given. */
export const drawPage = (email: string, goods: readonly Product[], orders: readonly Order[], problem: string): Html =>
  html`<!doctype html><html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Nordhavn Coffee</title>
<link rel="icon" href="/pictures.svg"><link rel="stylesheet" href="/style.css"><script type="module" src="/sign-in.js"></script></head>
<body data-email="${email}">
<header><a href="/">${drawPicture('ANCHOR')}Nordhavn Coffee</a><span>${email}</span>
${email ? html`<button type="button" id="sign-out">Sign out</button>` : signIn('Sign in')}</header>
<main><h1>Roasted at the harbour, sent the same day</h1><p role="alert">${problem}</p>
<section id="orders" aria-label="Your orders">${orders.map(drawOrder)}</section>
<section id="shelf" aria-label="Products">${goods.map((product) => drawProduct(product, email))}</section></main>
<dialog popover id="sign-in" aria-label="Sign in"><form name="sign-in">
<label>Email <input name="email" type="email" autocomplete="username" required autofocus></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<label class="code">Code <input name="code" inputmode="numeric" autocomplete="one-time-code"></label><p role="status"></p>
<button>Sign in</button><button name="new">Create an account</button></form></dialog></body></html>`

/** A button that posts, or asks a visitor to sign in. It is named after its subject too, because many buttons say the same. */
const act = (path: string, text: string, name: string, sku = '') =>
  html`<form method="post" action="/orders/${path}"><button name="sku" value="${sku}" aria-label="${text} ${name}">${text}</button></form>`
const signIn = (text: string, name = '') =>
  html`<button type="button" popovertarget="sign-in" aria-label="${text} ${name}">${text}</button>`

function drawProduct({ sku, name, about, price, available }: Product, email: string) {
  const stock = available > 5 ? 'In stock' : available > 0 ? `Only ${available} left` : 'Sold out'
  // The order has its id before it is placed, so a double click is one order.
  const buy = email ? act(randomUUID(), 'Buy', name, sku) : signIn('Buy', name)
  return html`<article>${drawPicture(sku)}<h2>${name}</h2><p>${about}</p><strong>${euro.format(price / 100)}</strong>
<small>${stock}</small>${available > 0 && buy}</article>`
}

function drawOrder({ id, product: { sku, name, price }, state, reservation: { expiresAt } }: Order) {
  const shown = state === 'reserved' && expiresAt < new Date().toISOString() ? 'late' : state
  const until = shown === 'reserved' && new Date(expiresAt).toLocaleTimeString('en-GB', { timeStyle: 'short' })
  return html`<article>${drawPicture(sku)}<h2>${name}</h2><strong>${euro.format(price / 100)}</strong>
<p class="${state}">${shopFile.states[shown]} ${until}</p>${['reserved', 'declined'].includes(state) && [act(id, 'Pay', name), act(`${id}/end`, 'Cancel', name)]}
${state === 'paid' && act(`${id}/end`, 'Return', name)}</article>`
}
/** The first word of a SKU names its picture. */
const drawPicture = (sku: string) =>
  html`<svg class="${sku}" aria-hidden="true"><use href="/pictures.svg#${sku.split('-', 1)[0]}"/></svg>`

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
