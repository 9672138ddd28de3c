import { z } from 'zod'
import { type PkceChallenge, parsePkce, pkceFields } from '../flow-states/pkce.ts'

/** The query by which a sign-in at a provider begins. What it does not name is the provider's. */
export const authorizeQuery = z
  .object({
    provider: z.string().optional().meta({ description: 'name of the provider' }),
    scopes: z.string().optional().meta({ description: 'further scopes, separated by commas or spaces' }),
    redirect_to: z.string().optional().meta({ description: 'where it ends; default: AUTH_SITE_URL' }),
    ...pkceFields,
  })
  .catchall(z.string())

interface WishedProvider {
  readonly provider: string
  readonly scopes: string
  readonly pkce: PkceChallenge | undefined
  readonly query: Readonly<Record<string, string>>
}

/** What a query asks for. @throws validationFailed */
export function readAuthorizeQuery(query: z.output<typeof authorizeQuery>): WishedProvider {
  const { provider = '', scopes = '' } = query
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  return { provider, scopes, pkce: parsePkce(query), query: Object.fromEntries(given) }
}
