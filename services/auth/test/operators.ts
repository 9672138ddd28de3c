import { createHash } from 'node:crypto'
import { OPERATOR_ROLES, type OperatorRole } from '@trestle/service/operators/operator-roles.ts'
import type { JsonObject } from '../src/records/column-types.ts'
import type { TestApp } from './auth-app.ts'
import { addApp } from './authenticator-app.ts'
import { createSignedIn, type SignedIn } from './signed-in.ts'

/** The operator key of a role. */
export const keyOf = (role: OperatorRole): string => role.padEnd(43, '-')

/** Settings of a service with an operator key for each role. */
export const OPERATOR_SETTINGS = {
  AUTH_OPERATOR_KEYS: OPERATOR_ROLES.map(
    (role) => `desk-${role}:${role}:${createHash('sha256').update(keyOf(role)).digest('hex')}`,
  ).join(','),
}

/** A user with a console role who has signed in with a second factor. */
export interface SignedInOperator extends SignedIn {
  /** The headers of a request by the key of their role. */
  readonly credentials: Readonly<Record<string, string>>
}

/** Makes an operator, and signs them in with an authenticator app. */
export async function createOperator(test: TestApp, role: OperatorRole): Promise<SignedInOperator> {
  const signedIn = await createSignedIn(test, { console_role: role })
  const { headers } = await addApp(test, signedIn.headers)
  return { ...signedIn, credentials: { ...headers, 'x-trestle-operator-key': keyOf(role) } }
}

/** What the audit log says of the changes that operators have made to a user, oldest first. */
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
