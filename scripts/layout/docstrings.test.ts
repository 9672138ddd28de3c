import { describe, expect, it } from 'vitest'
import { docstrings } from './docstrings.ts'
import { problemsOf } from './shop-tree.ts'

const path = 'services/shop/src/items/item.ts'
const refused = (line: number, name: string) =>
  `${path}:${line} exports ${name} without a docstring: say what its signature does not`

describe('docstrings of exports', () => {
  it.each([
    ['export function price() {}', refused(1, 'price')],
    ['export const PRICE_MAX = 1', refused(1, 'PRICE_MAX')],
    ['export interface Price {}', refused(1, 'Price')],
    ['export type Price = bigint', refused(1, 'Price')],
    ['export class Price {}', refused(1, 'Price')],
    ['export type SellDeps = Pick<Deps, "now">', refused(1, 'SellDeps')],
    ['// A comment is not a docstring.\nexport type Price = bigint', refused(2, 'Price')],
    ['/** About the file. */\n\nconst one = 1\nexport type Price = bigint', refused(4, 'Price')],
  ])('refuses %j', async (text, problem) => {
    expect(await problemsOf(docstrings, { [path]: `${text}\n` })).toEqual([problem])
  })

  it.each([
    '/** In minor units. */\nexport type Price = bigint',
    '/** In minor units. */\nexport function price(a: 1): 1\nexport function price(a: 2): 2\nexport function price(a) {\n  return a\n}',
    'type Price = bigint',
  ])('allows %j', async (text) => {
    expect(await problemsOf(docstrings, { [path]: `${text}\n` })).toEqual([])
  })

  it.each([
    ['Of items.', 'Of'],
    ['Where an item is.', 'Where'],
    ['What an item costs.', 'What'],
    ['Which items are sold.', 'Which'],
    ['Who sells.', 'Who'],
    ['Whoever sells has a price.', 'Whoever'],
    ['Whom to ask.', 'Whom'],
    ['Whose item it is.', 'Whose'],
    ['Its price.', 'Its'],
    ['By price.', 'By'],
    ['Such as 995.', 'Such'],
    ['That which was asked.', 'That'],
    ['These are sold.', 'These'],
    ['Those of a shop.', 'Those'],
    ['The one that is sold.', 'The one that'],
    ['The ones of a shop.', 'The ones of'],
  ])('refuses the docstring %j, which names no thing first', async (text, opening) => {
    expect(await problemsOf(docstrings, { [path]: `/** ${text} */\nexport type Price = bigint\n` })).toEqual([
      `${path}:1 begins a docstring with "${opening}": name the thing first`,
    ])
  })

  it('refuses such a docstring on several lines, in a test too', async () => {
    const test = 'bench/src/price.test.ts'
    expect(await problemsOf(docstrings, { [test]: '\n/**\n * Where items are.\n */\nconst place = 1\n' })).toEqual([
      `${test}:2 begins a docstring with "Where": name the thing first`,
    ])
  })

  it.each(['Whether an item is sold.', 'How many items there are.', 'The one row of prices.', 'Items by price.'])(
    'allows the docstring %j',
    async (text) => {
      expect(await problemsOf(docstrings, { [path]: `/** ${text} */\nexport type Price = bigint\n` })).toEqual([])
    },
  )

  it.each([
    'services/shop/src/errors.ts',
    'services/shop/src/items/item.test.ts',
    'migrations/shop/0002-create-orders.ts',
  ])('allows exports of %s without a docstring', async (exempt) => {
    expect(await problemsOf(docstrings, { [exempt]: 'export const one = 1\n' })).toEqual([])
  })
})
