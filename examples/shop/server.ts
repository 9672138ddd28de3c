// A shop that uses all three services. Start the stack first (npm start), then: npx node examples/shop/server.ts
import { readFileSync } from 'node:fs'
import { serve } from '@hono/node-server'
import { build } from 'esbuild'
import { type Context, Hono } from 'hono'
import { getCookie } from 'hono/cookie'
import { csrf } from 'hono/csrf'
import { secureHeaders } from 'hono/secure-headers'
import { z } from 'zod'
import { listProducts } from './inventory.ts'
import { endOrder, listOrders, placeOrder, settle } from './orders.ts'
import { drawNotFound, drawPage, style } from './page.ts'
import { paymentPage } from './payments.ts'
import { auth, call, payments, shop, unless } from './services.ts'

const Payment = z.object({ id: z.string(), reference: z.string().default('') })
const Told = z.object({ data: z.object({ transaction: Payment }) })
const define = { AUTH_URL: JSON.stringify(auth) }
const kind = { bundle: true, minify: true, format: 'esm', write: false, define } as const
const { outputFiles } = await build({ ...kind, entryPoints: [`${import.meta.dirname}/sign-in.ts`] })
const script = outputFiles[0]?.text ?? ''
const pictures = readFileSync(`${import.meta.dirname}/pictures.svg`, 'utf8')
/** Asks auth whose access token the browser has. Whoever was banned or has signed out is nobody. */
async function findUser(context: Context) {
  const authorization = `Bearer ${getCookie(context, 'token')}`
  const user = await call('GET', `${auth}/user`, { authorization }).catch(unless(401)).catch(unless(403))
  return z.object({ id: z.string(), email: z.string() }).optional().parse(user)
}
async function showPage(context: Context, problem = '') {
  const [user, products] = await Promise.all([findUser(context), listProducts()])
  context.header('cache-control', 'no-store')
  return context.html(drawPage(user?.email ?? '', products, user ? listOrders(user.id) : [], problem))
}
const app = new Hono()
const [none, self] = [["'none'"], ["'self'"]]
const loaded = { defaultSrc: none, scriptSrc: self, styleSrc: self, imgSrc: self, connectSrc: [auth] }
const policy = { ...loaded, formAction: [...self, payments], baseUri: none, frameAncestors: none }
app.use(secureHeaders({ contentSecurityPolicy: policy }), csrf())
app.onError((error, context) => {
  if ('getResponse' in error) return error.getResponse()
  console.error(error.message)
  return context.text('That did not work, and nothing is lost. Please reload this page in a moment.', 502)
})
app.notFound((context) => context.html(drawNotFound(), 404))
app.get('/', (context) => showPage(context))
app.get('/sign-in.js', (context) => context.body(script, 200, { 'content-type': 'text/javascript' }))
app.get('/style.css', (context) => context.body(style, 200, { 'content-type': 'text/css' }))
app.get('/pictures.svg', (context) => context.body(pictures, 200, { 'content-type': 'image/svg+xml' }))
app.post('/orders/:id{[0-9a-f-]{36}}', async (context) => {
  const [user, { id }, { sku }] = [await findUser(context), context.req.param(), await context.req.parseBody()]
  const order = user && (await placeOrder(id, user.id, String(sku)))
  if (order) return context.redirect(order.transactionId ? '/#orders' : paymentPage(id, order.product), 303)
  return showPage(context, user ? 'Somebody else has just taken the last one.' : 'Please sign in first.')
})
app.post('/orders/:id{[0-9a-f-]{36}}/end', async (context) => {
  const user = await findUser(context)
  if (user) await endOrder(context.req.param('id'), user.id)
  return context.redirect('/#orders', 303)
})
app.get('/orders/:id{[0-9a-f-]{36}}/paid', async (context) => {
  await settle(context.req.param('id'), context.req.query('transactionId') ?? '')
  return context.redirect('/#orders', 303)
})
app.post('/webhooks', async (context) => {
  const { transaction } = Told.parse(await context.req.json()).data
  await settle(transaction.reference, transaction.id)
  return context.body(null, 204)
})
const address = { port: Number(new URL(shop).port), hostname: 'localhost' }
serve({ fetch: app.fetch, ...address }, () => console.log(`the shop is at ${shop}`))
