import { expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { wholeValues } from './whole-values.ts'

const paths = ['services/auth/src/carts/cart.test.ts', 'services/auth/test/carts.ts', 'scripts/carts.test.ts']

it.each([
  ['toMatchObject', 'expect(cart).toMatchObject({ id: 1 })'],
  ['toMatchObject', 'await expect(read()).rejects.toMatchObject({ code: 1 })'],
  ['objectContaining', 'expect(carts).toEqual([expect.objectContaining({ id: 1 })])'],
  ['objectContaining', 'expect(cart).toEqual(expect.not.objectContaining({ id: 1 }))'],
  ['arrayContaining', 'expect(ids).toEqual(expect.arrayContaining([1]))'],
])('refuses %s in %s', async (name, statement) => {
  for (const path of paths)
    expect(await problemsOf(wholeValues, { [path]: `read()\n${statement}\n` })).toEqual([
      `${path}:2 ${name} compares a part: compare the whole value by toEqual`,
    ])
})

it.each([
  'expect(cart).toEqual({ id: expect.any(String), note: expect.stringContaining("a") })',
  "it('refuses toMatchObject', () => {})",
  'const objectContaining = 1',
])('allows %s', async (statement) => {
  expect(await problemsOf(wholeValues, { 'services/auth/src/carts/cart.test.ts': statement })).toEqual([])
})
