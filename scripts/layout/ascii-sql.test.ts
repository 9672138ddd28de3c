import { expect, it } from 'vitest'
import { asciiSql } from './ascii-sql.ts'
import { problemsOf } from './shop-tree.ts'

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
