import { z } from 'zod'
import { Count, type DefineProvider, Text } from '../provider.ts'

const User = z.object({
  id: z.string(),
  login: Text,
  display_name: Text,
  email: Text,
  profile_image_url: Text,
  broadcaster_type: Text,
  description: Text,
  type: Text,
  offline_image_url: Text,
  view_count: Count,
})
const Profile = z.object({ data: z.tuple([User], z.unknown()) })

/** Twitch. Its API needs the client id in addition to the token. */
export const twitch: DefineProvider = ({ clientId, baseUrl }) => {
  const site = baseUrl || 'https://id.twitch.tv'
  const api = baseUrl || 'https://api.twitch.tv'
  return {
    protocol: 'oauth2',
    issuer: api,
    authorizeUrl: `${site}/oauth2/authorize`,
    tokenUrl: `${site}/oauth2/token`,
    scopes: ['user:read:email'],
    takesScopes: true,
    clientAuth: 'post',
    usesPkce: false,
    identify: async ({ get }) => {
      const { data } = await get(`${api}/helix/users`, Profile, { 'client-id': clientId })
      const { id, login, display_name: nickname, email, profile_image_url: picture, ...customClaims } = data[0]
      return { subject: id, emails: [{ email, isVerified: true }], name: login, nickname, picture, customClaims }
    },
  }
}
