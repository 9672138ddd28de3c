import { afterAll, beforeAll, expect, it } from 'vitest'
import { startInventory, type TestInventory } from './inventory-app.ts'

const [ONE, TWO] = ['192.0.2.1', '192.0.2.2']
let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory({ INVENTORY_DB_STATEMENT_TIMEOUT_MS: '60000' })
})
afterAll(() => inventory.close())

it('lists of one client run two at a time, and keep no other client waiting', async () => {
  const answered: string[] = []
  const get = async (url: string, remoteAddress: string) => {
    const { statusCode } = await inventory.app.inject({ url, remoteAddress })
    answered.push(`${statusCode} ${url}`)
  }
  await inventory.query('BEGIN')
  await inventory.query('LOCK TABLE inventory.stock_levels IN ACCESS EXCLUSIVE MODE')
  const paths = ['/stock?limit=1', '/stock?limit=2', '/users', '/locations']
  const lists = paths.map((path) => get(path, ONE))
  for (let count = 0; count < 3; count += 1) await get('/users', TWO)
  // Only lists need a slot.
  await get('/users/1', ONE)
  expect(answered).toEqual([...Array(3).fill('200 /users'), '200 /users/1'])
  await inventory.query('COMMIT')
  await Promise.all(lists)
  expect(answered.slice(4).sort()).toEqual(paths.map((path) => `200 ${path}`).sort())
})
