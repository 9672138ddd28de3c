import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '@trestle/testing/free-port.ts'
import pg from 'pg'
import { z } from 'zod'
import { listen } from '../../fixtures.ts'
import { ROOT } from '../../program.ts'
import { openDatabaseServer } from '../../servers/database.ts'
import { deploy } from '../../servers/deployment.ts'
import { startServer } from '../../servers/server.ts'

/** The service, two merchants, and a shop to which customers return. */
export interface Fixture {
  readonly url: string
  readonly keys: { readonly test: string; readonly live: string }
  /** The address to which a shop's links return. */
  readonly shopUrl: string
  /** The shop of `examples/`, which uses all three services. */
  readonly exampleUrl: string
  /** The address of auth, which pages of this shop call. */
  readonly authUrl: string
  /** Returns the test merchant's transactions, newest first. */
  transactions(): Promise<readonly Transaction[]>
  /** Makes every open challenge ten minutes older. */
  letChallengesAge(): Promise<void>
}

const Transaction = z.object({
  id: z.string(),
  amount: z.int(),
  currency: z.string(),
  successful: z.boolean(),
  tds: z.string().optional(),
  reference: z.string().optional(),
  error: z.union([z.literal(false), z.object({ code: z.int() })]),
})
export type Transaction = z.infer<typeof Transaction>

/** Creates the fixture. Disposing of `started` stops all its processes. */
export async function createFixture(folder: string, started: AsyncDisposableStack): Promise<Fixture> {
  const database = await openDatabaseServer({ url: process.env.BENCH_DATABASE_URL, folder: join(folder, 'postgres') })
  started.defer(database.close)
  const databaseUrl = await database.create('trestle_bench_payment_page')
  const start = async (name: string, env: Readonly<Record<string, string>> = {}) => {
    const deployment = await deploy(name, { folder, databaseUrl, env })
    const server = await deployment.start()
    started.defer(server.stop)
    return server
  }
  const server = await start('payments')
  // There is no mail server, so customers of the shop need not confirm their addresses.
  const { url: authUrl } = await start('auth', { AUTH_MAILER_AUTOCONFIRM: 'true' })
  // Open links at the public address, because the frame of the bank uses it too.
  const url = server.url.replace('127.0.0.1', 'localhost')
  const call = createCaller(url)
  const { app } = z.object({ app: z.object({ key: z.string() }) }).parse(await call('POST', '/apps', {}))
  const createMerchant = async (changes: object) =>
    z
      .object({ merchant: z.object({ id: z.string(), key: z.string() }) })
      .parse(await call('POST', '/merchants', { ...MERCHANT, ...changes }, app.key)).merchant
  const [test, live] = [await createMerchant({ test: true }), await createMerchant({ test: false })]
  return {
    url,
    keys: { test: test.key, live: live.key },
    shopUrl: await startShop(started),
    authUrl,
    exampleUrl: await startExample(started, {
      AUTH_URL: authUrl,
      PAYMENTS_URL: url,
      INVENTORY_URL: (await start('inventory')).url,
      TRESTLE_DATA_DIRECTORY: folder,
    }),
    transactions: async () =>
      z
        .array(Transaction)
        .parse(await call('GET', `/merchants/${test.id}/transactions?limit=1000`, undefined, app.key)),
    letChallengesAge: async () => {
      const client = new pg.Client({ connectionString: databaseUrl })
      await client.connect()
      await client.query(`UPDATE payments.payment_sessions SET challenged = challenged - interval '11 minutes'`)
      await client.end()
    },
  }
}

/** A merchant without the member `test`. */
export const MERCHANT = {
  name: 'Nordhavn Coffee Roasters',
  currency: 'EUR',
  email: 'owner@example.com',
  website: 'https://coffee.example.com',
  descriptor: 'NORDHAVN COFFEE',
  company: { country: 'DK' },
}

type Caller = (method: string, path: string, body?: object, key?: string) => Promise<unknown>

/** Returns a function that sends JSON to a service, with an API key of payments if given. It throws an Error for a refusal. */
export function createCaller(url: string): Caller {
  return async (method, path, body, key): Promise<unknown> => {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(key && { authorization: `Basic ${Buffer.from(`:${key}`).toString('base64')}` }),
      },
      body: body ? JSON.stringify(body) : null,
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }
}

async function startShop(started: AsyncDisposableStack): Promise<string> {
  const server = await listen((_request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end('<!doctype html><html lang="en"><title>Shop</title><link rel="icon" href="data:,"><h1>Thank you</h1>')
  })
  started.defer(server.close)
  return `${server.url}/thanks`
}

async function startExample(
  started: AsyncDisposableStack,
  settings: Readonly<Record<string, string>>,
): Promise<string> {
  const port = String(await freePort())
  const server = await startServer({
    name: 'the shop of examples/',
    args: [join(ROOT, 'examples', 'shop', 'server.ts')],
    cwd: ROOT,
    cores: undefined,
    env: { PATH: process.env.PATH ?? '', SHOP_PORT: port, ...settings },
    url: `http://localhost:${port}`,
    signs: ['/'],
  })
  started.defer(server.stop)
  return server.url
}

export function textsOf(language: string): Readonly<Record<string, string>> {
  const file = join(ROOT, 'services', 'payments', 'src', 'pages', 'languages', `${language}.json`)
  return z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(file, 'utf8')))
}

const ENGLISH = textsOf('en')

/** Returns an English text of the page. @throws Error if the page has no text with this name */
export function english(name: string): string {
  const text = ENGLISH[name]
  if (text === undefined) throw new Error(`the page has no text ${name}`)
  return text
}
