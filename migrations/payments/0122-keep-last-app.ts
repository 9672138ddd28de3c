// Why: the only app of a merchant could remove itself; nobody reached the merchant and its money through the API any more.
import type { Kysely } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { anySpacing, editFunction } from './edit-function.ts'

/**
 * All apps of the merchant are locked, so that of two that remove themselves, or each other, at once the second sees that one
 * alone is left. A person who looks after the merchant may remove it.
 */
function editOf(names: Names) {
  const [members, apps] = ['merchant_apps', 'apps'].map((name) => `"${names.schema}"."${names.prefix}${name}"`)
  const before = `DELETE FROM ${members} a WHERE a.merchant_id = p_merchant_id AND a.app_id = p_app_id;`
  const after = `PERFORM FROM ${members} a WHERE a.merchant_id = p_merchant_id ORDER BY a.app_id FOR UPDATE;
      IF p_app_id IS NOT NULL AND EXISTS (SELECT FROM ${apps} a WHERE a.id = identity_id) AND NOT EXISTS (
        SELECT FROM ${members} a WHERE a.merchant_id = p_merchant_id AND a.app_id <> p_app_id
      ) THEN
        verdict := 'last-app'; RETURN NEXT; RETURN;
      END IF;
      ${before}`
  return { before, after }
}

export const keepLastApp: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    const { before, after } = editOf(names)
    await editFunction(db, names, { name: 'revoke_app', from: anySpacing(before), to: after })
  },
  async down(db: Kysely<unknown>) {
    const { before, after } = editOf(names)
    await editFunction(db, names, { name: 'revoke_app', from: anySpacing(after), to: before })
  },
})
