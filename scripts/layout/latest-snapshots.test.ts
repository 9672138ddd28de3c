import { expect, it } from 'vitest'
import { latestSnapshots } from './latest-snapshots.ts'
import { problemsOf } from './shop-tree.ts'

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
