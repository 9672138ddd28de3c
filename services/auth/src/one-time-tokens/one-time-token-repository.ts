import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import type { AuthDatabase, OneTimeTokensTable } from '../database.ts'
import type { Timestamp } from '../users/timestamp.ts'
import type { TokenKind } from './one-time-token.ts'

type Database = Kysely<AuthDatabase>

/** A stored message: hashes of its two secrets, and what they belong to. */
export interface OneTimeToken {
  readonly id: string
  readonly userId: string
  readonly kind: TokenKind
  /** The normalised address that the message went to. */
  readonly relatesTo: string
  /** Null once too many wrong codes were tried. */
  readonly codeHash: Buffer | null
  readonly codeSalt: Buffer | null
  readonly flowStateId: string | null
  readonly expiresAt: Timestamp
}

/** The secrets of a new message, hashed. */
export interface MessageSecrets {
  readonly kind: TokenKind
  readonly relatesTo: string
  readonly linkHash: Buffer | null
  readonly codeHash: Buffer
  readonly codeSalt: Buffer
  readonly sentAt: Date
  readonly expiresAt: Date
}

export interface NewOneTimeToken extends MessageSecrets {
  readonly userId: string
  readonly flowStateId: string | null
}

/** Stores the secrets of a new message in place of those of the last one of its kind. */
export async function replaceToken(trx: Transaction<AuthDatabase>, token: NewOneTimeToken): Promise<void> {
  const values = {
    relates_to: token.relatesTo,
    link_hash: token.linkHash,
    otp_hash: token.codeHash,
    otp_salt: token.codeSalt,
    attempts: 0,
    flow_state_id: token.flowStateId,
    sent_at: token.sentAt,
    expires_at: token.expiresAt,
  }
  await trx
    .insertInto('one_time_tokens')
    .values({ user_id: token.userId, kind: token.kind, ...values })
    .onConflict((conflict) => conflict.columns(['user_id', 'kind']).doUpdateSet(values))
    .execute()
}

/** Finds the message of a link. @param kinds those that the link may be used for */
export async function findTokenByLink(
  db: Database,
  linkHash: Buffer,
  kinds: readonly TokenKind[],
): Promise<OneTimeToken | undefined> {
  if (kinds.length === 0) return undefined
  const row = await db
    .selectFrom('one_time_tokens')
    .selectAll()
    .where('link_hash', '=', linkHash)
    .where('kind', 'in', kinds)
    .executeTakeFirst()
  return row && toToken(row)
}

/** A code that somebody types: the address that it went to, and the kinds of message that it may be from. */
export interface Guess {
  readonly audience: string
  readonly relatesTo: string
  readonly kinds: readonly TokenKind[]
}

/**
 * Takes one of the guesses that each code has, and returns the codes of an address to compare with. Each guess is
 * counted before its comparison, so that parallel guesses cannot have more than `attemptsMax` between them. An address
 * that several users want to change to has a code of each. Where nothing is counted the statement still makes the commit
 * wait for the disk: its time would tell which addresses have a code, and so which are known to POST /recover.
 */
export async function claimGuess(
  db: Database,
  { audience, relatesTo, kinds }: Guess,
  attemptsMax: number,
): Promise<OneTimeToken[]> {
  if (kinds.length === 0) return []
  const { rows } = await sql<Selectable<OneTimeTokensTable> | { readonly id: null }>`
    WITH claimed AS (
      UPDATE ${sql.table('one_time_tokens')} t SET attempts = t.attempts + 1
        FROM ${sql.table('users')} u
        WHERE u.id = t.user_id AND u.aud = ${audience} AND t.relates_to = ${relatesTo} AND t.kind IN (${sql.join(kinds)})
          AND t.otp_hash IS NOT NULL AND t.attempts < ${attemptsMax}
        RETURNING t.*),
    decoy AS (SELECT pg_logical_emit_message(true, 'guess', '') WHERE NOT EXISTS (SELECT FROM claimed))
    SELECT claimed.* FROM (SELECT count(*) FROM decoy) one LEFT JOIN claimed ON true`.execute(db)
  return rows.filter((row) => row.id !== null).map(toToken)
}

/** Gives a guess back that was right but could not be used yet. */
export async function returnGuess(db: Database, tokenId: string): Promise<void> {
  await db
    .updateTable('one_time_tokens')
    .set({ attempts: sql`greatest(attempts - 1, 0)` })
    .where('id', '=', tokenId)
    .execute()
}

/** Uses a message up. False when another request was first, or a newer message has taken its place. */
export async function consumeToken(
  trx: Transaction<AuthDatabase>,
  token: Pick<OneTimeToken, 'id'>,
  secret: { readonly linkHash: Buffer } | { readonly codeHash: Buffer },
): Promise<boolean> {
  const query = trx.deleteFrom('one_time_tokens').where('id', '=', token.id)
  const { numDeletedRows } = await ('linkHash' in secret
    ? query.where('link_hash', '=', secret.linkHash)
    : query.where('otp_hash', '=', secret.codeHash)
  ).executeTakeFirst()
  return numDeletedRows > 0n
}

/** Ends messages of some kinds that a user still has. */
export async function deleteTokensOfKinds(
  trx: Transaction<AuthDatabase>,
  userId: string,
  kinds: readonly TokenKind[],
): Promise<void> {
  await trx.deleteFrom('one_time_tokens').where('user_id', '=', userId).where('kind', 'in', kinds).execute()
}

/** Ends every message that a user still has. */
export async function deleteTokensOfUser(trx: Transaction<AuthDatabase>, userId: string): Promise<void> {
  await trx.deleteFrom('one_time_tokens').where('user_id', '=', userId).execute()
}

function toToken(row: Selectable<OneTimeTokensTable>): OneTimeToken {
  return {
    id: row.id,
    userId: row.user_id,
    // The check of the table allows no other.
    kind: row.kind as TokenKind,
    relatesTo: row.relates_to,
    codeHash: row.otp_hash,
    codeSalt: row.otp_salt,
    flowStateId: row.flow_state_id,
    expiresAt: row.expires_at,
  }
}
