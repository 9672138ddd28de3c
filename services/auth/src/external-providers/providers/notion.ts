import { z } from 'zod'
import type { DefineProvider } from '../provider.ts'

const API = 'https://api.notion.com/v1'
const User = z.object({
  id: z.string(),
  name: z.string().nullish(),
  avatar_url: z.string().nullish(),
  person: z.object({ email: z.string().nullish() }).nullish(),
})
const Profile = z.object({ bot: z.object({ owner: z.object({ user: User }) }) })

/** Notion. A token belongs to a bot. The user who installed the bot signs in. */
export const notion: DefineProvider = () => ({
  protocol: 'oauth2',
  issuer: API,
  authorizeUrl: `${API}/oauth/authorize`,
  tokenUrl: `${API}/oauth/token`,
  scopes: [],
  takesScopes: false,
  clientAuth: 'basic',
  usesPkce: false,
  authorizeParams: { owner: 'user' },
  identify: async ({ get }) => {
    const { bot } = await get(`${API}/users/me`, Profile, { 'notion-version': '2021-08-16' })
    const { id, name, avatar_url: picture, person } = bot.owner.user
    return { subject: id, emails: [{ email: person?.email, isVerified: true }], name, picture }
  },
})
