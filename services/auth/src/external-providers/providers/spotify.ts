import { z } from 'zod'
import type { DefineProvider } from '../provider.ts'

const Image = z.object({ url: z.string(), width: z.number().nullish(), height: z.number().nullish() })
const Profile = z.object({
  id: z.string(),
  email: z.string().nullish(),
  display_name: z.string().nullish(),
  images: z.array(Image).nullish(),
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
        picture: findLargestImage(profile.images ?? [])?.url,
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
