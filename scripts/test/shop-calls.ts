import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'vitest'
import { z } from 'zod'
import { readStatus } from '../../packages/stack/src/status/status-file.ts'

/** The running stack of the examples. When the shop runs, `SHOP_PORT` in the environment is its port. */
export interface ExampleStack {
  readonly root: string
  readonly dataDirectory: string
  /** The environment of the stack's programs. */
  readonly env: Record<string, string | undefined>
  readonly run: (...args: readonly string[]) => { readonly child: ChildProcess; readonly output: () => string }
}

/** A signed-in customer of the shop. */
export interface Customer {
  readonly email: string
  readonly cookie: string
}

/** The password of each customer. */
export const PASSWORD = 'harbour coffee 1842'
/** A card whose bank requires approval. */
export const ASKED = '1000000000000000'
/** A card whose bank does not require approval. */
export const UNASKED = '1000000000010000'

const Account = z.object({ appKey: z.string(), id: z.string() })
const Session = z.object({ access_token: z.string() })
const Stock = z.object({
  data: z.array(z.object({ sku: z.string(), stock: z.object({ onHand: z.int(), available: z.int() }) })),
})
const Made = z.object({ data: z.object({ id: z.int() }) })
const Transactions = z.array(
  z.object({
    reference: z.string().optional(),
    successful: z.boolean(),
    tds: z.string().optional(),
    capturedAmount: z.int(),
    refundedAmount: z.int(),
    voidedAmount: z.int(),
  }),
)

export const shopUrl = ({ env }: ExampleStack): string => `http://localhost:${env.SHOP_PORT}`

/** Creates a customer with an account at auth, and signs them in. */
export async function signUp(stack: ExampleStack, email: string): Promise<Customer> {
  const key = readStatus(stack)?.SERVICE_ROLE_KEY
  const send = (path: string, body: object) =>
    fetch(stack.env.AUTH_URL + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    })
  await send('/admin/users', { email, password: PASSWORD, email_confirm: true })
  const session = Session.parse(await (await send('/token?grant_type=password', { email, password: PASSWORD })).json())
  return { email, cookie: `token=${session.access_token}` }
}

/** The shop's account at payments: the key of its app, and the id of its merchant. */
export function accountOf(stack: ExampleStack): z.infer<typeof Account> {
  const database = new DatabaseSync(join(stack.dataDirectory, 'shop.db'), { readOnly: true })
  const row = database.prepare('SELECT body FROM objects WHERE id = ?').get(String(stack.env.PAYMENTS_URL))
  database.close()
  return Account.parse(JSON.parse(String(row?.body)))
}

/** Sends a request to payments with the key of the shop. */
export async function asShop(stack: ExampleStack, path: string): Promise<unknown> {
  const authorization = `Basic ${Buffer.from(`:${accountOf(stack).appKey}`).toString('base64')}`
  return (await fetch(stack.env.PAYMENTS_URL + path, { headers: { authorization } })).json()
}

/** A payment of an order. Amounts are in minor units. */
export type ShopPayment = Omit<z.infer<typeof Transactions>[number], 'reference'>

/** The payments of an order, newest first. `undefined` selects payments without an order. */
export async function paymentsOf(stack: ExampleStack, order: string | undefined): Promise<readonly ShopPayment[]> {
  return Transactions.parse(await asShop(stack, `/merchants/${accountOf(stack).id}/transactions?limit=1000`))
    .filter(({ reference }) => reference === order)
    .map(({ reference: _, ...amounts }) => amounts)
}

/** A successful payment with 3-D Secure, with these amounts. All others are 0. */
export function paid(amounts: Partial<ShopPayment>): ShopPayment {
  const none = { successful: true, tds: 'full', capturedAmount: 0, refundedAmount: 0, voidedAmount: 0 }
  return { ...none, ...amounts }
}

/** Reads the stock of a product at all locations. */
export async function stockOf(
  { env }: ExampleStack,
  sku: string,
): Promise<{ readonly onHand: number; readonly available: number } | undefined> {
  return Stock.parse(await (await fetch(`${env.INVENTORY_URL}/products?sku=${sku}&include=stock`)).json()).data[0]
    ?.stock
}

/** Adds a product for one test, so that no other test sells it. The name is also the SKU. */
export async function shelve(
  { env }: ExampleStack,
  { name, price, quantity }: { readonly name: string; readonly price: number; readonly quantity: number },
): Promise<void> {
  const send = async (path: string, body: object): Promise<unknown> =>
    (
      await fetch(env.INVENTORY_URL + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    ).json()
  const made = await send('/products', { sku: name, attributes: { name, price, category: 'gifts' } })
  const { id: productId } = Made.parse(made).data
  await send('/movements', { type: 'receive', productId, locationId: 1, quantity })
}

/** Sends a form like the shop's own page. */
export function post(
  stack: ExampleStack,
  path: string,
  { cookie }: Customer,
  form: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const url = shopUrl(stack)
  return fetch(url + path, {
    method: 'POST',
    headers: { cookie, origin: url },
    body: new URLSearchParams(form),
    redirect: 'manual',
  })
}

/** Buys one piece. @returns the order and the URL of its payment page */
export async function buy(
  stack: ExampleStack,
  customer: Customer,
  sku: string,
): Promise<{ readonly order: string; readonly link: string }> {
  const order = randomUUID()
  const answer = await post(stack, `/orders/${order}`, customer, { sku })
  expect(answer.status).toBe(303)
  return { order, link: String(answer.headers.get('location')) }
}

/** Reads the newest order with this product from the shop's page. */
export async function read(stack: ExampleStack, { cookie }: Customer, product: string): Promise<string | undefined> {
  const page = await (await fetch(shopUrl(stack), { headers: { cookie } })).text()
  const orders = /<section id="orders"(.*?)<\/section>/s.exec(page)?.[1] ?? ''
  const shown = orders.split('<article>').find((each) => each.includes(`<h2>${product}</h2>`))
  return /<p class="[^"]*">(.*?)<\/p>/s.exec(shown ?? '')?.[1]?.trim()
}

/** Pays without scripts, as the payment page allows. @returns the URL back to the shop after a successful payment */
export async function pay(link: string, number: string, decision = 'approve'): Promise<string | undefined> {
  const form = (path: string, fields: Record<string, string>) =>
    fetch(new URL(path, link), { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' })
  const page = /name="page" value="([^"]+)"/.exec(await (await fetch(link)).text())?.[1] ?? ''
  const card = { number, expiry: '08/66', code: '111' }
  let answer = await form('/pos/pay', { link: new URL(link).search.slice(1), page, ...card })
  if (number === ASKED) {
    const state = new URL(String(answer.headers.get('location'))).searchParams.get('state') ?? ''
    const cookie = answer.headers
      .getSetCookie()
      .map((each) => String(each.split(';')[0]))
      .join('; ')
    const decided = await form('/acs/challenge', { state, decision })
    answer = await fetch(String(decided.headers.get('location')), { headers: { cookie }, redirect: 'manual' })
  }
  return /href="([^"]+\/paid\?transactionId=\w+)"/.exec(await answer.text())?.[1]?.replaceAll('&amp;', '&')
}

/** Follows the link from the payment page to the shop. */
export async function comeBack(address: string | undefined): Promise<void> {
  const answer = await fetch(String(address), { redirect: 'manual' })
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/#orders'])
}
