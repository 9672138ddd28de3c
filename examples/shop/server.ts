// A shop with a checkout of its own. Start the stack first (npm start), then: npx node examples/shop/server.ts
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { z } from 'zod'
import { findAddress, findDataDirectory } from '../../packages/stack/src/status/find-address.ts'

const payments = await findAddress('PAYMENTS_URL')
/** The shop at each payments that it has met. The file has secret keys. */
const setUpFile = join(findDataDirectory(), 'shop.json')
const port = Number(process.env.SHOP_PORT ?? 8090)
const AMOUNT = { currency: 'EUR', exponent: 2, value: 1_250 }

const App = z.object({ app: z.object({ key: z.string() }) })
const Merchant = z.object({ merchant: z.object({ id: z.string(), key: z.string() }) })
const SetUp = z.object({ appKey: z.string(), merchantId: z.string(), publicKey: z.string() })
type SetUp = z.infer<typeof SetUp>
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

/** The app and merchant of an earlier start, or new ones where payments does not know them. */
async function setUpShop(): Promise<SetUp> {
  const known = z
    .record(z.string(), SetUp)
    .parse(existsSync(setUpFile) ? JSON.parse(readFileSync(setUpFile, 'utf8')) : {})
  const earlier = known[payments]
  if (earlier && (await isMerchant(earlier))) return earlier
  const { app } = App.parse(await call('POST', '/apps', { body: { name: 'Nordhavn Coffee' } }))
  const { merchant } = Merchant.parse(await call('POST', '/merchants', { key: app.key, body: MERCHANT }))
  const made = { appKey: app.key, merchantId: merchant.id, publicKey: merchant.key }
  mkdirSync(dirname(setUpFile), { recursive: true })
  writeFileSync(setUpFile, JSON.stringify({ ...known, [payments]: made }), { mode: 0o600 })
  return made
}

/** False for keys of a database that was deleted since. */
async function isMerchant({ appKey, merchantId }: SetUp): Promise<boolean> {
  const headers = { authorization: `Basic ${Buffer.from(`:${appKey}`).toString('base64')}` }
  const { ok, status } = await fetch(`${payments}/merchants/${merchantId}`, { headers })
  if (ok || status === 401) return ok
  throw new Error(`the merchant of the shop cannot be read: ${status}`)
}

const MERCHANT = {
  name: 'Nordhavn Coffee',
  currency: 'EUR',
  test: true,
  email: 'owner@example.com',
  website: 'https://coffee.example.com',
  descriptor: 'NORDHAVN COFFEE',
  company: { country: 'DK' },
}
const { appKey, publicKey } = await setUpShop()

/** Begun orders by their ids, with the transactions that pay them. */
const orders = new Map<string, string | undefined>()

function openOrder(): object {
  const id = randomUUID()
  orders.set(id, undefined)
  const order = { integration: { key: publicKey }, test: {}, amount: AMOUNT, custom: { order: id } }
  return { paymentsUrl: payments, order }
}

/**
 * Trusts no browser: payments says what was paid, and for which order. Coffee is shipped at once, so the amount is captured. A
 * second payment of the same order is voided.
 */
async function completeOrder(transactionId: string): Promise<string> {
  const { transaction } = Paid.parse(await call('GET', `/transactions/${transactionId}`, { key: appKey }))
  const { amount, currency, successful, custom } = transaction
  const isRight = successful && amount === AMOUNT.value && currency === AMOUNT.currency
  if (!isRight || !orders.has(custom.order)) return 'This payment is for no order of ours.'
  const paidWith = orders.get(custom.order) ?? transactionId
  orders.set(custom.order, paidWith)
  const movement = paidWith === transactionId ? 'captures' : 'voids'
  await call('POST', `/transactions/${transactionId}/${movement}`, {
    key: appKey,
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
