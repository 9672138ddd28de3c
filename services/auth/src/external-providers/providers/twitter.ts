import { z } from 'zod'
import { type DefineProvider, type OAuth1Provider, Text } from '../provider.ts'

const Profile = z.object({
  id_str: z.string(),
  email: Text,
  name: Text,
  screen_name: Text,
  profile_image_url_https: Text,
})
const PROFILE = '/1.1/account/verify_credentials.json?include_entities=false&skip_status=true&include_email=true'

/** Twitter, with OAuth 1.0a. It returns only verified emails. */
export const twitter: DefineProvider<OAuth1Provider> = ({ baseUrl }) => {
  const api = baseUrl || 'https://api.twitter.com'
  return {
    protocol: 'oauth1a',
    issuer: api,
    requestTokenUrl: `${api}/oauth/request_token`,
    authorizeUrl: `${api}/oauth/authenticate`,
    accessTokenUrl: `${api}/oauth/access_token`,
    identify: async ({ get }) => {
      const profile = await get(api + PROFILE, Profile)
      return {
        subject: profile.id_str,
        emails: [{ email: profile.email, isVerified: true }],
        name: profile.name,
        picture: profile.profile_image_url_https,
        preferredUsername: profile.screen_name,
        userName: profile.screen_name,
      }
    },
  }
}
