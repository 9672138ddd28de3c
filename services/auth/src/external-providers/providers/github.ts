import { z } from 'zod'
import { NumericId } from '../foreign-json.ts'
import type { DefineProvider } from '../provider.ts'

const API = 'https://api.github.com'
const Profile = z.object({
  id: NumericId,
  login: z.string(),
  name: z.string().nullish(),
  avatar_url: z.string().nullish(),
})
const Emails = z.array(z.object({ email: z.string(), verified: z.boolean(), primary: z.boolean() }))

/** GitHub. Only the list of addresses counts. The address in the profile is the one that the user wants to show. */
export const github: DefineProvider = () => ({
  protocol: 'oauth2',
  issuer: API,
  authorizeUrl: 'https://github.com/login/oauth/authorize',
  tokenUrl: 'https://github.com/login/oauth/access_token',
  scopes: ['user:email'],
  takesScopes: true,
  clientAuth: 'post',
  usesPkce: false,
  identify: async ({ get }) => {
    const profile = await get(`${API}/user`, Profile)
    const emails = await get(`${API}/user/emails`, Emails)
    return {
      subject: profile.id,
      emails: emails.map(({ email, verified, primary }) => ({ email, isVerified: verified, isPrimary: primary })),
      name: profile.name,
      avatarUrl: profile.avatar_url,
      preferredUsername: profile.login,
      userName: profile.login,
    }
  },
})
