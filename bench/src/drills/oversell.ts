import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { post } from '../fixtures.ts'
import { createBenchFolder, say } from '../program.ts'
import { execute, openDatabaseServer } from '../servers/database.ts'
import { deploy } from '../servers/deployment.ts'
import type { Server } from '../servers/server.ts'

// Lets 1,000 customers ask two replicas of inventory for the last unit at once, again and again: `node bench/src/drills/oversell.ts
// [rounds]`, 100 by default. In each round, 200 clients also want the same new SKU. Exactly one of them may succeed each time,
// no level may ever be below zero, and `inventory doctor` must prove every level from the ledger. Exit status 1 when one of
// these is not so.

const CUSTOMERS = 1_000
const CLIENTS_OF_A_SKU = 200
const MAIN = 1

const rounds = Number(process.argv[2] ?? 100)
if (!Number.isInteger(rounds) || rounds < 1) throw new Error('the number of rounds is a whole number above 0')
const folder = createBenchFolder()

const Created = z.object({ data: z.object({ id: z.number() }) })

try {
  await using started = new AsyncDisposableStack()
  const database = await openDatabaseServer({ url: process.env.BENCH_DATABASE_URL, folder: join(folder, 'postgres') })
  started.defer(database.close)
  const databaseUrl = await database.create('trestle_bench_oversell')
  const deployment = await deploy('inventory', {
    folder,
    databaseUrl,
    env: {},
  })
  const replicas: Server[] = []
  for (let count = 0; count < 2; count += 1) {
    const replica = await deployment.start()
    started.defer(replica.stop)
    replicas.push(replica)
  }
  const problems: string[] = []
  for (let round = 1; round <= rounds; round += 1) {
    problems.push(...(await raceForSku(replicas, round)), ...(await raceForLastUnit(replicas, round)))
    if (round % 10 === 0) say(`round ${round}: ${problems.length} problems`)
  }
  const sold = await execute(databaseUrl, 'SELECT FROM inventory.stock_levels WHERE on_hand - reserved <> 0')
  if (sold.length > 0) problems.push(`of ${sold.length} products the last unit was not sold`)
  for (const problem of problems) say(problem)
  if (problems.length > 0) process.exitCode = 1
  await deployment.runCommand('doctor')
  say(`${rounds} last units, ${CUSTOMERS} customers each: ${rounds - problems.length} times exactly one got it`)
  say('no level was below zero, every level is the sum of its movements')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function raceForSku(replicas: readonly Server[], round: number): Promise<readonly string[]> {
  const body = { sku: `RACE-${round}`, attributes: '{}' }
  return judge(`sku ${body.sku}`, await race(replicas, CLIENTS_OF_A_SKU, () => ['/products', body]))
}

/** Half of the customers reserve the unit, the other half ship it at once. */
async function raceForLastUnit([first, ...others]: readonly Server[], round: number): Promise<readonly string[]> {
  if (!first) throw new Error('there is no replica')
  const { data } = Created.parse(await post(`${first.url}/products`, { sku: `LAST-${round}`, attributes: '{}' }))
  const unit = { productId: data.id, locationId: MAIN, quantity: 1 }
  await post(`${first.url}/movements`, { type: 'receive', ...unit })
  const buy = (customer: number): [string, object] =>
    customer % 4 < 2 ? ['/reservations', unit] : ['/movements', { type: 'ship', ...unit }]
  return judge(`last unit of product ${data.id}`, await race([first, ...others], CUSTOMERS, buy))
}

/** Sends all requests at once, to the replicas in turn, and counts the answers by status. */
async function race(
  replicas: readonly Server[],
  clients: number,
  request: (client: number) => readonly [path: string, body: object],
): Promise<ReadonlyMap<number, number>> {
  const statuses = new Map<number, number>()
  const send = async (_: unknown, client: number): Promise<void> => {
    const [path, body] = request(client)
    const response = await fetch(`${replicas[client % replicas.length]?.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    await response.text()
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
  }
  await Promise.all(Array.from({ length: clients }, send))
  return statuses
}

function judge(what: string, statuses: ReadonlyMap<number, number>): readonly string[] {
  const isFair = statuses.get(201) === 1 && [...statuses.keys()].every((status) => status === 201 || status === 409)
  return isFair ? [] : [`${what}: ${[...statuses].map(([status, count]) => `${count} times ${status}`).join(', ')}`]
}
