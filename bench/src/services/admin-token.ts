import { createHmac } from 'node:crypto'

/** An access token of an operator. Its only claim is the role. */
export function signAdminToken(secret: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const data = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ role: 'service_role' })}`
  return `${data}.${createHmac('sha256', secret).update(data).digest('base64url')}`
}
