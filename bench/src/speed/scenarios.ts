import { z } from 'zod'
import { createApp, insertTransactions, listPages, merchantBody, post, signIn, signUp } from '../fixtures.ts'
import type { Load } from './load.ts'

export interface Scenario {
  readonly service: string
  /** Settings in addition to those of `npm start`: rate limits are off. */
  readonly env: Readonly<Record<string, string>>
  /** Creates the data through the service and returns the loads. */
  prepare(context: ScenarioContext): Promise<readonly Endpoint[]>
}

export interface ScenarioContext {
  readonly url: string
  /** Runs a command of the service, such as `seed`. */
  runCommand(...args: readonly string[]): Promise<string>
  /** Runs SQL on the service's database, for rows that would take too long to create by requests. */
  execute(statement: string): Promise<readonly unknown[]>
}

export interface Endpoint {
  /** The method and path, as the results show them. */
  readonly name: string
  /** The minimum ratio to the rate of an endpoint that was measured before. */
  readonly ofOther?: { readonly name: string; readonly goal: number }
  nextLoad(url: string): Promise<Load>
}

const PRODUCTS = 100_000
const ATTRIBUTES = '{"name":"Blue widget","price":1999,"currency":"DKK"}'

/** Measures products: reading one by id, reading a page at any depth of the list, creating one. */
export const inventoryScenario: Scenario = {
  service: 'inventory',
  env: {},
  prepare: async ({ runCommand }) => {
    await runCommand('seed', '--products', String(PRODUCTS))
    const cursors = new Map<string, readonly string[]>()
    return [
      {
        name: 'GET /products/:id',
        nextLoad: async () => ({ method: 'GET', path: '/products/{id}', idMax: PRODUCTS, connections: 64 }),
      },
      {
        name: 'GET /products',
        nextLoad: async (url) => {
          const tokens = cursors.get(url) ?? (await listCursors(url))
          cursors.set(url, tokens)
          return { method: 'GET', path: '/products?limit=20&cursor={token}', tokens, connections: 64 }
        },
      },
      {
        name: 'POST /products',
        nextLoad: async () => ({
          method: 'POST',
          path: '/products',
          body: JSON.stringify({ sku: 'BENCH-{sequence}', attributes: ATTRIBUTES }),
          connections: 64,
        }),
      },
    ]
  },
}

/** The cursor of each page of the whole list, so that a load can begin at any depth. */
async function listCursors(url: string): Promise<readonly string[]> {
  const [, ...pages] = await listPages(url)
  return pages.map((page) => encodeURIComponent(new URL(page, url).searchParams.get('cursor') ?? ''))
}

const USERS = 64
/** More sessions than connections, so that a token is always available. */
const REFRESHING = 48

/** The settings of a measured service: no rate limits, and accounts need no mail. */
const authEnv = {
  // The service then signs with `AUTH_JWT_SECRET`.
  AUTH_JWT_KEYS: '',
  AUTH_MAILER_AUTOCONFIRM: 'true',
  AUTH_RATE_LIMIT_TOKEN_REFRESH: 'off',
  AUTH_RATE_LIMIT_OTP: 'off',
  AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  AUTH_SECURITY_FAILED_ATTEMPTS: 'off',
}

/** Measures sessions: reading the user of an access token and rotating refresh tokens. `passwords.ts` measures passwords. */
export const authScenario: Scenario = {
  service: 'auth',
  env: authEnv,
  prepare: async ({ url }) => {
    const emails = Array.from({ length: USERS }, (_, index) => `user${index}@bench.example`)
    const sessions = await each(emails, (email) => signUp(url, email))
    const accessTokens = sessions.map(({ access_token }) => access_token)
    return [
      {
        name: 'GET /user',
        nextLoad: async () => ({
          method: 'GET',
          path: '/user',
          headers: { authorization: 'Bearer {token}' },
          tokens: accessTokens,
          connections: 64,
        }),
      },
      {
        name: 'POST /token refresh_token',
        nextLoad: async () => {
          // Unfinished requests of the last sample have used up their tokens, so each sample signs in again.
          const fresh = await each(emails.slice(0, REFRESHING), (email) => signIn(url, email))
          return {
            method: 'POST',
            path: '/token?grant_type=refresh_token',
            body: '{"refresh_token":"{token}"}',
            tokens: fresh.map(({ refresh_token }) => refresh_token),
            chain: 'refresh_token',
            connections: 32,
          }
        },
      },
    ]
  },
}

/** Signs up a few users at a time, because the queue of password work is limited. */
async function each<T, Result>(items: readonly T[], work: (item: T) => Promise<Result>): Promise<readonly Result[]> {
  const results: Result[] = []
  for (let first = 0; first < items.length; first += 4) {
    results.push(...(await Promise.all(items.slice(first, first + 4).map(work))))
  }
  return results
}

const MERCHANTS = 1_000
/** The number of transactions per merchant, and of additional ones for the busiest merchant. */
const TRANSACTIONS_EACH = 100
const TRANSACTIONS_OF_ONE = 50_000
const PAGE_ROWS = 20

const CreatedMerchant = z.object({ merchant: z.object({ id: z.string() }) })
const Ids = z.array(z.object({ id: z.string() })).transform((rows) => rows.map(({ id }) => id))

/** Measures usual work of merchants: captures, reading a transaction, reading pages. */
export const paymentsScenario: Scenario = {
  service: 'payments',
  env: { PAYMENTS_RATE_KEY: '0', PAYMENTS_RATE_APPS: '0', PAYMENTS_RATE_FAILURES: '0' },
  prepare: async ({ url, execute }) => {
    const headers = await createApp(url)
    const merchants: string[] = []
    while (merchants.length < MERCHANTS) {
      const many = Array.from({ length: 20 }, () => post(`${url}/merchants`, merchantBody(merchants.length), headers))
      merchants.push(...(await Promise.all(many)).map((answer) => CreatedMerchant.parse(answer).merchant.id))
    }
    const [busiest = ''] = merchants
    await insertTransactions(execute, TRANSACTIONS_EACH)
    const transactions = await listTransactions(execute, 'ORDER BY substr(id, 12, 5), id')
    await insertTransactions(execute, TRANSACTIONS_OF_ONE, busiest)
    const ofBusiest = await listTransactions(execute, `WHERE merchant_id = '${busiest}' ORDER BY md5(id)`)
    return endpoints({ headers, merchants, transactions, busiest, ofBusiest })
  },
}

const CAPTURES = `captures, ${MERCHANTS} merchants`

function endpoints({
  headers,
  merchants,
  transactions,
  busiest,
  ofBusiest,
}: {
  readonly headers: Readonly<Record<string, string>>
  readonly merchants: readonly string[]
  /** The transactions of all merchants, ordered so that neighbours belong to different merchants. */
  readonly transactions: readonly string[]
  readonly busiest: string
  readonly ofBusiest: readonly string[]
}): readonly Endpoint[] {
  const get =
    (path: string, tokens: readonly string[] = []) =>
    async (): Promise<Load> => ({ method: 'GET', path, headers, tokens, connections: 64 })
  const capture = (tokens: readonly string[]) => async (): Promise<Load> => ({
    method: 'POST',
    path: '/transactions/{token}/captures',
    body: '{"amount":1000}',
    headers,
    tokens: startElsewhere(tokens),
    connections: 32,
  })
  const page = `/merchants/${busiest}/transactions?limit=${PAGE_ROWS}&before={token}`
  return [
    { name: 'GET /me', nextLoad: get('/me') },
    { name: 'GET /merchants/:merchantId', nextLoad: get('/merchants/{token}', merchants) },
    { name: 'GET /transactions/:transactionId', nextLoad: get('/transactions/{token}', transactions) },
    { name: 'GET …/transactions, any depth', nextLoad: get(page, ofBusiest) },
    { name: CAPTURES, nextLoad: capture(transactions) },
    { name: 'captures, one merchant', ofOther: { name: CAPTURES, goal: 0.6 }, nextLoad: capture(ofBusiest) },
  ]
}

/** Each sample begins at another transaction, so that captures are spread evenly. */
function startElsewhere(tokens: readonly string[]): readonly string[] {
  const at = Math.floor(Math.random() * tokens.length)
  return [...tokens.slice(at), ...tokens.slice(0, at)]
}

async function listTransactions(execute: ScenarioContext['execute'], rest: string): Promise<readonly string[]> {
  return Ids.parse(await execute(`SELECT id FROM payments.transactions ${rest}`))
}

export const scenarios: readonly Scenario[] = [inventoryScenario, authScenario, paymentsScenario]
