import { expect, it } from 'vitest'
import { objectSpreads } from './object-spreads.ts'
import { problemsOf } from './shop-tree.ts'

const cart = 'services/shop/src/carts/cart.ts'
const message = 'an object spreads a literal only to save lines: name the members one by one'

it.each([
  ['a literal', 'const cart = {\n  ...{ id, owner },\n  total,\n}', [2]],
  ['several literals', 'const cart = {\n  ...{ id, owner },\n  ...{ total: 1 },\n}', [2, 3]],
  ['a literal in a call', 'insertCart({\n  items,\n  ...{ id, owner } })', [3]],
  ['a literal around a variable', 'const cart = { ...{ ...found, owner } }', [1]],
])('refuses an object that spreads %s', async (_, text, lines) => {
  expect(await problemsOf(objectSpreads, { [cart]: text })).toEqual(lines.map((line) => `${cart}:${line} ${message}`))
})

it('allows spreads of variables, calls and conditions, and spreads of lists', async () => {
  const text = [
    'const cart = { ...found, ...toColumns(caller), owner }',
    'const sent = { ...(isPaid && { paid }), ...(owner === undefined ? {} : { owner }) }',
    "const names = [...['pear', 'plum'], ...others]",
  ]
  expect(await problemsOf(objectSpreads, { [cart]: text.join('\n') })).toEqual([])
})

it('allows tests their builders', async () => {
  const builder = 'export const cartOf = (more) => ({ ...{ id, owner }, ...more })'
  expect(await problemsOf(objectSpreads, { 'services/shop/test/carts.ts': builder })).toEqual([])
})
