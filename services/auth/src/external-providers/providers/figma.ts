import { z } from 'zod'
import type { DefineProvider } from '../provider.ts'

const API = 'https://api.figma.com/v1'
const Profile = z.object({
  id: z.string(),
  email: z.string().nullish(),
  handle: z.string().nullish(),
  img_url: z.string().nullish(),
})

/** Figma. Its codes live for 30 seconds. */
export const figma: DefineProvider = () => ({
  protocol: 'oauth2',
  issuer: API,
  authorizeUrl: 'https://www.figma.com/oauth',
  tokenUrl: `${API}/oauth/token`,
  scopes: ['current_user:read'],
  takesScopes: true,
  clientAuth: 'basic-or-post',
  usesPkce: false,
  identify: async ({ get }) => {
    const profile = await get(`${API}/me`, Profile)
    return {
      subject: profile.id,
      emails: [{ email: profile.email, isVerified: true }],
      name: profile.handle,
      avatarUrl: profile.img_url,
    }
  },
})
