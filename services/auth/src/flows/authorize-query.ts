import { z } from 'zod'
import { type PkceChallenge, type PkceRule, parsePkce, pkceParameters, requirePkce } from './pkce.ts'
import { RedirectQuery } from './redirect-allow-list.ts'

/** The query that starts a sign-in at a provider. Parameters that it does not name are passed on to the provider. */
export const AuthorizeQuery = z
  .object({
    provider: z.string().optional().meta({ minLength: 1, description: 'The name of the provider' }),
    scopes: z
      .string()
      .optional()
      .meta({ description: 'Further scopes to ask the provider for, separated by commas or spaces' }),
    redirect_to: RedirectQuery.shape.redirect_to.meta({
      description: 'Where the browser goes at the end; AUTH_SITE_URL by default',
    }),
    ...pkceParameters,
  })
  .catchall(z.string())

interface AuthorizeRequest {
  readonly provider: string
  readonly scopes: string
  readonly pkce: PkceChallenge | undefined
  readonly query: Readonly<Record<string, string>>
}

/**
 * Reads the query, all but its redirect, which `readContext` resolves.
 * @throws pkceRequired, pkceIncomplete, codeChallengeLength, codeChallengeCharacters, codeChallengeMethodUnsupported
 */
export function readAuthorizeQuery(query: z.output<typeof AuthorizeQuery>, rule: PkceRule): AuthorizeRequest {
  const { provider = '', scopes = '' } = query
  const parameters = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  const pkce = parsePkce(query, rule)
  requirePkce(pkce, rule)
  return { provider, scopes, pkce, query: Object.fromEntries(parameters) }
}
