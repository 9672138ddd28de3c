import { z } from 'zod'

export interface CustomerCard {
  readonly number: string
  readonly code: string
}

export interface Order {
  readonly key: string
  readonly card: CustomerCard
  /** The requested behaviour of the simulator. `undefined` at a live merchant. */
  readonly test: object | undefined
}

/** The amount of every order: EUR 10.00. */
export const ORDER_AMOUNT = { currency: 'EUR', exponent: 2, value: 1_000 }
export const CARD_EXPIRY = { month: 12, year: 2066 }
const VERSION = { 'accept-version': '1' }
const STEPS_MAX = 12

const Token = z.object({ token: z.string() })
const Answer = z.object({
  challenges: z.array(z.object({ name: z.string(), path: z.string() })).default([]),
  authorizationId: z.string().optional(),
})
const Task = z.object({
  hints: z.array(z.string()),
  url: z.string().optional(),
  fields: z.record(z.string(), z.string()).optional(),
})

/** The state of an order: paid, or waiting for a step. */
export interface OrderState {
  readonly isPaid: boolean
  readonly number: string
  readonly code: string
  readonly hints: readonly string[]
}

/** Tokenizes the card, places the order, and takes the first option of every challenge. Returns whether it was paid. */
export async function payOrder(client: Pick<PaymentsClient, 'ask'>, order: Order): Promise<boolean> {
  return (await advanceOrder(client, order)).isPaid
}

/** Like `payOrder`, but stops before the step `until`. @throws Error if challenges do not end */
export async function advanceOrder(
  client: Pick<PaymentsClient, 'ask'>,
  { key, card, test }: Order,
  until?: string,
): Promise<OrderState> {
  const post = async (path: string, body: object): Promise<unknown> =>
    JSON.parse(String(await client.ask('POST', path, body, VERSION)))
  const tokenize = async (type: string, value: string) => Token.parse(await post('/vault', { type, value }))
  const [number, code] = [await tokenize('pcn', card.number), await tokenize('pcsc', card.code)]
  const order = { integration: { key }, test, amount: ORDER_AMOUNT, card: { number, code, expiry: CARD_EXPIRY } }
  const hints: string[] = []
  for (let step = 0; step < STEPS_MAX; step++) {
    const { challenges, authorizationId } = Answer.parse(await post('/payments', { ...order, hints }))
    const [challenge] = challenges
    if (!challenge || challenge.name === until) {
      return { isPaid: authorizationId !== undefined, number: number.token, code: code.token, hints }
    }
    const task = Task.parse(await post(challenge.path, { ...order, hints }))
    hints.push(...task.hints, ...(await showPage(client, task)))
  }
  throw new Error('an order gets ever more challenges')
}

/** Approves on the page of a task, if there is one, and reads the page's hints for the shop. */
async function showPage(
  client: Pick<PaymentsClient, 'ask'>,
  { url, fields }: z.infer<typeof Task>,
): Promise<readonly string[]> {
  if (url === undefined || fields === undefined) return []
  const page = String(await client.ask('POST', new URL(url).pathname, { ...fields, decision: 'approve' }))
  const hints = /data-hints="([^"]*)"/.exec(page)?.[1] ?? '[]'
  return z.array(z.string()).parse(JSON.parse(hints.replaceAll('&quot;', '"')))
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/**
 * Pays on the page of a payment link like a browser without scripts, with one mistake in the form.
 * @throws Error if the page does not lead to the bank, or the bank does not lead to a receipt
 */
export async function payByLink(client: PaymentsClient, key: string, card: CustomerCard): Promise<void> {
  const link = new URLSearchParams({ key, test: '1', value: '10' }).toString()
  const page = /name="page" value="([^"]+)"/.exec(String(await client.ask('GET', `/pos?${link}`)))?.[1] ?? ''
  const pay = (changes: object) =>
    client.answer('POST', '/pos/pay', {
      text: new URLSearchParams({ link, page, ...card, expiry: '12/66', ...changes }).toString(),
      headers: FORM,
    })
  await pay({ expiry: '12/20' })
  const { headers } = await pay({})
  const bank = URL.parse(headers.get('location') ?? '')
  const [cookie = ''] = (headers.get('set-cookie') ?? '').split(';')
  if (!bank) throw new Error('the page of a payment link does not lead to the bank')
  const decision = { state: bank.searchParams.get('state') ?? '', decision: 'approve' }
  await client.ask('POST', bank.pathname, decision)
  const back = await client.answer('GET', `/pos/pay/${page}?${link}`, { headers: { cookie } })
  if (!back.headers.get('location')?.startsWith('/pos/receipt?')) throw new Error('a payment link was not paid')
  await client.ask('GET', back.headers.get('location') ?? '')
}

type Method = 'GET' | 'POST'

/** A client that records its responses. */
export interface PaymentsClient {
  ask(method: Method, path: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<unknown>
  /** Sends a text as JSON, even if it is not valid JSON. */
  send(method: Method, path: string, text: string): Promise<unknown>
  /** Sends a request like a browser, and returns the response without following redirects. */
  answer(
    method: Method,
    path: string,
    sent: { readonly headers: Readonly<Record<string, string>>; readonly text?: string },
  ): Promise<Response>
  /** Requests a secret that is shown once. Does not record the response. @throws Error if the secret is missing */
  take(method: Method, path: string, body?: object): Promise<Taken>
  /** Headers and bodies of all responses except those of `take`. */
  answers(): string
}

const Taken = z.object({
  app: z.object({ key: z.string() }).optional(),
  key: z.object({ key: z.string() }).optional(),
  webhook: z.object({ id: z.string(), secret: z.string() }).optional(),
})
type Taken = z.infer<typeof Taken>

export function createClient({
  url,
  headers: auth,
}: {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}): PaymentsClient {
  const kept: string[] = []
  const own = { ...auth, 'content-type': 'application/json' }
  const call = async (path: string, init: RequestInit) => {
    const response = await fetch(url + path, { redirect: 'manual', ...init })
    return { response, text: await response.text() }
  }
  const keep = async (path: string, init: RequestInit) => {
    const { response, text } = await call(path, init)
    kept.push(`${response.status} ${JSON.stringify([...response.headers])}\n${text}\n`)
    return { response, text }
  }
  const read = async (path: string, init: RequestInit) => (await keep(path, init)).text
  return {
    ask: (method, path, body, headers) =>
      read(path, { method, headers: { ...own, ...headers }, ...(body ? { body: JSON.stringify(body) } : {}) }),
    send: (method, path, text) => read(path, { method, headers: own, body: text }),
    answer: async (method, path, { text, headers }) =>
      (await keep(path, { method, headers, ...(text === undefined ? {} : { body: text }) })).response,
    take: async (method, path, body) => {
      const { response, text } = await call(path, { method, headers: own, body: JSON.stringify(body ?? {}) })
      if (!response.ok) throw new Error(`${method} ${path} answers ${response.status}: ${text}`)
      return Taken.parse(JSON.parse(text))
    },
    answers: () => kept.join(''),
  }
}
