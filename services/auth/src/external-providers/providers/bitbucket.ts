import { z } from 'zod'
import { type DefineProvider, Flag, listOf, Text } from '../provider.ts'

const Profile = z.object({
  // Bitbucket puts the UUID in curly braces. They are a part of the stored subject.
  uuid: z.string(),
  display_name: Text,
  avatar: z.object({ href: Text }).nullish().catch(undefined),
})
const Emails = z.object({
  values: listOf(z.object({ email: Text, is_primary: Flag, is_confirmed: Flag })),
})

/** Bitbucket Cloud. A second call lists the email addresses. */
export const bitbucket: DefineProvider = ({ baseUrl }) => {
  const site = baseUrl || 'https://bitbucket.org'
  const api = `${baseUrl || 'https://api.bitbucket.org'}/2.0`
  return {
    protocol: 'oauth2',
    issuer: api,
    authorizeUrl: `${site}/site/oauth2/authorize`,
    tokenUrl: `${site}/site/oauth2/access_token`,
    scopes: ['account', 'email'],
    takesScopes: false,
    clientAuth: 'basic-or-post',
    usesPkce: false,
    identify: async ({ get }) => {
      const profile = await get(`${api}/user`, Profile)
      const { values } = await get(`${api}/user/emails`, Emails)
      return {
        subject: profile.uuid,
        emails: values.map((entry) => ({
          email: entry.email,
          isVerified: entry.is_confirmed === true,
          isPrimary: entry.is_primary === true,
        })),
        name: profile.display_name,
        picture: profile.avatar?.href,
      }
    },
  }
}
