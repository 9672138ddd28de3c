import { sql } from 'kysely'
import type { Trx } from '../database.ts'
import { ownIdentityData } from '../identities/identity.ts'
import type { TokenKind } from '../one-time-tokens/one-time-token.ts'
import type { UserIdentifier } from '../requests/identifier.ts'
import type { User } from '../users/user.ts'

/** The content of a request that sends a message. The account takes it on if this message is the first to confirm the account. */
export interface SignUpContent {
  readonly audience: string
  readonly data: Readonly<Record<string, unknown>>
  /** Null for a request without a password. */
  readonly passwordHash: string | null
}

/**
 * Stores the content of a request, in place of the content of the last request with a message of this kind. Stores nothing for an
 * account that is confirmed or did not begin with a sign-up.
 * @param user locked @returns whether the account takes the content on once the message confirms it
 */
export async function upsertSignUpContent(
  trx: Trx,
  user: Pick<User, 'id' | 'confirmedAt' | 'invitedAt'>,
  { kind, audience, data, passwordHash }: SignUpContent & { readonly kind: TokenKind },
): Promise<boolean> {
  if (user.confirmedAt !== null || user.invitedAt !== null) return false
  const contents = sql.table('sign_up_contents')
  const { rows } = await sql<{ kind: string }>`
    INSERT INTO ${contents} AS c (user_id, kind, aud, data, password_hash)
    SELECT ${user.id}::uuid, ${kind}, ${audience}, ${JSON.stringify(data)}::jsonb, ${passwordHash}
    WHERE EXISTS (SELECT FROM ${contents} p WHERE p.user_id = ${user.id})
    ON CONFLICT (user_id, kind)
      DO UPDATE SET aud = excluded.aud, data = excluded.data, password_hash = excluded.password_hash
    RETURNING c.kind`.execute(trx)
  return rows.length > 0
}

/** Stores the content of the request by which an account begins. */
export async function insertSignUpContent(
  trx: Trx,
  user: Pick<User, 'id'>,
  { kind, audience, data, passwordHash }: SignUpContent & { readonly kind: TokenKind },
): Promise<void> {
  const content = { user_id: user.id, kind, aud: audience, data: { ...data }, password_hash: passwordHash }
  await trx.insertInto('sign_up_contents').values(content).execute()
}

/** The data of the last request with a message of this kind. Undefined for an account that takes no content on any more. */
export async function findSignUpData(
  trx: Trx,
  userId: string,
  kind: TokenKind,
): Promise<SignUpContent['data'] | undefined> {
  const contents = trx.selectFrom('sign_up_contents').where('user_id', '=', userId).where('kind', '=', kind)
  return (await contents.select('data').executeTakeFirst())?.data
}

/**
 * Deletes the contents of all requests for an account.
 * @returns the content for a kind of message; undefined where there is none
 */
export async function claimSignUpContent(
  trx: Trx,
  userId: string,
  kind: TokenKind,
): Promise<SignUpContent | undefined> {
  const rows = await trx.deleteFrom('sign_up_contents').where('user_id', '=', userId).returningAll().execute()
  const row = rows.find((content) => content.kind === kind)
  return row && { audience: row.aud, data: row.data, passwordHash: row.password_hash }
}

/** Replaces the data in the identity of a user's own address by the data of a request. */
export async function replaceIdentityData(
  trx: Trx,
  { id }: Pick<User, 'id'>,
  { kind, value }: UserIdentifier,
  data: SignUpContent['data'],
): Promise<void> {
  await trx
    .updateTable('identities')
    .set({ identity_data: ownIdentityData(kind, { userId: id, value }, data) })
    .where('user_id', '=', id)
    .where('provider', '=', kind)
    .execute()
}
