// A shop with a checkout of its own. Start the stack first (npm start), then: npx node examples/shop/server.ts
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { build } from 'esbuild'
import { z } from 'zod'

const payments = process.env.PAYMENTS_URL ?? 'http://localhost:8082'
const port = Number(process.env.SHOP_PORT ?? 8090)
const AMOUNT = { currency: 'EUR', exponent: 2, value: 1_250 }

const App = z.object({ app: z.object({ key: z.string() }) })
const Merchant = z.object({ merchant: z.object({ key: z.string() }) })
const Paid = z.object({
  transaction: z.object({
    amount: z.int(),
    currency: z.string(),
    successful: z.boolean(),
    pendingAmount: z.int(),
    custom: z.object({ order: z.string() }),
  }),
})

interface Call {
  /** The secret key of the shop. */
  readonly key?: string
  readonly body?: object
  /** A request with this key is carried out once, however often it is sent. */
  readonly idempotencyKey?: string
}

async function call(method: string, path: string, { key, body, idempotencyKey }: Call): Promise<unknown> {
  const response = await fetch(payments + path, {
    method,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(key && { authorization: `Basic ${Buffer.from(`:${key}`).toString('base64')}` }),
      ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
    },
    body: body ? JSON.stringify(body) : null,
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

// A real shop has its key from the day it was set up. This one is set up at each start.
const { app } = App.parse(await call('POST', '/apps', { body: { name: 'Nordhavn Coffee' } }))
const { merchant } = Merchant.parse(
  await call('POST', '/merchants', {
    key: app.key,
    body: {
      name: 'Nordhavn Coffee',
      currency: 'EUR',
      test: true,
      email: 'owner@example.com',
      website: 'https://coffee.example.com',
      descriptor: 'NORDHAVN COFFEE',
      company: { country: 'DK' },
    },
  }),
)

/** Begun orders by their ids, with the transactions that pay them. */
const orders = new Map<string, string | undefined>()

function openOrder(): object {
  const id = randomUUID()
  orders.set(id, undefined)
  const order = { integration: { key: merchant.key }, test: {}, amount: AMOUNT, custom: { order: id } }
  return { paymentsUrl: payments, order }
}

/**
 * Trusts no browser: payments says what was paid, and for which order. Coffee is shipped at once, so the amount is captured. A
 * second payment of the same order is voided.
 */
async function completeOrder(transactionId: string): Promise<string> {
  const { transaction } = Paid.parse(await call('GET', `/transactions/${transactionId}`, { key: app.key }))
  const { amount, currency, successful, custom } = transaction
  const isRight = successful && amount === AMOUNT.value && currency === AMOUNT.currency
  if (!isRight || !orders.has(custom.order)) return 'This payment is for no order of ours.'
  const paidWith = orders.get(custom.order) ?? transactionId
  orders.set(custom.order, paidWith)
  const movement = paidWith === transactionId ? 'captures' : 'voids'
  await call('POST', `/transactions/${transactionId}/${movement}`, {
    key: app.key,
    body: { amount },
    idempotencyKey: custom.order,
  })
  return `Thank you. Order ${custom.order.slice(0, 8)} is paid and on its way.`
}

/** The page shows payments in frames, and posts to it. It sends nothing anywhere else. */
const HEADERS = {
  'content-security-policy': [
    "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:",
    `connect-src 'self' ${new URL(payments).origin}; frame-src ${new URL(payments).origin}`,
    `form-action ${new URL(payments).origin}; base-uri 'none'; frame-ancestors 'none'`,
  ].join('; '),
  'x-content-type-options': 'nosniff',
}

const page = readFileSync(join(import.meta.dirname, 'index.html'))
const bundle = await build({
  entryPoints: [join(import.meta.dirname, 'page.ts')],
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'browser',
  define: { 'process.env.NODE_ENV': '"production"' },
})

async function answer({ method, url = '/' }: IncomingMessage): Promise<readonly [string, string | Buffer]> {
  if (url === '/shop.js') return ['text/javascript', bundle.outputFiles[0]?.text ?? '']
  if (method === 'POST' && url === '/orders') return ['application/json', JSON.stringify(openOrder())]
  const [, transactionId] = /^\/orders\/([0-9a-f]{24})$/.exec(url) ?? []
  if (method === 'POST' && transactionId !== undefined) return ['text/plain', await completeOrder(transactionId)]
  return ['text/html; charset=utf-8', page]
}

createServer(async (incoming, response) => {
  try {
    const [type, body] = await answer(incoming)
    response.writeHead(200, { ...HEADERS, 'content-type': type }).end(body)
  } catch (error) {
    console.error(error)
    response.writeHead(502, { 'content-type': 'text/plain' }).end('The payment could not be settled.')
  }
}).listen(port, () => console.log(`the shop is at http://localhost:${port}`))
