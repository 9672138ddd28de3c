import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/payments-app.ts'
import { insertOperatorAudit } from './operator-audit-repository.ts'

let database: Awaited<ReturnType<typeof openTestDatabase>>
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

const TAKEN = 700_001

it('an act whose id another server of the cluster has taken gets the next id', async () => {
  const { db } = database.owner
  // Inserts audit rows for each millisecond of the next half minute, all with the same counter in their ids.
  await sql`
    INSERT INTO ${sql.table('audit')} (merchant_id, id, identity_id, action, payload, created)
    SELECT repeat('0', 24), lpad(to_hex(at / 1000), 8, '0') || lpad(to_hex(at % 1000), 3, '0')
      || lpad(to_hex(${sql.lit(TAKEN)}), 5, '0') || '00000000', NULL, 'other', '{}', now()
    FROM (SELECT floor(extract(epoch FROM now()) * 1000)::bigint AS began) clock,
      generate_series(began, began + 30000) at`.execute(db)
  await sql`SELECT setval(${'payments.id_counter'}, ${TAKEN - 1})`.execute(db)
  await insertOperatorAudit(db, { action: 'tested', payload: {} })
  const { rows } = await sql<{ counter: string }>`
    SELECT substr(id, 12, 5) AS counter FROM ${sql.table('audit')} WHERE action = 'tested'`.execute(db)
  expect(rows).toEqual([{ counter: (TAKEN + 1).toString(16).padStart(5, '0') }])
})
