import { describe, expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { testsBeside, wholeValues } from './tests.ts'

describe('wholeValues', () => {
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
})

describe('testsBeside', () => {
  const route = 'services/auth/src/routes/carts.ts'
  const controller = 'services/inventory/src/controllers/carts/items.ts'

  it('refuses a route and a controller without a test beside them', async () => {
    expect(await problemsOf(testsBeside, { [route]: '', [controller]: '' })).toEqual([
      `${route} has no test beside it: write services/auth/src/routes/carts.test.ts`,
      `${controller} has no test beside it: write services/inventory/src/controllers/carts/items.test.ts`,
    ])
  })

  it('refuses a route whose test is elsewhere', async () => {
    const files = { [route]: '', 'services/auth/test/carts.test.ts': '' }
    expect(await problemsOf(testsBeside, files)).toHaveLength(1)
  })

  it('allows a route whose test beside it is a long one', async () => {
    expect(await problemsOf(testsBeside, { [route]: '', 'services/auth/src/routes/carts.long.test.ts': '' })).toEqual(
      [],
    )
  })

  it('allows a route with a test beside it, and files of other folders without one', async () => {
    const files = { [route]: '', 'services/auth/src/routes/carts.test.ts': '', 'services/auth/src/carts/cart.ts': '' }
    expect(await problemsOf(testsBeside, files)).toEqual([])
  })
})
