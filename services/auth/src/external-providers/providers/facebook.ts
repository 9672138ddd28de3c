import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { type DefineProvider, type ExternalProfile, fullName, Text } from '../provider.ts'

const ISSUER = 'https://www.facebook.com'
const Profile = z.object({
  id: z.string(),
  /** Missing for accounts that have only a phone number. */
  email: Text,
  first_name: Text,
  last_name: Text,
  name: Text,
  picture: z
    .object({ data: z.object({ url: Text }) })
    .nullish()
    .catch(undefined),
})
const Claims = z.object({
  sub: z.string(),
  email: Text,
  name: Text,
  picture: Text,
})

/** Facebook. Only Limited Login in apps returns id_tokens, and the app itself checks their nonce. */
export const facebook: DefineProvider = ({ secret, baseUrl }) => {
  const site = baseUrl || ISSUER
  const graph = baseUrl || 'https://graph.facebook.com'
  return {
    protocol: 'oauth2',
    issuer: ISSUER,
    authorizeUrl: `${site}/dialog/oauth`,
    tokenUrl: `${graph}/oauth/access_token`,
    scopes: ['email'],
    takesScopes: true,
    clientAuth: 'post',
    usesPkce: false,
    idTokens: {
      keysOf: (issuer) => (issuer === ISSUER ? { jwksUrl: `${ISSUER}/.well-known/oauth/openid/jwks/` } : undefined),
      nonce: 'not-checked',
      readProfile: readClaims,
    },
    identify: async ({ get }, { accessToken }) => {
      // Facebook checks this proof against the app's secret, so a stolen token is not enough to read a profile.
      const proof = createHmac('sha256', secret).update(accessToken).digest('hex')
      const fields = 'email,first_name,last_name,name,picture'
      const profile = await get(`${graph}/me?fields=${fields}&appsecret_proof=${proof}`, Profile)
      return {
        subject: profile.id,
        emails: [{ email: profile.email, isVerified: true }],
        name: fullName(profile.first_name, profile.last_name),
        nickname: profile.name,
        picture: profile.picture?.data.url,
      }
    },
  }
}

function readClaims(token: unknown): ExternalProfile {
  const { sub, email, name, picture } = Claims.parse(token)
  return { subject: sub, emails: [{ email, isVerified: true }], name, picture }
}
