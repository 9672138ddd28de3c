import { z } from 'zod'
import { type DefineProvider, type ExternalProfile, Text } from '../provider.ts'

const ISSUER = 'https://accounts.snapchat.com/accounts/oauth2/token'
const SCOPES = 'https://auth.snapchat.com/oauth2/api'
const GRAPHQL = '{me { externalId displayName bitmoji { avatar id } email } }'
const Profile = z.object({
  data: z.object({
    me: z.object({
      externalId: z.string(),
      displayName: Text,
      bitmoji: z.object({ avatar: Text }).nullish().catch(undefined),
      email: Text,
    }),
  }),
})
const Claims = z.object({ sub: z.string(), email: Text, name: Text })

/** Snapchat. It seldom returns an email address (see EXTERNAL_SNAPCHAT_EMAIL_OPTIONAL). */
export const snapchat: DefineProvider = ({ baseUrl }) => {
  const accounts = baseUrl || 'https://accounts.snapchat.com'
  return {
    protocol: 'oauth2',
    issuer: ISSUER,
    authorizeUrl: `${accounts}/accounts/oauth2/auth`,
    tokenUrl: `${accounts}/accounts/oauth2/token`,
    scopes: [`${SCOPES}/user.external_id`, `${SCOPES}/user.display_name`, `${SCOPES}/user.bitmoji.avatar`],
    takesScopes: true,
    clientAuth: 'basic-or-post',
    usesPkce: false,
    idTokens: {
      keysOf: (issuer) => (issuer === ISSUER ? { discoveredAt: ISSUER } : undefined),
      nonce: 'checked',
      readProfile: readClaims,
    },
    identify: async ({ get }) => {
      const query = encodeURIComponent(GRAPHQL)
      const { me } = (await get(`${baseUrl || 'https://kit.snapchat.com'}/v1/me?query=${query}`, Profile)).data
      return {
        subject: me.externalId,
        emails: [{ email: me.email, isVerified: true }],
        name: me.displayName,
        picture: me.bitmoji?.avatar,
      }
    },
  }
}

function readClaims(token: unknown): ExternalProfile {
  const { sub, email, name } = Claims.parse(token)
  return { subject: sub, emails: [{ email, isVerified: true }], name }
}
