import { describe, expect, it } from 'vitest'
import { createMemory } from './memory.ts'
import type { Plan } from './plan.ts'
import { toWire } from './wire.ts'

const memory = createMemory({ actors: 1, pools: new Set(['productId']) })
memory.keep(0, 'productId', 7)
const context = { memory, authorize: (role: string, actor: number) => ({ authorization: `${role} ${actor}` }) }
const plan: Plan = {
  ...{ method: 'POST', path: '/products/{productId}', params: {}, ending: '', query: [], headers: [] },
  ...{ body: undefined, credential: 'own', actor: 0 },
}
const spoil = (bytes: Buffer) => bytes
const known = { fromMemory: 'productId', choice: 1, otherwise: 'x' }

const target = (changes: Partial<Plan>) => toWire({ ...plan, ...changes }, context).target
const body = (type: string | undefined, value: unknown) =>
  String(toWire({ ...plan, body: { type, value, spoil } }, context).body)

describe('toWire', () => {
  it('fills places with known values, or with their substitutes', () => {
    expect(target({ params: { productId: known } })).toBe('/products/7')
    expect(target({ params: { productId: { ...known, fromMemory: 'other' } } })).toBe('/products/x')
  })

  it('encodes values in the URL, but not twice', () => {
    expect(
      target({
        params: { productId: 'a/b c' },
        ending: '//',
        query: [
          ['q', 'ü'],
          ['\ud800', '%zz ü'],
        ],
      }),
    ).toBe('/products/a%2Fb%20c//?q=%C3%BC&%ED%A0%80=%zz%20%C3%BC')
  })

  it('writes lists and objects into a query', () => {
    const query: Plan['query'] = [
      ['include', ['meta', 'a,b']],
      ['filter', { test: true, id: known }],
    ]
    expect(target({ params: { productId: 1 }, query })).toBe(
      '/products/1?include=meta,a%2Cb&filter%5Btest%5D=true&filter%5Bid%5D=7',
    )
  })

  it('sends the credentials of the actor', () => {
    const headers = (credential: Plan['credential']) => toWire({ ...plan, credential }, context).headers
    expect([
      headers('own'),
      headers('privileged'),
      headers('none'),
      headers({ header: 'Basic\r\nx: é\u{1f4a9}' }),
    ]).toEqual([
      [['authorization', 'own 0']],
      [['authorization', 'privileged 0']],
      [],
      [['authorization', 'Basicx: é']],
    ])
  })

  it('writes JSON with numbers beyond doubles, and with members called __proto__', () => {
    const value = { a: [{ literal: '1e400' }], ['__proto__']: known, s: '\ud800' }
    expect(body('application/json', value)).toBe('{"a":[1e400],"__proto__":7,"s":"\\ud800"}')
  })

  it('writes forms with brackets, and other texts unchanged', () => {
    const value = { a: { b: [1, true] }, c: { literal: '1e400' }, d: null }
    expect(body('application/x-www-form-urlencoded', value)).toBe('a%5Bb%5D%5B0%5D=1&a%5Bb%5D%5B1%5D=yes&c=1e400&d=')
    expect(body('text/csv', 'sku\nA')).toBe('sku\nA')
  })
})
