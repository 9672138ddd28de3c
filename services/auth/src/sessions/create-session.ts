import { columns, type NumberedRow, orderResults } from '@trestle/database/batches/columns.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { Db } from '../database.ts'
import type { Timestamp } from '../records/timestamp.ts'
import type { IdentifierKind } from '../requests/fields.ts'
import type { RandomBytes } from '../secrets/encrypted-secret.ts'
import { batchCalls } from './batch-calls.ts'
import {
  FIRST_TOKEN_BYTES,
  firstRefreshToken,
  hashRefreshToken,
  type IssuedSession,
  type SessionOrigin,
  type SignInMethod,
  type StoredSession,
} from './session.ts'
import {
  type SessionRow,
  sessionColumns,
  toStoredSession,
  toVerdict,
  updateCredentialSince,
  upsertCopiedMethods,
} from './session-repository.ts'

export interface SignIn extends SessionOrigin {
  readonly method: SignInMethod
  /** When the used credential was added to the account. `null` means when the account was created. */
  readonly credentialSince: Timestamp | Date | null
  /** The session of the same user that this session replaces. Its authentication methods are kept. */
  readonly continues?: string | null
}

/**
 * Signs a user in within the caller's transaction: writes the session, its first refresh token, its `amr` and the user's last
 * sign-in. Returns the updated user. The caller writes the audit log, because it knows the kind of sign-in.
 * @throws Error if the user is deleted
 */
export async function createSession(
  trx: Db,
  { randomBytes }: { readonly randomBytes: RandomBytes },
  { id: userId }: { readonly id: string },
  { credentialSince, continues = null, ...signIn }: SignIn,
): Promise<IssuedSession> {
  const refreshToken = firstRefreshToken(randomBytes(FIRST_TOKEN_BYTES))
  const stored = await insertSession(trx, { ...signIn, userId, tokenHash: hashRefreshToken(refreshToken) })
  if (credentialSince !== null) {
    await updateCredentialSince(trx, { sessionId: stored.sessionId, method: signIn.method }, credentialSince)
  }
  if (continues !== null) await upsertCopiedMethods(trx, { from: continues, to: stored.sessionId })
  return { ...stored, refreshToken }
}

interface NewSession extends SessionOrigin {
  readonly userId: string
  readonly tokenHash: Buffer
  readonly method: SignInMethod
}

/** Inserts a session within the caller's transaction. @throws Error if the user is deleted */
async function insertSession(trx: Db, input: NewSession): Promise<StoredSession> {
  const { rows } = await sql<SessionRow>`SELECT ${sessionColumns} FROM ${sql.table('create_session')}(
    ${input.userId}, ${input.tokenHash}, ${input.method}, ${input.userAgent}, ${input.ip}) AS r`.execute(trx)
  const row = rows[0]
  if (row?.verdict !== 'done') throw new Error('no user to open a session for')
  return toStoredSession(row)
}

/** A user whose password was correct and who is about to be signed in. */
export interface PasswordSignIn extends SessionOrigin {
  readonly userId: string
  /** The stored hash with which the password was verified. */
  readonly verifiedHash: string
  /** Replaces the stored hash. `null` keeps it. */
  readonly newHash: string | null
  readonly provider: IdentifierKind
  readonly tokenHash: Buffer
}

export interface PasswordSignInRules {
  readonly audit: boolean
}

const REFUSALS = ['password-changed', 'user-banned', 'email-not-confirmed', 'phone-not-confirmed'] as const

/** `password-changed`: the stored hash differs from the verified hash. */
export type PasswordSignInResult =
  | { readonly verdict: 'done'; readonly session: StoredSession }
  | { readonly verdict: (typeof REFUSALS)[number] }

/** Fails if the user has changed since the password was verified. @throws serverBusy if it would wait too long */
export type SignInByPassword = (signIn: PasswordSignIn) => Promise<PasswordSignInResult>

/** Sends sign-ins whose passwords were verified at the same time to the database together (see `batchCalls`). */
export function batchPasswordSignIns(pools: Pools, rules: PasswordSignInRules): SignInByPassword {
  return batchCalls<PasswordSignIn, PasswordSignInResult>({
    many: (signIns) => insertPasswordSessions(pools, signIns, rules),
    alone: (signIn) => insertPasswordSession(pools, signIn, rules),
  })
}

const signInByPassword: PreparedQuery<PasswordSignIn & PasswordSignInRules, SessionRow> = prepare(
  'sign_in_by_password',
  (p) => sql`SELECT ${sessionColumns} FROM ${sql.table('sign_in_by_password')}(${p.userId}, ${p.verifiedHash},
    ${p.newHash}, ${p.provider}, ${p.tokenHash}, ${p.userAgent}, ${p.ip}, ${p.audit}) AS r`,
)

/** Inserts the session of one sign-in. Waits for the user's row if another transaction holds it. */
export async function insertPasswordSession(
  pools: Pools,
  signIn: PasswordSignIn,
  rules: PasswordSignInRules,
): Promise<PasswordSignInResult> {
  return toResult(await pools.write.one(signInByPassword, { ...signIn, ...rules }))
}

interface PasswordSignIns extends PasswordSignInRules {
  readonly signIns: readonly PasswordSignIn[]
}

const signInsByPassword: PreparedQuery<PasswordSignIns, SessionRow & NumberedRow> = prepare(
  'sign_ins_by_password',
  (p) =>
    sql`SELECT r.item, ${sessionColumns} FROM ${sql.table('sign_ins_by_password')}(${columns(p.signIns, {
      userId: 'uuid',
      verifiedHash: 'text',
      newHash: 'text',
      provider: 'text',
      tokenHash: 'bytea',
      userAgent: 'text',
      ip: 'text',
    })}, ${p.audit}) AS r`,
)

/**
 * Inserts the sessions of several sign-ins in one transaction, or none if it throws.
 * @returns a result per sign-in in the same order; `undefined` if the user is deleted or another transaction has locked it
 */
async function insertPasswordSessions(
  pools: Pools,
  signIns: readonly PasswordSignIn[],
  rules: PasswordSignInRules,
): Promise<readonly (PasswordSignInResult | undefined)[]> {
  return orderResults(signIns, await pools.write.all(signInsByPassword, { ...rules, signIns }), toResult)
}

function toResult(row: SessionRow): PasswordSignInResult {
  if (row.verdict === 'done') return { verdict: 'done', session: toStoredSession(row) }
  return { verdict: toVerdict(row.verdict, REFUSALS) }
}
