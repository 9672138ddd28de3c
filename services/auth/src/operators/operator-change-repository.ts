import { randomUUID } from 'node:crypto'
import type { Operator, OperatorActor } from '@trestle/operators/operator.ts'
import { lowerRole, type OperatorAction, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import { sql } from 'kysely'
import { type SigningKeyStatus, viewSigningKey } from '../access-tokens/signing-key.ts'
import { type RunWork, recordAudit } from '../audit/audit-log.ts'
import type { Db, Trx } from '../database.ts'
import { idempotencyKeyReused, operatorForbidden, operatorUnauthorized, signingKeyNotFound } from '../errors.ts'
import { decryptSecret, type EncryptedSecret, type Encryption, encryptSecret } from '../secrets/encrypted-secret.ts'
import { type FoundSession, findLiveSessionOfLocked, type SessionLimits } from '../sessions/active-caller.ts'
import type { Admin } from '../sessions/admin.ts'
import type { Profile } from '../users/profile-repository.ts'
import { type Manager, requireUser, type User } from '../users/user.ts'
import { viewUser } from '../users/user-view.ts'

/**
 * Runs a change once per Idempotency-Key. The same transaction records its answer under the key and its audit log entry (console
 * reference: Changes). An idempotent request gets the first answer and has no effect. An error of the work rolls back, so the key
 * can be used again.
 *
 * Lock order: the key, the operator and the user of the path, then the locks of the work. A second request with the key waits for
 * the first at the primary key.
 * @param toEffect the effect of the work for the operator; if it throws, the change is refused
 */
export function recordOperatorChange<Result>(
  change: OperatorChange,
  toEffect: (result: Result) => OperatorEffect,
): RunWork<Result, OperatorAnswer> {
  return async (trx, deps, work) => {
    const id = await claimChange(trx, change, deps.now())
    await requireStillOperator(trx, change)
    // The other request has committed its row, so the row has an answer.
    if (id === undefined) return getAnswer(trx, change)
    const { status, answer, object, changes } = toEffect(await work())
    const body = JSON.stringify(answer)
    await updateAnswer(trx, id, { status, sealed_body: encryptSecret(change.encryption, id, body) })
    const { operator, action, key: idempotencyKey } = change
    const { actor, key, role, address } = operator
    const { id: actorId, email } = actor
    await recordAudit(trx, deps, {
      action: `operator.${action}`,
      actor: { id: actorId, email, phone: null, userMetadata: {}, isSsoUser: false },
      target: { id: object.kind === 'user' ? object.id : actorId },
      ip: address,
      traits: { action, actor: { id: actorId, email }, key, role, address, idempotencyKey, object, changes },
    })
    return { status, body, replayed: false }
  }
}

/**
 * Requires that the operator still has the role. The body may arrive long after the headers, and another operator may have banned
 * the operator, ended the session or removed the role in the meantime. The operator's row stays locked until the end of the
 * change. Both rows are locked in the order of their ids, so that of two operators who change each other, the second is judged
 * after the first change. A user found by the work, such as by email, is locked outside this order. A change that loses a
 * deadlock runs again.
 */
async function requireStillOperator(trx: Trx, change: OperatorChange): Promise<void> {
  const { session, userId } = change
  const users = trx.selectFrom('users').select('id')
  for (const id of [...new Set([session.userId, userId ?? session.userId])].sort()) {
    const row = users.where('id', '=', id)
    // A shared lock of the operator's own row does not block their other changes.
    await (id === userId ? row.forNoKeyUpdate() : row.forShare()).execute()
  }
  requireSameOperator(change, toOperatorActor(session, await findLiveSessionOfLocked(trx, session.limits, session)))
}

/** Runs and records a change like `recordOperatorChange`. The answer is the changed user. */
export function recordUserChange(
  change: OperatorChange,
  changes: object,
  status = 200,
): RunWork<Profile, OperatorAnswer> {
  return recordOperatorChange(change, (changed) => {
    const { id } = changed.user
    return { status, answer: { user: viewUser(changed) }, object: { kind: 'user', id }, changes }
  })
}

/**
 * Finds the answer of an earlier identical request, or `undefined` for a new request. If it exists, the idempotent request skips
 * the steps before the transaction, such as a hook call.
 * @throws idempotencyKeyReused, and Error for a row without an answer, or with an encryption key missing in the settings
 */
export async function findOperatorAnswer(db: Db, change: OperatorChange): Promise<OperatorAnswer | undefined> {
  const row = await db
    .selectFrom('operator_changes')
    .select(['id', 'fingerprint', 'status', 'sealed_body as encrypted'])
    .where('actor_id', '=', change.operator.actor.id)
    .where('key', '=', change.key)
    .executeTakeFirst()
  if (row === undefined) return undefined
  if (!change.knownFingerprints.some((known) => known.equals(row.fingerprint))) throw idempotencyKeyReused()
  const { id, status, encrypted } = row
  // The transaction that inserts the row also stores the answer.
  if (status === null || encrypted === null) throw new Error('the change of an operator has no answer')
  return { status, body: decryptSecret(change.encryption.encryptionKeys, id, encrypted), replayed: true }
}

async function getAnswer(trx: Trx, change: OperatorChange): Promise<OperatorAnswer> {
  const answer = await findOperatorAnswer(trx, change)
  if (answer === undefined) throw new Error('the change of an operator was deleted meanwhile')
  return answer
}

/** The number of old rows that a change deletes, so that the table does not grow. */
const OLD_ROWS_MAX = 100

/** Claims the key of a change, and deletes some old rows. @returns the row id, or `undefined` for a used key */
async function claimChange(
  trx: Trx,
  { operator, key, fingerprint }: OperatorChange,
  at: Date,
): Promise<string | undefined> {
  const changes = sql.table('operator_changes')
  await sql`
    DELETE FROM ${changes} WHERE (actor_id, key) IN (
      SELECT actor_id, key FROM ${changes} WHERE created_at < ${at}::timestamptz - interval '24 hours'
      LIMIT ${sql.lit(OLD_ROWS_MAX)} FOR UPDATE SKIP LOCKED)`.execute(trx)
  const id = randomUUID()
  const { numInsertedOrUpdatedRows = 0n } = await trx
    .insertInto('operator_changes')
    .values({ id, actor_id: operator.actor.id, key, fingerprint, created_at: at })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows > 0n ? id : undefined
}

async function updateAnswer(
  trx: Trx,
  id: string,
  answer: { readonly status: number; readonly sealed_body: EncryptedSecret },
): Promise<void> {
  await trx.updateTable('operator_changes').set(answer).where('id', '=', id).execute()
}

/** A change requested by an operator (console reference: Changes). */
export interface OperatorChange {
  readonly operator: Operator
  /** The operator's session. The operator is judged by it when the change is made. */
  readonly session: OperatorSession
  /** The changed user in the path, or `undefined`. */
  readonly userId: string | undefined
  readonly action: OperatorAction
  /** The Idempotency-Key. */
  readonly key: string
  /**
   * HMAC of method, path and body, by which an idempotent request is recognised. With an unkeyed hash, a reader of the database
   * could guess a password in the body.
   */
  readonly fingerprint: Buffer
  /** The same by each key of the process, because the first request may be older than the current key. */
  readonly knownFingerprints: readonly Buffer[]
  /** The keys that encrypt the stored answer. It may contain a sign-in link, and it names users. */
  readonly encryption: Encryption
}

/** The answer to an operator's change, and its audit log entry. */
export interface OperatorEffect {
  /** Below 300. */
  readonly status: number
  readonly answer: object
  /** The changed object, for the audit log. */
  readonly object: { readonly kind: string; readonly id: string }
  /** The changed values, for the audit log. They must not contain a secret. */
  readonly changes: object
}

/** The answer to a new or repeated change. */
export interface OperatorAnswer {
  readonly status: number
  readonly body: string
  readonly replayed: boolean
}

/** The operator of a change, and the requested action. */
export type AskedChange = Pick<OperatorChange, 'operator' | 'action'>

/** Refuses a change that operators may not make to themselves. */
export function requireAnother({ operator, action }: AskedChange, userId: string): void {
  if (operator.actor.id === userId) refuseAction(operator.role, action)
}

/**
 * Requires that the operator of a change is unchanged since the request began.
 * @param actor the operator of the session at present
 */
export function requireSameOperator({ operator, action }: AskedChange, actor: OperatorActor | undefined): void {
  const { role } = requireOperator(actor)
  if (lowerRole(operator.role, role) !== operator.role) refuseAction(role, action)
}

interface AdminRules {
  /** AUTH_JWT_ADMIN_ROLES. */
  readonly adminRoles: readonly string[]
}

/** All operators together have one client's share of mails and SMS, so that users still get messages. */
const SHARE_OF_OPERATORS = 'operators of the console'

/**
 * The operator of a change as the admin of a use case. They find no deleted user. Below the role admin, they may not act on a
 * protected user (console reference: Console roles in auth).
 */
export function toOperatorAdmin({ operator, action }: AskedChange, rules: AdminRules): Admin {
  const { actor, role } = operator
  return {
    userId: actor.id,
    sessionId: null,
    requireMayManage: (user) => {
      requireUser(user.deletedAt === null ? user : undefined)
      if (role !== 'admin' && isProtected(user, rules)) refuseAction(role, action)
    },
    limitKey: SHARE_OF_OPERATORS,
    actor: { id: actor.id, email: actor.email, phone: null, userMetadata: {}, isSsoUser: false },
  }
}

/** Refuses a change of a protected user by any operator, even an admin. Finds no deleted user. */
export function requireUnprotected({ operator, action }: AskedChange, rules: AdminRules): Manager {
  return {
    requireMayManage: (user) => {
      requireUser(user.deletedAt === null ? user : undefined)
      if (isProtected(user, rules)) refuseAction(operator.role, action)
    },
  }
}

/** Whether only operators with the role admin may act on a user: on operators, and on admins of the API. */
export function isProtected(
  { consoleRole, role }: Pick<User, 'consoleRole' | 'role'>,
  { adminRoles }: AdminRules,
): boolean {
  return consoleRole !== null || adminRoles.includes(role)
}

/** Refuses an action because of the operator's role or the affected user. */
function refuseAction(role: OperatorRole, action: OperatorAction): never {
  throw operatorForbidden({ details: { action, role } })
}

export function requireOperator<Found>(found: Found | undefined): Found {
  if (found === undefined) throw operatorUnauthorized()
  return found
}

/** The answer and audit entry for a change of a signing key. The answer is the changed key. */
export function toKeyEffect(key: SigningKeyStatus, changes: object, status = 200): OperatorEffect {
  return { status, answer: { key: viewSigningKey(key) }, object: { kind: 'signing-key', id: key.kid }, changes }
}

export function refuseUnknownKey(): never {
  throw signingKeyNotFound()
}

/** The session in an operator's access token, and the rules by which it is judged. */
export interface OperatorSession {
  readonly userId: string
  readonly sessionId: string
  /** Whether the token has the level aal2. */
  readonly hasAal2Token: boolean
  readonly limits: SessionLimits
  /** The setting AUTH_OPERATOR_REQUIRE_MFA. */
  readonly mfaRequired: boolean
}

/**
 * The current operator of a session, from the database. The user is not banned, has a console role, and has passed a second
 * factor if one is required or set up. `undefined` for any other session.
 */
export function toOperatorActor(
  { userId: id, hasAal2Token, mfaRequired }: OperatorSession,
  session: FoundSession | undefined,
): OperatorActor | undefined {
  if (!session || session.isBanned || session.email === null || session.consoleRole === null) return undefined
  const hasShownFactor = hasAal2Token && session.hasShownFactor
  // An operator with a factor must use it, like an admin. Otherwise the password would be enough, against the owner's
  // expectation.
  if ((mfaRequired || session.userHasFactor) && !hasShownFactor) return undefined
  return { id, email: session.email, role: session.consoleRole }
}
