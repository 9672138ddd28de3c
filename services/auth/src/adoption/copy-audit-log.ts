import { type Kysely, type RawBuilder, sql } from 'kysely'
import { NIL_UUID } from '../records/ids.ts'
import type { AdoptionPlaces } from './adoption-record.ts'

const BATCH_ENTRIES = 10_000

/**
 * Copies the entries of the audit log, some at a time. Those that a run before has copied stay.
 * @returns how many were copied
 */
export async function copyAuditLog(
  db: Kysely<unknown>,
  { names, kept }: Pick<AdoptionPlaces, 'names' | 'kept'>,
): Promise<number> {
  let after = NIL_UUID
  let copied = 0
  for (;;) {
    const { rows } = await sql<{ last: string | null; copied: string }>`
      WITH batch AS (
        SELECT id, payload::jsonb AS payload, created_at, ip_address FROM ${sql.id(kept, 'audit_log_entries')}
        WHERE id > ${after} ORDER BY id LIMIT ${sql.lit(BATCH_ENTRIES)}),
      copied AS (
        INSERT INTO ${names.id('audit_log_entries')}
            (id, actor_id, target_user_id, action, log_type, ip_address, created_at, payload)
          SELECT id, ${idOf(sql`payload ->> 'actor_id'`)}, ${idOf(sql`payload #>> '{traits,user_id}'`)},
              coalesce(payload ->> 'action', ''), coalesce(payload ->> 'log_type', ''), ip_address, coalesce(created_at, 'epoch'),
              payload
            FROM batch WHERE payload IS NOT NULL ON CONFLICT (id) DO NOTHING RETURNING id)
      SELECT max(id::text) AS last, (SELECT count(*) FROM copied) AS copied FROM batch`.execute(db)
    const last = rows[0]?.last ?? null
    copied += Number(rows[0]?.copied ?? 0)
    if (last === null) return copied
    after = last
  }
}

/** A text as an id; NULL where it is none. The nil UUID stands for a caller who is no user. */
function idOf(text: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`CASE WHEN ${text} ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN nullif((${text})::uuid, ${sql.lit(NIL_UUID)}) END`
}
