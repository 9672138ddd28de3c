import { z } from 'zod'
import { type DefineProvider, type ExternalProfile, Flag, omitClaims, Text } from '../provider.ts'

const Claims = z.looseObject({
  sub: z.string(),
  email: Text,
  email_verified: Flag,
  name: Text,
})
/** Check the type, because access tokens of the realm have the same keys and may have the same audience. */
const IdTokenClaims = Claims.extend({ typ: z.literal('ID').optional() })
/** Claims that the profile has members for. */
const PROFILE = ['name', 'sub', 'email', 'email_verified'] as const
/** Claims of the protocol in an id_token. */
const PROTOCOL = [
  'iss',
  'aud',
  'exp',
  'iat',
  'auth_time',
  'jti',
  'typ',
  'azp',
  'nonce',
  'sid',
  'at_hash',
  'acr',
  'session_state',
] as const

/** A realm of Keycloak, at EXTERNAL_KEYCLOAK_URL. Newer versions return a profile only with the scope `openid`. */
export const keycloak: DefineProvider = ({ baseUrl }) => ({
  protocol: 'oauth2',
  issuer: baseUrl,
  authorizeUrl: `${baseUrl}/protocol/openid-connect/auth`,
  tokenUrl: `${baseUrl}/protocol/openid-connect/token`,
  scopes: ['profile', 'email'],
  takesScopes: true,
  clientAuth: 'basic-or-post',
  usesPkce: true,
  idTokens: {
    keysOf: (issuer) => (issuer === baseUrl ? { jwksUrl: `${baseUrl}/protocol/openid-connect/certs` } : undefined),
    nonce: 'checked',
    readProfile: (token) => readClaims(IdTokenClaims.parse(token), [...PROFILE, ...PROTOCOL]),
  },
  identify: async ({ get }) => readClaims(await get(`${baseUrl}/protocol/openid-connect/userinfo`, Claims), PROFILE),
})

function readClaims(claims: z.output<typeof Claims>, omitted: readonly string[]): ExternalProfile {
  return {
    subject: claims.sub,
    emails: [{ email: claims.email, isVerified: claims.email_verified === true }],
    name: claims.name,
    customClaims: omitClaims(claims, omitted),
  }
}
