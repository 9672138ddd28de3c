import { describe, expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { asciiSql, latestSnapshots, statements } from './statements.ts'

describe('statements', () => {
  const useCase = 'services/shop/src/use-cases/sell.ts'
  const route = 'services/shop/src/routes/carts.ts'
  const controller = 'services/shop/src/controllers/carts.ts'
  const refused = (path: string, what: string) =>
    `${path}:1 ${what} stands in a repository, or in a file of the module that owns the table: call it from here`

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
})

describe('asciiSql', () => {
  const said = (path: string, line: number, character: string) =>
    `${path}:${line} has ${character} in its SQL, which not every database can have: write it in ASCII`

  it('accepts characters beyond ASCII in comments and texts of TypeScript', async () => {
    const path = 'services/shop/src/items/item-view.ts'
    const text = "// `IN (…)`\n/** The text. */ export const itemView = sql`SELECT 1` + '…'\n"
    expect(await problemsOf(asciiSql, { [path]: text })).toEqual([])
  })

  it('refuses a character beyond ASCII in a SQL file, in its comments too', async () => {
    const path = 'migrations/shop/functions/buy.sql'
    const text = '-- Buys.\n-- As `IN (…)`.\nCREATE OR REPLACE FUNCTION {{buy}}() AS $$ $$;\n'
    expect(await problemsOf(asciiSql, { [path]: text })).toEqual([said(path, 2, '…')])
  })

  it.each([
    'migrations/shop/0001-create-items.ts',
    'services/shop/src/items/item-repository.ts',
    'packages/database/src/connect.ts',
  ])('refuses a character beyond ASCII in a statement of %s', async (path) => {
    const text = '// One.\nexport const query = [sql`SELECT 1,\n  2 -- 2·1\n`, sql<Row>`SELECT 1 -- é`]\n'
    expect(await problemsOf(asciiSql, { [path]: text })).toEqual([said(path, 3, '·'), said(path, 4, 'é')])
  })
})

describe('latestSnapshots', () => {
  const RUN = 'export const run = (db, use) => db.transaction().execute(use)\n'
  const LATEST =
    "export const run = (db, use) => db\n  .transaction()\n  .setIsolationLevel('read committed').execute(use)\n"
  const MESSAGE =
    'a transaction without an isolation level may see what was there before it waited for a lock: use inLatest'

  it.each([
    ['services/shop/src/adoption/record.ts', RUN, 1],
    ['services/shop/src/schema/existing-schema.ts', RUN, 1],
  ])('refuses a transaction without an isolation level in %s', async (path, text, line) => {
    expect(await problemsOf(latestSnapshots, { [path]: text })).toEqual([`${path}:${line} ${MESSAGE}`])
  })

  it.each([
    ['services/shop/src/adoption/record.ts', LATEST],
    ['services/shop/src/adoption/record.test.ts', RUN],
    ['services/shop/src/use-cases/list-items.ts', RUN],
    ['services/shop/src/items/item.ts', RUN],
  ])('allows the transaction of %s', async (path, text) => {
    expect(await problemsOf(latestSnapshots, { [path]: text })).toEqual([])
  })
})
