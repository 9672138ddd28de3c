import { z } from 'zod'
import { omitClaims } from '../claims.ts'
import type { DefineProvider, ExternalProfile } from '../provider.ts'

const TENANT =
  /^https:\/\/(?:login\.microsoftonline\.com\/([0-9a-f-]{36})\/v2\.0|sts\.windows\.net\/([0-9a-f-]{36})\/)$/i
const Claims = z.looseObject({
  iss: z.string(),
  sub: z.string(),
  email: z.string().optional(),
  name: z.string().optional(),
  preferred_username: z.string().optional(),
  xms_edov: z.unknown().optional(),
})
/** Claims of the protocol, and claims that the profile holds elsewhere. */
const OMITTED = [
  ...['aud', 'iss', 'iat', 'nbf', 'exp', 'c_hash', 'at_hash', 'aio', 'nonce', 'rh', 'uti', 'jti', 'ver'],
  ...['sub', 'name', 'preferred_username'],
] as const

/** Microsoft accounts of any tenant. Each tenant is an issuer with its own keys. The id_token holds the whole profile. */
export const azure: DefineProvider = () => ({
  protocol: 'oauth2',
  issuer: 'https://login.microsoftonline.com/common/v2.0',
  authorizeUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
  tokenUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
  scopes: ['openid'],
  takesScopes: true,
  clientAuth: 'post',
  usesPkce: true,
  idTokens: {
    keysOf: (issuer) => {
      const [, current, older] = TENANT.exec(issuer) ?? []
      const tenant = current ?? older
      if (tenant === undefined) return undefined
      return { jwksUrl: `https://login.microsoftonline.com/${tenant}/discovery/v2.0/keys` }
    },
    nonce: 'checked',
    readProfile,
  },
  identify: async ({ idTokenClaims }) => readProfile(await idTokenClaims()),
})

/**
 * An administrator may write any address for the users of a tenant. `xms_edov`, if present, says whether the
 * tenant owns its domain.
 */
function readProfile(token: unknown): ExternalProfile {
  const claims = Claims.parse(token)
  const isAssumed = claims.xms_edov === undefined
  const isOwn = isAssumed || ['true', '1'].includes(String(claims.xms_edov))
  return {
    subject: claims.sub,
    issuer: claims.iss,
    emails: [{ email: claims.email, isVerified: isOwn, isAssumed }],
    fullName: claims.name,
    preferredUsername: claims.preferred_username,
    customClaims: omitClaims(claims, OMITTED),
  }
}
