import { describe, expect, it } from 'vitest'
import { createMemory, nounOf } from './memory.ts'

const pools = new Set(['productId', 'merchantId', 'transactionId', 'hint', 'refreshToken', 'sku'])

describe('nounOf', () => {
  it.each([
    ['/products/7', 'product'],
    ['/merchants/0123/lines/', 'line'],
    ['/admin/custom-providers/custom:x', 'customProvider'],
    ['/user/identities', 'identity'],
    ['/', ''],
  ])('finds in the path %s the noun %j', (path, noun) => {
    expect(nounOf(path)).toBe(noun)
  })
})

describe('createMemory', () => {
  it('names ids by their objects, and other members by their own names', () => {
    const memory = createMemory({ actors: 1, pools })
    memory.learn(0, '/products', { statusCode: 201, data: { id: 7, sku: 'A' } })
    memory.learn(0, '/apps', { merchant: { id: 'm' }, refresh_token: 'r' })
    memory.learn(0, '/merchants/m/transactions', [{ id: 't1' }, { id: 't2' }])
    memory.learn(0, '/payments/challenges/card-lookup', { hints: ['h'] })
    expect([...pools].map((pool) => [pool, memory.all(pool)])).toEqual([
      ['productId', [7]],
      ['merchantId', ['m']],
      ['transactionId', ['t2', 't1']],
      ['hint', ['h']],
      ['refreshToken', ['r']],
      ['sku', ['A']],
    ])
  })

  it('picks by the choice: an own value, else one of another actor, else none', () => {
    const memory = createMemory({ actors: 2, pools })
    for (let count = 1; count <= 20; count += 1) memory.keep(0, 'productId', count)
    const picked = Array.from({ length: 300 }, (_, choice) => memory.pick(0, 'productId', choice))
    expect(picked).toEqual(Array.from({ length: 300 }, (_, choice) => memory.pick(0, 'productId', choice)))
    expect(picked.filter((value) => value === 20).length).toBeGreaterThan(100)
    expect(new Set(picked).size).toBeGreaterThan(4)
    // The memory is full, so the oldest values have been dropped.
    expect(picked).not.toContain(8)
    expect([memory.pick(1, 'productId', 1), memory.pick(1, 'sku', 1)]).toEqual([20, undefined])
  })
})
