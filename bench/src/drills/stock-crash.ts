import { z } from 'zod'
import { openBench } from '../bench.ts'
import { post } from '../fixtures.ts'
import { readCount, report, say } from '../program.ts'
import { countReferences, listMiscounted } from './loads/acknowledgements.ts'
import { askUntilAnswered, crashRepeatedly } from './loads/crash-loop.ts'

// Kills inventory and PostgreSQL repeatedly while stock moves: `node bench/src/drills/stock-crash.ts [kills]`, 20 by default.
// Each request has an Idempotency-Key and is sent until it is answered. The exit status is 1 if a successful request is not in
// the ledger exactly once with all its lines, if a refused request is there, or if `inventory doctor` finds a problem.

const PRODUCTS = 20
const CLIENTS = 16
const LIFE_MS = 1_200
const STOCK = 60
const MAIN = 1
const Created = z.object({ data: z.object({ id: z.number() }) })

const kills = readCount('kills', 20)
await using bench = await openBench({ isOwn: true })
const inventory = await bench.deploy('inventory')
await inventory.runCommand('seed', '--products', String(PRODUCTS), '--stock', String(STOCK))
/** The expected number of ledger rows by reference. */
const answered = new Map<string, number>()
let sent = 0
const { defects } = await crashRepeatedly({
  bench,
  service: inventory,
  kills,
  victims: ['the service', 'PostgreSQL', 'both'],
  lifeMs: LIFE_MS,
  clients: CLIENTS,
  prepare: async (url) => {
    const shop = Created.parse(await post(`${url}/locations`, { code: 'SHOP', name: 'Shop' }))
    return async (load) => {
      const reference = `request-${++sent}`
      const { path, body, rows } = createRequest(shop.data.id, reference)
      const request = { method: 'POST' as const, path, headers: { 'idempotency-key': reference }, body }
      // A refusal because of insufficient stock is an answer too.
      const { status } = await askUntilAnswered(
        load,
        request,
        (answer) => answer.status === 201 || (answer.status === 409 && answer.body.includes('INSUFFICIENT_STOCK')),
      )
      answered.set(reference, status === 201 ? rows : 0)
    }
  },
  describe: () => `${answered.size} requests answered`,
})
const done = [...answered.values()].filter((rows) => rows > 0).length
say(`${done} requests were carried out, ${answered.size - done} refused`)
const stored = await inventory.execute(
  `SELECT reference, count(*) AS times FROM inventory.movements WHERE reference <> 'seed' GROUP BY reference`,
)
const problems = [...defects, ...listMiscounted(answered, countReferences(stored))]
await inventory.runCommand('doctor').catch((error) => problems.push(String(error)))
report(
  problems,
  'nothing acknowledged is missing, nothing is doubled or half done, every level is the sum of its movements',
)

/** Returns a movement with several lines, or a reservation. `rows` is the number of ledger rows that it adds. */
function createRequest(shop: number, reference: string) {
  const some = (most: number) => 1 + Math.floor(Math.random() * most)
  if (Math.random() < 0.3) {
    const wanted = { productId: some(PRODUCTS), locationId: MAIN, quantity: some(3), reference }
    return { path: '/reservations', body: wanted, rows: 1 }
  }
  const kinds: readonly Readonly<Record<string, string | number>>[] = [
    { type: 'receive', locationId: MAIN },
    { type: 'ship', locationId: MAIN },
    { type: 'transfer', fromLocationId: MAIN, toLocationId: shop },
  ]
  const lines = Array.from({ length: some(3) }, () => ({
    productId: some(PRODUCTS),
    quantity: some(9),
    reference,
    ...kinds[some(kinds.length) - 1],
  }))
  const transfers = lines.filter((line) => 'toLocationId' in line).length
  return { path: '/movements', body: { lines }, rows: lines.length + transfers }
}
