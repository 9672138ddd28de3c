import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findStockFaults } from '../src/stock/level-repository.ts'
import { refusedBody } from './bodies.ts'
import { startInventory, startReplica, type TestInventory, type TestReplica } from './inventory-app.ts'
import { stockRequests } from './stock-requests.ts'
import { runStorm } from './stock-storm.ts'

// The full storm: STORM_OPERATIONS=20000 npx vitest run services/inventory/test/stock-storm.long.test.ts
const given = (name: string, usual: number) => Number(process.env[`STORM_${name}`] ?? usual)
const options = {
  seed: given('SEED', Math.floor(Math.random() * 2 ** 31)),
  operations: given('OPERATIONS', 500),
  workers: given('WORKERS', 50),
  moments: given('MOMENTS', 10),
}
const ROUNDS = 1

// Parallel statements wait long for each other on a busy machine.
const env = { INVENTORY_DB_STATEMENT_TIMEOUT_MS: '60000' }
const often = { cleanUpEveryMs: 50 }
let inventory: TestInventory
let replicas: readonly TestReplica[]
beforeAll(async () => {
  inventory = await startInventory(env, often)
  replicas = [inventory, await startReplica(inventory.databaseUrl, env, often)]
})
afterAll(async () => {
  await replicas[1]?.close()
  await inventory.close()
})
const many = async (count: number, add: () => Promise<number>) =>
  Promise.all(Array.from({ length: count }, () => add()))

describe('stock', () => {
  it(`keeps every invariant in a storm of operations, during and after it (seed ${options.seed})`, async () => {
    const { addProduct, addLocation } = stockRequests(inventory)
    const [products, locations] = [await many(5, addProduct), await many(3, addLocation)]
    const faults: string[] = []
    const look = async () => {
      faults.push(...(await findStockFaults(inventory.db)))
    }
    const { answers, movements } = await runStorm(replicas, {
      ...{ ...options, products, locations, look },
      passTime: async (id) => {
        await inventory.query(`UPDATE inventory.reservations SET expires_at = now() WHERE id = $1`, [id])
      },
    })
    await look()
    expect(faults).toEqual([])
    const answered = await inventory.query(
      `SELECT id::float8 FROM inventory.movements WHERE product_id = ANY ($1) AND
         (type IN ('receive', 'adjust', 'count', 'transfer') OR type = 'ship' AND reservation_id IS NULL)`,
      [products],
    )
    expect(new Set(answered.map(({ id }) => id))).toEqual(movements)
    const types = await inventory.query(
      'SELECT DISTINCT type FROM inventory.movements WHERE product_id = ANY ($1) ORDER BY 1',
      [products],
    )
    expect(types.map(({ type }) => type)).toEqual([
      'adjust',
      'count',
      'expire',
      'receive',
      'release',
      'reserve',
      'ship',
      'transfer',
    ])
    expect(await inventory.query('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')).toEqual([
      { deadlocks: '0' },
    ])
    process.stdout.write(`storm of seed ${options.seed}: ${JSON.stringify(Object.fromEntries([...answers].sort()))}\n`)
  }, 1_800_000)

  it('sells the last unit to one of many customers on two replicas', async () => {
    const { addProduct, move } = stockRequests(inventory)
    for (let round = 0; round < ROUNDS; round++) {
      const productId = await addProduct()
      await move({ type: 'receive', productId, locationId: 1, quantity: 1 })
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, customer) => {
          const buy = stockRequests(replicas[customer % replicas.length] ?? inventory)
          const wanted = { productId, locationId: 1, quantity: 1 }
          return customer % 4 < 2 ? buy.reserve(wanted) : buy.move({ type: 'ship', ...wanted })
        }),
      )
      const refused = answers.filter(({ statusCode }) => statusCode !== 201).map((answer) => answer.json())
      const none = refusedBody(409, 'INSUFFICIENT_STOCK', 'There is not enough stock available.', { available: 0 })
      expect(refused).toEqual(Array(99).fill(none))
    }
    expect(await findStockFaults(inventory.db)).toEqual([])
  })
})
