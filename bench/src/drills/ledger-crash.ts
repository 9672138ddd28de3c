import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { insertTransactions, merchantBody, post } from '../fixtures.ts'
import { createBenchFolder, say } from '../program.ts'
import { type DatabaseServer, execute, openDatabaseServer } from '../servers/database.ts'
import { type Deployment, deploy } from '../servers/deployment.ts'
import type { Server } from '../servers/server.ts'

// Kills payments and PostgreSQL again and again while money is captured and paid back: `node bench/src/drills/ledger-crash.ts
// [kills]`, 50 by default. Every request has an Idempotency-Key and is sent until it is answered. Afterwards each answered
// operation must be stored exactly once, no other operation twice, and `payments ledger verify` must find nothing. Exit status
// 1 when one of these is not so.

const MERCHANTS = 5
const TRANSACTIONS_EACH = 8
const CLIENTS = 16
const LIFE_MS = 1_200
const RETRY_MS = 50
const REQUEST_MS = 15_000

const kills = Number(process.argv[2] ?? 50)
if (!Number.isInteger(kills) || kills < 1) throw new Error('the number of kills is a whole number above 0')
const folder = createBenchFolder()

/** The knowledge of the clients of the load. */
interface Load {
  /** The running server, or the one that is about to run. */
  server: Promise<Server>
  readonly headers: Readonly<Record<string, string>>
  readonly transactions: readonly string[]
  isOver: boolean
  /** The status that answered each operation, by the reference that the operation stores. */
  readonly answered: Map<string, number>
  sent: number
  unanswered: number
  /** Answers that show a defect. */
  readonly defects: string[]
}

const Rows = z.array(z.object({ reference: z.string(), times: z.coerce.number() }))
const Ids = z.array(z.object({ id: z.string() }))
const CreatedApp = z.object({ app: z.object({ key: z.string() }) })

try {
  await using started = new AsyncDisposableStack()
  const database = await openDatabaseServer({ url: undefined, folder: join(folder, 'postgres'), cores: undefined })
  started.defer(database.close)
  const databaseUrl = await database.create('trestle_bench_crash')
  const deployment = await deploy('payments', {
    folder,
    databaseUrl,
    env: { PAYMENTS_RATE_KEY: '0', PAYMENTS_RATE_FAILURES: '0' },
  })
  const load = await prepare(deployment, databaseUrl)
  started.defer(async () => (await load.server).stop())
  const clients = Array.from({ length: CLIENTS }, () => sendOperations(load))
  for (let kill = 1; kill <= kills; kill += 1) {
    await delay(LIFE_MS * (0.5 + Math.random()))
    const what = await killAtRandom(load, deployment, database)
    say(`kill ${kill}, ${what}: ${load.answered.size} operations answered, ${load.unanswered} requests were not`)
  }
  load.isOver = true
  await Promise.all(clients)
  const problems = [...load.defects, ...(await findProblems(databaseUrl, load))]
  for (const problem of problems) say(problem)
  if (problems.length > 0) process.exitCode = 1
  await deployment.runCommand('ledger', 'verify')
  say('nothing acknowledged is missing, nothing is doubled, the ledger holds')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function prepare(deployment: Deployment, databaseUrl: string): Promise<Load> {
  const server = await start(deployment)
  const { app } = CreatedApp.parse(await post(`${server.url}/apps`, {}))
  const headers = { authorization: `Basic ${Buffer.from(`:${app.key}`).toString('base64')}` }
  for (let count = 0; count < MERCHANTS; count += 1) await post(`${server.url}/merchants`, merchantBody(count), headers)
  await insertTransactions((statement) => execute(databaseUrl, statement), TRANSACTIONS_EACH)
  const ids = Ids.parse(await execute(databaseUrl, 'SELECT id FROM payments.transactions'))
  return {
    server: Promise.resolve(server),
    headers,
    transactions: ids.map(({ id }) => id),
    isOver: false,
    answered: new Map(),
    sent: 0,
    unanswered: 0,
    defects: [],
  }
}

function start(deployment: Deployment): Promise<Server> {
  return deployment.start()
}

async function killAtRandom(load: Load, deployment: Deployment, database: DatabaseServer): Promise<string> {
  const what = (['the service', 'PostgreSQL', 'both'] as const)[Math.floor(Math.random() * 3)]
  const server = await load.server
  const crashed = what === 'the service' ? undefined : database.crash()
  if (what !== 'PostgreSQL') load.server = server.kill().then(() => start(deployment))
  await Promise.all([crashed, load.server])
  return what ?? ''
}

/** A loop of one client: it sends one operation after the other, each until it is answered. */
async function sendOperations(load: Load): Promise<void> {
  while (!load.isOver) {
    const reference = `operation ${++load.sent}`
    const operation = Math.random() < 0.6 ? 'captures' : 'refunds'
    const id = load.transactions[Math.floor(Math.random() * load.transactions.length)]
    const status = await sendUntilAnswered(load, `/transactions/${id}/${operation}`, reference)
    load.answered.set(reference, status)
  }
}

async function sendUntilAnswered(load: Load, path: string, reference: string): Promise<number> {
  for (;;) {
    const { url } = await load.server
    const status = await ask(url + path, load.headers, reference)
    if (status === 201 || status === 400) return status
    load.unanswered += 1
    if (status !== undefined && status !== 409 && status !== 503) load.defects.push(`${path} answers ${status}`)
    await delay(RETRY_MS)
  }
}

/** @returns the status; undefined when the server ended before its answer */
async function ask(url: string, headers: Load['headers'], reference: string): Promise<number | undefined> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': reference.replace(' ', '-') },
      body: JSON.stringify({ amount: 7, reference }),
      signal: AbortSignal.timeout(REQUEST_MS),
    })
    await response.text()
    return response.status
  } catch {
    return undefined
  }
}

async function findProblems(databaseUrl: string, { answered }: Load): Promise<readonly string[]> {
  const rows = await execute(
    databaseUrl,
    'SELECT reference, count(*) AS times FROM payments.trail_entries GROUP BY reference',
  )
  const times = new Map(Rows.parse(rows).map((row) => [row.reference, row.times]))
  const done = [...answered].filter(([, status]) => status === 201)
  say(`${done.length} operations were carried out, ${answered.size - done.length} refused`)
  return [
    ...done.filter(([reference]) => !times.has(reference)).map(([reference]) => `${reference} is missing`),
    ...[...times].filter(([, count]) => count > 1).map(([reference, count]) => `${reference} is there ${count} times`),
    ...[...times.keys()]
      .filter((reference) => answered.get(reference) === 400)
      .map((reference) => `${reference} was refused and is stored`),
  ]
}
