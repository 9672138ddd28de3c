import { z } from 'zod'
import { type DefineProvider, Text } from '../provider.ts'

const User = z.object({
  id: z.string(),
  name: Text,
  avatar_url: Text,
  person: z.object({ email: Text }).nullish().catch(undefined),
})
const Profile = z.object({ bot: z.object({ owner: z.object({ user: User }) }) })

/** Notion. A token belongs to a bot. The user who installed the bot signs in. */
export const notion: DefineProvider = ({ baseUrl }) => {
  const api = `${baseUrl || 'https://api.notion.com'}/v1`
  return {
    protocol: 'oauth2',
    issuer: api,
    authorizeUrl: `${api}/oauth/authorize`,
    tokenUrl: `${api}/oauth/token`,
    scopes: [],
    takesScopes: false,
    clientAuth: 'basic',
    usesPkce: false,
    authorizeParams: { owner: 'user' },
    identify: async ({ get }) => {
      const { bot } = await get(`${api}/users/me`, Profile, { 'notion-version': '2021-08-16' })
      const { id, name, avatar_url: picture, person } = bot.owner.user
      return { subject: id, emails: [{ email: person?.email, isVerified: true }], name, picture }
    },
  }
}
