import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { createNames } from '@trestle/database/names.ts'
import { type Kysely, sql } from 'kysely'
import { expect, it } from 'vitest'
import { openTestApp } from '../../../test/auth-app.ts'
import { copyAuditLog, countRefusedPayloads } from './copy-audit-log.ts'

const [ACTOR, USER] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']
const NOBODY = '00000000-0000-0000-0000-000000000000'
const HYPHENS = '-'.repeat(36)

const { stringify } = JSON
const PAYLOADS = [
  stringify({ action: 'login', log_type: 'account', actor_id: ACTOR, traits: { user_id: USER } }),
  stringify({ action: 'user_deleted', actor_id: NOBODY, traits: { user_id: HYPHENS } }),
  stringify({ actor_id: 'the operator' }),
]

const names = createNames('auth')
const places = { names, kept: 'upstream' }

/** Runs `use` with a database that has an audit log of the old service. */
async function withEntries(
  payloads: readonly (string | null)[],
  use: (db: Kysely<unknown>) => Promise<void>,
): Promise<void> {
  const test = await openTestApp()
  await withDatabase({ url: test.database.directUrl }, async (db) => {
    await sql`CREATE SCHEMA upstream`.execute(db)
    await sql`
      CREATE TABLE upstream.audit_log_entries (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(), payload json, created_at timestamptz, ip_address varchar(64) NOT NULL)`.execute(
      db,
    )
    for (const payload of payloads)
      await sql`
        INSERT INTO upstream.audit_log_entries (payload, created_at, ip_address)
        VALUES (${payload}::json, '2026-01-01 10:00:00+00', '192.0.2.1')`.execute(db)
    await use(db)
  })
  await test.close()
}

it('copies the ids of an entry, and leaves a text that is no id out, such as 36 hyphens', async () => {
  await withEntries([...PAYLOADS, null], async (db) => {
    const copied = [await copyAuditLog(db, places), await copyAuditLog(db, places)]
    expect(copied).toEqual([
      { copied: 3, rewritten: 0 },
      { copied: 0, rewritten: 0 },
    ])
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
})

const inOrder = (rows: readonly object[]) =>
  rows.map((row) => [JSON.stringify(row), row] as const).toSorted(([a], [b]) => (a < b ? -1 : 1))

/** Payloads that `json` accepts and `jsonb` rejects, each with its copy. */
const REFUSED = [
  [String.raw`{"action":"a\u0000b","actor_id":"${ACTOR}"}`, { action: 'a\ufffdb', actor_id: ACTOR }],
  [String.raw`{"action":"\ud800","log_type":"\uDFFF\ud83d\ude00"}`, { action: '\ufffd', log_type: '\ufffd😀' }],
  [String.raw`{"action":"\ud83d\ud83d\ude00\ude00"}`, { action: '\ufffd😀\ufffd' }],
  [String.raw`{"action":"\\\u0000\\u0000"}`, { action: '\\\ufffd\\u0000' }],
  // A replacement in quadratic time would take minutes for this text.
  [`{"action":"${String.raw`\u0000`.repeat(40_000)}"}`, { action: '\ufffd'.repeat(40_000) }],
  ['{"action":"big","count":1e200000}', { text: '{"action":"big","count":1e200000}' }],
] as const

it('copies an entry that jsonb refuses with another payload, counts it, and keeps all others as they are', async () => {
  const fine = String.raw`{"action":"\\u0000 \ud83d\ude00"}`
  await withEntries([...REFUSED.map(([payload]) => payload), fine], async (db) => {
    const upstream = createNames('upstream')
    expect(await countRefusedPayloads(db, { names: upstream })).toBe(REFUSED.length)
    expect(await copyAuditLog(db, places)).toEqual({ copied: REFUSED.length + 1, rewritten: REFUSED.length })
    const { rows } = await sql<{ payload: object; actor: string | null }>`
      SELECT payload, actor_id AS actor FROM ${names.id('audit_log_entries')} ORDER BY payload::text`.execute(db)
    const copied = [...REFUSED.map(([, payload]) => payload), JSON.parse(fine)]
    const actorOf = (payload: object) => ('actor_id' in payload ? ACTOR : null)
    expect(inOrder(rows)).toEqual(inOrder(copied.map((payload) => ({ payload, actor: actorOf(payload) }))))
    const left = await sql`SELECT proname FROM pg_proc WHERE proname = 'trestle_read_payload'`.execute(db)
    expect(left.rows).toEqual([])
  })
})
