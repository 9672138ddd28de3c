// Why: a request for a new key that was sent again under its Idempotency-Key made a second one. The service now draws the same key
// for the same request; here the one that is there is answered.
import type { Kysely } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { anySpacing, editFunction } from './edit-function.ts'

/** Verdicts besides: `replayed` with the key that was made before, `key-spent` where that was revoked since. */
function editOf(names: Names) {
  const keys = `"${names.schema}"."${names.prefix}app_keys"`
  const before = "IF verdict = 'done' AND p_new_mac IS NOT NULL THEN"
  const after = `IF verdict = 'done' AND p_new_mac IS NOT NULL THEN
        SELECT k.id, k.created, CASE WHEN k.revoked IS NULL THEN 'replayed' ELSE 'key-spent' END
          INTO id, created, verdict
          FROM ${keys} k WHERE k.mac = p_new_mac AND k.app_id = identity_id;
        verdict := coalesce(verdict, 'done');
      END IF;
      ${before}`
  return { before, after }
}

export const repeatKeys: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    const { before, after } = editOf(names)
    await editFunction(db, names, { name: 'create_key', from: anySpacing(before), to: after })
  },
  async down(db: Kysely<unknown>) {
    const { before, after } = editOf(names)
    await editFunction(db, names, { name: 'create_key', from: anySpacing(after), to: before })
  },
})
