import { z } from 'zod'
import type { KeySource } from '../key-sets.ts'
import { type DefineProvider, type ExternalProfile, omitClaims, Text } from '../provider.ts'

const MICROSOFT = 'https://login.microsoftonline.com'
const TENANT =
  /^https:\/\/(?:login\.microsoftonline\.com\/([0-9a-f-]{36})\/v2\.0|sts\.windows\.net\/([0-9a-f-]{36})\/)$/i
/** Endpoints for users of several tenants. They accept the issuer of any tenant. */
const FOR_MANY = [`${MICROSOFT}/common`, `${MICROSOFT}/organizations`]
/** The tenant of all personal accounts, by name and by the id in its tokens. */
const PERSONAL = [`${MICROSOFT}/consumers`, `${MICROSOFT}/9188040d-6c67-4c5b-b112-36a304b66dad`] as const
const Claims = z.looseObject({
  iss: z.string(),
  sub: z.string(),
  email: Text,
  name: Text,
  preferred_username: Text,
  xms_edov: z.unknown().optional(),
})
/** Claims of the protocol, and claims that the profile stores elsewhere. */
const OMITTED = [
  ...['aud', 'iss', 'iat', 'nbf', 'exp', 'c_hash', 'at_hash', 'aio', 'nonce', 'rh', 'uti', 'jti', 'ver'],
  ...['sub', 'name', 'preferred_username'],
] as const

/**
 * Microsoft accounts, of any tenant or only of the tenant at EXTERNAL_AZURE_URL. Each tenant is an issuer with separate keys. The
 * id_token contains the whole profile.
 */
export const azure: DefineProvider = ({ baseUrl }) => {
  const base = baseUrl || `${MICROSOFT}/common`
  return {
    protocol: 'oauth2',
    issuer: `${base}/v2.0`,
    authorizeUrl: `${base}/oauth2/v2.0/authorize`,
    tokenUrl: `${base}/oauth2/v2.0/token`,
    scopes: ['openid'],
    takesScopes: true,
    clientAuth: 'post',
    usesPkce: true,
    idTokens: {
      keysOf: (issuer) => keysOf(base, issuer),
      nonce: 'checked',
      readProfile,
    },
    identify: async ({ idTokenClaims }) => readProfile(await idTokenClaims()),
  }
}

/** Returns the keys of an issuer. The endpoints of a single tenant accept only its own issuer. */
function keysOf(base: string, issuer: string): KeySource | undefined {
  const own = base === PERSONAL[0] ? PERSONAL[1] : base
  const [, current, older] = TENANT.exec(issuer) ?? []
  const tenant = current ?? older
  const ofTenant = tenant === undefined ? undefined : `${MICROSOFT}/${tenant}`
  const isOwn = FOR_MANY.includes(own) || ofTenant?.toLowerCase() === own.toLowerCase()
  if (ofTenant !== undefined && isOwn) return { jwksUrl: `${ofTenant}/discovery/v2.0/keys` }
  return issuer === `${own}/v2.0` ? { jwksUrl: `${own}/discovery/v2.0/keys` } : undefined
}

/**
 * A tenant's administrator may set any address for its users. `xms_edov`, if present, tells whether the tenant owns the domain.
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
