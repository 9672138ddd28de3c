import { z } from 'zod'
import { type DefineProvider, fullName, Text } from '../provider.ts'

const Answer = z.object({
  profile: z.object({
    id: z.string(),
    email: Text,
    first_name: Text,
    last_name: Text,
    connection_id: Text,
    organization_id: Text,
  }),
})

/**
 * WorkOS. The client selects the identity provider by `connection`, `organization` or `workos_provider`. WorkOS does not verify
 * email addresses, and the identity provider of a connection may send any address. So an address counts as verified only if the
 * settings trust the connection or its organization.
 */
export const workos: DefineProvider = ({ trustedConnections = [], baseUrl }) => {
  const api = baseUrl || 'https://api.workos.com'
  return {
    protocol: 'oauth2',
    issuer: api,
    authorizeUrl: `${api}/sso/authorize`,
    tokenUrl: `${api}/sso/token`,
    scopes: [],
    takesScopes: false,
    clientAuth: 'post',
    usesPkce: false,
    identify: async (_api, { answer }) => {
      const { id, email, first_name: first, last_name: last, ...customClaims } = Answer.parse(answer).profile
      const { connection_id: connection, organization_id: organization } = customClaims
      const isVerified = trustedConnections.some((trusted) => trusted === connection || trusted === organization)
      return { subject: id, emails: [{ email, isVerified }], name: fullName(first, last), customClaims }
    },
  }
}
