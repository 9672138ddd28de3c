import { z } from 'zod'
import { type DefineProvider, Flag, listOf, NumericId, Text } from '../provider.ts'

const Profile = z.object({
  id: NumericId,
  login: Text,
  name: Text,
  avatar_url: Text,
})
const Emails = listOf(z.object({ email: z.string(), verified: Flag, primary: Flag }))

/** GitHub. Uses only the list of addresses. The address in the profile is only the one that the user publishes. */
export const github: DefineProvider = ({ baseUrl }) => {
  const site = baseUrl || 'https://github.com'
  // GitHub Enterprise Server has its API below the site.
  const api = site === 'https://github.com' ? 'https://api.github.com' : `${site}/api/v3`
  return {
    protocol: 'oauth2',
    issuer: api,
    authorizeUrl: `${site}/login/oauth/authorize`,
    tokenUrl: `${site}/login/oauth/access_token`,
    scopes: ['user:email'],
    takesScopes: true,
    clientAuth: 'post',
    usesPkce: false,
    identify: async ({ get }) => {
      const profile = await get(`${api}/user`, Profile)
      const emails = await get(`${api}/user/emails`, Emails)
      return {
        subject: profile.id,
        emails: emails.map(({ email, verified, primary }) => ({
          email,
          isVerified: verified === true,
          isPrimary: primary === true,
        })),
        name: profile.name,
        avatarUrl: profile.avatar_url,
        preferredUsername: profile.login,
        userName: profile.login,
      }
    },
  }
}
