import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'

/** What this server reads of the claims of a token. */
export interface Claims {
  readonly sub: string
  readonly exp: number
}

/** Signs and verifies access tokens by HS256 (RFC 7515, RFC 7519). */
export function createSigner(secret: string) {
  const key = createSecretKey(Buffer.from(secret))
  const header = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url')
  const macOf = (text: string) => createHmac('sha256', key).update(text).digest()
  return {
    sign: (claims: object): string => {
      const text = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
      return `${text}.${macOf(text).toString('base64url')}`
    },
    /** Undefined for a token that is not good. */
    verify: (token: string): Claims | undefined => {
      const end = token.lastIndexOf('.')
      const mac = Buffer.from(token.slice(end + 1), 'base64url')
      const wanted = macOf(token.slice(0, end))
      if (mac.length !== wanted.length || !timingSafeEqual(mac, wanted)) return undefined
      const claims: Claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
      return claims.exp > Date.now() / 1_000 ? claims : undefined
    },
  }
}
