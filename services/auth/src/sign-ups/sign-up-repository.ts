import { columns, type NumberedRow, orderResults } from '@trestle/database/batches/columns.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { isLockTimeout } from '@trestle/database/unavailable.ts'
import type { OutboxEntry } from '@trestle/jobs/outbox.ts'
import { type RawBuilder, sql } from 'kysely'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import { signupDisabled } from '../errors.ts'
import type { PkceChallenge } from '../flows/pkce.ts'
import { ownIdentityData } from '../identities/identity.ts'
import type { NewMessage } from '../messages/message-record.ts'
import type { TokenKind } from '../one-time-tokens/one-time-token.ts'
import type { MessageSecrets } from '../one-time-tokens/one-time-token-repository.ts'
import type { IntervalKind } from '../rate-limits/send-interval.ts'
import type { UserIdentifier } from '../requests/fields.ts'
import { batchCalls } from '../sessions/batch-calls.ts'
import type { SessionOrigin, StoredSession } from '../sessions/session.ts'
import { type SessionRow, sessionColumns, toStoredSession, toVerdict } from '../sessions/session-repository.ts'
import type { User } from '../users/user.ts'

/** A sign-up with all values for its single database call. They are generated before the identifier is searched. */
export interface SignUp extends SessionOrigin {
  readonly userId: string
  readonly identityId: string
  /** `null` for a user without an email. Without a phone too, the user is anonymous. */
  readonly email: string | null
  readonly phone: string | null
  readonly audience: string
  readonly role: string
  /** `null` for an anonymous user. */
  readonly passwordHash: string | null
  readonly data: Readonly<Record<string, unknown>>
  readonly identityData: Readonly<Record<string, unknown>>
  readonly now: Date
  /** `undefined` if the identifier counts as confirmed. The user is then signed in. */
  readonly confirmation: SignUpConfirmation | undefined
  readonly tokenHash: Buffer
  readonly audit: boolean
}

interface SignUpConfirmation {
  readonly interval: { readonly key: Buffer; readonly kind: IntervalKind; readonly dueBefore: Date }
  readonly secrets: MessageSecrets
  readonly pkce: PkceChallenge | undefined
  /** The message to a new user. `undefined` if none is sent. */
  readonly message: ShownEntry | undefined
  /** The message to a user who has not confirmed yet. */
  readonly messageAgain: OutboxEntry | undefined
}

/** A job with the record of its message for operators. */
interface ShownEntry extends OutboxEntry {
  readonly message: NewMessage
}

const VERDICTS = ['signed-in', 'sent', 'sent-again', 'repeated', 'taken'] as const

/**
 * `sent-again`: the owner of the identifier gets another confirmation. `repeated`: the owner has just got one. `taken`: a
 * confirmed user has the identifier, or any user if sign-ups need no confirmation.
 */
export type SignUpVerdict = (typeof VERDICTS)[number]

/** `actorId` is the user who has the identifier. It is only for the audit log. */
export type SignUpOutcome =
  | { readonly verdict: 'signed-in'; readonly actorId: string; readonly session: StoredSession }
  | { readonly verdict: Exclude<SignUpVerdict, 'signed-in'>; readonly actorId: string }

/** Signs a user up unless the identifier is taken. @throws serverBusy if it would wait too long */
export type InsertSignUp = (signUp: SignUp) => Promise<SignUpOutcome>

/** Sends sign-ups without confirmation to the database in batches (`batchCalls`). @returns committed outcomes */
export function batchSignUps(pools: Pools): InsertSignUp {
  const alone: InsertSignUp = (signUp) => insertSignUp(pools, signUp)
  const batched = batchCalls<SignUp, SignUpOutcome>({ many: (signUps) => insertSignUps(pools, signUps), alone })
  return (signUp) => (isBatchable(signUp) ? batched(signUp) : alone(signUp))
}

/** Whether a sign-up can share a transaction, because its identifier counts as confirmed. */
function isBatchable({ confirmation, email, phone }: Pick<SignUp, 'confirmation' | 'email' | 'phone'>): boolean {
  return confirmation === undefined && (email ?? phone) !== null
}

interface SignUpRow extends SessionRow {
  readonly actor_id: string
}

const callSignUp = (
  p: ReturnType<typeof toParameters>,
): RawBuilder<SignUpRow> => sql`SELECT ${sessionColumns}, r.actor_id FROM ${sql.table('sign_up')}(
    ROW(${p.userId}, ${p.identityId}, ${p.email}, ${p.phone}, ${p.audience}, ${p.role}, ${p.passwordHash}, ${p.data},
      ${p.identityData}, ${p.now}, ${p.confirmed})::${sql.table('sign_up_item')},
    ROW(${p.intervalKey}, ${p.intervalKind}, ${p.dueBefore}, ${p.tokenKind}, ${p.linkHash}, ${p.codeHash}, ${p.codeSalt},
      ${p.expiresAt}, ${p.codeChallenge}, ${p.codeChallengeMethod}, ${p.message}, ${p.messageAgain})::${sql.table('sign_up_message')},
    ${p.tokenHash}, ${p.userAgent}, ${p.ip}, ${p.audit}) AS r`

const signUpQuery: PreparedQuery<ReturnType<typeof toParameters>, SignUpRow> = prepare('sign_up', callSignUp)

/** Signs one user up. Waits for other transactions that take the same identifier. */
export async function insertSignUp(pools: Pools, signUp: SignUp): Promise<SignUpOutcome> {
  return toOutcome(await pools.write.one(signUpQuery, toParameters(signUp)))
}

/** Signs one user up like `insertSignUp`, in a transaction of the caller. */
export async function insertSignUpWithin(trx: Trx, signUp: SignUp): Promise<SignUpOutcome> {
  const [row] = (await callSignUp(toParameters(signUp)).execute(trx)).rows
  if (!row) throw new Error('sign_up has given no row')
  return toOutcome(row)
}

const signUpsQuery: PreparedQuery<{ readonly signUps: readonly SignUp[] }, SignUpRow & NumberedRow> = prepare(
  'sign_ups',
  (p) =>
    sql`SELECT r.item, ${sessionColumns}, r.actor_id FROM ${sql.table('sign_ups')}(${columns(p.signUps, {
      userId: 'uuid',
      identityId: 'uuid',
      email: 'text',
      phone: 'text',
      audience: 'text',
      role: 'text',
      passwordHash: 'text',
      data: 'text',
      identityData: 'text',
      now: 'timestamptz',
      tokenHash: 'bytea',
      userAgent: 'text',
      ip: 'text',
      audit: 'boolean',
    })}) AS r`,
)

/**
 * Signs up several users whose identifiers count as confirmed, in one transaction. If it throws, none is signed up.
 * @returns the outcomes in the same order. An outcome is `undefined` if a user has the identifier or another of these sign-ups
 * takes it. All are `undefined` if another transaction took too long with one of the identifiers
 */
export async function insertSignUps(
  pools: Pools,
  signUps: readonly SignUp[],
): Promise<readonly (SignUpOutcome | undefined)[]> {
  try {
    return orderResults(signUps, await pools.write.all(signUpsQuery, { signUps }), toOutcome)
  } catch (error) {
    if (isLockTimeout(error)) return signUps.map(() => undefined)
    throw error
  }
}

function toOutcome(row: SignUpRow): SignUpOutcome {
  const verdict = toVerdict(row.verdict, VERDICTS)
  if (verdict !== 'signed-in') return { verdict, actorId: row.actor_id }
  return { verdict, actorId: row.actor_id, session: toStoredSession(row) }
}

function toParameters({ confirmation, ...input }: SignUp) {
  return {
    ...input,
    confirmation,
    confirmed: confirmation === undefined,
    intervalKey: confirmation?.interval.key,
    intervalKind: confirmation?.interval.kind,
    dueBefore: confirmation?.interval.dueBefore,
    tokenKind: confirmation?.secrets.kind,
    linkHash: confirmation?.secrets.linkHash,
    codeHash: confirmation?.secrets.codeHash,
    codeSalt: confirmation?.secrets.codeSalt,
    expiresAt: confirmation?.secrets.expiresAt,
    codeChallenge: confirmation?.pkce?.codeChallenge,
    codeChallengeMethod: confirmation?.pkce?.codeChallengeMethod,
    message: confirmation?.message,
    messageAgain: confirmation?.messageAgain,
  }
}

/** The content of a request that sends a message. The account gets it if this message is the first to confirm the account. */
export interface SignUpContent {
  readonly audience: string
  readonly data: Readonly<Record<string, unknown>>
  /** `null` for a request without a password. */
  readonly passwordHash: string | null
}

/**
 * Stores the content of a request, and replaces that of the last request with the same kind of message. Stores nothing for an
 * account that is confirmed or did not begin with a sign-up.
 * @param user locked @returns whether the account will get the content when the message confirms it
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

/** Stores the content of the request that creates an account. */
export async function insertSignUpContent(
  trx: Trx,
  user: Pick<User, 'id'>,
  { kind, audience, data, passwordHash }: SignUpContent & { readonly kind: TokenKind },
): Promise<void> {
  const content = { user_id: user.id, kind, aud: audience, data: { ...data }, password_hash: passwordHash }
  await trx.insertInto('sign_up_contents').values(content).execute()
}

/** Returns the data of the last request with this kind of message, or `undefined` if the account gets no content any more. */
export async function findSignUpData(
  trx: Trx,
  userId: string,
  kind: TokenKind,
): Promise<SignUpContent['data'] | undefined> {
  const contents = trx.selectFrom('sign_up_contents').where('user_id', '=', userId).where('kind', '=', kind)
  return (await contents.select('data').executeTakeFirst())?.data
}

/** Deletes the contents of all requests for an account. @returns the content of one kind, or `undefined` */
export async function claimSignUpContent(
  trx: Trx,
  userId: string,
  kind: TokenKind,
): Promise<SignUpContent | undefined> {
  const rows = await trx.deleteFrom('sign_up_contents').where('user_id', '=', userId).returningAll().execute()
  const row = rows.find((content) => content.kind === kind)
  return row && { audience: row.aud, data: row.data, passwordHash: row.password_hash }
}

/** Replaces the identity data of a user's own address by the data of a request. */
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

/** Requires that sign-ups are allowed. AUTH_DISABLE_SIGNUP forbids them. */
export function requireSignUpsEnabled({ signup }: { readonly signup: Pick<AuthConfig['signup'], 'disabled'> }): void {
  if (signup.disabled) throw signupDisabled()
}
