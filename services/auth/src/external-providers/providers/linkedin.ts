import { z } from 'zod'
import { type DefineProvider, fullName, listOf } from '../provider.ts'

const Localized = z
  .object({
    localized: z.record(z.string(), z.unknown()),
    preferredLocale: z.object({ language: z.string(), country: z.string() }).optional().catch(undefined),
  })
  .optional()
  .catch(undefined)
const Image = z.object({ identifiers: listOf(z.object({ identifier: z.string() })) })
const Profile = z.object({
  id: z.string(),
  firstName: Localized,
  lastName: Localized,
  profilePicture: z
    .object({ 'displayImage~': z.object({ elements: listOf(Image) }).optional() })
    .optional()
    .catch(undefined),
})
const Email = z.object({
  elements: listOf(z.object({ 'handle~': z.object({ emailAddress: z.string() }).optional() })),
})
const PROFILE = '/v2/me?projection=(id,firstName,lastName,profilePicture(displayImage~:playableStreams))'
const EMAIL = '/v2/emailAddress?q=members&projection=(elements*(handle~))'

/** LinkedIn's first sign-in product, for apps that still use it. */
export const linkedin: DefineProvider = ({ baseUrl }) => {
  const api = baseUrl || 'https://api.linkedin.com'
  return {
    protocol: 'oauth2',
    issuer: api,
    authorizeUrl: `${api}/oauth/v2/authorization`,
    tokenUrl: `${api}/oauth/v2/accessToken`,
    scopes: ['r_emailaddress', 'r_liteprofile'],
    takesScopes: true,
    clientAuth: 'post',
    usesPkce: false,
    identify: async ({ get }) => {
      const profile = await get(api + PROFILE, Profile)
      const { elements } = await get(api + EMAIL, Email)
      return {
        subject: profile.id,
        emails: [{ email: elements[0]?.['handle~']?.emailAddress, isVerified: true }],
        name: fullName(selectOwnLanguage(profile.firstName), selectOwnLanguage(profile.lastName)),
        picture: profile.profilePicture?.['displayImage~']?.elements[0]?.identifiers[0]?.identifier,
      }
    },
  }
}

/** The name in the user's own language, otherwise in any language. */
function selectOwnLanguage(name: z.output<typeof Localized>): string | undefined {
  if (!name) return undefined
  const { localized, preferredLocale: locale } = name
  const own = locale && localized[`${locale.language}_${locale.country}`]
  return [own, ...Object.values(localized)].find((text) => typeof text === 'string')
}
