import { createReadiness } from '@trestle/common/lifecycle/readiness.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusedBody } from '../../test/bodies.ts'
import { startInventory, startReplica, type TestInventory } from '../../test/inventory-app.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())

describe('GET /ready', () => {
  it('200: answers when the process can serve', async () => {
    const response = await inventory.app.inject({ url: '/ready' })
    expect([response.statusCode, response.json()]).toEqual([200, { status: 'ready' }])
  })

  it('503: refuses while the process is about to stop', async () => {
    const readiness = createReadiness({})
    const replica = await startReplica(inventory.databaseUrl, {}, { readiness })
    readiness.drain()
    const response = await replica.app.inject({ url: '/ready' })
    expect([response.statusCode, response.json()]).toEqual([
      503,
      refusedBody(503, 'SERVICE_UNAVAILABLE', 'The process is draining'),
    ])
    await replica.close()
  })
})
