import { afterAll, beforeAll, expect, it } from 'vitest'
import { startInventory, type TestInventory } from './start-inventory.ts'

const [ONE, TWO] = ['192.0.2.1', '192.0.2.2']
let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory({ INVENTORY_DB_STATEMENT_TIMEOUT_MS: '60000' })
})
afterAll(() => inventory.close())

it('long pages of one client follow each other, and no other client waits for them', async () => {
  const answered: string[] = []
  const get = async (url: string, remoteAddress: string) => {
    const { statusCode } = await inventory.app.inject({ url, remoteAddress })
    answered.push(`${statusCode} ${url}`)
  }
  await inventory.query('BEGIN')
  await inventory.query('LOCK TABLE inventory.stock_levels IN ACCESS EXCLUSIVE MODE')
  const long = [get('/stock?limit=500', ONE), get('/users?limit=500', ONE), get('/locations?limit=500', ONE)]
  for (let count = 0; count < 3; count += 1) await get('/users?limit=500', TWO)
  // What is no list needs no turn.
  await get('/users/1', ONE)
  expect(answered).toEqual([...Array(3).fill('200 /users?limit=500'), '200 /users/1'])
  await inventory.query('COMMIT')
  await Promise.all(long)
  expect(answered.slice(4)).toEqual(['200 /stock?limit=500', '200 /users?limit=500', '200 /locations?limit=500'])
})
