import { createHmac } from 'node:crypto'

/** A bearer with any claims, signed with the secret of the tests. */
export function forgeBearer(claims: Readonly<Record<string, unknown>>): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const data = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  const mac = createHmac('sha256', 'a secret of at least 32 bytes, for tests').update(data).digest('base64url')
  return `Bearer ${data}.${mac}`
}

/** What an operator's own token says: a role and nothing else. */
export const OPERATOR = { authorization: forgeBearer({ role: 'service_role' }) } as const
