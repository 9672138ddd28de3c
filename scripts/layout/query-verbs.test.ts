import { expect, it } from 'vitest'
import { queryVerbs } from './query-verbs.ts'
import { problemsOf } from './shop-tree.ts'

const carts = 'services/shop/src/carts/cart-repository.ts'
const list = '| Verb | Query |\n|---|---|\n| `find…` | perhaps |\n| `insert…`, `delete…` | writes |\n'

/** The problems of a repository of carts with such functions. */
function problemsOfCarts(text: string, table = list): Promise<readonly string[]> {
  return problemsOf(queryVerbs, { 'CONTRIBUTING.md': table, [carts]: text })
}

it.each([
  ['an async function', 'export async function keepCart(db) {}'],
  ['a function that returns a promise', 'export function keepCart(db): Promise<void> {}'],
  ['an async generator', 'export async function* keepCart(db) {}'],
  ['an arrow function', 'export const keepCart = async (db) => {}'],
])('refuses %s whose name begins with no verb of the table', async (_, text) => {
  expect(await problemsOfCarts(`\n${text}\n`)).toEqual([
    `${carts}:2 keepCart begins with no verb of the table in CONTRIBUTING.md`,
  ])
})

it('refuses a name that only begins with the letters of a verb', async () => {
  expect(await problemsOfCarts('export async function finder(db) {}')).toHaveLength(1)
})

it('refuses every query when the table is gone', async () => {
  expect(await problemsOfCarts('export async function findCart(db) {}', 'No table.')).toHaveLength(1)
})

it('allows the verbs of the table', async () => {
  const text = ['findCart', 'insertCart', 'deleteCart'].map((name) => `export async function ${name}(db) {}\n`)
  expect(await problemsOfCarts(text.join(''))).toEqual([])
})

it('allows functions that ask no database, functions of the file alone, and files that are no repository', async () => {
  const text = 'export function toCart(row): Cart {}\nasync function touchRow(db) {}\nexport const columns = sql``\n'
  const files = {
    'CONTRIBUTING.md': list,
    'services/shop/src/carts/touch.ts': 'export async function keepCart(db) {}',
  }
  expect(await problemsOf(queryVerbs, { ...files, [carts]: text })).toEqual([])
})
