import { type Kysely, sql } from 'kysely'
import { insertOperatorAudit } from '../audit/audit-repository.ts'
import type { PaymentsTables } from '../database.ts'
import { hashToken } from '../invitations/invitation.ts'

/** Invites somebody to register one app, and answers the code: it is kept as a digest alone, and good for 14 days. */
export async function inviteApp(
  db: Kysely<PaymentsTables>,
  { code, note }: { readonly code: string; readonly note: string | null },
): Promise<{ readonly code: string; readonly expires: Date }> {
  return db.transaction().execute(async (trx) => {
    const { expires } = await trx
      .insertInto('app_invitations')
      .values({ code_hash: hashToken(code), note, created: sql`now()`, expires: sql`now() + interval '14 days'` })
      .returning('expires')
      .executeTakeFirstOrThrow()
    await insertOperatorAudit(trx, { action: 'app.invited', payload: { note, expires } })
    return { code, expires }
  })
}

/** Whether members see a hint of the key of an app without a name. @throws Error when there is no such app */
export async function updateAppHidden(db: Kysely<PaymentsTables>, id: string, hidden: boolean): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const { numUpdatedRows } = await trx.updateTable('apps').set({ hidden }).where('id', '=', id).executeTakeFirst()
    if (numUpdatedRows === 0n) throw new Error(`there is no app ${id}`)
    await insertOperatorAudit(trx, { action: hidden ? 'app.hidden' : 'app.shown', payload: { appId: id } })
  })
}

/** Revokes every key of an app, and answers how many were good until now. @throws Error when there is no such app */
export async function revokeAllKeys(db: Kysely<PaymentsTables>, id: string): Promise<number> {
  return db.transaction().execute(async (trx) => {
    // The lock under which an app revokes its own keys, so that none is made or kept meanwhile.
    const app = await trx.selectFrom('apps').select('id').where('id', '=', id).forUpdate().executeTakeFirst()
    if (!app) throw new Error(`there is no app ${id}`)
    const { numUpdatedRows } = await trx
      .updateTable('app_keys')
      .set({ revoked: sql`now()` })
      .where('app_id', '=', id)
      .where('revoked', 'is', null)
      .executeTakeFirst()
    await insertOperatorAudit(trx, { action: 'app.keys-revoked', payload: { appId: id } })
    return Number(numUpdatedRows)
  })
}
