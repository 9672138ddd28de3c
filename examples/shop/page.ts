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
