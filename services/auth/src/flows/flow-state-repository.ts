import { createHash } from 'node:crypto'
import type { Kysely, Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { ExternalAccount } from '../identities/external-account.ts'
import type { Timestamp } from '../users/timestamp.ts'
import { type LinkingTarget, type SealedProviderTokens, toAal } from './authorization-flow-repository.ts'
import type { PkceChallenge } from './pkce.ts'

/**
 * How the user will have signed in when the code is exchanged: the `amr` of the session (reference: Use of a secret).
 */
export type FlowMethod = 'email/signup' | 'magiclink' | 'recovery' | 'invite' | 'email_change' | 'oauth'

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

/** A flow that has ended in a code, which waits for its exchange. */
export interface FinishedFlow {
  readonly id: string
  readonly codeHash: Buffer
  readonly codeIssuedAt: Timestamp
  readonly userId: string
  /** `email`, or the name of an external provider. */
  readonly provider: string
  readonly method: FlowMethod
  readonly pkce: PkceChallenge
  /** Of a sign-in at a provider: since when its identity is a way into the account; null: since the account was made. */
  readonly credentialSince: Timestamp | null
  /** The session in which an identity was to be linked; null: the flow signs in. */
  readonly linkingSessionId: string | null
  /** What the external provider gave, sealed for the flow's id. */
  readonly providerTokens: SealedProviderTokens
  /** The account that the exchange links, and to whose; null: it signs in. */
  readonly link: { readonly account: ExternalAccount; readonly target: LinkingTarget } | null
  /** Where its browser went. */
  readonly redirectTo: string
}

/** Finds the flow of an auth code, where it has a user. */
export async function findFlowByCode(db: Kysely<AuthDatabase>, code: string): Promise<FinishedFlow | undefined> {
  const row = await db
    .selectFrom('flow_state')
    .select(['id', 'auth_code_hash as codeHash', 'auth_code_issued_at as codeIssuedAt', 'user_id as userId'])
    .select(['provider_type as provider', 'authentication_method', 'code_challenge', 'code_challenge_method'])
    .select(['provider_access_token as access', 'provider_refresh_token as refresh', 'referrer'])
    .select(['linked_account as account', 'linking_session_id as sessionId', 'linking_aal as aal'])
    .select('credential_since as credentialSince')
    .where('auth_code_hash', '=', hashAuthCode(code))
    .executeTakeFirst()
  if (!row) return undefined
  const { id, codeHash, codeIssuedAt, userId, provider, access, refresh, credentialSince } = row
  const { authentication_method: method, code_challenge: challenge, code_challenge_method: challengeMethod } = row
  if (codeHash === null || codeIssuedAt === null || userId === null || challenge === null) return undefined
  // Both columns are written by this file alone; the table's check allows no other method of a challenge.
  const pkce = { challenge, method: challengeMethod as PkceChallenge['method'] }
  const target = { userId, sessionId: row.sessionId, aal: toAal(row.aal) }
  const link = row.account && { account: row.account, target }
  return {
    ...{ id, codeHash, codeIssuedAt, userId, provider, pkce, credentialSince, link, linkingSessionId: row.sessionId },
    method: method as FlowMethod,
    providerTokens: { access, refresh },
    redirectTo: row.referrer ?? '',
  }
}

/** Ends a flow. False when another request was first, or the flow has ended in a newer code. */
export async function deleteFlow(
  trx: Transaction<AuthDatabase>,
  { id, codeHash }: Pick<FinishedFlow, 'id' | 'codeHash'>,
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('flow_state')
    .where('id', '=', id)
    .where('auth_code_hash', '=', codeHash)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Ends the flows of a user that wait for the exchange of their code: each would open a session. */
export async function deleteFinishedFlows(trx: Transaction<AuthDatabase>, userId: string): Promise<void> {
  await trx.deleteFrom('flow_state').where('user_id', '=', userId).where('auth_code_hash', 'is not', null).execute()
}

/** How an auth code lies in its row. */
export function hashAuthCode(code: string): Buffer {
  return createHash('sha256').update(code).digest()
}
