import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { json } from './any-json.ts'
import { refusedBody } from './bodies.ts'
import { startInventory, type TestInventory } from './inventory-app.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())

let serial = 0
const post = (payload: string) =>
  inventory.app.inject({
    method: 'POST',
    url: '/products',
    headers: { 'content-type': 'application/json' },
    payload,
  })

/** JSON in one canonical form, with sorted keys and plain numbers: equal values have equal texts. */
function canonical(source: string): unknown {
  return JSON.parse(source, (_key, value: unknown, context?: { source?: string }) => {
    if (typeof value === 'number') return `number ${plainNumber(context?.source ?? '')}`
    if (typeof value === 'string') return `text ${value}`
    return value
  })
}

function plainNumber(literal: string): string {
  const [mantissa = '', exponent = '0'] = literal.toLowerCase().split('e')
  const plain = mantissa + '0'.repeat(Number(exponent))
  return /^-0(\.0*)?$/.test(plain) ? plain.slice(1) : plain
}

describe('attributes', () => {
  it('come back exactly as sent, as text and as object, in one product and in the list', async () => {
    await fc.assert(
      fc.asyncProperty(json, fc.boolean(), async (attributes, asMember) => {
        fc.pre(attributes !== 'null')
        const isComposite = /^[[{]/.test(attributes)
        const member = asMember && isComposite ? attributes : JSON.stringify(attributes)
        const created = await post(`{"sku":"round-${++serial}","attributes":${member}}`)
        expect(created.statusCode).toBe(201)
        const { id } = created.json().data
        const one = await inventory.app.inject({ url: `/products/${id}` })
        const list = await inventory.app.inject({ url: '/products?limit=10&sort=-id' })
        const kept = /"attributes":(.*)\}\}$/s.exec(one.body)?.[1] ?? ''
        expect(canonical(kept)).toEqual(canonical(attributes))
        expect(list.body).toContain(`"attributes":${kept}}`)
      }),
      { numRuns: 150 },
    )
  })
})

describe('parallel POST /products', () => {
  it('201: one of 200 requests with one SKU creates it, and 199 get 409', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => post('{"sku":"race","attributes":"{}"}')))
    const refused = answers.filter(({ statusCode }) => statusCode !== 201).map((answer) => answer.json())
    const taken = refusedBody(409, 'CONFLICT', 'A product with this sku already exists.')
    expect(refused).toEqual(Array(199).fill(taken))
    expect(await inventory.query(`SELECT count(*) FROM inventory.products WHERE sku = 'race'`)).toEqual([
      { count: '1' },
    ])
  })

  it('201: different SKUs all succeed, each with its own id and revision', async () => {
    const skus = Array.from({ length: 200 }, (_, at) => `parallel-${at}`)
    const answers = await Promise.all(skus.map((sku) => post(JSON.stringify({ sku, attributes: '{}' }))))
    expect(new Set(answers.map((answer) => answer.json().data.id)).size).toBe(200)
    const rows = await inventory.query(
      `SELECT count(DISTINCT revision) FROM inventory.products WHERE sku LIKE 'parallel-%' AND version = 1`,
    )
    expect(rows).toEqual([{ count: '200' }])
  })
})
