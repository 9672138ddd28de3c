import { z } from 'zod'
import type { DefineProvider, OAuth1Provider } from '../provider.ts'

const API = 'https://api.twitter.com'
const Profile = z.object({
  id_str: z.string(),
  email: z.string().nullish(),
  name: z.string().nullish(),
  screen_name: z.string().nullish(),
  profile_image_url_https: z.string().nullish(),
})
const PROFILE = `${API}/1.1/account/verify_credentials.json?include_entities=false&skip_status=true&include_email=true`

/** Twitter, over OAuth 1.0a. It tells only emails that it has verified. */
export const twitter: DefineProvider<OAuth1Provider> = () => ({
  protocol: 'oauth1a',
  issuer: API,
  requestTokenUrl: `${API}/oauth/request_token`,
  authorizeUrl: `${API}/oauth/authenticate`,
  accessTokenUrl: `${API}/oauth/access_token`,
  identify: async ({ get }) => {
    const profile = await get(PROFILE, Profile)
    return {
      subject: profile.id_str,
      emails: [{ email: profile.email, isVerified: true }],
      name: profile.name,
      picture: profile.profile_image_url_https,
      preferredUsername: profile.screen_name,
      userName: profile.screen_name,
    }
  },
})
