import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { countRowsRead } from '../../test/rows-read.ts'
import { listMembersOfMerchant } from '../members/member-repository.ts'
import { HIGHEST, LOWEST } from '../pagination/page-query.ts'
import { listKeys } from './app-key-repository.ts'
import { appsForOperator } from './app-repository.ts'

const APPS = 3_000
const KEYS = 3_000
const LIMIT = 25
const PAGE = { limit: LIMIT, above: LOWEST, below: HIGHEST }

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
  const { id } = await createTestApp(payments)
  await sql`INSERT INTO payments.apps SELECT r.*
    FROM payments.apps a, generate_series(1, ${APPS}::int) n, jsonb_populate_record(a, jsonb_build_object(
      'id', lpad(to_hex(n), 24, '0'), 'name', CASE WHEN n <= 3 THEN 'Zebra' ELSE 'App ' || n END
    )) r WHERE a.id = ${id}`.execute(payments.database.db)
  await sql`ANALYZE payments.apps`.execute(payments.database.db)
})
afterAll(() => payments.close())

const idOf = (number: number) => number.toString(16).padStart(24, '0')

it.each([
  ['a beginning that most have', 'app', Array.from({ length: LIMIT }, (_, index) => idOf(APPS - index))],
  ['a beginning that few have', 'ZEBRA', [idOf(3), idOf(2), idOf(1)]],
  ['what none has', 'x', []],
])('a search among many apps looks at few rows for %s', async (_which, search, expected) => {
  const { found, rows } = await countRowsRead(payments, 'apps', (pools) =>
    appsForOperator.page(pools, { ...PAGE, order: 'newest-first', search }),
  )
  expect([found.rows.map(({ id }) => id), found.cutAt]).toEqual([expected, undefined])
  // The rows that the index finds, the rows that the scan by id reads, and the rows of the page.
  expect(rows).toBeLessThan(501 + 500 + 100)
})

it('lists look at few keys of an app that has many, most of them revoked, and at none for others', async () => {
  const { db } = payments.database
  const { id, ...app } = await createTestApp(payments)
  const merchant = await createTestMerchant(payments, { id, ...app })
  const first = db.selectFrom('app_keys').select('mac').where('app_id', '=', id)
  const { mac: keyMac } = await first.executeTakeFirstOrThrow()
  await sql`INSERT INTO payments.app_keys (id, app_id, mac, hint, created, revoked)
    SELECT 'f' || lpad(to_hex(n), 23, '0'), ${id}, sha256(n::text::bytea), 'many', now(), CASE WHEN n > 100 THEN now() END
    FROM generate_series(1, ${KEYS}::int) n`.execute(db)
  await sql`ANALYZE payments.app_keys`.execute(db)
  const search = (wanted: string) => ({ ...PAGE, order: 'newest-first' as const, search: wanted })
  const ofOther = await countRowsRead(payments, 'app_keys', (pools) => appsForOperator.page(pools, search(idOf(1))))
  const ofAll = await countRowsRead(payments, 'app_keys', (pools) => appsForOperator.page(pools, search(id)))
  const own = await countRowsRead(payments, 'app_keys', (pools) => listKeys(pools, { ...PAGE, keyMac }, 'newest-first'))
  const members = await countRowsRead(payments, 'app_keys', (pools) => listMembersOfMerchant(pools, merchant.id))
  const counts = [ofOther.found.rows[0]?.keys, ofAll.found.rows[0]?.keys, own.found.keys, members.found.apps]
  expect(counts.map((listed) => listed?.length)).toEqual([0, LIMIT, LIMIT, 1])
  const [other, ...many] = [ofOther, ofAll, own, members].map(({ rows }) => rows)
  expect(other).toBe(0)
  // The two additional rows are reads of the calling app by its key.
  expect(Math.max(...many)).toBeLessThanOrEqual(LIMIT + 2)
})
