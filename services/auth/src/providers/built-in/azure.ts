import { z } from 'zod'
import { omitClaims } from '../claims.ts'
import type { DefineProvider, ExternalProfile } from '../provider.ts'

const TENANT =
  /^https:\/\/(?:login\.microsoftonline\.com\/([0-9a-f-]{36})\/v2\.0|sts\.windows\.net\/([0-9a-f-]{36})\/)$/i
const claimsSchema = z.looseObject({
  iss: z.string(),
  sub: z.string(),
  email: z.string().optional(),
  name: z.string().optional(),
  preferred_username: z.string().optional(),
  xms_edov: z.unknown().optional(),
})
/** Of the protocol, or told elsewhere in the profile. */
const OMITTED = [
  ...['aud', 'iss', 'iat', 'nbf', 'exp', 'c_hash', 'at_hash', 'aio', 'nonce', 'rh', 'uti', 'jti', 'ver'],
  ...['sub', 'name', 'preferred_username'],
] as const

/** Microsoft accounts of any tenant. Each tenant is an issuer of its own, with keys of its own; the id_token tells all. */
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

/** Any administrator of a tenant may write any address: `xms_edov`, where it is there, says whether its domain is theirs. */
function readProfile(token: unknown): ExternalProfile {
  const claims = claimsSchema.parse(token)
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
