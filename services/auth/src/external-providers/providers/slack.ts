import { z } from 'zod'
import { type DefineProvider, Text, toListedEmail } from '../provider.ts'

const USER_ID = 'https://slack.com/user_id'
const TEAM_ID = 'https://slack.com/team_id'
const Profile = z.object({
  // Slack uses the status 200 for failures too.
  ok: z.literal(true),
  [USER_ID]: z.string(),
  [TEAM_ID]: Text,
  email: Text,
  email_verified: z.unknown().optional(),
  name: Text,
  picture: Text,
})

/** Slack's first sign-in product, for apps that still use it. */
export const slack: DefineProvider = ({ baseUrl }) => {
  const site = baseUrl || 'https://slack.com'
  const api = `${site}/api`
  return {
    protocol: 'oauth2',
    issuer: api,
    authorizeUrl: `${site}/oauth/authorize`,
    tokenUrl: `${api}/oauth.access`,
    scopes: ['profile', 'email', 'openid'],
    takesScopes: true,
    clientAuth: 'basic-or-post',
    usesPkce: false,
    identify: async ({ get }) => {
      const profile = await get(`${api}/openid.connect.userInfo`, Profile)
      return {
        subject: profile[USER_ID],
        emails: [toListedEmail(profile.email, profile.email_verified)],
        name: profile.name,
        picture: profile.picture,
        customClaims: { [TEAM_ID]: profile[TEAM_ID] },
      }
    },
  }
}
