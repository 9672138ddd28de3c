import { createHash } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { AssuranceLevel } from '../access-tokens/access-token.ts'
import type { Db, FlowStateTable, Trx } from '../database.ts'
import type { ExternalAccount } from '../identities/identity.ts'
import type { Timestamp } from '../records/timestamp.ts'
import type { EncryptedSecret } from '../secrets/encrypted-secret.ts'
import type { PkceChallenge } from './pkce.ts'

/** A sign-in at an external provider. It begins when the browser is sent there. */
export interface AuthorizationFlow {
  /** The parameter `state`. */
  readonly id: string
  readonly provider: string
  /** The address where the browser ends. The redirect rules check it at the beginning and at the end of the flow. */
  readonly redirectTo: string
  /** `undefined` for the implicit flow. */
  readonly pkce: PkceChallenge | undefined
  /** The hash of the invitation token that the flow accepts. */
  readonly inviteTokenHash: Buffer | null
  /** The account that the identity is linked to. `null` if the flow signs in. */
  readonly linking: LinkingTarget | null
  /** The verifier for the provider, encrypted for the flow's id. */
  readonly codeVerifier: EncryptedSecret | null
  /** The request token of OAuth 1.0a and its secret, encrypted for the flow's id. */
  readonly requestToken: EncryptedSecret | null
}

/** The account that an identity is linked to, and the session that started the linking. */
export interface LinkingTarget {
  readonly userId: string
  /** `null` for a token without a session. */
  readonly sessionId: string | null
  /** The assurance level of the access token that started the linking. */
  readonly aal: AssuranceLevel
}

/** The tokens of the provider, encrypted for the flow's id. */
interface EncryptedProviderTokens {
  readonly access: EncryptedSecret | null
  readonly refresh: EncryptedSecret | null
}

/** A flow to store while its browser is at the provider. `at` is its start. */
export type NewAuthorizationFlow = AuthorizationFlow & { readonly at: Date }

export async function insertAuthorizationFlow(db: Db, flow: NewAuthorizationFlow): Promise<void> {
  await db
    .insertInto('flow_state')
    .values({
      id: flow.id,
      provider_type: flow.provider,
      authentication_method: 'oauth',
      code_challenge: flow.pkce?.codeChallenge ?? null,
      code_challenge_method: flow.pkce?.codeChallengeMethod ?? null,
      redirect_to: flow.redirectTo,
      invite_token_hash: flow.inviteTokenHash,
      linking_target_id: flow.linking?.userId ?? null,
      linking_session_id: flow.linking?.sessionId ?? null,
      linking_aal: flow.linking?.aal ?? null,
      provider_pkce_verifier: flow.codeVerifier,
      oauth1_secret: flow.requestToken,
      created_at: flow.at,
    })
    .execute()
}

/** Whether a request has claimed a flow. `used`: another request was first. `unknown`: the flow does not exist. */
type ClaimedFlow =
  | { readonly verdict: 'claimed'; readonly flow: AuthorizationFlow & { readonly startedAt: Timestamp } }
  | { readonly verdict: 'used' | 'unknown' }

/**
 * Claims a flow for its provider's answer. Only one of concurrent requests succeeds. A PKCE flow stays until its code is
 * exchanged. An implicit flow is deleted, so a second answer to it is `unknown`. A flow with a user has already had its answer,
 * even if supabase/auth wrote it.
 */
export async function claimAuthorizationFlow(db: Db, id: string, at: Date): Promise<ClaimedFlow> {
  const { rows } = await sql<Selectable<FlowStateTable>>`
    WITH implicit AS (
      DELETE FROM ${sql.table('flow_state')}
      WHERE id = ${id} AND authentication_method = 'oauth' AND user_id IS NULL AND code_challenge IS NULL RETURNING *
    ), pkce AS (
      UPDATE ${sql.table('flow_state')} SET claimed_at = ${at}
      WHERE id = ${id} AND authentication_method = 'oauth' AND user_id IS NULL AND code_challenge IS NOT NULL
        AND claimed_at IS NULL
      RETURNING *
    )
    SELECT * FROM implicit UNION ALL SELECT * FROM pkce`.execute(db)
  const [row] = rows
  if (row) return { verdict: 'claimed', flow: { ...toFlow(row), startedAt: row.created_at } }
  const used = db.selectFrom('flow_state').select('id').where('id', '=', id).where('claimed_at', 'is not', null)
  return { verdict: (await used.executeTakeFirst()) ? 'used' : 'unknown' }
}

interface FlowEnd {
  readonly userId: string
  readonly isSsoUser: boolean
  readonly codeHash: Buffer
  readonly tokens: EncryptedProviderTokens
  /** Since when the identity gives access to the account. `null`: since the account exists. */
  readonly credentialSince: Timestamp | Date | null
  /** The external account that the exchange links, or `null` if it links none. */
  readonly linkedAccount: ExternalAccount | null
  readonly at: Date
}

/** Stores the auth code of a finished flow and the values for its exchange. `false` if the flow was cleaned up. */
export async function updateFinishedFlow(trx: Trx, id: string, end: FlowEnd): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('flow_state')
    .set({
      user_id: end.userId,
      auth_code_hash: end.codeHash,
      auth_code_issued_at: end.at,
      provider_access_token: end.tokens.access,
      provider_refresh_token: end.tokens.refresh,
      credential_since: end.credentialSince,
      linked_account: end.linkedAccount,
      is_sso_user: end.isSsoUser,
      // The provider has answered, so both secrets are used up.
      provider_pkce_verifier: null,
      oauth1_secret: null,
    })
    .where('id', '=', id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

function toFlow(row: Selectable<FlowStateTable>): AuthorizationFlow {
  const { linking_target_id: userId } = row
  return {
    id: row.id,
    provider: row.provider_type,
    redirectTo: row.redirect_to ?? '',
    pkce: toPkce(row),
    inviteTokenHash: row.invite_token_hash,
    linking: userId === null ? null : toTarget(userId, row),
    codeVerifier: row.provider_pkce_verifier,
    requestToken: row.oauth1_secret,
  }
}

/** The `amr` method of the session that the code exchange opens (reference: Use of a secret). */
export type FlowMethod = Selectable<FlowStateTable>['authentication_method']

/** Stores the code challenge of a mail's PKCE flow. @returns the id of its row */
export async function insertMailFlow(
  trx: Trx,
  userId: string,
  method: FlowMethod,
  { codeChallenge, codeChallengeMethod }: PkceChallenge,
): Promise<string> {
  const values = { user_id: userId, provider_type: 'email', authentication_method: method }
  const { id } = await trx
    .insertInto('flow_state')
    .values({ ...values, code_challenge: codeChallenge, code_challenge_method: codeChallengeMethod })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Stores the auth code of a flow whose mail was confirmed. Returns `false` if the flow was cleaned up. */
export async function updateMailFlow(
  trx: Trx,
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

/** A flow whose auth code waits for its exchange. */
export interface FinishedFlow {
  readonly id: string
  readonly codeHash: Buffer
  readonly codeIssuedAt: Timestamp
  readonly userId: string
  /** Whether the user was an SSO user when a provider's sign-in created the code. Mails to SSO users create no codes. */
  readonly isOfSsoUser: boolean
  /** `email`, or the name of an external provider. */
  readonly provider: string
  readonly method: FlowMethod
  readonly pkce: PkceChallenge
  /** Since when the provider's identity gives access to the account. `null`: since the account exists. */
  readonly credentialSince: Timestamp | null
  /** The session that started to link an identity. `null` if the flow signs in. */
  readonly linkingSessionId: string | null
  readonly providerTokens: EncryptedProviderTokens
  /** The external account that the exchange links, and its target account. `null` if the exchange signs in. */
  readonly link: { readonly account: ExternalAccount; readonly target: LinkingTarget } | null
  /** The address where the browser ended. The redirect rules check it again before a mail links to it. */
  readonly redirectTo: string
}

/** Finds the flow of an auth code, even an expired one, whose age the caller checks. `undefined` if none has the code. */
export async function findFlowByCode(db: Db, code: string): Promise<FinishedFlow | undefined> {
  const query = db.selectFrom('flow_state').selectAll().where('auth_code_hash', '=', hashAuthCode(code))
  const row = await query.executeTakeFirst()
  if (!row) return undefined
  const { auth_code_hash: codeHash, auth_code_issued_at: codeIssuedAt, user_id: userId } = row
  const pkce = toPkce(row)
  if (codeHash === null || codeIssuedAt === null || userId === null || !pkce) return undefined
  return {
    id: row.id,
    codeHash,
    codeIssuedAt,
    userId,
    isOfSsoUser: row.is_sso_user,
    provider: row.provider_type,
    method: row.authentication_method,
    pkce,
    credentialSince: row.credential_since,
    linkingSessionId: row.linking_session_id,
    providerTokens: { access: row.provider_access_token, refresh: row.provider_refresh_token },
    link: row.linked_account && { account: row.linked_account, target: toTarget(userId, row) },
    redirectTo: row.redirect_to ?? '',
  }
}

function toPkce(row: Selectable<FlowStateTable>): PkceChallenge | undefined {
  const { code_challenge: codeChallenge, code_challenge_method: codeChallengeMethod } = row
  return codeChallenge === null || codeChallengeMethod === null ? undefined : { codeChallenge, codeChallengeMethod }
}

/** The column is text. Any level except `aal2` counts as `aal1`, the weakest level. */
function toTarget(userId: string, row: Selectable<FlowStateTable>): LinkingTarget {
  return { userId, sessionId: row.linking_session_id, aal: row.linking_aal === 'aal2' ? 'aal2' : 'aal1' }
}

/** Deletes a flow. Returns `false` if another request has deleted it, or if it has a newer code. */
export async function deleteFlow(trx: Trx, { id, codeHash }: Pick<FinishedFlow, 'id' | 'codeHash'>): Promise<boolean> {
  const query = trx.deleteFrom('flow_state').where('id', '=', id).where('auth_code_hash', '=', codeHash)
  return (await query.executeTakeFirst()).numDeletedRows > 0n
}

/** Deletes a user's flows with an unexchanged code, because each code could open a session. */
export async function deleteFinishedFlows(trx: Trx, userId: string): Promise<void> {
  await trx.deleteFrom('flow_state').where('user_id', '=', userId).where('auth_code_hash', 'is not', null).execute()
}

export function hashAuthCode(code: string): Buffer {
  return createHash('sha256').update(code).digest()
}

/**
 * The unfinished work of sessions (reference: Work of sessions). `all` is all work of the user, also work without a session.
 * `session` is only the work that one session has started.
 */
type SessionWork = { readonly scope: 'all' } | { readonly scope: 'session'; readonly sessionId: string }

/** Ends a locked user's pending changes of address, nonces, challenges, linking flows and auth codes. */
export async function callEndSessionWork(trx: Trx, userId: string, work: SessionWork): Promise<void> {
  const sessionId = work.scope === 'session' ? work.sessionId : null
  await sql`SELECT ${sql.table('end_session_work')}(${userId}, ${work.scope}, ${sessionId}::uuid)`.execute(trx)
}
