import { expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { statements } from './statements.ts'

const useCase = 'services/shop/src/use-cases/sell.ts'
const route = 'services/shop/src/routes/carts.ts'
const controller = 'services/shop/src/controllers/carts.ts'
const refused = (path: string, what: string) =>
  `${path}:1 ${what} stands in a repository, or in a file of the noun that owns the table: call it from here`

it.each([
  ["import { sql } from 'kysely'", 'sql'],
  ["import { type Kysely, sql as text } from 'kysely'", 'sql'],
  ["import * as kysely from 'kysely'", 'sql'],
  ["const rows = await app.deps.db.selectFrom('carts').selectAll().execute()", 'selectFrom(…)'],
  ["await trx.insertInto('carts').values(cart).execute()", 'insertInto(…)'],
  ["await db.updateTable('carts').set(cart).execute()", 'updateTable(…)'],
  ["await db.deleteFrom('carts').execute()", 'deleteFrom(…)'],
  ['await db.executeQuery(query)', 'executeQuery(…)'],
])('refuses a statement where the order of calls is decided: %s', async (text, what) => {
  for (const path of [useCase, route, controller]) {
    expect(await problemsOf(statements, { [path]: `${text}\n` })).toEqual([refused(path, what)])
  }
})

it.each([
  "import type { Kysely } from 'kysely'",
  "import { type Kysely } from 'kysely'",
  'await db.transaction().execute((trx) => insertCart(trx, cart))',
  'const carts = await listCarts(app.deps.db)',
])('allows %s', async (text) => {
  expect(await problemsOf(statements, { [useCase]: `${text}\n`, [route]: `${text}\n` })).toEqual([])
})

it('leaves repositories, tests, plugins and commands alone', async () => {
  const text = "import { sql } from 'kysely'\nawait db.selectFrom('carts').execute()\n"
  const paths = ['carts/cart-repository.ts', 'use-cases/sell.test.ts', 'plugins/guard.ts', 'commands/count.ts']
  const files = Object.fromEntries(paths.map((path) => [`services/shop/src/${path}`, text]))
  expect(await problemsOf(statements, files)).toEqual([])
})
