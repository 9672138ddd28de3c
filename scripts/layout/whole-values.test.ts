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

const route = 'services/auth/src/routes/carts.test.ts'

it.each([
  "it('404: knows no cart', async () => {\n  expect((await get()).statusCode).toBe(404)\n})\n",
  "it.each([1])('404: knows no cart %s', async () => {\n  expect(answer.statusCode).toEqual(404)\n})\n",
  'it(`503: waits`, async () => {\n  expect(status).toBe(503)\n  expect(answer.headers).toEqual({})\n})\n',
])('refuses a refusal whose status alone is compared', async (text) => {
  expect(await problemsOf(wholeValues, { [route]: text })).toEqual([
    `${route}:2 the status alone says little of a refusal: compare the body too`,
  ])
})

it.each([
  [
    'with its body',
    route,
    "it('404: knows no cart', () => { expect(a.statusCode).toBe(404); expect(a.json()).toEqual(b) })",
  ],
  ['in one value', route, "it('404: knows no cart', () => { expect(statusAndBody(a)).toEqual([404, b]) })"],
  [
    'of another request',
    route,
    "it('404: knows no cart', () => { expect(again.statusCode).toBe(200); expect(a).toEqual(b) })",
  ],
  ['of a success', route, "it('200: empties a cart', () => { expect(a.statusCode).toBe(200) })"],
  [
    'in another test',
    route,
    "it('404: knows no cart', () => { expect(a).toEqual(b) })\nexpect(a.statusCode).toBe(404)",
  ],
  [
    'of a page',
    'services/console/src/routes/carts.test.ts',
    "it('404: knows no cart', () => { expect(a.statusCode).toBe(404) })",
  ],
])('allows the status %s', async (_what, path, text) => {
  expect(await problemsOf(wholeValues, { [path]: text })).toEqual([])
})
