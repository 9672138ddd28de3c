import { z } from 'zod'
import type { DefineProvider } from '../provider.ts'

const API = 'https://api.bitbucket.org/2.0'
const Profile = z.object({
  // Bitbucket writes curly braces around the UUID. They are a part of the stored subject.
  uuid: z.string(),
  display_name: z.string().nullish(),
  avatar: z.object({ href: z.string() }).nullish(),
})
const Emails = z.object({
  values: z.array(z.object({ email: z.string().nullish(), is_primary: z.boolean(), is_confirmed: z.boolean() })),
})

/** Bitbucket Cloud. A second call lists the email addresses. */
export const bitbucket: DefineProvider = () => ({
  protocol: 'oauth2',
  issuer: API,
  authorizeUrl: 'https://bitbucket.org/site/oauth2/authorize',
  tokenUrl: 'https://bitbucket.org/site/oauth2/access_token',
  scopes: ['account', 'email'],
  takesScopes: false,
  clientAuth: 'basic-or-post',
  usesPkce: false,
  identify: async ({ get }) => {
    const profile = await get(`${API}/user`, Profile)
    const { values } = await get(`${API}/user/emails`, Emails)
    return {
      subject: profile.uuid,
      emails: values.map((entry) => ({
        email: entry.email,
        isVerified: entry.is_confirmed,
        isPrimary: entry.is_primary,
      })),
      name: profile.display_name,
      picture: profile.avatar?.href,
    }
  },
})
