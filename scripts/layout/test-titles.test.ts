import { expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { testTitles } from './test-titles.ts'

const path = 'services/auth/src/carts/cart.test.ts'
const read = (text: string) => problemsOf(testTitles, { [path]: text })

it.each(['%s', '%j', '%s: %j', '$name', '%j → %i %s', '$status $code: $title', '%.40s', '%# %s'])(
  'refuses the title %j',
  async (title) => {
    const refused = `${path}:1 the title "${title}" says no guarantee: add a verb`
    expect(await read(`it.each([])('${title}', () => {})`)).toEqual([refused])
    expect(await read(`describe.each([])('${title}', () => {})`)).toEqual([refused])
  },
)

it.each([
  'judges %s',
  'runs a %s',
  'divides %d cores',
  'works with %j',
  'handles $name',
  'checks the %s',
  'decides %s',
  'reads %j',
  'parses the %s',
  '200: reads %s',
  '%i: checks %s',
  'renders %s',
  'compares $case',
  'splits %s',
  'writes %j',
])('refuses the title %j, whose verb has no outcome', async (title) => {
  const refused = `${path}:1 the title "${title}" says no guarantee: add the outcome`
  expect(await read(`it.each([])('${title}', () => {})`)).toEqual([refused])
})

it.each([
  'judges %s: %s',
  '%j is %j',
  'reads %j as %j',
  'reads $0 as $2',
  'of %s=%j is %s',
  'rounds %s/%s to %s',
  '%i: writes %.40s as %j',
  '%s %j becomes %j',
])('refuses the title %j, which does not say what its values are', async (title) => {
  const refused = `${path}:1 the title "${title}" says no guarantee: say what the values are`
  expect(await read(`it.each([])('${title}', () => {})`)).toEqual([refused])
})

it.each([
  'judges card %s: %s',
  'runs a %s once',
  'divides %d cores as %j',
  'checks %s before it answers',
  'judges nobody',
])('allows the title %j, which has an outcome', async (title) => {
  expect(await read(`it.each([])('${title}', () => {})`)).toEqual([])
})

it('refuses such a title of a multi-line table, at its line', async () => {
  const text = "describe('carts', () => {\n  it.each<[string]>([\n    ['a'],\n  ])('%s', () => {})\n})\n"
  expect(await read(text)).toEqual([`${path}:2 the title "%s" says no guarantee: add a verb`])
})

it('allows titles with words, and calls that are no tests', async () => {
  const text = "it.each([])('refuses %s', () => {})\nit('works', () => {})\nformat('%s')\nit.each('%s')\n"
  expect(await read(text)).toEqual([])
})

it('reads no files that are not tests', async () => {
  expect(await problemsOf(testTitles, { 'services/auth/src/carts/cart.ts': "it('%s', () => {})" })).toEqual([])
})

it.each([
  '401, 403 and 404: refuses strangers',
  '200, 400: stores all products, or none',
  '200 or 503: follows the setting',
  '201, else 400: each text as SKU',
  '200: shows the product; 304 for a client that has it',
  'opens what any key sealed; the first key seals',
])('refuses the title %j, which joins guarantees', async (title) => {
  const refused = `${path}:1 the title "${title}" joins guarantees: give each a test`
  expect(await read(`it('${title}', () => {})`)).toEqual([refused])
  expect(await read(`it.each([])(\`${title}\`, () => {})`)).toEqual([refused])
})

it.each([
  '200 and 422: accepts one of many parallel uses of a code',
  '201: one of 200 requests creates it, and 199 get 409',
  '400: refuses more than 100 values in all lists',
])('allows the title %j, which has one guarantee', async (title) => {
  expect(await read(`it('${title}', () => {})`)).toEqual([])
})

it('allows a semicolon in the title of a group', async () => {
  expect(await read("describe('GET /carts; GET /items', () => {})")).toEqual([])
})

it.each(['services/auth/src/routes/carts.test.ts', 'services/stock/src/controllers/carts/items.test.ts'])(
  'refuses a title without a status in %s',
  async (route) => {
    const refused = `${route}:1 the title "empties the cart" has no status: begin it with one, such as "200: "`
    expect(await problemsOf(testTitles, { [route]: "it('empties the cart', () => {})" })).toEqual([refused])
    expect(await problemsOf(testTitles, { [route]: 'it.each([])(`empties the cart`, () => {})' })).toEqual([refused])
  },
)

const route = 'services/auth/src/routes/carts.test.ts'

it.each([
  '200: empties the cart',
  '%i: empties a cart with %s',
  '$status: empties a cart with $name',
  '500 RECORD_CHANGED: refuses a cart that was changed past the service',
  '200 and 409: empties a cart once for parallel requests',
])('allows the title %j of a route', async (title) => {
  const text = `describe('carts', () => {\n  it('${title}', () => {})\n})`
  expect(await problemsOf(testTitles, { [route]: text })).toEqual([])
})

it('allows titles without a status in other tests', async () => {
  expect(await read("it('empties the cart', () => {})")).toEqual([])
})
