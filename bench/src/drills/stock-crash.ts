import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { post } from '../fixtures.ts'
import { createBenchFolder, say } from '../program.ts'
import { type DatabaseServer, execute, openDatabaseServer } from '../servers/database.ts'
import { type Deployment, deploy } from '../servers/deployment.ts'
import type { Server } from '../servers/server.ts'

// Kills inventory and PostgreSQL again and again while stock is moved: `node bench/src/drills/stock-crash.ts [kills]`, 20 by default.
// Every request has an Idempotency-Key and is sent until it is answered. Afterwards each request that succeeded must be in the
// ledger with all of its lines, exactly once, each that was refused not at all, and `inventory doctor` must prove every level
// from the ledger. Exit status 1 when one of these is not so.

const PRODUCTS = 20
const CLIENTS = 16
const LIFE_MS = 1_200
const RETRY_MS = 50
const REQUEST_MS = 15_000
const STOCK = 60

const kills = Number(process.argv[2] ?? 20)
if (!Number.isInteger(kills) || kills < 1) throw new Error('the number of kills is a whole number above 0')
const folder = createBenchFolder()

interface Request {
  readonly path: string
  readonly body: object
  /** The number of ledger rows that a request adds. */
  readonly rows: number
}

/** The knowledge of the clients of the load. */
interface Load {
  /** The running server, or the one that is about to run. */
  server: Promise<Server>
  readonly locations: readonly [number, number]
  isOver: boolean
  /** How many rows of the ledger must carry a reference, by reference. */
  readonly answered: Map<string, number>
  sent: number
  refused: number
  unanswered: number
  /** Answers that show a defect. */
  readonly defects: string[]
}

const Created = z.object({ data: z.object({ id: z.number() }) })
const Rows = z.array(z.object({ reference: z.string(), times: z.coerce.number() }))

try {
  await using started = new AsyncDisposableStack()
  const database = await openDatabaseServer({ url: undefined, folder: join(folder, 'postgres'), cores: undefined })
  started.defer(database.close)
  const databaseUrl = await database.create('trestle_bench_crash')
  const deployment = await deploy('inventory', {
    folder,
    databaseUrl,
    env: {},
  })
  await deployment.runCommand('seed', '--products', String(PRODUCTS), '--stock', String(STOCK))
  const load = await prepare(deployment)
  started.defer(async () => (await load.server).stop())
  const clients = Array.from({ length: CLIENTS }, () => sendMovements(load))
  for (let kill = 1; kill <= kills; kill += 1) {
    await delay(LIFE_MS * (0.5 + Math.random()))
    const what = await killAtRandom(load, deployment, database)
    say(`kill ${kill}, ${what}: ${load.answered.size} requests answered, ${load.unanswered} times none came`)
  }
  load.isOver = true
  await Promise.all(clients)
  const problems = [...load.defects, ...(await findProblems(databaseUrl, load))]
  for (const problem of problems) say(problem)
  if (problems.length > 0) process.exitCode = 1
  await deployment.runCommand('doctor')
  say('nothing acknowledged is missing, nothing is doubled or half done, every level is the sum of its movements')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function prepare(deployment: Deployment): Promise<Load> {
  const server = await start(deployment)
  const shop = Created.parse(await post(`${server.url}/locations`, { code: 'SHOP', name: 'Shop' }))
  return {
    server: Promise.resolve(server),
    locations: [1, shop.data.id],
    isOver: false,
    answered: new Map(),
    sent: 0,
    refused: 0,
    unanswered: 0,
    defects: [],
  }
}

function start(deployment: Deployment): Promise<Server> {
  return deployment.start()
}

async function killAtRandom(load: Load, deployment: Deployment, database: DatabaseServer): Promise<string> {
  const what = pick(['the service', 'PostgreSQL', 'both'])
  const server = await load.server
  const crashed = what === 'the service' ? undefined : database.crash()
  if (what !== 'PostgreSQL') load.server = server.kill().then(() => start(deployment))
  await Promise.all([crashed, load.server])
  return what
}

/** A loop of one client: it sends one request after the other, each until it is answered. */
async function sendMovements(load: Load): Promise<void> {
  while (!load.isOver) {
    const reference = `request-${++load.sent}`
    const { path, body, rows } = createRequest(load, reference)
    const isDone = await sendUntilAnswered(load, { path, body, rows }, reference)
    load.answered.set(reference, isDone ? rows : 0)
    if (!isDone) load.refused += 1
  }
}

/** A movement with several lines of several kinds, or a reservation. Each ledger row carries the reference. */
function createRequest({ locations: [main, shop] }: Load, reference: string): Request {
  const some = (most: number) => 1 + Math.floor(Math.random() * most)
  if (Math.random() < 0.3) {
    const wanted = { productId: some(PRODUCTS), locationId: main, quantity: some(3), reference }
    return { path: '/reservations', body: wanted, rows: 1 }
  }
  const lines = Array.from({ length: some(3) }, () => ({
    productId: some(PRODUCTS),
    quantity: some(9),
    reference,
    ...pick<Readonly<Record<string, string | number>>>([
      { type: 'receive', locationId: main },
      { type: 'ship', locationId: main },
      { type: 'transfer', fromLocationId: main, toLocationId: shop },
    ]),
  }))
  const transfers = lines.filter((line) => 'toLocationId' in line).length
  return { path: '/movements', body: { lines }, rows: lines.length + transfers }
}

function pick<T>(choices: readonly [T, ...T[]]): T {
  return choices[Math.floor(Math.random() * choices.length)] ?? choices[0]
}

/** @returns whether the request succeeded; a refusal for lack of stock is an answer too */
async function sendUntilAnswered(load: Load, request: Request, key: string): Promise<boolean> {
  for (;;) {
    const { url } = await load.server
    const answer = await ask(url, request, key)
    if (answer?.status === 201) return true
    if (answer?.status === 409 && answer.text.includes('INSUFFICIENT_STOCK')) return false
    load.unanswered += 1
    if (answer && answer.status !== 409 && answer.status !== 503) {
      load.defects.push(`${request.path} answers ${answer.status}: ${answer.text}`)
    }
    await delay(RETRY_MS)
  }
}

/** @returns undefined when the server ended before its answer */
async function ask(url: string, { path, body }: Request, key: string) {
  try {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_MS),
    })
    return { status: response.status, text: await response.text() }
  } catch {
    return undefined
  }
}

async function findProblems(databaseUrl: string, { answered, refused }: Load): Promise<readonly string[]> {
  const rows = await execute(
    databaseUrl,
    `SELECT reference, count(*) AS times FROM inventory.movements WHERE reference <> 'seed' GROUP BY reference`,
  )
  const times = new Map(Rows.parse(rows).map((row) => [row.reference, row.times]))
  say(`${answered.size - refused} requests were carried out, ${refused} refused`)
  const wrong = [...answered].filter(([reference, count]) => (times.get(reference) ?? 0) !== count)
  const unknown = [...times.keys()].filter((reference) => !answered.has(reference))
  return [
    ...wrong.map(([reference, count]) => `${reference} has ${times.get(reference) ?? 0} rows instead of ${count}`),
    ...unknown.map((reference) => `${reference} is there and was never answered`),
  ]
}
