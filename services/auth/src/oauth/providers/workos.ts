import { z } from 'zod'
import { fullName } from '../claims.ts'
import type { DefineProvider } from '../provider.ts'

const API = 'https://api.workos.com'
const answerSchema = z.object({
  profile: z.object({
    id: z.string(),
    email: z.string().nullish(),
    first_name: z.string().nullish(),
    last_name: z.string().nullish(),
    connection_id: z.string().nullish(),
    organization_id: z.string().nullish(),
  }),
})

/** WorkOS. The caller says whose sign-in it is by `connection`, `organization` or `workos_provider`. */
export const workos: DefineProvider = () => ({
  protocol: 'oauth2',
  issuer: API,
  authorizeUrl: `${API}/sso/authorize`,
  tokenUrl: `${API}/sso/token`,
  scopes: [],
  takesScopes: false,
  clientAuth: 'post',
  usesPkce: false,
  identify: async (_api, { answer }) => {
    const { id, email, first_name: first, last_name: last, ...customClaims } = answerSchema.parse(answer).profile
    return { subject: id, emails: [{ email, isVerified: true }], name: fullName(first, last), customClaims }
  },
})
