import { z } from 'zod'
import { pkceRequired } from '../errors.ts'
import { type PkceChallenge, type PkceRule, parsePkce, pkceFields } from '../flows/pkce.ts'

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

/** What a query asks for. @throws validationFailed, pkceRequired */
export function readAuthorizeQuery(query: z.output<typeof authorizeQuery>, rule: PkceRule): WishedProvider {
  const { provider = '', scopes = '' } = query
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  const pkce = parsePkce(query, rule)
  if (rule === 'required' && !pkce) throw pkceRequired()
  return { provider, scopes, pkce, query: Object.fromEntries(given) }
}
