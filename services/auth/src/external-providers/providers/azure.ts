import { z } from 'zod'
import type { KeySource } from '../key-sets.ts'
import { type DefineProvider, type ExternalProfile, omitClaims, Text } from '../provider.ts'

const MICROSOFT = 'https://login.microsoftonline.com'
const TENANT =
  /^https:\/\/(?:login\.microsoftonline\.com\/([0-9a-f-]{36})\/v2\.0|sts\.windows\.net\/([0-9a-f-]{36})\/)$/i
/** Endpoints for the users of many tenants. Any of their issuers counts. */
const FOR_MANY = [`${MICROSOFT}/common`, `${MICROSOFT}/organizations`]
/** The tenant of all personal accounts, by its name and by the id that its tokens have. */
const PERSONAL = [`${MICROSOFT}/consumers`, `${MICROSOFT}/9188040d-6c67-4c5b-b112-36a304b66dad`] as const
const Claims = z.looseObject({
  iss: z.string(),
  sub: z.string(),
  email: Text,
  name: Text,
  preferred_username: Text,
  xms_edov: z.unknown().optional(),
})
/** Claims of the protocol, and claims that the profile holds elsewhere. */
const OMITTED = [
  ...['aud', 'iss', 'iat', 'nbf', 'exp', 'c_hash', 'at_hash', 'aio', 'nonce', 'rh', 'uti', 'jti', 'ver'],
  ...['sub', 'name', 'preferred_username'],
] as const

/**
 * Microsoft accounts: of any tenant, or of the one at EXTERNAL_AZURE_URL alone. Each tenant is an issuer with its own keys. The
 * id_token holds the whole profile.
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

/** The keys of an issuer. At the endpoints of one tenant no issuer but that of the tenant has any. */
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
