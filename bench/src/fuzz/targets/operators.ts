import { randomUUID } from 'node:crypto'
import type { Secrets } from '@trestle/stack/settings/secrets-file.ts'
import { keyOf } from '@trestle/stack/settings/services.ts'
import { signToken } from '../../fixtures.ts'

const ISSUER = 'https://auth.fuzz.example'
const SECRET = 'canary-secret-of-the-tokens-of-operators'
const DAY_S = 86_400

export const OPERATORS = { operator: 'admin', viewer: 'viewer' } as const
type OperatorRole = (typeof OPERATORS)[keyof typeof OPERATORS]

export type OperatorHeaders = Readonly<Record<'x-trestle-operator-key' | 'authorization', string>>

export type Operators = Readonly<Record<keyof typeof OPERATORS, OperatorHeaders>>

export function trustOperators(prefix: string): Readonly<Record<string, string>> {
  return { [`${prefix}OPERATOR_ISSUER`]: ISSUER, [`${prefix}OPERATOR_JWT_SECRET`]: SECRET }
}

/** Returns the headers of both operators, with tokens like those of auth. */
export function tokenOperators(secrets: Secrets): Operators {
  const headersOf = (role: OperatorRole) => operatorHeaders(secrets, role, signToken(SECRET, claimsOf(role)))
  return { operator: headersOf(OPERATORS.operator), viewer: headersOf(OPERATORS.viewer) }
}

/** Returns the headers of an operator's request: the key of a role, and an access token. */
export function operatorHeaders({ TRESTLE_OPERATOR_KEY }: Secrets, role: OperatorRole, token: string): OperatorHeaders {
  return { 'x-trestle-operator-key': keyOf(TRESTLE_OPERATOR_KEY, role), authorization: `Bearer ${token}` }
}

/** Returns the credentials of operators by name. No answer and no log may contain them. */
export function operatorSecrets(operators: Operators): readonly (readonly [string, string])[] {
  return Object.values(operators).flatMap(({ 'x-trestle-operator-key': key, authorization }, at) => [
    [`operator key ${at}`, key] as const,
    [`token of operator ${at}`, authorization] as const,
  ])
}

function claimsOf(role: OperatorRole): object {
  const nowS = Math.floor(Date.now() / 1_000)
  return {
    iss: ISSUER,
    sub: randomUUID(),
    session_id: randomUUID(),
    email: `${role}@console.fuzz.example`,
    aal: 'aal2',
    app_metadata: { console_role: role },
    iat: nowS,
    exp: nowS + DAY_S,
  }
}
