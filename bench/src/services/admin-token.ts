import { createHmac } from 'node:crypto'

/** An access token of an operator. Its only claim is the role. */
export function signAdminToken(secret: string): string {
  return signToken(secret, { role: 'service_role' })
}

/** A token (RFC 7519) with these claims, signed with a shared secret. */
export function signToken(secret: string, claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const data = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  return `${data}.${createHmac('sha256', secret).update(data).digest('base64url')}`
}
