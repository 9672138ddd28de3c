import { createHash } from 'node:crypto'
import {
  type OperatorAccess,
  type OperatorActor,
  parseOperatorKeys,
  UnverifiableTokenError,
} from '@trestle/operators/operator.ts'
import { OPERATOR_ROLES, type OperatorRole } from '@trestle/operators/operator-roles.ts'

const keyOf = (role: OperatorRole) => role.padEnd(43, '-')

/** The user of auth who has a console role. */
export const actorOf = (role: OperatorRole): OperatorActor => ({
  id: `7d1f7c7e-6a53-4b51-b1c7-8a2b0a4f8a0${OPERATOR_ROLES.indexOf(role)}`,
  email: `${role}@example.com`,
  role,
})

/** A console with a key for each role, and an operator for each. The token of an operator is the name of their role. */
export const testOperators: OperatorAccess = {
  keys:
    parseOperatorKeys(
      OPERATOR_ROLES.map(
        (role) => `desk-${role}:${role}:${createHash('sha256').update(keyOf(role)).digest('hex')}`,
      ).join(','),
    ) ?? [],
  verifyToken: async (token) => {
    const role = OPERATOR_ROLES.find((each) => each === token)
    return role && actorOf(role)
  },
}

/** The same console while no key of auth can be read. */
export const unverifiable: OperatorAccess = {
  ...testOperators,
  verifyToken: () => Promise.reject(new UnverifiableTokenError('no key can be read')),
}

/** The credentials of a request of an operator, by the role of the key and that of the user. */
export function operatorHeaders(role: OperatorRole, actor = role): Record<string, string> {
  return { 'x-trestle-operator-key': keyOf(role), authorization: `Bearer ${actor}` }
}
