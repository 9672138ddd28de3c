import { z } from 'zod'
import { type DefineProvider, Flag, Text } from '../provider.ts'

const CDN = 'https://cdn.discordapp.com'
const Profile = z.object({
  id: z.string(),
  username: Text,
  /** `0` for accounts with a unique name. */
  discriminator: Text,
  global_name: Text,
  avatar: Text,
  email: Text,
  verified: Flag,
})
const DEFAULT_AVATARS = 5

/** Discord. Its profile says whether the email is verified. It does not support OpenID Connect. */
export const discord: DefineProvider = ({ baseUrl }) => {
  const api = `${baseUrl || 'https://discord.com'}/api`
  return {
    protocol: 'oauth2',
    issuer: api,
    authorizeUrl: `${api}/oauth2/authorize`,
    tokenUrl: `${api}/oauth2/token`,
    scopes: ['email', 'identify'],
    takesScopes: true,
    clientAuth: 'basic-or-post',
    usesPkce: false,
    identify: async ({ get }) => {
      const profile = await get(`${api}/users/@me`, Profile)
      return {
        subject: profile.id,
        emails: [{ email: profile.email, isVerified: profile.verified === true }],
        name: [profile.username, profile.discriminator].filter(Boolean).join('#'),
        fullName: profile.username,
        picture: toPicture(profile),
        customClaims: { global_name: profile.global_name },
      }
    },
  }
}

function toPicture({ id, avatar, discriminator }: z.output<typeof Profile>): string {
  if (!avatar) return `${CDN}/embed/avatars/${(Number(discriminator) || 0) % DEFAULT_AVATARS}.png`
  return `${CDN}/avatars/${id}/${avatar}.${avatar.startsWith('a_') ? 'gif' : 'png'}`
}
