import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { createNames } from '@trestle/database/names.ts'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { copyAuditLog } from './copy-audit-log.ts'

const [ACTOR, USER] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']
const NOBODY = '00000000-0000-0000-0000-000000000000'
const HYPHENS = '-'.repeat(36)

const { stringify } = JSON
/** The payloads of the old service. */
const PAYLOADS = [
  stringify({ action: 'login', log_type: 'account', actor_id: ACTOR, traits: { user_id: USER } }),
  stringify({ action: 'user_deleted', actor_id: NOBODY, traits: { user_id: HYPHENS } }),
  stringify({ actor_id: 'the operator' }),
]

it('copies the ids of an entry, and leaves a text that is no id out, such as 36 hyphens', async () => {
  const test = await openTestApp()
  await withDatabase({ url: test.database.directUrl }, async (db) => {
    const kept = 'upstream'
    await sql`CREATE SCHEMA upstream`.execute(db)
    await sql`
      CREATE TABLE upstream.audit_log_entries (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(), payload json, created_at timestamptz, ip_address varchar(64) NOT NULL)`.execute(
      db,
    )
    for (const payload of [...PAYLOADS, null])
      await sql`
        INSERT INTO upstream.audit_log_entries (payload, created_at, ip_address)
        VALUES (${payload}::json, '2026-01-01 10:00:00+00', '192.0.2.1')`.execute(db)
    const names = createNames('auth')
    const copied = [await copyAuditLog(db, { names, kept }), await copyAuditLog(db, { names, kept })]
    expect(copied).toEqual([3, 0])
    const { rows } = await sql`
      SELECT actor_id, target_user_id, action, log_type, ip_address FROM ${names.id('audit_log_entries')} ORDER BY action DESC`.execute(
      db,
    )
    const ip_address = '192.0.2.1'
    expect(rows).toEqual([
      { actor_id: null, target_user_id: null, action: 'user_deleted', log_type: '', ip_address },
      { actor_id: ACTOR, target_user_id: USER, action: 'login', log_type: 'account', ip_address },
      { actor_id: null, target_user_id: null, action: '', log_type: '', ip_address },
    ])
  })
  await test.close()
})
