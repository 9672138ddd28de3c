import { createHash } from 'node:crypto'
import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { PkceChallenge } from './pkce.ts'

/** How the user will have signed in when the code is exchanged: the `amr` of the session (contract 5.1). */
export type FlowMethod = 'email/signup' | 'magiclink' | 'recovery' | 'invite' | 'email_change'

/** Remembers the challenge of a mail's PKCE flow. @returns the id of its row */
export async function insertMailFlow(
  trx: Transaction<AuthDatabase>,
  userId: string,
  method: FlowMethod,
  { challenge, method: challengeMethod }: PkceChallenge,
): Promise<string> {
  const { id } = await trx
    .insertInto('flow_state')
    .values({
      user_id: userId,
      provider_type: 'email',
      authentication_method: method,
      code_challenge: challenge,
      code_challenge_method: challengeMethod,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Binds an auth code to a flow whose mail was just confirmed. False when the flow has been cleaned up. */
export async function issueAuthCode(
  trx: Transaction<AuthDatabase>,
  flowStateId: string,
  { code, now }: { readonly code: string; readonly now: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('flow_state')
    .set({ auth_code_hash: hashAuthCode(code), auth_code_issued_at: now })
    .where('id', '=', flowStateId)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** How an auth code lies in its row. */
function hashAuthCode(code: string): Buffer {
  return createHash('sha256').update(code).digest()
}
