import type { Kysely, Selectable, Transaction } from 'kysely'
import { sql } from 'kysely'
import type { AuthDatabase, FlowStateTable } from '../database.ts'
import type { ExternalAccount } from '../identities/external-account.ts'
import type { SealedSecret } from '../secrets/sealed-secret.ts'
import type { Timestamp } from '../users/timestamp.ts'
import type { PkceChallenge } from './pkce.ts'

/** A sign-in at an external provider, from the moment when the browser is sent there. */
export interface AuthorizationFlow {
  /** The parameter `state`. */
  readonly id: string
  readonly provider: string
  /** Where the browser goes in the end. */
  readonly redirectTo: string
  /** Undefined for the implicit flow. */
  readonly pkce: PkceChallenge | undefined
  /** Hash of the token of an invitation that is being accepted. */
  readonly inviteTokenHash: Buffer | null
  /** Whose account the identity is for; null where whoever comes back is signed in. */
  readonly linking: LinkingTarget | null
  /** Sealed for the flow's id: the verifier that the provider will be told. */
  readonly codeVerifier: SealedSecret | null
  /** Sealed for the flow's id: the request token of OAuth 1.0a and its secret. */
  readonly requestToken: SealedSecret | null
}

/** Whose account an identity is to be linked to, and the session in which that was wanted. */
export interface LinkingTarget {
  readonly userId: string
  /** Null for a token without session. */
  readonly sessionId: string | null
  /** What the token of who asked had shown. */
  readonly aal: 'aal1' | 'aal2'
}

/** What the provider gave beside who it is, sealed for the flow's id. */
export interface SealedProviderTokens {
  readonly access: SealedSecret | null
  readonly refresh: SealedSecret | null
}

/** A flow that begins now. */
export type NewAuthorizationFlow = AuthorizationFlow & { readonly at: Date }

/** Remembers a flow while its browser is away. */
export async function insertAuthorizationFlow(db: Kysely<AuthDatabase>, flow: NewAuthorizationFlow): Promise<void> {
  await db
    .insertInto('flow_state')
    .values({
      id: flow.id,
      provider_type: flow.provider,
      authentication_method: 'oauth',
      code_challenge: flow.pkce?.challenge ?? null,
      code_challenge_method: flow.pkce?.method ?? null,
      referrer: flow.redirectTo,
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

export type ClaimedFlow =
  | { readonly verdict: 'claimed'; readonly flow: AuthorizationFlow & { readonly startedAt: Timestamp } }
  | { readonly verdict: 'used' | 'unknown' }

/**
 * Takes a flow for the answer of its provider: one request does, also when two come at once. An implicit flow is over
 * with that; one that ends in an auth code stays for the exchange.
 */
export async function claimAuthorizationFlow(db: Kysely<AuthDatabase>, id: string, at: Date): Promise<ClaimedFlow> {
  const { rows } = await sql<Selectable<FlowStateTable>>`
    WITH implicit AS (
      DELETE FROM ${sql.table('flow_state')}
      WHERE id = ${id} AND authentication_method = 'oauth' AND code_challenge IS NULL RETURNING *
    ), pkce AS (
      UPDATE ${sql.table('flow_state')} SET claimed_at = ${at}
      WHERE id = ${id} AND authentication_method = 'oauth' AND code_challenge IS NOT NULL AND claimed_at IS NULL
      RETURNING *
    )
    SELECT * FROM implicit UNION ALL SELECT * FROM pkce`.execute(db)
  const [row] = rows
  if (row) return { verdict: 'claimed', flow: { ...toFlow(row), startedAt: row.created_at } }
  const used = db.selectFrom('flow_state').select('id').where('id', '=', id).where('claimed_at', 'is not', null)
  return { verdict: (await used.executeTakeFirst()) ? 'used' : 'unknown' }
}

export interface FlowEnd {
  readonly userId: string
  readonly codeHash: Buffer
  readonly tokens: SealedProviderTokens
  /** Since when the identity is a way into the user's account; null: since the account was made. */
  readonly credentialSince: Timestamp | Date | null
  /** What the exchange links to the account of the user; null: nothing. */
  readonly linkedAccount: ExternalAccount | null
  readonly at: Date
}

/** Binds the auth code in which a flow ends, with what its exchange gives. False when the flow has been cleaned up. */
export async function finishAuthorizationFlow(
  trx: Transaction<AuthDatabase>,
  id: string,
  end: FlowEnd,
): Promise<boolean> {
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
      // They have done their work.
      provider_pkce_verifier: null,
      oauth1_secret: null,
    })
    .where('id', '=', id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** What the token that began to link had shown. A row of an older version does not say: then nothing. */
export function toAal(stored: string | null): LinkingTarget['aal'] {
  return stored === 'aal2' ? stored : 'aal1'
}

function toFlow(row: Selectable<FlowStateTable>): AuthorizationFlow {
  const { code_challenge: challenge, code_challenge_method: method, linking_target_id: userId } = row
  return {
    id: row.id,
    provider: row.provider_type,
    redirectTo: row.referrer ?? '',
    // The table's check allows no other method of a challenge.
    pkce: challenge === null ? undefined : { challenge, method: method as PkceChallenge['method'] },
    inviteTokenHash: row.invite_token_hash,
    linking: userId === null ? null : { userId, sessionId: row.linking_session_id, aal: toAal(row.linking_aal) },
    codeVerifier: row.provider_pkce_verifier,
    requestToken: row.oauth1_secret,
  }
}
