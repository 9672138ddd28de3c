import { z } from 'zod'
import { type DefineProvider, type ExternalProfile, Flag, Text } from '../provider.ts'

/** Old tokens contain the second form. */
const ISSUERS = ['https://accounts.google.com', 'accounts.google.com']
const Claims = z.object({
  sub: z.string(),
  email: Text,
  email_verified: z.unknown().optional(),
  name: Text,
  picture: Text,
  hd: Text,
})
const Profile = z.object({
  id: z.string(),
  email: Text,
  verified_email: Flag,
  email_verified: Flag,
  name: Text,
  picture: Text,
  hd: Text,
})

/** Google. Fetches the profile only if there is no id_token. */
export const google: DefineProvider = () => ({
  protocol: 'oauth2',
  issuer: 'https://accounts.google.com',
  authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
  tokenUrl: 'https://oauth2.googleapis.com/token',
  scopes: ['email', 'profile'],
  takesScopes: true,
  clientAuth: 'post',
  usesPkce: true,
  idTokens: {
    keysOf: (issuer) =>
      ISSUERS.includes(issuer) ? { jwksUrl: 'https://www.googleapis.com/oauth2/v3/certs' } : undefined,
    nonce: 'checked',
    readProfile: readClaims,
  },
  identify: async ({ get, idTokenClaims }, { idToken }) => {
    if (idToken !== undefined) return readClaims(await idTokenClaims())
    const { id, email, ...profile } = await get('https://www.googleapis.com/userinfo/v2/me', Profile)
    return {
      subject: id,
      emails: [{ email, isVerified: profile.verified_email ?? profile.email_verified ?? false }],
      name: profile.name,
      picture: profile.picture,
      customClaims: { hd: profile.hd },
    }
  },
})

function readClaims(token: unknown): ExternalProfile {
  const { sub, email, email_verified: isVerified, name, picture, hd } = Claims.parse(token)
  return {
    subject: sub,
    emails: [{ email, isVerified: String(isVerified) === 'true' }],
    name,
    picture,
    customClaims: { hd },
  }
}
