import { z } from 'zod'
import { type DefineProvider, Text } from '../provider.ts'

const Profile = z.object({
  id: z.string(),
  email: Text,
  handle: Text,
  img_url: Text,
})

/** Figma. Its codes expire after 30 seconds. */
export const figma: DefineProvider = ({ baseUrl }) => {
  const api = `${baseUrl || 'https://api.figma.com'}/v1`
  return {
    protocol: 'oauth2',
    issuer: api,
    authorizeUrl: `${baseUrl || 'https://www.figma.com'}/oauth`,
    tokenUrl: `${api}/oauth/token`,
    scopes: ['current_user:read'],
    takesScopes: true,
    clientAuth: 'basic-or-post',
    usesPkce: false,
    identify: async ({ get }) => {
      const profile = await get(`${api}/me`, Profile)
      return {
        subject: profile.id,
        emails: [{ email: profile.email, isVerified: true }],
        name: profile.handle,
        avatarUrl: profile.img_url,
      }
    },
  }
}
