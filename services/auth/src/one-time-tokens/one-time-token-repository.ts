import { createHmac } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { Db, OneTimeTokensTable, Trx } from '../database.ts'
import type { Timestamp } from '../records/timestamp.ts'
import type { IdentifierKind } from '../requests/fields.ts'
import type { User } from '../users/user.ts'
import { updateUser } from '../users/user-change-repository.ts'
import type { CodeOfRow, TokenKind } from './one-time-token.ts'

/** A stored message: the hashes of its two secrets, and their user and address. */
export interface OneTimeToken extends CodeOfRow {
  readonly id: string
  readonly userId: string
  readonly kind: TokenKind
  /** The normalised address that the message went to. */
  readonly identifier: string
  /** The PKCE flow that the link ends; null where it ends none. */
  readonly flowStateId: string | null
  readonly expiresAt: Timestamp
}

export interface MessageSecrets {
  readonly kind: TokenKind
  readonly identifier: string
  /** Null for an SMS, which has no link. */
  readonly linkHash: Buffer | null
  readonly codeHash: Buffer
  readonly codeSalt: Buffer
  readonly sentAt: Date
  readonly expiresAt: Date
}

/** The secrets of a new message, hashed. `flowStateId` is null where the link belongs to no PKCE flow. */
export interface NewOneTimeToken extends MessageSecrets {
  readonly userId: string
  readonly flowStateId: string | null
  /** The session that asked for a nonce, which ends with the session; null or undefined for any other message. */
  readonly sessionId?: string | null | undefined
  /** Whether the message is sent again beside the message that a session asked for. */
  readonly isResent?: boolean | undefined
}

/** Stores the secrets of a new message, in place of the last of its kind. One that is sent again may stand beside the first. */
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

/** Finds the message of a link, also an expired one; undefined where no message of these kinds has the token. */
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

/** An attempt at a code: the address that got the code, and the kinds of message that it may belong to. */
export interface CodeAttempt {
  readonly audience: string
  readonly identifier: string
  readonly kinds: readonly TokenKind[]
  /** Made by `hashAttemptKey`. */
  readonly keyHash: Buffer
  readonly now: Date
  /** Made by `hashAttemptKey`, for the attempts of one network. */
  readonly networkHash?: Buffer | undefined
  /** The network of the client, as a text of inet; undefined where many may share it. */
  readonly network: string | undefined
}

/** Whether a code is for a change of address. A user who wants an address proves nothing about the user who has it. */
function isAddressChange(kind: TokenKind): boolean {
  return kind === 'email_change_new' || kind === 'email_change_current' || kind === 'phone_change'
}

/**
 * The key that counts the attempts at the codes of an address: a keyed hash. Attempts at a change of address,
 * and attempts in a session, are counted apart.
 * @param network counts the attempts of one network
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

/** Returns the group of attempts at an address that are counted together. */
function groupOf(kinds: CodeAttempt['kinds']): 'change' | 'session' | 'own' {
  if (kinds.some(isAddressChange)) return 'change'
  return kinds.includes('reauthentication') ? 'session' : 'own'
}

/**
 * Counts an attempt, against the limit of each code and against the limit of the address in a day, by the SQL function
 * `count_guess`. An attempt is counted before its comparison, so that parallel attempts cannot exceed `attemptsMax`. A limit of 0
 * counts nothing.
 * @returns the codes to compare with, all of one user; none where the attempt counts as wrong
 */
export async function countCodeAttempt(
  db: Db,
  { audience, identifier, kinds, keyHash, networkHash, now, network }: CodeAttempt,
  attemptsMax: number,
): Promise<OneTimeToken[]> {
  if (kinds.length === 0) return []
  // A user who asks for a new address is signed in, perhaps by a stolen session, so the network of the session is no evidence.
  const provingNetwork = kinds.some(isAddressChange) ? undefined : network
  const { rows } = await sql<TokenRow>`SELECT * FROM ${sql.table('count_guess')}(
    p_audience => ${audience}, p_identifier => ${identifier}, p_kinds => ${kinds}, p_key_hash => ${keyHash},
    p_network_hash => ${networkHash ?? null}, p_network => ${provingNetwork ?? null}, p_guesses_max => ${attemptsMax},
    p_now => ${now})`.execute(db)
  return rows.map(toToken)
}

type AttemptKeys = Pick<CodeAttempt, 'keyHash' | 'networkHash'>

/**
 * Deletes the counts of attempts at the codes of an address, after its owner has entered one. Lock order: see
 * `count_guess.sql`.
 */
export async function deleteCodeAttempts(db: Db, { keyHash, networkHash = keyHash }: AttemptKeys): Promise<void> {
  const counts = db.selectFrom('code_guesses').select('key_hash').where('key_hash', 'in', [keyHash, networkHash])
  await db.deleteFrom('code_guesses').where('key_hash', 'in', counts.orderBy('key_hash').forUpdate()).execute()
}

/** Gives back a right attempt that could not be used yet. */
export async function returnCodeAttempt(db: Db, tokenId: string): Promise<void> {
  await db
    .updateTable('one_time_tokens')
    .set({ guesses: sql`greatest(guesses - 1, 0)` })
    .where('id', '=', tokenId)
    .execute()
}

/** The secret of a message by which it is used up, hashed, and the id of its row. */
export type StoredSecret = { readonly id: string } & ({ readonly linkHash: Buffer } | { readonly codeHash: Buffer })

/** Uses a message up. False when another request was first, or a newer message has replaced it. */
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

/** The columns of a message that an attempt is compared with. */
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

/** Finds when the pending change of email or phone was requested in a session. */
export async function findChangeAskedAt(db: Db, userId: string, kind: IdentifierKind): Promise<string | null> {
  const column = kind === 'email' ? 'email_change_asked_at' : 'phone_change_asked_at'
  const query = db.selectFrom('users').select(`${column} as askedAt`).where('id', '=', userId)
  return (await query.executeTakeFirst())?.askedAt ?? null
}

type ChangeKind = 'email_change_new' | 'email_change_current' | 'phone_change'

/** A place for a message of a change: that of the message which a session asked for, or that of one which is sent again. */
export interface MessagePlace<Kind extends ChangeKind = ChangeKind> {
  readonly kind: Kind
  readonly isResent: boolean
}

/**
 * Finds slots in which messages of a pending change can be stored again without ending another message. For each kind this is an
 * empty slot, or a slot whose secrets have expired. A kind without such a place is left out.
 * @param hasAgreed whether one of two addresses has agreed already. The messages of that address are gone, and it gets none
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

/** Deletes the messages of a pending change of email: each agrees to one change only. */
export async function deleteEmailChangeTokens(trx: Trx, userId: string): Promise<void> {
  await deleteTokensOfKinds(trx, userId, ['email_change_new', 'email_change_current'])
}

/**
 * Deletes the pending changes that an anonymous user has asked for, where the user has just become permanent without a take-over.
 * An address may belong to another person, whose confirmation would no longer remove the earlier session and password.
 * @param before the user as they were before
 * @param after the user as they are now
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
