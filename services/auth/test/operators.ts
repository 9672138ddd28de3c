import { createHash, randomUUID } from 'node:crypto'
import { OPERATOR_ROLES, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { JsonObject } from '../src/records/timestamp.ts'
import type { TestApp } from './auth-app.ts'
import { addApp } from './authenticator-app.ts'
import { anyId, errorBody, statusAndBody } from './bodies.ts'
import { createSignedIn, type SignedIn } from './signed-in.ts'

/** The operator key of a role. */
export const keyOf = (role: OperatorRole): string => role.padEnd(43, '-')

/** Settings with an operator key for each role. */
export const OPERATOR_SETTINGS = {
  AUTH_OPERATOR_KEYS: OPERATOR_ROLES.map(
    (role) => `desk-${role}:${role}:${createHash('sha256').update(keyOf(role)).digest('hex')}`,
  ).join(','),
}

/** A user with a console role, signed in with a second factor. */
export interface SignedInOperator extends SignedIn {
  readonly role: OperatorRole
  /** Request headers with the operator key of the user's role. */
  readonly credentials: Readonly<Record<string, string>>
}

/** Creates an operator, and signs them in with an authenticator app. */
export async function createOperator(test: TestApp, role: OperatorRole): Promise<SignedInOperator> {
  const signedIn = await createSignedIn(test, { console_role: role })
  const { headers } = await addApp(test, signedIn.headers)
  return { ...signedIn, role, credentials: { ...headers, 'x-trestle-operator-key': keyOf(role) } }
}

/** Returns the audit log entries about operators' changes of a user, oldest first. */
export async function changesOf({ deps }: Pick<TestApp, 'deps'>, userId: string): Promise<readonly JsonObject[]> {
  const entries = await deps.db
    .selectFrom('audit_log_entries')
    .select('payload')
    .where('target_user_id', '=', userId)
    .where('log_type', '=', 'operator')
    .orderBy('id')
    .execute()
  return entries.map(({ payload }) => payload)
}

interface OperatorChange {
  readonly action: string
  readonly object: { readonly kind: string; readonly id: string }
  readonly changes: object
}

/** The audit log entry of one change, as `changesOf` returns it. `members` overrides `traits`. */
export const changeEntry = (by: SignedInOperator, change: OperatorChange, members: object = {}): object => ({
  actor_id: by.user.id,
  actor_username: by.email,
  actor_via_sso: false,
  action: `operator.${change.action}`,
  log_type: 'operator',
  traits: {
    actor: { id: by.user.id, email: by.email },
    key: `desk-${by.role}`,
    role: by.role,
    address: '127.0.0.1',
    idempotencyKey: anyId,
    ...change,
    ...members,
  },
})

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const

/** Sends an operator's request, such as `PUT /users/1`, with a new Idempotency-Key. @returns status and body */
export async function operate(
  { app }: Pick<TestApp, 'app'>,
  { credentials }: SignedInOperator,
  asked: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`,
  payload?: object,
): Promise<readonly [status: number, body: unknown]> {
  const headers = { ...credentials, 'idempotency-key': randomUUID() }
  const [method = '', path = ''] = asked.split(' ', 2)
  const request = { method: METHODS.find((known) => known === method) ?? 'GET', url: `/operator${path}`, headers }
  return statusAndBody(await app.inject(payload === undefined ? request : { ...request, payload }))
}

/** The refusal of a role. */
export const forbidden = (action: string, role: string): readonly [number, object] => [
  403,
  errorBody(403, 'operator_forbidden', 'The role of the operator may not do this', { action, role }),
]
/** The refusal of a key or an access token, or of a user who is no longer an operator. */
export const unauthorized: readonly [number, object] = [
  401,
  errorBody(401, 'operator_unauthorized', 'The operator key or the access token is missing, malformed or not good'),
]
/** The refusal of an unknown user. */
export const unknownUser: readonly [number, object] = [404, errorBody(404, 'user_not_found', 'User not found')]
