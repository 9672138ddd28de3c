import type { Step } from '../src/tds/enrolment.ts'
import type { TestPayments } from './payments-app.ts'

type App = Pick<TestPayments, 'app'>

/** The headers of a client of the checkout. */
const CLIENT_HEADERS = { 'accept-version': '1', 'x-client': 'test-1' }

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  // biome-ignore lint/suspicious/noExplicitAny: tests compare whole bodies
  readonly body: any
}

/** Sends JSON to the checkout as a client would. */
export async function send({ app }: App, path: string, payload: object, headers: object = {}): Promise<Answer> {
  const response = await app.inject({ method: 'POST', url: path, headers: { ...CLIENT_HEADERS, ...headers }, payload })
  return { status: response.statusCode, headers: response.headers, body: response.json() }
}

/** A token of the vault. */
export async function tokenize(payments: App, type: 'pcn' | 'pcsc', value: string): Promise<string> {
  return (await send(payments, '/vault', { type, value })).body.token
}

/** What a customer wants: changes of an order of EUR 10 on a card with which all is fine. */
export interface Wish {
  readonly number?: string
  readonly code?: string
  /** The merchant's public key. */
  readonly key: unknown
  readonly [member: string]: unknown
}

/** An order with fresh tokens. */
export async function makeOrder(payments: App, { number, code, key, ...changes }: Wish) {
  return {
    integration: { key },
    test: {},
    amount: { currency: 'EUR', exponent: 2, value: 1_000 },
    card: {
      number: { token: await tokenize(payments, 'pcn', number ?? '1000000000000000') },
      expiry: { month: 8, year: 2066 },
      code: { token: await tokenize(payments, 'pcsc', code ?? '111') },
    },
    ...changes,
  }
}

/** How a customer meets a challenge: by the frame, away and back, or by the banking app; saying yes, no, or nothing. */
export interface Manner {
  readonly way?: 'iframe' | 'redirect' | 'poll'
  readonly decision?: 'approve' | 'decline' | undefined
  /** Called before each request to /payments. */
  readonly onStep?: (hints: readonly string[]) => void
}

/** Goes through every challenge of an order, as an honest client, and answers with what comes last. */
export async function walk(payments: App, order: object, manner: Manner = {}): Promise<Answer & { hints: string[] }> {
  const hints: string[] = []
  for (let steps = 0; steps < 12; steps++) {
    manner.onStep?.(hints)
    const answer = await send(payments, '/payments', { ...order, hints })
    const offered: { name: Step; type: string; path: string }[] = answer.body.challenges ?? []
    const challenge = offered.find(({ type }) => type === manner.way) ?? offered[0]
    if (!challenge) return { ...answer, hints }
    hints.push(...(await take(payments, { order, hints, challenge, manner })))
  }
  throw new Error('the challenges do not end')
}

interface Taken {
  readonly order: object
  readonly hints: readonly string[]
  readonly challenge: { readonly type: string; readonly path: string }
  readonly manner: Manner
}

async function take(payments: App, { order, hints, challenge, manner }: Taken): Promise<readonly string[]> {
  const ask = () => send(payments, challenge.path, { ...order, hints }, { origin: 'https://shop.example' })
  const { status, body } = await ask()
  if (status !== 200) throw new Error(`${challenge.path} answers ${status} ${JSON.stringify(body)}`)
  if (challenge.type === 'fetch') return body.hints
  if (challenge.type === 'background-iframe') return (await submitFrame(payments, body)) ?? []
  if (challenge.type === 'iframe') {
    return (await submitFrame(payments, body, { decision: manner.decision ?? 'approve' })) ?? []
  }
  if (challenge.type === 'redirect') {
    const state = new URL(body.url).searchParams.get('state') ?? ''
    await submitFrame(payments, { url: body.url, fields: { state } }, { decision: manner.decision ?? 'approve' })
  }
  return body.hints
}

/** Sends the form of a frame, and reads what its page tells the shop. Undefined: nothing. */
async function submitFrame(
  { app }: App,
  { url, fields }: { readonly url: string; readonly fields: Readonly<Record<string, string>> },
  more: Readonly<Record<string, string>> = {},
): Promise<readonly string[] | undefined> {
  const response = await app.inject({
    ...{ method: 'POST', url: new URL(url).pathname },
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ ...fields, ...more }).toString(),
  })
  const told = /data-hints="([^"]*)"/.exec(response.body)?.[1]
  return told === undefined ? undefined : JSON.parse(told.replaceAll('&quot;', '"'))
}
