import { z } from 'zod'
import { Count, type DefineProvider, listOf, Text } from '../provider.ts'

const Image = z.object({ url: z.string(), width: Count, height: Count })
const Profile = z.object({
  id: z.string(),
  email: Text,
  display_name: Text,
  images: listOf(Image),
})

/** Spotify. It does not verify addresses. */
export const spotify: DefineProvider = ({ baseUrl }) => {
  const api = baseUrl || 'https://api.spotify.com/v1'
  const accounts = baseUrl || 'https://accounts.spotify.com'
  return {
    protocol: 'oauth2',
    issuer: api,
    authorizeUrl: `${accounts}/authorize`,
    tokenUrl: `${accounts}/api/token`,
    scopes: ['user-read-email'],
    takesScopes: true,
    clientAuth: 'basic-or-post',
    usesPkce: false,
    identify: async ({ get }) => {
      const profile = await get(`${api}/me`, Profile)
      return {
        subject: profile.id,
        emails: [{ email: profile.email, isVerified: false }],
        name: profile.display_name,
        picture: findLargestImage(profile.images)?.url,
      }
    },
  }
}

function findLargestImage(images: readonly z.output<typeof Image>[]) {
  return images.toSorted((a, b) => area(b) - area(a))[0]
}

function area({ width, height }: z.output<typeof Image>): number {
  return (width ?? 0) * (height ?? 0)
}
