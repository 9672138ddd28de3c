import { createHash } from 'node:crypto'
import { OPERATOR_ROLES, type OperatorRole } from '@trestle/service/operators/operator-roles.ts'
import { buildApp } from '../src/app.ts'
import { authenticateOperator } from '../src/plugins/authenticate-operator.ts'
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

/** The service with one more route of operators, `GET /operator/ban`, whose action is `users.ban`. */
export async function buildGuarded({ deps }: Pick<TestApp, 'deps'>): Promise<Awaited<ReturnType<typeof buildApp>>> {
  const app = await buildApp(deps)
  await app.register(async (operators) => {
    await operators.register(authenticateOperator)
    operators.get('/operator/ban', { config: { action: 'users.ban' } }, async () => ({}))
  })
  return app
}
