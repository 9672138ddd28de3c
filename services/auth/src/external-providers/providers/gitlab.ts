import { z } from 'zod'
import { type DefineProvider, listOf, NumericId, Text } from '../provider.ts'

const Profile = z.object({
  id: NumericId,
  email: Text,
  name: Text,
  avatar_url: Text,
  confirmed_at: Text,
})
const Emails = listOf(z.object({ email: z.string() }))

/** GitLab, at gitlab.com or self-hosted. `confirmed_at` applies only to the address in the profile. */
export const gitlab: DefineProvider = ({ baseUrl }) => ({
  protocol: 'oauth2',
  issuer: baseUrl,
  authorizeUrl: `${baseUrl}/oauth/authorize`,
  tokenUrl: `${baseUrl}/oauth/token`,
  scopes: ['read_user'],
  takesScopes: true,
  clientAuth: 'post',
  usesPkce: true,
  identify: async ({ get }) => {
    const profile = await get(`${baseUrl}/api/v4/user`, Profile)
    const others = await get(`${baseUrl}/api/v4/user/emails`, Emails)
    return {
      subject: profile.id,
      emails: [
        ...others.map(({ email }) => ({ email, isVerified: false })),
        { email: profile.email, isVerified: Boolean(profile.confirmed_at), isPrimary: true },
      ],
      name: profile.name,
      picture: profile.avatar_url,
    }
  },
})
