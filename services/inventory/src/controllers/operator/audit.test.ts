import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectBody } from '../../../test/bodies.ts'
import { startInventory, startReplica, type TestInventory, type TestReplica } from '../../../test/inventory-app.ts'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'

let inventory: TestInventory
let guarded: TestReplica
beforeAll(async () => {
  inventory = await startInventory()
  guarded = await startReplica(inventory.databaseUrl, {}, { operators: testOperators })
  for (const sku of ['A', 'B']) await post('/products', { sku, attributes: {} })
  for (const quantity of [1, 2, 3]) await receive([1], quantity)
  await receive([2, 1], 4)
})
afterAll(async () => {
  await guarded?.close()
  await inventory?.close()
})

let keys = 0
const post = (url: string, payload: object) =>
  guarded.app.inject({
    method: 'POST',
    url,
    headers: { ...operatorHeaders('admin'), 'idempotency-key': `key-${++keys}` },
    payload,
  })
const receive = (products: readonly number[], quantity: number) =>
  post('/movements', {
    lines: products.map((productId) => ({ type: 'receive', productId, locationId: 1, quantity })),
  })
/** Returns the idempotency keys of the changes, in the order of the answer. */
const list = async (url: string) => {
  const answer = await guarded.app.inject({ url, headers: operatorHeaders('viewer') })
  const entries: readonly { readonly idempotencyKey: string }[] = expectBody(200, answer).data
  return {
    keys: entries.map(({ idempotencyKey }) => idempotencyKey),
    next: /<([^>]+)>; rel="next"/.exec(String(answer.headers.link))?.[1],
  }
}

it('200: GET /operator/audit lists the newest changes first, in pages', async () => {
  const first = await list('/operator/audit?limit=4')
  expect(first.keys).toEqual(['key-6', 'key-5', 'key-4', 'key-3'])
  expect(await list(first.next ?? '')).toEqual({ keys: ['key-2', 'key-1'], next: undefined })
})

it('200: GET /operator/audit?order=asc lists the oldest changes first, in pages', async () => {
  const first = await list('/operator/audit?limit=4&order=asc')
  expect(first.keys).toEqual(['key-1', 'key-2', 'key-3', 'key-4'])
  expect(await list(first.next ?? '')).toEqual({ keys: ['key-5', 'key-6'], next: undefined })
})

it('200: GET /operator/audit?product= lists changes of that product and its stock', async () => {
  expect(await list('/operator/audit?product=2')).toEqual({ keys: ['key-6', 'key-2'], next: undefined })
})
