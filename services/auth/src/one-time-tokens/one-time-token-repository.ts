import { createHmac } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { Db, OneTimeTokensTable, Trx } from '../database.ts'
import type { Timestamp } from '../records/timestamp.ts'
import type { IdentifierKind } from '../requests/fields.ts'
import type { User } from '../users/user.ts'
import { updateUser } from '../users/user-change-repository.ts'
import type { CodeOfRow, TokenKind } from './one-time-token.ts'

/** A stored message: the hashes of its secrets, the user and the address. */
export interface OneTimeToken extends CodeOfRow {
  readonly id: string
  readonly userId: string
  readonly kind: TokenKind
  /** The normalised recipient of the message. */
  readonly identifier: string
  /** The PKCE flow that the link ends, or `null`. */
  readonly flowStateId: string | null
  readonly expiresAt: Timestamp
}

export interface MessageSecrets {
  readonly kind: TokenKind
  readonly identifier: string
  /** `null` for an SMS, which has no link. */
  readonly linkHash: Buffer | null
  readonly codeHash: Buffer
  readonly codeSalt: Buffer
  readonly sentAt: Date
  readonly expiresAt: Date
}

/** The hashed secrets of a new message. `flowStateId` is `null` if the link belongs to no PKCE flow. */
export interface NewOneTimeToken extends MessageSecrets {
  readonly userId: string
  readonly flowStateId: string | null
  /** The session that requested a nonce. The nonce ends with the session. Not set for other messages. */
  readonly sessionId?: string | null | undefined
  /** Whether this is a resent message, stored in addition to the one that a session requested. */
  readonly isResent?: boolean | undefined
}

/** Stores a message's secrets instead of the previous ones of its kind. A resent message may be stored additionally. */
export async function replaceToken(trx: Trx, token: NewOneTimeToken): Promise<void> {
  const values = {
    relates_to: token.identifier,
    link_hash: token.linkHash,
    otp_hash: token.codeHash,
    otp_salt: token.codeSalt,
    guesses: 0,
    flow_state_id: token.flowStateId,
    session_id: token.sessionId ?? null,
    sent_at: token.sentAt,
    expires_at: token.expiresAt,
  }
  await trx
    .insertInto('one_time_tokens')
    .values({ user_id: token.userId, kind: token.kind, is_resent: token.isResent ?? false, ...values })
    .onConflict((conflict) => conflict.columns(['user_id', 'kind', 'is_resent']).doUpdateSet(values))
    .execute()
}

/** Finds the message of a link, even if expired. Returns `undefined` if no message of these kinds has the token. */
export async function findTokenByLink(
  db: Db,
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

/** An attempt at a code: the recipient of the code, and the possible kinds of message. */
export interface CodeAttempt {
  readonly audience: string
  readonly identifier: string
  readonly kinds: readonly TokenKind[]
  /** From `hashAttemptKey`. */
  readonly keyHash: Buffer
  readonly now: Date
  /** From `hashAttemptKey`, for the attempts of one network. */
  readonly networkHash?: Buffer | undefined
  /** The client's network, as text of type inet. `undefined` if many clients may share it. */
  readonly network: string | undefined
}

/** Whether a code is for a change of address. Then the requesting user may not be the owner of the address. */
function isAddressChange(kind: TokenKind): boolean {
  return kind === 'email_change_new' || kind === 'email_change_current' || kind === 'phone_change'
}

/**
 * Returns the key for counting attempts at the codes of an address: a keyed hash. Attempts at a change of address and attempts in
 * a session have separate counts.
 * @param network for the attempts of this network only
 */
export function hashAttemptKey(
  hmacKey: Buffer,
  { identifier, kinds }: Pick<CodeAttempt, 'identifier' | 'kinds'>,
  network?: string,
): Buffer {
  return createHmac('sha256', hmacKey)
    .update(`guess\0${groupOf(kinds)}\0${identifier}${network === undefined ? '' : `\0${network}`}`)
    .digest()
}

/** The group of attempts at an address with a common count. */
function groupOf(kinds: CodeAttempt['kinds']): 'change' | 'session' | 'own' {
  if (kinds.some(isAddressChange)) return 'change'
  return kinds.includes('reauthentication') ? 'session' : 'own'
}

/**
 * Counts an attempt against the limit of each code and the daily limit of the address, by the SQL function `count_guess`. It
 * counts before the comparison, so that parallel attempts cannot exceed `attemptsMax`. A limit of 0 disables counting.
 * @returns the codes to compare with, all of one user, or none if the attempt counts as wrong
 */
export async function countCodeAttempt(
  db: Db,
  { audience, identifier, kinds, keyHash, networkHash, now, network }: CodeAttempt,
  attemptsMax: number,
): Promise<OneTimeToken[]> {
  if (kinds.length === 0) return []
  // A user who requests a new address is signed in, perhaps with a stolen session. So the session's network proves nothing.
  const provingNetwork = kinds.some(isAddressChange) ? undefined : network
  const { rows } = await sql<TokenRow>`SELECT * FROM ${sql.table('count_guess')}(
    p_audience => ${audience}, p_identifier => ${identifier}, p_kinds => ${kinds}, p_key_hash => ${keyHash},
    p_network_hash => ${networkHash ?? null}, p_network => ${provingNetwork ?? null}, p_guesses_max => ${attemptsMax},
    p_now => ${now})`.execute(db)
  return rows.map(toToken)
}

type AttemptKeys = Pick<CodeAttempt, 'keyHash' | 'networkHash'>

/** Deletes an address's attempt counts after its owner has entered a right code. Lock order: see `count_guess.sql`. */
export async function deleteCodeAttempts(db: Db, { keyHash, networkHash = keyHash }: AttemptKeys): Promise<void> {
  const counts = db.selectFrom('code_guesses').select('key_hash').where('key_hash', 'in', [keyHash, networkHash])
  await db.deleteFrom('code_guesses').where('key_hash', 'in', counts.orderBy('key_hash').forUpdate()).execute()
}

/** Gives back an attempt with the right code that could not be used yet. */
export async function returnCodeAttempt(db: Db, tokenId: string): Promise<void> {
  await db
    .updateTable('one_time_tokens')
    .set({ guesses: sql`greatest(guesses - 1, 0)` })
    .where('id', '=', tokenId)
    .execute()
}

/** The hashed secret with which a message is used up, and the id of its row. */
export type StoredSecret = { readonly id: string } & ({ readonly linkHash: Buffer } | { readonly codeHash: Buffer })

/** Uses a message up. Returns `false` if another request was first or a newer message has replaced it. */
export async function claimToken(trx: Trx, secret: StoredSecret): Promise<boolean> {
  const query = trx.deleteFrom('one_time_tokens').where('id', '=', secret.id)
  const { numDeletedRows } = await ('linkHash' in secret
    ? query.where('link_hash', '=', secret.linkHash)
    : query.where('otp_hash', '=', secret.codeHash)
  ).executeTakeFirst()
  return numDeletedRows > 0n
}

export async function hasTokenSince(db: Db, userId: string, since: Date): Promise<boolean> {
  const row = await db
    .selectFrom('one_time_tokens')
    .select('id')
    .where('user_id', '=', userId)
    .where('sent_at', '>', sql<string>`${since}`)
    .executeTakeFirst()
  return row !== undefined
}

export async function deleteTokensOfKinds(trx: Trx, userId: string, kinds: readonly TokenKind[]): Promise<void> {
  await trx.deleteFrom('one_time_tokens').where('user_id', '=', userId).where('kind', 'in', kinds).execute()
}

export async function deleteTokensOfUser(trx: Trx, userId: string): Promise<void> {
  await trx.deleteFrom('one_time_tokens').where('user_id', '=', userId).execute()
}

/** The columns of a message for the comparison. */
type TokenRow = Pick<
  Selectable<OneTimeTokensTable>,
  'id' | 'user_id' | 'kind' | 'relates_to' | 'otp_hash' | 'otp_salt' | 'flow_state_id' | 'expires_at'
>

function toToken(row: TokenRow): OneTimeToken {
  return {
    id: row.id,
    userId: row.user_id,
    kind: row.kind,
    identifier: row.relates_to,
    codeHash: row.otp_hash,
    codeSalt: row.otp_salt,
    flowStateId: row.flow_state_id,
    expiresAt: row.expires_at,
  }
}

/** Finds when a session requested the pending change of email or phone. */
export async function findChangeAskedAt(db: Db, userId: string, kind: IdentifierKind): Promise<string | null> {
  const column = kind === 'email' ? 'email_change_asked_at' : 'phone_change_asked_at'
  const query = db.selectFrom('users').select(`${column} as askedAt`).where('id', '=', userId)
  return (await query.executeTakeFirst())?.askedAt ?? null
}

type ChangeKind = 'email_change_new' | 'email_change_current' | 'phone_change'

/** The slot of a change message: for the message that a session requested, or for a resent one. */
export interface MessagePlace<Kind extends ChangeKind = ChangeKind> {
  readonly kind: Kind
  readonly isResent: boolean
}

/**
 * Finds slots in which messages of a pending change can be stored again without replacing a valid message. A slot is free if it
 * is empty or its secrets have expired. Kinds without a free slot are left out.
 * @param hasAgreed whether one of two addresses has already agreed; that address gets no further message
 */
export async function findFreePlaces<Kind extends ChangeKind>(
  db: Db,
  { id }: Pick<User, 'id'>,
  { kinds, hasAgreed, now }: { readonly kinds: readonly Kind[]; readonly hasAgreed: boolean; readonly now: Date },
): Promise<{ readonly places: readonly MessagePlace<Kind>[]; readonly isLost: boolean }> {
  const query = db.selectFrom('one_time_tokens').select(['kind', 'is_resent', 'expires_at']).where('user_id', '=', id)
  const rows = await query.where('kind', 'in', kinds).execute()
  const waiting = kinds.filter((kind) => !hasAgreed || rows.some((row) => row.kind === kind))
  const alive = rows.filter((row) => Date.parse(row.expires_at) > now.getTime())
  const places = waiting.flatMap((kind) =>
    [false, true]
      .filter((isResent) => !alive.some((row) => row.kind === kind && row.is_resent === isResent))
      .slice(0, 1)
      .map((isResent) => ({ kind, isResent })),
  )
  return { places, isLost: waiting.length === 0 }
}

/** Deletes the messages of a pending change of email, because each agrees to only one change. */
export async function deleteEmailChangeTokens(trx: Trx, userId: string): Promise<void> {
  await deleteTokensOfKinds(trx, userId, ['email_change_new', 'email_change_current'])
}

/**
 * Deletes pending changes of an anonymous user who has just become permanent without a take-over. An address may belong to
 * another person. Their confirmation would no longer remove the earlier session and password.
 * @param before the user before the change
 * @param after the user after the change
 */
export async function deleteAnonymousChanges<After extends Pick<User, 'id' | 'isAnonymous'>>(
  trx: Trx,
  { compatibility }: { readonly compatibility: Pick<CompatibilityOptions, 'confirmerOwnsAnonymousAccount'> },
  before: Pick<User, 'isAnonymous'>,
  after: After,
): Promise<After | User> {
  if (!before.isAnonymous || after.isAnonymous || !compatibility.confirmerOwnsAnonymousAccount) return after
  await deleteTokensOfKinds(trx, after.id, ['email_change_new', 'email_change_current', 'phone_change'])
  return updateUser(trx, after.id, { email_change: '', email_change_confirm_status: 0, phone_change: '' })
}
