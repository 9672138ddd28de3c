import type { Step } from '../src/checkout/authentication.ts'
import type { TestPayments } from './payments-app.ts'

/** All fields of the checkout's answers. Each answer has some of them. */
export interface AnswerBody {
  readonly token: string
  readonly code: string
  readonly message: string
  readonly path: string
  readonly transactionId: string
  readonly authorizationId: string
  readonly hints: readonly string[]
  readonly challenges: readonly Offered[] | undefined
  readonly url: string
  readonly method: string
  readonly error: { readonly code: number }
  readonly fields: Readonly<Record<string, string>>
}

/** An answer of the service, as a customer's browser receives it. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: AnswerBody
}

/** A customer's browser. */
export interface Browser {
  /** Sends JSON to the checkout. */
  send(path: string, payload: object, headers?: Readonly<Record<string, string>>): Promise<Answer>
  /** Sends a form to a page, and returns the resulting page. */
  submit(url: string, fields: Readonly<Record<string, string>>): Promise<string>
}

/** A browser that needs no network. */
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

/** Converts card data to a token of the vault. */
export async function tokenize({ send }: Browser, type: 'pcn' | 'pcsc', value: string): Promise<string> {
  return (await send('/vault', { type, value })).body.token
}

/** Changes to an order of EUR 10 with a valid card. */
export interface Wish {
  readonly number?: string
  readonly code?: string
  /** The merchant's public key. */
  readonly key: unknown
  readonly [field: string]: unknown
}

/** Creates an order with new tokens. */
export async function createOrder(
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

/** How a customer takes the challenge (in a frame, by a redirect or by polling), and their decision. */
export interface Manner {
  readonly way?: 'iframe' | 'redirect' | 'poll'
  readonly decision?: 'approve' | 'decline'
  /** The last step to take. */
  readonly until?: Step
  /** Waits between polls. */
  readonly wait?: () => Promise<unknown>
}

interface Offered {
  readonly name: Step
  readonly type: string
  readonly path: string
}

/** The result of a payment: the last answer, the hints before it, and the challenge types. */
export interface Walk extends Answer {
  readonly hints: readonly string[]
  readonly types: readonly string[]
}

const STEPS_MAX = 12

/** Takes all challenges of an order, like an honest client. */
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

/** Sends the order to the path of a challenge, and follows the answer. */
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

/** Returns the hints that a page sends to the embedding shop. Empty if there are none. */
export function hintsOf(page: string): readonly string[] {
  return JSON.parse((/data-hints="([^"]*)"/.exec(page)?.[1] ?? '[]').replaceAll('&quot;', '"'))
}
