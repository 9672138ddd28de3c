import { z } from 'zod'
import { openBench } from '../bench.ts'
import { post } from '../fixtures.ts'
import { readCount, report, say } from '../program.ts'
import { send } from './loads/send.ts'

// Lets 1,000 customers request the last unit from two replicas of inventory at the same time, repeatedly: `node
// bench/src/drills/oversell.ts [rounds]`, 100 by default. In each round, 200 clients also create the same SKU. Exit status 1
// unless exactly one of them succeeds each time, no level is below zero, and `inventory doctor` confirms every level.

const CUSTOMERS = 1_000
const CLIENTS_OF_A_SKU = 200
const MAIN = 1
const Created = z.object({ data: z.object({ id: z.number() }) })

const rounds = readCount('rounds', 100)
await using bench = await openBench()
const inventory = await bench.deploy('inventory')
const urls = [(await inventory.serve()).url, (await inventory.serve()).url] as const
const problems: string[] = []
for (let round = 1; round <= rounds; round += 1) {
  await raceForSku(round)
  await raceForLastUnit(round)
  if (round % 10 === 0) say(`round ${round}: ${problems.length} problems`)
}
const sold = await inventory.execute('SELECT FROM inventory.stock_levels WHERE on_hand - reserved <> 0')
if (sold.length > 0) problems.push(`of ${sold.length} products the last unit was not sold`)
await inventory.runCommand('doctor').catch((error) => problems.push(String(error)))
report(
  problems,
  `${rounds} last units, ${CUSTOMERS} customers each: exactly one got each, and every level is the sum of its movements`,
)

function raceForSku(round: number): Promise<void> {
  const body = { sku: `RACE-${round}`, attributes: '{}' }
  return race(`sku ${body.sku}`, CLIENTS_OF_A_SKU, () => ({ path: '/products', body }))
}

/** Half of the customers reserve the unit, and the other half ship it. */
async function raceForLastUnit(round: number): Promise<void> {
  const { data } = Created.parse(await post(`${urls[0]}/products`, { sku: `LAST-${round}`, attributes: '{}' }))
  const unit = { productId: data.id, locationId: MAIN, quantity: 1 }
  await post(`${urls[0]}/movements`, { type: 'receive', ...unit })
  const buy = (customer: number) =>
    customer % 4 < 2 ? { path: '/reservations', body: unit } : { path: '/movements', body: { type: 'ship', ...unit } }
  await race(`last unit of product ${data.id}`, CUSTOMERS, buy)
}

/** Sends all requests concurrently to alternating replicas. Exactly one may succeed. */
async function race(
  name: string,
  clients: number,
  request: (client: number) => { readonly path: string; readonly body: object },
): Promise<void> {
  const sendOne = async (_: unknown, client: number) => {
    const outcome = await send(urls[client % 2] ?? '', { method: 'POST', ...request(client) })
    return typeof outcome === 'string' ? outcome : outcome.status
  }
  const outcomes = Map.groupBy(await Promise.all(Array.from({ length: clients }, sendOne)), (outcome) => outcome)
  const isFair = outcomes.get(201)?.length === 1 && outcomes.get(409)?.length === clients - 1
  const counts = [...outcomes].map(([outcome, { length }]) => `${length} times ${outcome}`)
  if (!isFair) problems.push(`${name}: ${counts.join(', ')}`)
}
