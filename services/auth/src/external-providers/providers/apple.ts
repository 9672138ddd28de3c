import { z } from 'zod'
import { Count, type DefineProvider, type ExternalProfile, type Grant, Text, toListedEmail } from '../provider.ts'

const ISSUERS = ['https://appleid.apple.com', 'https://account.apple.com']
const Name = z.object({
  name: z.object({ firstName: Text, lastName: Text }).optional(),
})

/**
 * Sign in with Apple. The configured secret is a JWT signed by the operator, and is sent unchanged. The id_token identifies the
 * user. Apple sends the user's name only once, in the callback form of the first authorization.
 */
export const apple: DefineProvider = () => ({
  protocol: 'oauth2',
  issuer: 'https://appleid.apple.com',
  authorizeUrl: 'https://appleid.apple.com/auth/authorize',
  tokenUrl: 'https://appleid.apple.com/auth/token',
  scopes: ['email', 'name'],
  takesScopes: false,
  clientAuth: 'post',
  usesPkce: false,
  authorizeParams: { response_mode: 'form_post' },
  idTokens: {
    keysOf: (issuer) => (ISSUERS.includes(issuer) ? { jwksUrl: 'https://appleid.apple.com/auth/keys' } : undefined),
    nonce: 'checked',
    readProfile,
  },
  identify: async ({ idTokenClaims }, grant) => ({ ...readProfile(await idTokenClaims()), name: readName(grant) }),
})

const Claims = z.object({
  iss: z.string(),
  sub: z.string(),
  email: Text,
  /** `false` for Sign in with Apple at Work & School, where administrators set the address. */
  email_verified: z.unknown().optional(),
  is_private_email: z
    .union([z.boolean(), z.enum(['true', 'false'])])
    .optional()
    .catch(undefined),
  auth_time: Count,
  transfer_sub: Text,
})

function readProfile(claims: unknown): ExternalProfile {
  const { iss, sub, email, email_verified, ...more } = Claims.parse(claims)
  const { is_private_email: isPrivate, auth_time, transfer_sub } = more
  return {
    subject: sub,
    issuer: iss,
    emails: [toListedEmail(email, email_verified)],
    customClaims: {
      ...(isPrivate === undefined ? {} : { is_private_email: String(isPrivate) === 'true' }),
      auth_time,
      transfer_sub,
    },
  }
}

/** Ignores an invalid name. Anyone can forge the field, so it proves nothing and must not fail the sign-in. */
function readName({ userField }: Grant): string | undefined {
  if (userField === undefined) return undefined
  try {
    const { name } = Name.parse(JSON.parse(userField))
    return [name?.firstName, name?.lastName].filter(Boolean).join(' ').slice(0, 255)
  } catch {
    return undefined
  }
}
