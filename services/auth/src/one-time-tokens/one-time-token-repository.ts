import { createHmac } from 'node:crypto'
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import type { AuthDatabase, OneTimeTokensTable } from '../database.ts'
import type { Timestamp } from '../timestamp.ts'
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
  /** Of `hashGuessKey`. */
  readonly keyHash: Buffer
  readonly now: Date
  /** Of `hashGuessKey`, for the guesses of this network alone. */
  readonly networkHash?: Buffer | undefined
  /** Of who guesses, as a text of inet; undefined: nobody is known by it. */
  readonly network: string | undefined
}

/** Of an address: guesses at all its codes in a day, whatever new messages there are, that need not wait. */
const GUESSES_A_DAY = 100
/** Of the day so far, each of these adds a guess. Nobody is held off for the whole day, and a guesser wins next to nothing. */
const SECONDS_A_FURTHER_GUESS = 900
/** In a day, by which a network has its share of further guesses: whoever goes on would take each before the owner. */
const GUESSES_OF_A_NETWORK = 3
const DAY_MS = 86_400_000

/** Whether a code makes an address somebody's: whoever wants an address says nothing about those who have it. */
function isOfChange(kind: TokenKind): boolean {
  return kind === 'email_change_new' || kind === 'email_change_current' || kind === 'phone_change'
}

/**
 * How the guesses at the codes of an address are counted: by a keyed hash, and apart from those of who wants the address, or
 * guesses with a session of its owner's.
 * @param network counts those of one network alone
 */
export function hashGuessKey(
  hmacKey: Buffer,
  { relatesTo, kinds }: Pick<Guess, 'relatesTo' | 'kinds'>,
  network?: string,
): Buffer {
  const group = kinds.some(isOfChange) ? 'change' : kinds.includes('reauthentication') ? 'session' : 'own'
  return createHmac('sha256', hmacKey)
    .update(`guess\0${group}\0${relatesTo}${network === undefined ? '' : `\0${network}`}`)
    .digest()
}

/**
 * Takes one of the guesses that each code has, and one of those that its address has in a day, and returns the codes to compare
 * with: those of one user, else a guess would be compared with a code of everybody who wants the address. That is who has
 * the address, else whose message is the newest. Each guess is counted before its comparison, so that parallel guesses cannot
 * have more than `attemptsMax` between them; with none nothing is taken. Guesses from where the user is signed in do not end with those of others. Where
 * nothing is counted the statement still makes the commit wait for the disk: its time would tell which addresses have a code,
 * and so which are known to POST /recover.
 */
export async function claimGuess(
  db: Database,
  { audience, relatesTo, kinds, keyHash, networkHash, now, network }: Guess,
  attemptsMax: number,
): Promise<OneTimeToken[]> {
  if (kinds.length === 0) return []
  const yesterday = new Date(now.getTime() - DAY_MS)
  // Whoever wants an address is signed in where they are: that says nothing.
  const known = kinds.some(isOfChange) ? null : (network ?? null)
  const elapsed = sql`extract(epoch FROM ${now}::timestamptz - g.since)`
  const hasHadShare = sql`EXISTS (
    SELECT FROM ${sql.table('code_guesses')} n
    WHERE n.key_hash = ${networkHash ?? null} AND n.since > ${yesterday} AND n.guesses >= ${sql.lit(GUESSES_OF_A_NETWORK)})`
  const further = sql`CASE WHEN ${hasHadShare} THEN 0 ELSE floor(${elapsed} / ${sql.lit(SECONDS_A_FURTHER_GUESS)}) END`
  const keys = networkHash === undefined ? [keyHash] : [keyHash, networkHash]
  const { rows } = await sql<Selectable<OneTimeTokensTable> | { readonly id: null }>`
    WITH wanted AS MATERIALIZED (
      SELECT t.id, t.user_id, coalesce(${relatesTo} IN (lower(u.email), u.phone), false) AS is_owner, t.sent_at
        FROM ${sql.table('one_time_tokens')} t JOIN ${sql.table('users')} u ON u.id = t.user_id
        WHERE u.aud = ${audience} AND t.relates_to = ${relatesTo} AND t.kind IN (${sql.join(kinds)})
          AND t.otp_hash IS NOT NULL AND t.attempts < ${attemptsMax}),
    claimed AS (
      UPDATE ${sql.table('one_time_tokens')} t SET attempts = t.attempts + 1
        FROM wanted w
        WHERE t.id = w.id AND t.otp_hash IS NOT NULL AND t.attempts < ${attemptsMax}
          AND w.user_id = (SELECT f.user_id FROM wanted f ORDER BY f.is_owner DESC, f.sent_at DESC, f.id DESC LIMIT 1)
          AND NOT EXISTS (
            SELECT FROM ${sql.table('code_guesses')} g
            WHERE g.key_hash = ${keyHash} AND g.since > ${yesterday} AND g.guesses >= ${sql.lit(GUESSES_A_DAY)} + ${further}
              AND NOT EXISTS (
                SELECT FROM ${sql.table('sessions')} s
                WHERE s.user_id = w.user_id AND coalesce(s.last_ip, s.ip) <<= ${known}::inet))
        RETURNING t.*),
    counted AS (
      INSERT INTO ${sql.table('code_guesses')} AS g (key_hash, guesses, since)
        SELECT key, 1, ${now}::timestamptz FROM unnest(${keys}::bytea[]) key WHERE EXISTS (SELECT FROM claimed)
        ON CONFLICT (key_hash) DO UPDATE SET
          guesses = CASE WHEN g.since > ${yesterday} THEN g.guesses + 1 ELSE 1 END,
          since = CASE WHEN g.since > ${yesterday} THEN g.since ELSE excluded.since END),
    decoy AS (SELECT pg_logical_emit_message(true, 'guess', '') WHERE NOT EXISTS (SELECT FROM claimed))
    SELECT claimed.* FROM (SELECT count(*) FROM decoy) one LEFT JOIN claimed ON true`.execute(db)
  return rows.filter((row) => row.id !== null).map(toToken)
}

type GuessKeys = Pick<Guess, 'keyHash' | 'networkHash'>

/** Forgets the guesses at the codes of an address whose owner has shown one. */
export async function forgetGuesses(db: Database, { keyHash, networkHash = keyHash }: GuessKeys): Promise<void> {
  await db.deleteFrom('code_guesses').where('key_hash', 'in', [keyHash, networkHash]).execute()
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

/** Whether a message that a user still has was sent after a point in time. */
export async function hasTokenSince(db: Database, userId: string, since: Date): Promise<boolean> {
  const row = await db
    .selectFrom('one_time_tokens')
    .select('id')
    .where('user_id', '=', userId)
    .where('sent_at', '>', sql<string>`${since}`)
    .executeTakeFirst()
  return row !== undefined
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
