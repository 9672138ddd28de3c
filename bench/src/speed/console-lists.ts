import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fillDemo } from '@trestle/stack/commands/demo.ts'
import { createFirstOperator } from '@trestle/stack/first-operator.ts'
import type { StackStatus } from '@trestle/stack/status/stack-status.ts'
import { Command } from 'commander'
import { z } from 'zod'
import { insertTransactions, insertUsers, merchantBody } from '../fixtures.ts'
import { createCaller } from '../pages/payment-page/fixture.ts'
import { startStack } from '../pages/start-stack.ts'
import { createBenchFolder, positiveInteger, ROOT, runCommand, say, secondsSince, timesOf } from '../program.ts'
import { execute } from '../servers/database.ts'
import { distributionOf } from '../statistics.ts'

// Measures how long an operator waits for each list of the console: `node bench/src/speed/console-lists.ts`, with ten thousand
// users and a million transactions, 90 % of them of one merchant. Use an idle machine.

const GOAL_MS = 300
const ROUNDS = 40
const MERCHANTS = 100
/** The share of one merchant in all transactions. */
const SHARE_OF_ONE = 0.9

const App = z.object({ app: z.object({ key: z.string() }) })
const Merchant = z.object({ merchant: z.object({ id: z.string() }) })
const Ids = z.array(z.object({ id: z.string() }))

interface Options {
  readonly users: number
  readonly transactions: number
}

const command = new Command('console-lists')
  .description('measure how long an operator waits for the lists of the console')
  .option('--users <count>', 'users of auth', positiveInteger, 10_000)
  .option('--transactions <count>', 'transactions of payments', positiveInteger, 1_000_000)
  .action(run)

async function run({ users, transactions }: Options): Promise<void> {
  const folder = createBenchFolder()
  try {
    await using started = new AsyncDisposableStack()
    const dataDirectory = join(folder, 'data')
    const status = await startStack(dataDirectory, started)
    await createFirstOperator({ status, root: ROOT, dataDirectory })
    await fillDemo({ status, root: ROOT, dataDirectory, say: () => {} })
    const fillFromMs = performance.now()
    const busiest = await fill(status, { users, transactions })
    say(`${users} users and ${transactions} transactions were made in ${secondsSince(fillFromMs)}`)
    const headers = { cookie: await signIn(status) }
    say(`each list over HTTP, ${ROUNDS} times: median, 95th percentile, slowest`)
    for (const path of await listPaths(status, busiest)) await report(`${status.CONSOLE_URL}${path}`, headers)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Fills the databases. Returns the id of the merchant with most rows. */
async function fill(
  { PAYMENTS_URL = '', DB_URL = '' }: StackStatus,
  { users, transactions }: Options,
): Promise<string> {
  await execute(DB_URL, insertUsers(users))
  const call = createCaller(PAYMENTS_URL)
  const { app } = App.parse(await call('POST', '/apps', { name: 'Nordhavn' }))
  const createMerchant = async (count: number) =>
    Merchant.parse(await call('POST', '/merchants', merchantBody(count), app.key)).merchant.id
  const busiest = await createMerchant(0)
  for (let count = 1; count < MERCHANTS; count += 1) await createMerchant(count)
  const ofOne = Math.round(transactions * SHARE_OF_ONE)
  await insertTransactions((statement) => execute(DB_URL, statement), Math.ceil((transactions - ofOne) / MERCHANTS))
  await insertTransactions((statement) => execute(DB_URL, statement), ofOne, busiest)
  await execute(DB_URL, 'VACUUM ANALYZE')
  return busiest
}

/** Returns the cookie of the first operator. @throws Error if the console sends none */
async function signIn({ CONSOLE_URL = '', CONSOLE_EMAIL = '', CONSOLE_PASSWORD = '' }: StackStatus): Promise<string> {
  const answer = await fetch(`${CONSOLE_URL}/sign-in`, {
    method: 'POST',
    headers: { origin: CONSOLE_URL },
    body: new URLSearchParams({ email: CONSOLE_EMAIL, password: CONSOLE_PASSWORD }),
    redirect: 'manual',
  })
  const cookies = answer.headers.getSetCookie().map((cookie) => cookie.split(';')[0])
  if (cookies.length === 0) throw new Error(`the console answers a sign-in with ${answer.status}`)
  return cookies.join('; ')
}

/** Returns the addresses of the lists, with searches and filters that match many rows, few rows and none. */
async function listPaths({ DB_URL = '' }: StackStatus, busiest: string): Promise<readonly string[]> {
  const [one] = Ids.parse(
    await execute(
      DB_URL,
      `SELECT id FROM payments.transactions WHERE merchant_id = '${busiest}' ORDER BY id OFFSET 1000 LIMIT 1`,
    ),
  )
  const filters: Readonly<Record<string, readonly string[]>> = {
    '/': ['', '?test=true'],
    '/search': ['?q=example', '?q=0000', `?q=${one?.id}`, '?q=zebra'],
    '/users': ['', '?order=asc', '?search=smith', '?search=smith77', '?search=1415', '?search=zebra'],
    '/messages': ['', '?status=sent', '?status=failed'],
    '/transactions': [
      ...['', '?order=asc', '?test=true', '?test=false', '?successful=false', `?merchant=${busiest}`],
      ...['?search=0000', '?search=9999', '?search=1000012.34', '?search=12.34', `?search=${one?.id}`],
      ...[`?merchant=${busiest}&successful=false`, `?merchant=${busiest}&search=9999`, '?search=zebra'],
    ],
    '/disputes': ['', '?status=open', `?merchant=${busiest}`],
    '/frauds': ['', `?merchant=${busiest}`],
    '/payouts': ['', '?status=settled', `?merchant=${busiest}`],
    '/merchants': ['', '?search=shop', '?search=zebra', '?test=true'],
    '/deliveries': ['', '?status=waiting', '?status=failed', `?merchant=${busiest}`],
    '/products': ['', '?search=coffee', '?search=zebra'],
    '/movements': ['', '?search=zebra'],
  }
  const single = ['/payouts/batches', '/exceptions', '/attempts', '/apps', '/jobs', '/stock', '/stock/low']
  const others = ['/reservations', '/locations', '/imports', '/audit/auth', '/audit/payments', '/audit/inventory']
  return [...Object.entries(filters).flatMap(([path, ends]) => ends.map((end) => path + end)), ...single, ...others]
}

async function report(url: string, headers: Readonly<Record<string, string>>): Promise<void> {
  const times = await timesOf(ROUNDS, async () => {
    const answer = await fetch(url, { headers, redirect: 'manual' })
    await answer.text()
    if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}`)
  })
  const { median, largest } = distributionOf(times)
  const late = times.toSorted((a, b) => a - b)[Math.ceil(ROUNDS * 0.95) - 1] ?? Number.NaN
  if (late > GOAL_MS) process.exitCode = 1
  const figures = [median, late, largest].map((value) => `${value.toFixed(1).padStart(7)} ms`).join(' ')
  say(`${figures}  ${late <= GOAL_MS ? 'ok' : `above ${GOAL_MS} ms`}  ${new URL(url).pathname}${new URL(url).search}`)
}

await runCommand(command)
