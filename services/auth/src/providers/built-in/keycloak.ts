import { z } from 'zod'
import { omitClaims } from '../claims.ts'
import type { DefineProvider, ExternalProfile } from '../provider.ts'

const claimsSchema = z.looseObject({
  sub: z.string(),
  email: z.string().optional(),
  email_verified: z.boolean().optional(),
  name: z.string().optional(),
})
/** The realm's access tokens are signed by the same keys, and may be for the same client. */
const idTokenSchema = claimsSchema.extend({ typ: z.literal('ID').optional() })
const TOLD = ['name', 'sub', 'email', 'email_verified'] as const
/** Claims of an id_token that are the protocol's own. */
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

/** A realm of Keycloak: EXTERNAL_KEYCLOAK_URL is its address. Newer ones want the scope `openid` to tell who it is. */
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
    readProfile: (token) => readClaims(idTokenSchema.parse(token), [...TOLD, ...PROTOCOL]),
  },
  identify: async ({ get }) => readClaims(await get(`${baseUrl}/protocol/openid-connect/userinfo`, claimsSchema), TOLD),
})

function readClaims(claims: z.output<typeof claimsSchema>, omitted: readonly string[]): ExternalProfile {
  return {
    subject: claims.sub,
    emails: [{ email: claims.email, isVerified: claims.email_verified === true }],
    name: claims.name,
    customClaims: omitClaims(claims, omitted),
  }
}
