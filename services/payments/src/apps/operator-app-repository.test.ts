import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestApp, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { countRowsRead } from '../../test/rows-read.ts'
import { HIGHEST, LOWEST } from '../pagination/page-query.ts'
import { listOperatedApps } from './operator-app-repository.ts'

const APPS = 3_000
const LIMIT = 25

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
  const { id } = await createTestApp(payments)
  await sql`INSERT INTO payments.apps SELECT (jsonb_populate_record(a, jsonb_build_object(
      'id', lpad(to_hex(n), 24, '0'), 'name', CASE WHEN n <= 3 THEN 'Zebra' ELSE 'App ' || n END
    ))).* FROM payments.apps a, generate_series(1, ${APPS}::int) n WHERE a.id = ${id}`.execute(payments.database.db)
  await sql`ANALYZE payments.apps`.execute(payments.database.db)
}, 60_000)
afterAll(() => payments.close())

const idOf = (number: number) => number.toString(16).padStart(24, '0')

it.each([
  ['a beginning that most have', 'app', Array.from({ length: LIMIT }, (_, index) => idOf(APPS - index))],
  ['a beginning that few have', 'ZEBRA', [idOf(3), idOf(2), idOf(1)]],
  ['what none has', 'x', []],
])('a search among many apps looks at few rows for %s', async (_which, search, expected) => {
  const page = { limit: LIMIT, above: LOWEST, below: HIGHEST, order: 'newest-first' as const }
  const { found, rows } = await countRowsRead(payments, 'apps', (lanes) => listOperatedApps(lanes, { ...page, search }))
  expect(found.map(({ id }) => id)).toEqual(expected)
  expect(rows).toBeLessThan(501 + 100)
})
