import type { Step } from '../src/checkout/enrolment.ts'
import type { TestPayments } from './payments-app.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  // biome-ignore lint/suspicious/noExplicitAny: tests compare whole bodies
  readonly body: any
}

/** How a customer's browser reaches the service. */
export interface Browser {
  /** Sends JSON to the checkout. */
  send(path: string, payload: object, headers?: Readonly<Record<string, string>>): Promise<Answer>
  /** Sends a form to a page, and answers the page that follows. */
  submit(url: string, fields: Readonly<Record<string, string>>): Promise<string>
}

/** A browser without a network. */
export function browse({ app }: Pick<TestPayments, 'app'>): Browser {
  return {
    send: async (url, payload, headers = {}) => {
      const response = await app.inject({
        method: 'POST',
        url,
        headers: { 'accept-version': '1', ...headers },
        payload,
      })
      return { status: response.statusCode, headers: response.headers, body: response.json() }
    },
    submit: async (url, fields) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const payload = new URLSearchParams(fields).toString()
      return (await app.inject({ method: 'POST', url: new URL(url).pathname, headers, payload })).body
    },
  }
}

/** A token of the vault. */
export async function tokenize({ send }: Browser, type: 'pcn' | 'pcsc', value: string): Promise<string> {
  return (await send('/vault', { type, value })).body.token
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
export async function makeOrder(
  browser: Browser,
  { number = '1000000000000000', code = '111', key, ...changes }: Wish,
) {
  return {
    integration: { key },
    test: {},
    amount: { currency: 'EUR', exponent: 2, value: 1_000 },
    card: {
      number: { token: await tokenize(browser, 'pcn', number) },
      expiry: { month: 8, year: 2066 },
      code: { token: await tokenize(browser, 'pcsc', code) },
    },
    ...changes,
  }
}

/** How a customer meets the challenge: by a frame, away and back, or by the banking app; saying yes or no. */
export interface Manner {
  readonly way?: 'iframe' | 'redirect' | 'poll'
  readonly decision?: 'approve' | 'decline'
  /** Takes this step, and goes no further. */
  readonly until?: Step
  /** Lets the time of a poll pass. */
  readonly wait?: () => Promise<unknown>
}

interface Offered {
  readonly name: Step
  readonly type: string
  readonly path: string
}

/** How a payment went: the last answer, the hints until then, and the types of the challenges on the way. */
export interface Walk extends Answer {
  readonly hints: readonly string[]
  readonly types: readonly string[]
}

const STEPS_MAX = 12

/** Goes through every challenge of an order, as an honest client does. */
export async function walk(browser: Browser, order: object, manner: Manner = {}): Promise<Walk> {
  const hints: string[] = []
  const types: string[] = []
  for (let steps = 0; steps < STEPS_MAX; steps++) {
    const answer = await browser.send('/payments', { ...order, hints })
    const offered: readonly Offered[] = answer.body.challenges ?? []
    const challenge = offered.find(({ type }) => type === manner.way) ?? offered[0]
    if (!challenge) return { ...answer, hints, types }
    types.push(challenge.type)
    hints.push(...(await take(browser, { ...order, hints }, { challenge, manner })))
    if (challenge.name === manner.until) return { ...answer, hints, types }
  }
  throw new Error('the challenges do not end')
}

/** The order is sent to the path of the challenge, and what it says is done. */
async function take(
  browser: Browser,
  order: object,
  { challenge, manner }: { readonly challenge: Offered; readonly manner: Manner },
): Promise<readonly string[]> {
  const { status, body } = await browser.send(challenge.path, order, { origin: 'https://shop.example' })
  if (status !== 200) throw new Error(`${challenge.path} answers ${status} ${JSON.stringify(body)}`)
  const decision = manner.decision ?? 'approve'
  if (challenge.type === 'background-iframe') return hintsOf(await browser.submit(body.url, body.fields))
  if (challenge.type === 'iframe') return hintsOf(await browser.submit(body.url, { ...body.fields, decision }))
  if (challenge.type === 'redirect') {
    await browser.submit(body.url, { state: new URL(body.url).searchParams.get('state') ?? '', decision })
  }
  if (challenge.type === 'poll') await manner.wait?.()
  return body.hints
}

/** What a page tells the shop that shows it. A page that tells nothing is given up. */
export function hintsOf(page: string): readonly string[] {
  return JSON.parse((/data-hints="([^"]*)"/.exec(page)?.[1] ?? '[]').replaceAll('&quot;', '"'))
}
